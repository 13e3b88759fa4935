"""`aws:states` on the wire. State machines that really run: `test_running.py`."""

from __future__ import annotations

import json

import pytest
from botocore.session import Session

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import aws_at, request
from tests.rigs.answers import always, answer, cut, throttled
from tests.rigs.strict_host import strict_host
from xingqiao.actions import STATES, Remote
from xingqiao.adapters import Pending, Report
from xingqiao.adapters.aws.functions import SETTLE_MS
from xingqiao.adapters.aws.machines import MAX_BYTES, RUNNING, StatesAdapter
from xingqiao.adapters.aws.signing import Chain

MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"
EXECUTION = "arn:aws:states:eu-west-1:123456789012:execution:orders:k-1"
RECEIPT = {"execution": EXECUTION, "at": StandingClock().ms}


@pytest.fixture
def host():
    with strict_host() as made:
        yield made


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
async def states(host, clock):
    async with aws_at(host.url, clock) as (aws, _):
        yield StatesAdapter(aws, Chain(clock))


def asked(machine=MACHINE, **fields):
    return request(machine, kind=STATES, **fields)


def error(name, text="because"):
    """An error as the JSON protocol has it."""
    return answer({"__type": f"com.amazonaws.states#{name}", "message": text}, 400)


def operations(host):
    return [
        seen.headers["x-amz-target"].removeprefix("AWSStepFunctions.") for seen in host.requests
    ]


async def test_a_state_machine_is_started_under_our_key(host, states):
    host.on("POST", "/", answer({"executionArn": EXECUTION, "startDate": 1.5}))

    pending = await states.invoke(asked())

    sent = host.requests[0].json()
    assert operations(host) == ["StartExecution"]
    assert (sent["stateMachineArn"], sent["name"]) == (MACHINE, "k-1")
    assert json.loads(sent["input"]) == {"n": 1}
    assert sent["traceHeader"].startswith("Root=1-")
    assert pending == Pending(RECEIPT, report=Report(EXECUTION))
    assert Remote(STATES, MACHINE).keyed
    known = Session().get_service_model("stepfunctions").operation_model("StartExecution")
    assert sent.keys() <= known.input_shape.members.keys()


@pytest.mark.parametrize("machine", [MACHINE, f"{MACHINE}:live", f"{MACHINE}:3"])
async def test_what_was_started_before_with_the_same_input_is_this_run(host, states, machine):
    host.on(
        "POST", "/", error("ExecutionAlreadyExists"),
        answer({"status": "SUCCEEDED", "input": '{"n":1}'}),
    )  # fmt: skip

    pending = await states.invoke(asked(machine))

    assert pending.receipt == RECEIPT
    assert host.requests[1].json() == {"executionArn": EXECUTION}


@pytest.mark.parametrize(
    ("described", "code"),
    [
        (answer({"status": "SUCCEEDED", "input": '{"n":2}'}), "InvalidRequest"),
        (answer({"status": "SUCCEEDED"}), "InvalidRequest"),
        (error("ExecutionDoesNotExist"), "InvalidRequest"),
        (cut(), "Lost"),
    ],
)
async def test_what_was_started_before_with_another_input_is_not(host, states, described, code):
    host.on("POST", "/", error("ExecutionAlreadyExists"), described)

    fault = await states.invoke(asked())

    assert fault.code == code


async def test_an_express_machine_cannot_be_asked_after(host, states):
    express = EXECUTION.replace(":execution:", ":express:")
    host.on("POST", "/", answer({"executionArn": express}), answer({"type": "EXPRESS"}))

    fault, checked = await states.invoke(asked()), await states.check(asked())

    assert (fault.code, fault.may_have_run, checked.code) == (
        "InvalidRequest",
        "yes",
        "InvalidRequest",
    )
    assert "use the standard type" in fault.error["message"]


@pytest.mark.parametrize(
    ("given", "code", "ran"),
    [
        (error("StateMachineDoesNotExist"), "NotFound", "no"),
        (error("ExecutionLimitExceeded"), "Throttled", "no"),
        (error("InvalidExecutionInput"), "InvalidRequest", "no"),
        (error("AccessDeniedException"), "Permission", "no"),
        (throttled(3), "Throttled", "no"),
        (cut(), "Lost", "unknown"),
    ],
)
async def test_what_does_not_begin_says_whether_it_may_have(host, states, given, code, ran):
    host.on("POST", "/", given)

    fault = await states.invoke(asked())

    assert (fault.code, fault.may_have_run) == (code, ran)


async def test_what_step_functions_would_not_take_is_not_sent(host, states):
    host.on("POST", "/", answer({"executionArn": EXECUTION}))
    around = len('{"x":""}')

    refused = await states.invoke(asked(params={"x": "x" * (MAX_BYTES - around + 1)}))
    taken = await states.invoke(asked(params={"x": "x" * (MAX_BYTES - around)}))

    assert (refused.code, refused.may_have_run) == ("PayloadTooLarge", "no")
    assert (isinstance(taken, Pending), len(host.requests)) == (True, 1)


ENDS = {
    "SUCCEEDED": ({"output": '{"well": true}'}, None, {"well": True}),
    "FAILED": (
        {"error": "NoMoney", "cause": "none"}, "ApplicationError",
        {"code": "NoMoney", "message": "none"},
    ),
    "TIMED_OUT": (
        {}, "Timeout", {"code": "Timeout", "message": "the execution took longer than it may"},
    ),
    "ABORTED": ({}, "Cancelled", {"code": "Cancelled", "message": "the execution was aborted"}),
}  # fmt: skip


@pytest.mark.parametrize("status", ENDS)
async def test_how_an_execution_has_ended(host, states, status):
    data, code, told = ENDS[status]
    host.on("POST", "/", answer({"status": status, **data}))

    ended = await states.poll(asked(), RECEIPT)

    assert operations(host) == ["DescribeExecution"]
    assert getattr(ended, "code", None) == code
    assert (ended.value if code is None else ended.error) == told
    assert ended.report.request == EXECUTION


def test_there_are_no_other_statuses():
    model = Session().get_service_model("stepfunctions").operation_model("DescribeExecution")

    assert set(model.output_shape.members["status"].enum) == {*ENDS, *RUNNING}


@pytest.mark.parametrize(
    ("doc", "code"),
    [
        ({"status": "SUCCEEDED", "output": "{half"}, "BadResponse"),
        ({"status": "FAILED"}, "ApplicationError"),
        ({"status": "NEW"}, "BadResponse"),
        ({}, "BadResponse"),
    ],
)
async def test_an_end_that_tells_little_is_an_end(host, states, doc, code):
    host.on("POST", "/", answer(doc))

    fault = await states.poll(asked(), RECEIPT)

    assert (fault.code, fault.transient) == (code, False)


@pytest.mark.parametrize("status", RUNNING)
async def test_one_that_runs_is_asked_after_again(host, states, status):
    host.on("POST", "/", answer({"status": status}))

    assert await states.poll(asked(), RECEIPT) == Pending(RECEIPT, report=Report(EXECUTION))


async def test_one_that_is_not_found_is_waited_for_only_at_first(host, states, clock):
    host.on("POST", "/", always(error("ExecutionDoesNotExist")))

    first = await states.poll(asked(), RECEIPT)
    clock.ms += SETTLE_MS
    later = await states.poll(asked(clock=clock), RECEIPT)

    assert isinstance(first, Pending)
    assert (later.code, later.transient) == ("NotFound", False)


async def test_a_poll_that_fails_may_be_asked_again(host, states):
    host.on("POST", "/", throttled(1), cut())

    faults = [await states.poll(asked(), RECEIPT) for _ in range(2)]

    assert [(fault.code, fault.transient) for fault in faults] == [
        ("Throttled", True),
        ("Lost", True),
    ]


async def test_one_that_nobody_waits_for_is_stopped(host, states):
    host.on("POST", "/", answer({"stopDate": 1}), throttled(), cut())

    stopped = [await states.stop(asked(), RECEIPT) for _ in range(3)]

    assert host.requests[0].json() == {"executionArn": EXECUTION, "error": "Cancelled"}
    assert [fault and fault.code for fault in stopped] == [None, "Throttled", "Lost"]


async def test_it_is_checked_by_what_it_is(host, states):
    host.on("POST", "/", answer({"type": "STANDARD"}), error("StateMachineDoesNotExist"), cut())

    assert await states.check(asked(f"{MACHINE}:live")) == "the state machine is there"
    assert host.requests[0].json() == {"stateMachineArn": MACHINE}
    assert (await states.check(asked())).code == "NotFound"
    assert (await states.check(asked())).code == "Lost"
