"""Executions as AWS' clients start, stop and redrive them."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from tests.infra.stepfunctions.conftest import Machines
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.states import FAIL, MISSING, PASS, WAIT, task

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DAY_MS = 24 * 3600 * 1000


# --- they are started --------------------------------------------------------------------------


async def test_an_execution_is_started_and_described(aws):
    machine = await aws.machine(P=PASS)
    arn = await aws.start(machine, name="e-1", input='{"a": [1, 2.5, "ä"]}')

    found = await aws.ended(arn)

    assert arn == machine.replace("stateMachine", "execution") + ":e-1"
    assert found == {
        "executionArn": arn, "stateMachineArn": machine, "name": "e-1", "status": "SUCCEEDED",
        "startDate": found["startDate"], "stopDate": found["stopDate"],
        "input": '{"a":[1,2.5,"ä"]}', "inputDetails": {"included": True},
        "output": '{"a":[1,2.5,"ä"]}', "outputDetails": {"included": True},
        "redriveCount": 0, "redriveStatus": "NOT_REDRIVABLE",
        "redriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
    }  # fmt: skip


async def test_without_a_name_and_an_input_there_are_some(aws):
    arn = await aws.start(await aws.machine(P=PASS))

    assert UUID.fullmatch(arn.rpartition(":")[2])
    assert (await aws.ended(arn))["output"] == "{}"


@pytest.mark.parametrize("name", ["a b", "a<b", "a/b", "a:b", "a,b", "a\u0007b", "a*", 'a"', "a#"])
async def test_a_name_that_is_none_is_refused(aws, name):
    machine = await aws.machine(P=PASS)

    refused = await aws.refused("StartExecution", stateMachineArn=machine, name=name)

    assert refused == ("InvalidName", f"Invalid Name: '{name}'")


@pytest.mark.parametrize(
    ("input", "why"),
    [
        ("not some json", ("Unrecognized token 'not': was expecting (JSON String, Number, Array, "
         "Object or token 'null', 'true' or 'false')")),
        ("{'not': 'json'}", ("Unexpected character (''' (code 39)): was expecting double-quote to "
         "start field name")),
        ("", "Invalid execution input."),
    ],
)  # fmt: skip
async def test_an_input_that_is_no_json_is_refused(aws, input, why):
    machine = await aws.machine(P=PASS)

    refused = await aws.refused("StartExecution", stateMachineArn=machine, input=input)

    text = f"Invalid State Machine Execution Input: '{why}'"
    assert refused == ("InvalidExecutionInput", text)


async def test_an_input_of_more_bytes_than_characters_allowed_is_refused(aws):
    machine = await aws.machine(P=PASS)

    code, _ = await aws.refused(
        "StartExecution", stateMachineArn=machine, input=json.dumps("ä" * 200_000, ensure_ascii=False)
    )  # fmt: skip

    assert code == "InvalidExecutionInput"


async def test_a_start_is_the_same_while_it_runs_with_the_same_input(aws):
    machine = await aws.machine(W=WAIT)
    asked = {"stateMachineArn": machine, "name": "e1", "input": '{"a": 1}'}
    first = await aws("StartExecution", **asked)

    assert await aws("StartExecution", **{**asked, "input": '{ "a":1 }'}) == first

    exists = ("ExecutionAlreadyExists", f"Execution Already Exists: '{first['executionArn']}'")
    assert await aws.refused("StartExecution", **{**asked, "input": "{}"}) == exists
    await aws("StopExecution", executionArn=first["executionArn"])
    assert await aws.refused("StartExecution", **asked) == exists


async def test_two_starts_at_once_are_one(aws):
    machine = await aws.machine(W=WAIT)

    answers = await asyncio.gather(
        *[aws("StartExecution", stateMachineArn=machine, name="e1") for _ in range(4)]
    )

    assert len({answer["executionArn"] for answer in answers}) == 1
    listed = await aws("ListExecutions", stateMachineArn=machine)
    assert len(listed["executions"]) == 1


async def test_there_must_be_such_a_machine(aws):
    machine = (await aws.machine(P=PASS)).replace("main", "other")

    assert await aws.refused("StartExecution", stateMachineArn=machine) == (
        "StateMachineDoesNotExist", f"State Machine Does Not Exist: '{machine}'",
    )  # fmt: skip
    assert await aws.refused("StartExecution", stateMachineArn="main") == (
        "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: main'",
    )  # fmt: skip


async def test_a_version_and_an_alias_are_told_with_their_executions(aws):
    machine = await aws.made({"StartAt": "P", "States": {"P": PASS}}, publish=True)
    routes = [{"stateMachineVersionArn": f"{machine}:1", "weight": 100}]
    alias = await aws("CreateStateMachineAlias", name="live", routingConfiguration=routes)
    await aws(
        "UpdateStateMachine", stateMachineArn=machine,
        definition=json.dumps({"StartAt": "F", "States": {"F": FAIL}}),
    )  # fmt: skip

    told = {}
    for by in (machine, f"{machine}:1", alias["stateMachineAliasArn"]):
        arn = await aws.start(by)
        told[by] = await aws.ended(arn)
        ours = [e["executionArn"] for e in (await aws("ListExecutions", stateMachineArn=by))["executions"]]  # fmt: skip
        assert arn in ours
        (started, *_) = await aws.events(arn)
        qualified = {
            name: value
            for name, value in started["executionStartedEventDetails"].items()
            if name.startswith("stateMachine")
        }
        assert qualified == {n: v for n, v in told[by].items() if n in qualified}

    plain, version, named = told.values()
    assert (plain["status"], version["status"], named["status"]) == ("FAILED", *["SUCCEEDED"] * 2)
    assert "stateMachineVersionArn" not in plain
    assert version["stateMachineVersionArn"] == f"{machine}:1"
    assert "stateMachineAliasArn" not in version
    assert named["stateMachineVersionArn"] == f"{machine}:1"
    assert named["stateMachineAliasArn"] == alias["stateMachineAliasArn"]
    assert named["stateMachineArn"] == machine
    assert len((await aws("ListExecutions", stateMachineArn=machine))["executions"]) == 3
    assert len((await aws("ListExecutions", stateMachineArn=f"{machine}:1"))["executions"]) == 2


# --- express -----------------------------------------------------------------------------------


async def test_an_express_machine_is_run_to_its_end(aws):
    machine = await aws.machine(type="EXPRESS", P=PASS)

    answer = await aws("StartSyncExecution", stateMachineArn=machine, name="e", input='{"a":1}')

    assert answer["executionArn"].startswith(machine.replace("stateMachine", "express") + ":e:")
    assert answer["billingDetails"] == {
        "billedMemoryUsedInMB": 64, "billedDurationInMilliseconds": 100,
    }  # fmt: skip
    assert (answer["status"], answer["output"], answer["name"]) == ("SUCCEEDED", '{"a":1}', "e")
    assert "redriveCount" not in answer


async def test_an_express_machine_that_fails_says_so(aws):
    machine = await aws.machine(type="EXPRESS", F=FAIL)

    answer = await aws("StartSyncExecution", stateMachineArn=machine)

    assert (answer["status"], answer["error"], answer["cause"]) == ("FAILED", "Mine", "I said so")
    assert "output" not in answer


async def test_an_express_execution_is_started_again_by_the_same_name(aws):
    machine = await aws.machine(type="EXPRESS", P=PASS)
    arn = await aws.start(machine, name="e")
    assert await aws.start(machine, name="e") != arn

    refused = ("InvalidArn", "Invalid Arn: 'Resource type not valid in this context: express'")
    for operation in ("DescribeStateMachineForExecution", "StopExecution", "RedriveExecution"):  # fmt: skip
        assert await aws.refused(operation, executionArn=arn) == refused
    assert await aws.refused("ListExecutions", stateMachineArn=machine) == (
        "StateMachineTypeNotSupported",
        "This operation is not supported by this type of state machine",
    )


async def test_a_standard_machine_is_not_waited_for(aws):
    machine = await aws.machine(P=PASS)

    assert await aws.refused("StartSyncExecution", stateMachineArn=machine) == (
        "StateMachineTypeNotSupported",
        "This operation is not supported by this type of state machine",
    )


async def test_an_express_execution_that_takes_too_long_has_timed_out(aws, world):
    world.api.longest_s = 0.01
    machine = await aws.machine(type="EXPRESS", W=WAIT)

    answer = await aws("StartSyncExecution", stateMachineArn=machine)

    assert (answer["status"], answer["error"]) == ("TIMED_OUT", "States.Timeout")
    assert world.engine.gauges()["executions_in_memory"] == 0


# --- they are described ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    ["DescribeExecution", "DescribeStateMachineForExecution", "StopExecution",
     "GetExecutionHistory", "RedriveExecution"],
)  # fmt: skip
async def test_there_must_be_such_an_execution(aws, operation):
    await aws.machine(P=PASS)

    assert await aws.refused(operation, executionArn=MISSING) == (
        "ExecutionDoesNotExist", f"Execution Does Not Exist: '{MISSING}'",
    )  # fmt: skip
    assert (await aws.refused(operation, executionArn="x"))[0] == "InvalidArn"


# --- they are stopped and taken up again -------------------------------------------------------


async def test_an_execution_is_stopped(aws):
    arn = await aws.start(await aws.machine(W=WAIT))

    stopped = await aws("StopExecution", executionArn=arn, error="Mine", cause="enough")

    found = await aws("DescribeExecution", executionArn=arn)
    assert (found["status"], found["error"], found["cause"]) == ("ABORTED", "Mine", "enough")
    assert found["stopDate"] == stopped["stopDate"]
    assert await aws("StopExecution", executionArn=arn) == stopped


async def test_an_execution_is_stopped_without_a_word(aws):
    arn = await aws.start(await aws.machine(W=WAIT))
    await aws("StopExecution", executionArn=arn)

    found = await aws("DescribeExecution", executionArn=arn)
    assert not {"error", "cause"} & found.keys()
    aborted = (await aws.events(arn))[-1]
    assert (aborted["type"], aborted["executionAbortedEventDetails"]) == ("ExecutionAborted", {})
    assert aborted["previousEventId"] == 0


async def test_a_failed_execution_goes_on_from_where_it_failed(aws, world):
    await world.put("ask", "fail")
    machine = await aws.machine(P={"Type": "Pass", "Next": "T"}, T=task("ask"))
    arn = await aws.start(machine, input='{"a": 1}')
    assert (await aws.ended(arn))["status"] == "FAILED"
    code = {"exec": {"kind": "python:3", "code": "echo"}}
    await world.client.put("/actions/ask?overwrite=true", json=code)

    redriven = await aws("RedriveExecution", executionArn=arn)

    found = await aws.ended(arn)
    assert (found["status"], found["output"], found["redriveCount"]) == ("SUCCEEDED", '{"a":1}', 1)
    assert found["redriveDate"] == redriven["redriveDate"]
    events = await aws.events(arn)
    assert [e["id"] for e in events] == list(range(1, len(events) + 1))
    assert "ExecutionRedriven" in [event["type"] for event in events]
    for redrive, count in (("REDRIVEN", 1), ("NOT_REDRIVEN", 0)):
        listed = await aws("ListExecutions", stateMachineArn=machine, redriveFilter=redrive)
        assert len(listed["executions"]) == count


async def test_what_cannot_be_redriven_says_why(aws, world):
    wait, done, fail = (
        await aws.machine("wait", W=WAIT),
        await aws.machine("done", P=PASS),
        await aws.machine("fail", F=FAIL),
    )
    running, succeeded, failed = await aws.start(wait), await aws.start(done), await aws.start(fail)
    await aws.ended(succeeded)
    await aws.ended(failed)

    async def why(arn):
        code, text = await aws.refused("RedriveExecution", executionArn=arn)
        assert code == "ExecutionNotRedrivable"
        return text

    assert await why(running) == "Execution is RUNNING and cannot be redriven"
    assert await why(succeeded) == "Execution is SUCCEEDED and cannot be redriven"
    assert "it would fail again" in await why(failed)
    world.clock.ms += 15 * DAY_MS
    assert await why(failed) == "Execution redrivable period exceeded"
    world.clock.ms += 365 * DAY_MS
    assert await why(failed) == "Execution has exceeded the max execution time"


async def test_executions_outlive_the_server():
    async with opened() as world:
        aws = Machines(world)
        machine = await aws.machine(W=WAIT)
        arn = await aws.start(machine, name="e1", input="7")
        store = world.store
    async with opened(store) as again:
        aws = Machines(again)

        assert (await aws("DescribeExecution", executionArn=arn))["input"] == "7"
        assert await aws.start(machine, name="e1", input="7") == arn
        of = await aws("DescribeStateMachineForExecution", executionArn=arn)
        assert json.loads(of["definition"])["StartAt"] == "W"


async def test_a_namespace_does_not_see_the_executions_of_another(aws, world):
    arn = await aws.start(await aws.machine(W=WAIT))
    credentials = await world.api.namespaces.create("other", {})
    other = Machines(world, *credentials.split(":"))

    assert (await other.refused("DescribeExecution", executionArn=arn))[
        0
    ] == "ExecutionDoesNotExist"
