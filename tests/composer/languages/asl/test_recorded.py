"""All that was recorded on AWS and needs no service: outcomes, causes, and the types of events in their order."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import events, lowered
from tests.kit.asl.recorded import cases, checker
from xingqiao.composer.testing import simulate
from xingqiao.composer.values import Success

# What the recording itself cannot say; see docs/states-language.md.
LOST = {  # its input, or what stands for a result, was replaced by a placeholder
    "base.base.TestSnfBase_test_query_context_object_values",
    "base.wait.TestSfnWait_test_wait_timestamppath_.000000Z",
    "base.wait.TestSfnWait_test_wait_timestamppath_.00Z",
    "context_object.context_object.TestSnfBase_test_input_path",
    "intrinsic_functions.unique_id_generation.TestUniqueIdGeneration_test_uuid",
}
OTHERWISE = {  # ParallelStateSucceeded is left out, though its number is; or the order is reversed
    "scenarios.base_scenarios.TestBaseScenarios_test_parallel_state_nested",
    "scenarios.base_scenarios.TestBaseScenarios_test_parallel_state_order",
    "sfn_api.TestSnfApi_test_get_execution_history_reversed",
}


@pytest.mark.parametrize("case", cases("execution"), ids=lambda case: case["id"])
def test_an_execution_is_what_it_was_on_aws(case):
    run = simulate(lowered(case["definition"], case["type"]), case["input"])

    expected, wild = case["expect"], case["wild"]
    agrees = [
        checker().agrees(expected[name], value, wild)
        for name, value in told(run).items()
        if name in expected
    ]
    types = [event[2] for event in events(run)]
    wanted = [event["type"] for event in expected.get("events", [])]
    same = not wanted or types == wanted or (case["parallel"] and sorted(types) == sorted(wanted))
    assert all(agrees) is (case["id"] not in LOST)
    assert same is (case["id"] not in OTHERWISE | {id for id in LOST if "wait_timestamppath" in id})


def told(run):
    if isinstance(run.outcome, Success):
        return {"status": "SUCCEEDED", "output": run.outcome.value}
    error = run.outcome.error
    status = error.get("Status", "FAILED")
    return {"status": status, "error": error.get("Error"), "cause": error.get("Cause")}


@pytest.mark.parametrize("case", cases("execution"), ids=lambda case: case["id"])
def test_an_execution_that_is_killed_at_each_commit_is_the_same(case):
    program = lowered(case["definition"], case["type"])

    whole, killed = (
        simulate(program, case["input"]),
        simulate(program, case["input"], crash="every"),
    )

    assert told(killed) == told(whole)
    assert [event[:3] for event in events(killed)] == [event[:3] for event in events(whole)]
