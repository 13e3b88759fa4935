"""Executions as AWS' clients describe them."""

from __future__ import annotations

import json

from tests.infra.stepfunctions.conftest import ROLE, Machines
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.states import FAIL, PASS, WAIT, task
from xingqiao.composer import Limits
from xingqiao.infra.engine import EngineSettings


async def test_an_execution_that_runs_is_described(aws):
    arn = await aws.start(await aws.machine(W=WAIT), traceHeader="Root=1-2")

    found = await aws("DescribeExecution", executionArn=arn)

    assert (found["status"], found["traceHeader"]) == ("RUNNING", "Root=1-2")
    assert found["redriveStatusReason"] == "Execution is RUNNING and cannot be redriven"
    assert not {"stopDate", "output", "outputDetails"} & found.keys()


async def test_a_failure_tells_its_error_and_cause(aws):
    found = await aws.ended(await aws.start(await aws.machine(F=FAIL)))

    assert (found["status"], found["error"], found["cause"]) == ("FAILED", "Mine", "I said so")
    assert found["redriveStatus"] == "REDRIVABLE"


async def test_a_failure_without_a_name_tells_nothing(aws):
    found = await aws.ended(await aws.start(await aws.machine(F={"Type": "Fail"})))

    assert found["status"] == "FAILED"
    assert not {"error", "cause"} & found.keys()


async def test_a_failure_that_is_ours_is_told_by_its_code():
    async with opened(settings=EngineSettings(limits=Limits(steps=1))) as world:
        aws = Machines(world)
        await world.put("ask", "echo")
        machine = await aws.machine(
            T={"Type": "Task", "Resource": "ask", "Next": "U"}, U=task("ask")
        )

        found = await aws.ended(await aws.start(machine))

        assert (found["status"], found["error"]) == ("FAILED", "LimitExceeded")
        assert found["cause"] == "the execution takes more than 1 steps"


async def test_data_is_left_out_where_it_is_not_asked_for(aws):
    machine = await aws.machine(F=FAIL)
    arn = await aws.start(machine)
    await aws.ended(arn)

    found = await aws("DescribeExecution", executionArn=arn, includedData="METADATA_ONLY")
    assert found["inputDetails"] == {"included": False}
    assert not {"input", "output", "error", "cause"} & found.keys()


async def test_a_machine_is_described_as_it_was_when_the_execution_began(aws):
    machine = await aws.machine(W=WAIT)
    arn = await aws.start(machine)
    before = await aws("DescribeStateMachine", stateMachineArn=machine)
    await aws(
        "UpdateStateMachine", stateMachineArn=machine, roleArn=f"{ROLE}2",
        definition=json.dumps({"StartAt": "P", "States": {"P": PASS}}),
        tracingConfiguration={"enabled": True},
    )  # fmt: skip
    later = await aws.start(machine)

    old = await aws("DescribeStateMachineForExecution", executionArn=arn)
    new = await aws("DescribeStateMachineForExecution", executionArn=later)

    for name in ("stateMachineArn", "name", "definition", "roleArn", "tracingConfiguration"):
        assert old[name] == before[name]
    assert (new["roleArn"], new["tracingConfiguration"]) == (f"{ROLE}2", {"enabled": True})
    assert "revisionId" in new
    assert old["updateDate"] <= new["updateDate"]
