"""What instructions do that no generated composition gets to: bounds, instants, what is malformed."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import path, var
from xingqiao.composer.machine.operations import MAX_SLEEP_MS
from xingqiao.composer.testing import simulate

YEAR = MAX_SLEEP_MS / 1000


def failed(run):
    return run.outcome.code, run.error


def test_a_predicate_on_what_is_missing_does_not_hold():
    assert simulate(composer.task(path("$.x") == 1)).value == {"value": False}


def test_assign_sets_only_what_is_declared():
    assert simulate(composer.assign(x=1)).error == {
        "code": "ExpressionError",
        "message": "assign: no enclosing let declares 'x'",
    }


def test_assign_leaves_variables_alone_that_stay_the_same():
    part = composer.let({"x": [1], "y": 0}, composer.assign(x=var("x"), y=2),
                        composer.select({"x": var("x"), "y": var("y")}))  # fmt: skip

    assert simulate(part).value == {"x": [1], "y": 2}


def test_annotate_gives_the_execution_attributes_and_passes_the_value_on():
    part = composer.sequence(
        composer.annotate(customer=path("$.c"), size=1, gone=1),
        composer.annotate(size={"n": path("$.n")}, gone=None),
    )

    run = simulate(part, {"c": "anna", "n": 2}, crash="every")

    assert run.value == {"c": "anna", "n": 2}
    assert run.attributes == {"customer": "anna", "size": {"n": 2}}
    assert run.kinds() == ["ExecutionStarted", "Annotated", "Annotated", "ExecutionSucceeded"]
    assert run.history[1].value == {"customer": "anna", "size": 1, "gone": 1}


def test_annotate_fails_when_a_template_does():
    run = simulate(composer.annotate(customer=path("$.c")), {})

    assert run.outcome.code == "ExpressionError"
    assert run.attributes == {}


def test_mask_hides_the_innermost_variables_only():
    inner = composer.mask(composer.select({"x": var("x")}))

    assert simulate(composer.let({"x": 1}, composer.let({"x": 2}, inner))).value == {"x": 1}
    assert simulate(composer.let({"x": 1}, inner)).outcome.code == "ExpressionError"
    twice = composer.let(
        {"x": 1}, composer.let({"x": 2}, composer.let({"x": 3}, composer.mask(inner)))
    )
    assert simulate(twice).value == {"x": 1}


# --- waits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "elapsed"), [(0, 0), (0.0004, 0), (0.0005, 0.001), (7, 7), (YEAR, YEAR)]
)
def test_a_wait_takes_seconds_to_the_millisecond(seconds, elapsed):
    assert simulate(composer.wait(path("$.s")), {"s": seconds}).elapsed == elapsed


@pytest.mark.parametrize("seconds", [-1, "5", True, None, YEAR * 2000])
def test_what_is_no_number_of_seconds_is_refused(seconds):
    run = simulate(composer.wait(path("$.s")), {"s": seconds})

    assert failed(run)[0] == "ExpressionError"
    assert "is not a number of seconds" in run.error["message"]


@pytest.mark.parametrize(
    ("until", "elapsed"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T00:00:10.250+00:00", 10.25),
        ("1970-01-01T01:00:10+01:00", 10),
        ("1970-01-01 00:00:10", 10),
        (10, 10),
        (10.5, 10.5),
        (-5, 0),
    ],
)
def test_a_wait_lasts_until_an_instant(until, elapsed):
    assert simulate(composer.wait(until=path("$.t")), {"t": until}).elapsed == elapsed


@pytest.mark.parametrize("until", ["soon", True, None, 1e12, [], "1970-13-01"])
def test_what_is_no_instant_is_refused(until):
    run = simulate(composer.wait(until=path("$.t")), {"t": until})

    assert "is not an ISO 8601 instant or epoch seconds" in run.error["message"]


def test_nobody_waits_for_more_than_a_year():
    assert simulate(composer.wait(until=YEAR)).elapsed == YEAR
    assert simulate(composer.wait(until=YEAR + 1)).outcome.code == "LimitExceeded"


def test_an_execution_that_comes_to_its_end_with_an_error_has_failed():
    """A loop that is not entered hands on what it was given, though that be an error."""
    loop = composer.loop(composer.literal({"value": False}), "never")

    run = simulate(loop, {"error": "given"}, actions={"never": {}})

    assert failed(run) == ("ApplicationError", "given")
