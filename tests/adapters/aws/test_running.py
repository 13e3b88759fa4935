"""AWS' adapters against functions that really run, a real queue, and real state machines (see `tests/rigs`)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from functools import partial

import anyio.lowlevel
import pytest

from tests.kit.actions.things import StandingClock, until
from tests.kit.adapters.aws_world import TRACE, FromKeys, live_in, opened, request
from tests.kit.infra.servers import AUTH, running
from tests.rigs.lambda_account import EXPIRED, FORBIDDEN, KEYS
from tests.rigs.lambda_rig import lambda_rig
from xingqiao import composer
from xingqiao.actions import LAMBDA, STATES, Remote
from xingqiao.adapters import Fault
from xingqiao.adapters.aws.functions import MAX_BYTES, MAX_EVENT_BYTES
from xingqiao.adapters.aws.signing import AGAIN_MS
from xingqiao.adapters.retrying import RESERVE
from xingqiao.composer import Failure, Success
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.settings import Settings

FUNCTIONS = {
    "hello": """
def handler(event, context):
    print("called with", event)
    custom = context.client_context and context.client_context.custom
    return {"event": event, "custom": custom, "version": context.function_version}
""",
    "raises": """
class NoMoney(Exception):
    pass
def handler(event, context):
    raise NoMoney("none is left")
""",
    "hangs": "import threading\ndef handler(event, context):\n    threading.Event().wait()",
    "exits": "import os\ndef handler(event, context):\n    os._exit(3)",
    "unimportable": "import there_is_no_such_module",
    "unmarshalable": "def handler(event, context):\n    return {1}",
    "nothing": "def handler(event, context):\n    pass",
    "big": "def handler(event, context):\n    return 'x' * 6_300_000",
    "size": "def handler(event, context):\n    return len(event['x'])",
    "flaky": """
import os
class Hiccup(Exception):
    pass
def handler(event, context):
    if not os.path.exists(event["mark"]):
        open(event["mark"], "w").close()
        raise Hiccup("the first time")
    return {"well": True}
""",
}
GATED = """
def handler(event, context):
    with open(event["gate"]) as gate:
        return {"said": gate.read(), "event": event}
"""
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:"


@pytest.fixture(scope="module")
def rig():
    with lambda_rig(FUNCTIONS, timeout_s=1) as made:
        yield made


@pytest.fixture
async def lambdas(rig, monkeypatch):
    """The adapter, and requests for it with what the server itself runs with."""
    live_in(monkeypatch, **rig.environment())
    clock = SystemClock()
    async with opened(clock=clock, result_bytes=8 << 20) as (adapters, _):
        adapter = adapters[LAMBDA]

        def asked(function, params=None, **fields):
            chain = adapter.ambient(Remote(LAMBDA, function))
            return request(function, params, clock=clock, **{"authorizer": chain, **fields})

        adapter.asked = asked
        yield adapter


@asynccontextmanager
async def service(rig, queue="", **settings):
    """A service whose functions are the rig's, with an action for each."""
    async with open_service(
        Settings(**{"data": None, "aws_completions": queue, **settings})
    ) as made:
        engine = Embedded(made.engine)
        for name in FUNCTIONS:
            await engine.put(name, {"exec": {"kind": LAMBDA, "function": name}})
        engine.service = made
        yield engine


@pytest.fixture
def env(rig, monkeypatch):
    live_in(monkeypatch, **rig.environment())


def gated(rig, name, tmp_path):
    """A function that waits at a gate until something is written there. Returns the gate."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    rig.deploy(name, GATED, timeout_s=60)
    return gate


# --- request -----------------------------------------------------------------------------------


async def test_a_function_runs_and_knows_which_run_it_is(lambdas):
    done = await lambdas.invoke(lambdas.asked("hello", {"n": 7}))

    custom = {"idempotency_key": "k-1", "traceparent": TRACE}
    assert done.value == {"event": {"n": 7}, "custom": custom, "version": "$LATEST"}
    assert done.report.logs == ["called with {'n': 7}"]
    assert done.report.billed_ms >= 1
    assert len(done.report.request) == 36


async def test_a_function_that_returns_nothing_has_done_well(lambdas):
    assert (await lambdas.invoke(lambdas.asked("nothing"))).value is None


@pytest.mark.parametrize(
    ("name", "code", "ran", "message"),
    [
        ("raises", "ApplicationError", "yes", "none is left"),
        ("hangs", "Timeout", "unknown", "Task timed out after 1.00 seconds"),
        ("exits", "Crashed", "unknown", "Runtime exited with error: exit status 3"),
        ("unimportable", "Crashed", "no", "No module named 'there_is_no_such_module'"),
        ("unmarshalable", "BadResponse", "yes", "not JSON serializable"),
        ("big", "PayloadTooLarge", "unknown", "size"),
        ("nowhere", "NotFound", "no", "function:nowhere"),
        ("hello:nowhere", "NotFound", "no", "function:hello:nowhere"),
    ],
)
async def test_what_goes_wrong_says_what_and_whether_it_ran(lambdas, name, code, ran, message):
    fault = await lambdas.invoke(lambdas.asked(name))

    assert (fault.code, fault.may_have_run) == (code, ran)
    assert message in fault.error["message"]
    assert fault.report.request


async def test_an_exception_has_its_type_and_its_stack(lambdas):
    error = (await lambdas.invoke(lambdas.asked("raises"))).error

    assert (error["code"], error["message"]) == ("NoMoney", "none is left")
    assert 'raise NoMoney("none is left")' in error["stack"][-1]


async def test_a_version_and_an_alias_are_what_runs(rig, lambdas):
    rig.deploy("versioned", FUNCTIONS["hello"])
    client = rig.client("lambda")
    version = client.publish_version(FunctionName="versioned")["Version"]
    client.create_alias(FunctionName="versioned", Name="live", FunctionVersion=version)
    arn = "arn:aws:lambda:us-east-1:123456789012:function:versioned"

    asked = [
        lambdas.asked("versioned"), lambdas.asked("versioned", qualifier="live"),
        lambdas.asked("versioned:live"), lambdas.asked(f"{arn}:{version}"), lambdas.asked(arn),
    ]  # fmt: skip
    ran = [(await lambdas.invoke(each)).value["version"] for each in asked]

    assert ran == ["$LATEST", version, version, version, "$LATEST"]


async def test_as_much_as_lambda_takes_is_taken_and_no_more(rig, lambdas):
    around = len('{"x":""}')
    whole, more = ({"x": "x" * (MAX_BYTES - around + n)} for n in (0, 1))
    before = rig.calls("size")

    taken = await lambdas.invoke(lambdas.asked("size", whole))
    refused = await lambdas.invoke(lambdas.asked("size", more))

    assert taken.value == MAX_BYTES - around
    assert (refused.code, refused.may_have_run) == ("PayloadTooLarge", "no")
    assert rig.calls("size") == before + 1


async def test_as_much_as_an_event_may_hold_is_taken_and_no_more(rig, lambdas):
    around = len('{"x":"","__ow_completion_token":"t"}')
    fields = {"mode": "event", "token": "t"}
    before = rig.calls("size")

    taken, refused = [
        await lambdas.invoke(
            lambdas.asked("size", {"x": "x" * (MAX_EVENT_BYTES - around + n)}, **fields)
        )
        for n in (0, 1)
    ]

    assert not isinstance(taken, Fault)
    assert (refused.code, refused.may_have_run) == ("PayloadTooLarge", "no")
    await until(lambda: rig.calls("size") == before + 1)


async def test_a_check_runs_nothing(rig, lambdas):
    rig.deploy("checked", FUNCTIONS["hello"])

    assert await lambdas.check(lambdas.asked("checked")) == "the function may be invoked"
    assert (await lambdas.check(lambdas.asked("nowhere"))).code == "NotFound"
    assert rig.calls("checked") == 0


async def test_a_throttled_function_says_when_to_ask_again(rig, lambdas):
    rig.deploy("throttled", FUNCTIONS["hello"])
    rig.throttle("throttled")

    fault = await lambdas.invoke(lambdas.asked("throttled"))

    assert (fault.code, fault.may_have_run, fault.transient) == ("Throttled", "no", True)
    assert fault.retry_after_ms == 1000
    assert fault.error["reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert rig.calls("throttled") == 0


# --- who asks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("AKIANOBODY0000000000", "a-secret"), "AWS does not know the access key"),
        ((KEYS[0], "another-secret"), "AWS says that the secret key is another"),
        (FORBIDDEN, "AWS answers AccessDeniedException: User: arn:aws:iam::"),
        (EXPIRED, "AWS says that the credentials have expired"),
    ],
)
async def test_keys_that_are_wrong_are_told_and_not_shown(lambdas, caplog, keys, text):
    caplog.set_level("DEBUG")

    fault = await lambdas.invoke(lambdas.asked("hello", authorizer=FromKeys(keys)))

    assert (fault.code, fault.may_have_run) == ("Permission", "no")
    assert fault.error["message"].startswith(text)
    assert keys[1] not in f"{fault!r} {caplog.text}"


async def test_a_secret_of_the_namespace_is_used_where_the_server_has_none(rig, monkeypatch):
    live_in(monkeypatch, **rig.environment())
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    secret = {"type": "aws", "access_key_id": KEYS[0], "secret_access_key": KEYS[1]}
    exec = {"kind": LAMBDA, "function": "hello"}

    async with service(rig) as engine:
        made = engine.service
        await made.secrets.put("guest", "mine", secret, made.clouds.check_secret)
        await engine.put("named", {"exec": {**exec, "credentials": "mine"}})
        _, refused = await engine.run("hello")
        id, done = await engine.run("named", {"n": 1})
        record = await made.engine.records.activation("guest", id)

    assert refused.code == "Permission"
    assert done.value["event"] == {"n": 1}
    assert KEYS[1] not in json.dumps(record)


async def test_keys_that_have_expired_are_had_anew(rig, monkeypatch, tmp_path):
    mark, program, config = (tmp_path / name for name in ("mark", "gives.py", "config"))
    program.write_text(
        "import json, os\n"
        f"first = not os.path.exists({str(mark)!r})\n"
        f"open({str(mark)!r}, 'w').close()\n"
        f"key, secret = {EXPIRED!r} if first else {KEYS!r}\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': key, 'SecretAccessKey': secret}))\n"
    )
    config.write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")
    without = {n: v for n, v in rig.environment().items() if "KEY" not in n}
    live_in(monkeypatch, **{**without, "AWS_CONFIG_FILE": str(config)})
    clock = StandingClock()

    async with opened(clock=clock) as (adapters, _):
        chain = adapters[LAMBDA].ambient(Remote(LAMBDA, "hello"))
        first = await adapters[LAMBDA].invoke(request(authorizer=chain))
        clock.ms += AGAIN_MS
        assert chain.refused()
        second = await adapters[LAMBDA].invoke(request(authorizer=chain, clock=clock))

    assert first.code == "Permission"
    assert second.value["event"] == {"n": 1}


# --- in compositions ---------------------------------------------------------------------------


@pytest.mark.usefixtures("env")
async def test_a_step_s_record_says_where_it_ran_and_what_that_cost(rig):
    async with service(rig) as engine:
        await engine.deploy("main", composer.sequence("hello", "nothing"))
        id, outcome = await engine.run("main", {"n": 1})
        entries = await engine.history(id)

    assert outcome == Success({})
    remotes = [entry["remote"] for entry in entries if "remote" in entry]
    assert [remote["cloud"] for remote in remotes] == ["aws", "aws"]
    assert all(remote["billed"] >= 1 and remote["request"] for remote in remotes)


@pytest.mark.usefixtures("env")
async def test_an_error_is_named_by_its_type_where_it_is_retried_and_caught(rig, tmp_path):
    async with service(rig) as engine:
        await engine.deploy("again", composer.retry(1, "flaky", errors=["Hiccup"]))
        await engine.deploy("never", composer.retry(1, "flaky", errors=["Timeout"]))
        again = await engine.run("again", {"mark": str(tmp_path / "one")})
        never = await engine.run("never", {"mark": str(tmp_path / "two")})

    assert again[1] == Success({"well": True})
    assert isinstance(never[1], Failure)
    assert never[1].error["code"] == "Hiccup"


@pytest.mark.usefixtures("env")
async def test_a_throttled_function_is_asked_again_when_the_cloud_says(rig):
    rig.deploy("busy", FUNCTIONS["hello"])
    rig.throttle("busy")
    async with service(rig) as engine:
        await engine.put("busy", {"exec": {"kind": LAMBDA, "function": "busy"}})
        budgets = engine.service.clouds.invoker._budgets
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(engine.run("busy", {"n": 1}))
            await until(lambda: any(b._left < RESERVE for b in budgets.values()))
            await asyncio.to_thread(rig.throttle, "busy", on=False)
        id, outcome = run.result()
        record = await engine.service.engine.records.activation("guest", id)

    notes = {note["key"]: note["value"] for note in record["annotations"]}
    assert outcome.value["event"] == {"n": 1}
    assert notes["remote"]["attempts"] == 2
    assert rig.calls("busy") == 1


# --- event -------------------------------------------------------------------------------------


def told(rig, function, **settings):
    """A queue to which a function's ends are told."""
    queue = rig.queue(function)
    rig.destinations(function, success=queue, failure=queue, **settings)
    return queue


@pytest.mark.usefixtures("env")
async def test_an_event_s_record_completes_the_step_and_only_once(rig, tmp_path):
    gate, queue = gated(rig, "gated-event", tmp_path), told(rig, "gated-event")
    async with service(rig, queue) as engine:
        tally = engine.service.completions.tally
        event = {"kind": LAMBDA, "function": "gated-event", "mode": "event"}
        await engine.put("event", {"exec": event})
        await engine.deploy("main", composer.sequence("event", "hello"))
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(engine.run("main", {"gate": str(gate)}))
            await asyncio.to_thread(gate.write_text, "go on")  # opens when the handler does
        id, outcome = run.result()
        event = outcome.value["event"]
        again = {"requestContext": {"condition": "Success"}, "requestPayload": event["event"]}
        again["responsePayload"] = {"said": "something else"}
        sqs = rig.client("sqs")
        sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(again))
        sqs.send_message(QueueUrl=queue, MessageBody="hostile")
        await until(lambda: tally.late + tally.refused == 2)
        entries = await engine.history(id)

    assert event["said"] == "go on"
    assert outcome.value["custom"]["traceparent"].split("-")[1] == id
    assert (tally.taken, tally.late, tally.refused) == (1, 1, 1)
    ends = [entry["remote"] for entry in entries if entry["type"] == "StepSucceeded"]
    assert [end["cloud"] for end in ends] == ["aws", "aws"]
    assert all(end["request"] for end in ends)
    assert rig.calls("gated-event") == 1
    left = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert left["ApproximateNumberOfMessages"] == "0"


@pytest.mark.usefixtures("env")
async def test_an_event_that_fails_for_good_fails_the_step(rig):
    rig.deploy("failing", FUNCTIONS["raises"])
    queue = told(rig, "failing", retries=1)
    async with service(rig, queue) as engine:
        event = {"kind": LAMBDA, "function": "failing", "mode": "event"}
        await engine.put("event", {"exec": event})
        _, outcome = await engine.run("event")

    assert outcome.code == "ApplicationError"
    assert (outcome.error["code"], outcome.error["message"]) == ("NoMoney", "none is left")
    assert rig.calls("failing") == 2  # Lambda's own retry, which is the function's to configure


@pytest.mark.usefixtures("env")
async def test_a_function_may_answer_by_itself(rig):
    queue = rig.queue("direct")
    rig.deploy("direct", f"""
import boto3, json
def handler(event, context):
    token = event["__ow_completion_token"]
    body = json.dumps({{"__ow_completion_token": token, "result": {{"n": event["n"] + 1}}}})
    boto3.client("sqs").send_message(QueueUrl={queue!r}, MessageBody=body)
""", timeout_s=20)  # fmt: skip
    async with service(rig, queue) as engine:
        await engine.put("event", {"exec": {"kind": LAMBDA, "function": "direct", "mode": "event"}})
        _, outcome = await engine.run("event", {"n": 1})

    assert outcome == Success({"n": 2})


def accepted(client, id):
    """Whether it is durable that a step of an execution was taken in."""
    return "StepAccepted" in client.get(f"/executions/{id}/history").text


def test_a_server_that_is_killed_between_event_and_record_completes_the_step_once(rig, tmp_path):
    gate, queue = gated(rig, "gated-kill", tmp_path), told(rig, "gated-kill")
    # What the killed server still receives is lost to it, and comes again when this time is over.
    attributes = {"VisibilityTimeout": "1"}
    rig.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes=attributes)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    environment = {**kept, **rig.environment(), "XINGQIAO_AWS_COMPLETIONS": queue}
    server = partial(
        running, tmp_path / "data", "--auth", AUTH, "--isolation", "none",
        environment=environment,
    )  # fmt: skip
    event = {"kind": LAMBDA, "function": "gated-kill", "mode": "event"}
    main = {"kind": "composition", "composition": composer.sequence("event", "hello").to_json()}
    hello = {"kind": LAMBDA, "function": "hello"}
    before = rig.calls("hello")

    with server() as first, first.client() as client:
        for name, exec in (("event", event), ("hello", hello), ("main", main)):
            client.put(f"/actions/{name}", json={"exec": exec}).raise_for_status()
        id = client.post("/actions/main", json={"gate": str(gate)}).json()["activationId"]
        while not accepted(client, id):
            os.sched_yield()
        first.stop(signal.SIGKILL)
    gate.write_text("go on")  # the record comes while nobody listens
    with server() as second, second.client() as client:
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()

    assert record["response"]["result"]["event"]["said"] == "go on"
    assert (rig.calls("gated-kill"), rig.calls("hello")) == (1, before + 1)


# --- state machines ----------------------------------------------------------------------------


async def taken_in(engine, id):
    """Waits until the step of an execution is durably somebody else's."""
    while True:
        found = await engine.service.engine.records.execution("guest", id)
        if [fiber["waits"] for fiber in found["fibers"]] == ["cloud"]:
            return
        await anyio.lowlevel.checkpoint()


def task(name):
    resource = f"arn:aws:lambda:us-east-1:123456789012:function:{name}"
    return {
        "StartAt": "Task",
        "States": {"Task": {"Type": "Task", "Resource": resource, "End": True}},
    }


WAITS = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}}


@pytest.mark.usefixtures("env")
async def test_a_state_machine_is_an_action(rig):
    fine, failing = rig.machine("fine", task("hello")), rig.machine("failing", task("raises"))
    async with service(rig) as engine:
        await engine.put("fine", {"exec": {"kind": STATES, "function": fine}})
        await engine.put("failing", {"exec": {"kind": STATES, "function": failing}})
        await engine.put("gone", {"exec": {"kind": STATES, "function": f"{MACHINE}gone"}})
        id, done = await engine.run("fine", {"n": 1})
        _, failed = await engine.run("failing")
        _, gone = await engine.run("gone")
        record = await engine.service.engine.records.activation("guest", id)
        checks = [
            await engine.service.clouds.check(Remote(STATES, arn), "guest")
            for arn in (fine, f"{MACHINE}gone")
        ]

    notes = {note["key"]: note["value"] for note in record["annotations"]}
    assert done.value["event"] == {"n": 1}
    assert notes["remote"]["request"].endswith(f":execution:fine:{id}")
    assert (failed.code, failed.error["code"]) == ("ApplicationError", "NoMoney")
    assert gone.code == "NotFound"
    assert (checks[0], checks[1].code) == ("the state machine is there", "NotFound")


@pytest.mark.usefixtures("env")
async def test_a_crash_asks_after_an_execution_again_and_starts_no_other(rig, tmp_path):
    gate = gated(rig, "gated-task", tmp_path)
    machine = rig.machine("gated", task("gated-task"))
    async with service(rig, data=tmp_path / "data") as engine:
        await engine.put("machine", {"exec": {"kind": STATES, "function": machine}})
        await engine.deploy("main", composer.sequence("machine"))
        id = (await engine.start("main", {"gate": str(gate)})).id
        await until(lambda: rig.calls("gated-task") == 1)
        await taken_in(engine, id)
    await asyncio.to_thread(gate.write_text, "go on")
    async with service(rig, data=tmp_path / "data") as engine:
        found = await engine.service.engine.records.execution("guest", id)
        while found["status"] == "running":
            await anyio.lowlevel.checkpoint()
            found = await engine.service.engine.records.execution("guest", id)

    started = rig.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    assert found["status"] == "succeeded"
    assert (len(started), rig.calls("gated-task")) == (1, 1)


@pytest.mark.usefixtures("env")
async def test_an_execution_that_is_started_again_under_its_key_is_the_same(rig):
    machine = rig.machine("same", task("hello"))
    async with opened(clock=SystemClock()) as (adapters, clock):
        adapter = adapters[STATES]
        chain = adapter.ambient(Remote(STATES, machine))
        asked = request(machine, kind=STATES, clock=clock, authorizer=chain, region="us-east-1")
        first, second = await adapter.invoke(asked), await adapter.invoke(asked)

    assert first.receipt["execution"] == second.receipt["execution"]


@pytest.mark.usefixtures("env")
async def test_an_execution_that_nobody_waits_for_is_stopped(rig):
    machine = rig.machine("waits", WAITS)
    async with service(rig) as engine:
        await engine.put("machine", {"exec": {"kind": STATES, "function": machine}})
        await engine.deploy("main", composer.sequence("machine"))
        id = (await engine.start("main")).id
        await taken_in(engine, id)
        await engine.service.engine.cancel("guest", id)
        states = rig.client("stepfunctions")
        listed = states.list_executions(stateMachineArn=machine)["executions"]
        arn = listed[0]["executionArn"]
        await until(lambda: states.describe_execution(executionArn=arn)["status"] == "ABORTED")

    assert len(listed) == 1
