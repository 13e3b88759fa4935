"""Executions of a state machine as AWS' clients list them."""

from __future__ import annotations

import functools
import operator

import pytest

from tests.kit.stepfunctions.states import FAIL, MISSING, PASS, WAIT
from xingqiao import composer


async def test_executions_are_listed_the_newest_first_a_page_at_a_time(aws, world):
    machine = await aws.machine(P=PASS)
    arns = []
    for n in range(7):
        world.clock.ms += n % 2  # some begin at the same instant
        arns.append(await aws.start(machine))
        await aws.ended(arns[-1])

    pages, token = [], {}
    while True:
        page = await aws("ListExecutions", stateMachineArn=machine, maxResults=3, **token)
        pages.append([execution["executionArn"] for execution in page["executions"]])
        if "nextToken" not in page:
            break
        token = {"nextToken": page["nextToken"]}

    assert [len(page) for page in pages] == [3, 3, 1]
    assert sorted(functools.reduce(operator.iadd, pages, [])) == sorted(arns)
    dates = [e["startDate"] for e in (await aws("ListExecutions", stateMachineArn=machine))["executions"]]  # fmt: skip
    assert dates == sorted(dates, reverse=True)


async def test_a_page_that_holds_the_last_is_the_last(aws):
    machine = await aws.machine(P=PASS)
    for _ in range(2):
        await aws.ended(await aws.start(machine))

    assert "nextToken" not in await aws("ListExecutions", stateMachineArn=machine, maxResults=2)


@pytest.mark.parametrize("token", ["x", "AAAA"])
async def test_a_token_that_is_none_is_refused(aws, token):
    machine = await aws.machine(P=PASS)

    assert await aws.refused("ListExecutions", stateMachineArn=machine, nextToken=token) == (
        "InvalidToken", "Invalid Token: 'Invalid token'",
    )  # fmt: skip


async def test_executions_are_listed_by_status(aws):
    wait, fail = await aws.machine("wait", W=WAIT), await aws.machine("fail", F=FAIL)
    running = await aws.start(wait)
    stopped = await aws.start(wait)
    await aws("StopExecution", executionArn=stopped)
    failed = await aws.start(fail)
    await aws.ended(failed)

    async def listed(machine, status):
        answer = await aws("ListExecutions", stateMachineArn=machine, statusFilter=status)
        return [execution["executionArn"] for execution in answer["executions"]]

    assert await listed(wait, "RUNNING") == [running]
    assert await listed(wait, "ABORTED") == [stopped]
    assert await listed(fail, "FAILED") == [failed]
    assert await listed(fail, "PENDING_REDRIVE") == []
    assert await aws.refused("ListExecutions", stateMachineArn=wait, statusFilter="failed") == (
        "ValidationException",
        (
            "1 validation error detected: Value 'failed' at 'statusFilter' failed to satisfy "
            "constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, "
            "ABORTED, FAILED, RUNNING]"
        ),
    )


async def test_what_is_to_be_listed_must_be_said_and_be_there(aws):
    assert await aws.refused("ListExecutions") == (
        "ValidationException",
        "1 validation error detected: Must provide a StateMachine ARN or MapRun ARN",
    )
    assert (await aws.refused("ListExecutions", stateMachineArn=MISSING))[0] == "InvalidArn"
    missing = MISSING.replace("execution:main:nobody", "stateMachine:nobody")
    assert (await aws.refused("ListExecutions", stateMachineArn=missing))[0] == (
        "StateMachineDoesNotExist"
    )


async def test_what_another_action_of_the_same_name_has_done_is_not_listed(aws, world):
    await world.put("a", "echo")
    await world.put("main", composer.sequence("a"))
    id = await world.ended("main")
    await world.client.delete("/actions/main")
    machine = await aws.machine(P=PASS)

    assert (await aws("ListExecutions", stateMachineArn=machine))["executions"] == []
    digits = f"{id[:8]}-{id[8:12]}-{id[12:16]}-{id[16:20]}-{id[20:]}"
    arn = machine.replace("stateMachine", "execution") + f":{digits}"
    assert (await aws.refused("DescribeExecution", executionArn=arn))[0] == "ExecutionDoesNotExist"
