"""The data that a state's expressions see: the context object, chance, and instants."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.machines import FN, INVOKE, jsonata, machine, ran, task
from xingqiao.composer.languages.asl.running.view import instant, machine_frames, machine_in
from xingqiao.composer.testing import Fail

UUIDS = {"Type": "Pass", "Parameters": {"u.$": "States.UUID()", "v.$": "States.UUID()"}}


@given(st.integers(0, 4_000_000_000_000))
def test_an_instant_is_written_to_the_millisecond(ms):
    text = instant(ms)

    assert len(text) == len("2026-01-02T00:00:00.000Z")
    at = datetime.fromisoformat(text)
    assert round((at - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000) == ms


def test_an_execution_begins_with_the_frame_of_its_machine():
    frames = machine_frames({"Execution": {}, "StateMachine": {}})

    assert machine_in(frames) is frames[0]
    assert machine_in(()) is None


def test_chance_is_another_at_each_draw_and_state_and_the_same_in_each_run():
    states = machine({"A": {**UUIDS, "ResultPath": "$.a", "Next": "B"}, "B": {**UUIDS, "ResultPath": "$.b", "End": True}})  # fmt: skip
    first, second = (ran(states, {}).value for _ in range(2))

    assert first == second
    drawn = [*first["a"].values(), *first["b"].values()]
    assert len(set(drawn)) == 4
    assert all(uuid[14] == "4" and uuid[19] in "89ab" for uuid in drawn)


def test_a_state_sees_its_name_and_the_time_of_its_entry():
    states = jsonata({"A": {"Type": "Pass", "Output": "{% $states.context.State %}", "End": True}})

    assert ran(states, {}).value.keys() == {"EnteredTime", "Name"}


def test_what_may_be_tried_again_sees_how_often_it_was():
    state = task(
        Parameters={"tried.$": "$$.State.RetryCount"},
        Retry=[{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}],
        End=True,
    )
    run = ran(machine({"A": state}), {}, actions={"fn": Fail("E")})

    assert [call.params["tried"] for call in run.invocations] == [0, 1, 2]


@pytest.mark.parametrize(
    ("resource", "told"), [(f"{INVOKE}.waitForTaskToken", True), (INVOKE, False)]
)
def test_only_a_task_that_waits_for_a_token_has_one(resource, told):
    arguments = {"FunctionName": FN, "Payload": "{% $exists($states.context.Task.Token) %}"}
    run = ran(jsonata({"A": task(resource, Arguments=arguments, End=True)}), {}, actions={"fn": {}})

    assert run.invocations[0].params is told
