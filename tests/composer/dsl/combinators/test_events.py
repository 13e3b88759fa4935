"""The combinator that emits CloudEvents, in simulated time."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, emit, path
from xingqiao.composer.testing import Emitted, Fail, Slow, simulate

RESERVED = emit({"type": "order.reserved", "subject": path("$.id"), "data": path("$")})


def types(run):
    return [event.type for event in run.emitted]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (RESERVED, "emit order.reserved"),
        (emit({"type": path("$.t")}), "emit $.t"),
        (emit(path("$.event")), "emit $.event"),
    ],
)
def test_a_picture_shows_the_type(part, words):
    assert words in composer.mermaid(part)


@pytest.mark.parametrize("part", [RESERVED, emit(path("$.event"))])
def test_it_is_json(part):
    assert composer.parse(json.loads(json.dumps(part.to_json()))) == part


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("order.reserved", "A CloudEvent must be an object with a 'type', not 'order.reserved'"),
        ({"data": 1}, "A CloudEvent needs a 'type'"),
        ({"type": 7}, "'type' of a CloudEvent must be a string"),
        ({"type": "a", "orderId": path("$.id")}, "not 'orderId'"),
        ({"type": "a", "id": path("$.id")}, "it is the activation id of the step"),
        ({"type": "a", "data": object()}, "is not a template"),
    ],
)
def test_a_template_that_cannot_make_a_cloudevent_is_refused_when_it_is_built(event, text):
    with pytest.raises(CompositionError) as raised:
        emit(event)

    assert str(raised.value).startswith("emit: 'event' is not a template")
    assert text in str(raised.value)


def test_it_must_be_a_step_of_a_saga_and_no_transaction_contains_it():
    with pytest.raises(CompositionError, match="step"):
        composer.saga(RESERVED)
    with pytest.raises(CompositionError, match="emit"):
        composer.transaction(RESERVED)


# --- simulated ------------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [(), "every"])
def test_a_cloudevent_is_emitted_once_and_the_value_passes_through(crash):
    part = composer.sequence("reserve", RESERVED, "ship")

    run = simulate(part, actions={"reserve": {"id": "7"}, "ship": {}}, crash=crash)

    (event,) = run.emitted
    id = event.attributes["id"]
    given = {"specversion": "1.0", "id": id, "type": "order.reserved", "subject": "7"}
    assert event == Emitted({**given, "time": "1970-01-01T00:00:00.000Z"}, {"id": "7"}, 0.0)
    assert len(id) == 32
    assert run.calls("ship")[0] == {"id": "7"}
    (entry,) = [entry for entry in run.history if entry.kind == "Emitted"]
    assert entry.value == {**event.attributes, "data": {"id": "7"}}
    assert entry.detail == {
        "path": "components[1]", "activation": event.attributes["id"], "emitted": "order.reserved",
    }  # fmt: skip


@pytest.mark.parametrize("crash", [(), "every"])
def test_branches_and_rounds_emit_one_each_with_ids_of_their_own(crash):
    each = composer.sequence(emit({"type": path("$.t")}), "work", emit({"type": "done"}))
    part = composer.sequence(
        composer.map(each, items=[{"t": "x"}, {"t": "y"}]),
        composer.repeat(3, emit({"type": "round"})),
    )

    run = simulate(part, actions={"work": {}}, crash=crash)

    assert sorted(types(run)) == ["done", "done", "round", "round", "round", "x", "y"]
    assert len({event.attributes["id"] for event in run.emitted}) == 7


@pytest.mark.parametrize("crash", [(), "every"])
def test_what_comes_after_a_failed_step_is_not_emitted(crash):
    part = composer.sequence(emit({"type": "first"}), "a", emit({"type": "second"}))

    run = simulate(part, actions={"a": Fail("Broken")}, crash=crash)

    assert types(run) == ["first"]
    assert run.outcome.code == "Broken"


def test_an_attempt_that_is_made_again_emits_again():
    part = composer.retry(2, emit({"type": "tried"}), "a")

    run = simulate(part, actions={"a": [Fail("Broken"), {}]}, crash="every")

    assert types(run) == ["tried", "tried"]
    assert len({event.attributes["id"] for event in run.emitted}) == 2


def test_a_member_that_is_null_is_left_out():
    part = emit({"type": "a", "subject": path("$.s", default=None), "data": None})

    run = simulate(part, {})

    assert run.emitted[0].attributes.keys() == {"specversion", "id", "type", "time"}
    assert run.emitted[0].data is None
    assert run.value == {}


@pytest.mark.parametrize("crash", [(), "every"])
@pytest.mark.parametrize(
    ("event", "params", "text"),
    [
        (path("$.event"), {"event": 7}, "emit: A CloudEvent must be an object"),
        (path("$.event"), {}, "selects nothing"),
        ({"type": path("$.t")}, {"t": "xingqiao.x"}, "emit: The type of a CloudEvent cannot begin"),
        ({"type": "a", "n": path("$.n")}, {"n": 1.5}, "emit: The attribute 'n' of a CloudEvent"),
    ],
)
def test_what_is_no_cloudevent_fails_the_step_and_nothing_is_emitted(event, params, text, crash):
    part = composer.do(emit(event), "mend", errors="ExpressionError")

    run = simulate(part, params, actions={"mend": lambda error: error}, crash=crash)

    assert run.emitted == []
    assert text in json.dumps(run.calls("mend")[0])


def test_its_time_is_that_of_its_step():
    part = composer.sequence("slow", emit({"type": "a"}))

    (event,) = simulate(part, actions={"slow": Slow(61.5, {})}).emitted

    assert (event.at, event.attributes["time"]) == (61.5, "1970-01-01T00:01:01.500Z")


def test_a_cloudevent_that_is_too_large_fails_the_step():
    limits = composer.Limits(value_bytes=1 << 22)
    run = simulate(emit({"type": "a", "data": path("$.x")}), {"x": "x" * (1 << 20)}, limits=limits)

    assert run.outcome.code == "LimitExceeded"
    assert run.error["message"] == "emit: the CloudEvent takes more than 1048576 bytes"
    assert run.emitted == []


@pytest.mark.parametrize(("levels", "code"), [(199, None), (200, "LimitExceeded")])
def test_its_data_nests_as_deep_as_the_parameters_of_an_action_may(levels, code):
    data = 1
    for _ in range(levels):
        data = [data]

    run = simulate(
        composer.do(emit({"type": "a", "data": path("$.x")}), "mend"),
        {"x": data},
        actions={"mend": lambda error: {"code": error["error"]["code"]}},
    )

    assert run.value.get("code") == code
    assert len(run.emitted) == (code is None)


def test_it_counts_as_a_step():
    part = composer.loop(composer.literal(True), emit({"type": "a"}))
    limits = composer.Limits(steps=7)

    run = simulate(part, {}, limits=limits)

    assert run.outcome.code == "LimitExceeded"
    assert len(run.emitted) < 7
