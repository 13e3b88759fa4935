"""The machine's own rules: what results and failures mean, and what a history gives back of them."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Failure, Success
from xingqiao.composer.machine.events import Completed, Failed, Resolved, Resumed, TimerFired
from xingqiao.composer.machine.plain import PLAIN
from xingqiao.composer.testing import Fail, simulate


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"n": 1}, Success({"n": 1})),
        (7, Success({"value": 7})),
        (None, Success({"value": None})),
        ([1], Success({"value": [1]})),
    ],
)
def test_every_result_is_an_object(result, outcome):
    assert simulate(composer.sequence("a"), actions={"a": lambda params: result}).outcome == outcome


def test_a_result_with_an_error_is_a_failure_that_can_be_handled():
    part = composer.do("a", composer.literal({"handled": True}))

    assert simulate(part, actions={"a": {"error": "no", "more": 1}}).value == {"handled": True}
    assert isinstance(
        simulate(composer.sequence("a"), actions={"a": {"error": "no"}}).outcome, Failure
    )


def test_what_takes_too_long_says_how_long_it_had():
    run = simulate(composer.timeout(1.5, composer.wait(9)), actions={})

    assert run.outcome.code == "Timeout"
    assert run.outcome.error["message"] == "not done within 1.5 seconds"


def test_the_results_of_a_fork_fail_or_are_its_value():
    part = composer.parallel("a", "b")

    assert simulate(part, actions={"a": {"n": 1}, "b": {"n": 2}}).value == {
        "value": [{"n": 1}, {"n": 2}]
    }
    assert simulate(part, actions={"a": {"n": 1}, "b": Fail("Busy")}).outcome.code == "Busy"


@pytest.mark.parametrize(
    ("entry", "event"),
    [
        ({"type": "StepSucceeded", "turn": 2, "value": {"n": 1}}, Completed(2, {"n": 1}, None)),
        (
            {"type": "StepSucceeded", "turn": 2, "value": {}, "variables": {"x": 1}},
            Completed(2, {}, {"x": 1}),
        ),
        (
            {"type": "StepFailed", "turn": 3, "code": "Busy", "value": "no"},
            Failed(3, Failure("Busy", "no")),
        ),
        (
            {"type": "StepFailed", "turn": 3, "code": "E", "value": "no", "variables": {"x": 1}},
            Completed(3, {"error": "no"}, {"x": 1}),
        ),
        ({"type": "TimerFired"}, TimerFired()),
        ({"type": "TimedOut"}, TimerFired()),
        ({"type": "Resumed"}, Resumed(None)),
        ({"type": "Resolved", "how": "done", "value": 1}, Resolved("done", 1)),
        ({"type": "StepAccepted"}, None),
    ],
    ids=lambda each: each.get("type") if isinstance(each, dict) else "",
)
def test_an_entry_of_a_history_is_the_event_that_it_was_written_for(entry, event):
    assert PLAIN.replayed(entry) == event
