"""What the lambda rig plays as AWS does, and what the adapter's tests may therefore rely on."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.kit.actions.things import ended
from tests.rigs.lambda_account import EXPIRED, FORBIDDEN, KEYS
from tests.rigs.lambda_rig import lambda_rig

FUNCTIONS = {
    "hello": """
def handler(event, context):
    print("called with", event)
    custom = context.client_context and context.client_context.custom
    return {"event": event, "custom": custom, "version": context.function_version}
""",
    "raises": "def handler(event, context):\n    raise ValueError('no good')",
    "hangs": "import threading\ndef handler(event, context):\n    threading.Event().wait()",
    "exits": "import os\ndef handler(event, context):\n    os._exit(event)",
    "killed": "import os\ndef handler(event, context):\n    os.kill(os.getpid(), 9)",
    "unimportable": "import there_is_no_such_module",
    "unmarshalable": "def handler(event, context):\n    return {1}",
    "nothing": "def handler(event, context):\n    pass",
    "big": "def handler(event, context):\n    return 'x' * 6_300_000",
    "loud": "def handler(event, context):\n    print('x' * 9000)",
    "pid": "import os\ndef handler(event, context):\n    return os.getpid()",
    "flaky": """
import os
def handler(event, context):
    if not os.path.exists(event["mark"]):
        open(event["mark"], "w").close()
        raise RuntimeError("the first time")
    return "well"
""",
}
REPORT = re.compile(
    r"END RequestId: (?P<id>[0-9a-f-]{36})\nREPORT RequestId: (?P=id)\tDuration: [\d.]+ ms\t"
    r"Billed Duration: (?P<billed>\d+) ms\tMemory Size: 128 MB\tMax Memory Used: \d+ MB\t"
    r"(Init Duration: [\d.]+ ms\t)?(Status: (?P<status>[^\t]+)\t)?(Error Type: \S+\t)?\n$"
)


@pytest.fixture(scope="module")
def rig():
    with lambda_rig(FUNCTIONS, timeout_s=1) as made:
        yield made


@pytest.fixture(scope="module")
def client(rig):
    return rig.client("lambda")


def invoked(client, name, value=None, **options):
    """An answer with its payload and log read."""
    answer = client.invoke(
        FunctionName=name, Payload=json.dumps(value), **{"LogType": "Tail", **options}
    )
    answer["Payload"] = json.loads(answer["Payload"].read() or "null")
    answer["LogResult"] = base64.b64decode(answer.get("LogResult", "")).decode()
    return answer


def refused(call, **options):
    """The code, status and whole answer of a call that is refused."""
    with pytest.raises(ClientError) as caught:
        call(**options)
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer


# --- what a function does ------------------------------------------------------------------------


def test_a_function_runs_with_its_context(client):
    context = base64.b64encode(b'{"custom": {"traceparent": "00-1"}}').decode()

    answer = invoked(client, "hello", {"n": 1}, ClientContext=context)

    assert (answer["StatusCode"], answer["ExecutedVersion"]) == (200, "$LATEST")
    assert "FunctionError" not in answer
    expected = {"event": {"n": 1}, "custom": {"traceparent": "00-1"}, "version": "$LATEST"}
    assert answer["Payload"] == expected


def test_the_log_ends_in_the_report(client):
    answer = invoked(client, "hello")

    request_id = answer["ResponseMetadata"]["RequestId"]
    report = REPORT.search(answer["LogResult"])
    assert uuid.UUID(request_id)
    assert answer["LogResult"].startswith(f"START RequestId: {request_id} Version: $LATEST\ncalled")
    assert report["id"] == request_id
    assert int(report["billed"]) > 0


def test_only_the_log_s_last_4_kb_are_told_and_only_when_asked(client):
    assert len(invoked(client, "loud")["LogResult"]) == 4096
    assert invoked(client, "loud", LogType="None")["LogResult"] == ""


def test_an_exception_comes_with_its_type_and_stack(client):
    answer = invoked(client, "raises")

    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    payload = answer["Payload"]
    assert (payload["errorType"], payload["errorMessage"]) == ("ValueError", "no good")
    assert payload["requestId"] == answer["ResponseMetadata"]["RequestId"]
    assert "raise ValueError('no good')" in payload["stackTrace"][-1]


def test_a_timeout_is_told_as_aws_does(client):
    answer = invoked(client, "hangs")

    request_id = answer["ResponseMetadata"]["RequestId"]
    assert answer["FunctionError"] == "Unhandled"
    assert answer["Payload"] == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {request_id} Error: Task timed out after 1.00 seconds",
    }
    assert REPORT.search(answer["LogResult"])["status"] == "timeout"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("exits", 3, "Runtime exited with error: exit status 3"),
        ("exits", 0, "Runtime exited without providing a reason"),
        ("killed", None, "Runtime exited with error: signal: killed"),
    ],
)
def test_a_crash_is_told_as_aws_does_and_the_next_sandbox_is_new(client, name, value, text):
    for _ in range(2):
        answer = invoked(client, name, value)

        assert answer["FunctionError"] == "Unhandled"
        assert answer["Payload"]["errorType"] == "Runtime.ExitError"
        assert answer["Payload"]["errorMessage"].endswith(f" Error: {text}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("unimportable", "Runtime.ImportModuleError"),
        ("unmarshalable", "Runtime.MarshalError"),
        ("big", "Function.ResponseSizeTooLarge"),
    ],
)
def test_what_cannot_start_or_answer(client, name, kind):
    answer = invoked(client, name)

    assert (answer["FunctionError"], answer["Payload"]["errorType"]) == ("Unhandled", kind)


def test_nothing_is_null(client):
    assert invoked(client, "nothing")["Payload"] is None


def test_a_warm_sandbox_is_used_again(client, rig):
    before = rig.calls("pid")

    assert invoked(client, "pid")["Payload"] == invoked(client, "pid")["Payload"]
    assert rig.calls("pid") == before + 2


# --- what is refused -----------------------------------------------------------------------------


def test_a_version_an_alias_and_an_arn_name_a_function(client, rig):
    rig.deploy("versioned", FUNCTIONS["hello"])
    version = client.publish_version(FunctionName="versioned")["Version"]
    client.create_alias(FunctionName="versioned", Name="live", FunctionVersion=version)
    arn = "arn:aws:lambda:us-east-1:123456789012:function:versioned"

    for name, options in (
        ("versioned", {"Qualifier": version}),
        ("versioned", {"Qualifier": "live"}),
        ("versioned:live", {}),
        (f"{arn}:live", {}),
    ):
        assert invoked(client, name, **options)["ExecutedVersion"] == version
    assert invoked(client, arn)["ExecutedVersion"] == "$LATEST"
    rig.throttle("versioned")
    assert refused(client.invoke, FunctionName="versioned:live")[1] == 429


@pytest.mark.parametrize("name", ["nowhere", "hello:nowhere"])
def test_what_is_not_there_is_404(client, name):
    code, status, answer = refused(client.invoke, FunctionName=name)

    assert (code, status) == ("ResourceNotFoundException", 404)
    assert answer["Error"]["Message"].endswith(f":function:{name}")
    assert uuid.UUID(answer["ResponseMetadata"]["RequestId"])
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-errortype"] == code


def test_a_dry_run_runs_nothing(client, rig):
    before = rig.calls("hello")

    answer = client.invoke(FunctionName="hello", InvocationType="DryRun")

    assert (answer["StatusCode"], rig.calls("hello")) == (204, before)


@pytest.mark.parametrize(
    ("kind", "size", "text"),
    [
        ("RequestResponse", 6_291_457, "Request must be smaller than 6291456 bytes"),
        ("Event", 1_048_577, "1048577 byte payload is too large for the Event invocation type"),
    ],
)
def test_too_much_is_413(client, rig, kind, size, text):
    before, payload = rig.calls("hello"), b'"' + b"x" * (size - 2) + b'"'

    code, status, answer = refused(
        client.invoke, FunctionName="hello", InvocationType=kind, Payload=payload
    )

    assert (code, status) == ("RequestEntityTooLargeException", 413)
    assert answer["Error"]["Message"].startswith(text)
    assert rig.calls("hello") == before


def test_no_json_is_400(client):
    code, status, _ = refused(client.invoke, FunctionName="hello", Payload=b"{no")

    assert (code, status) == ("InvalidRequestContentException", 400)


def test_a_throttled_function_is_429(client, rig):
    rig.deploy("throttled", FUNCTIONS["hello"])
    rig.throttle("throttled")

    code, status, answer = refused(client.invoke, FunctionName="throttled")

    assert (code, status) == ("TooManyRequestsException", 429)
    assert answer["retryAfterSeconds"] == "1"
    assert answer["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert rig.calls("throttled") == 0
    rig.throttle("throttled", on=False)
    assert invoked(client, "throttled")["StatusCode"] == 200


def test_a_function_whose_concurrency_is_exhausted_is_429(client, rig, tmp_path):
    gate, answers = tmp_path / "gate", []
    os.mkfifo(gate)
    rig.deploy("gated", "def handler(event, context):\n    return open(event).read()", timeout_s=60)
    client.put_function_concurrency(FunctionName="gated", ReservedConcurrentExecutions=1)
    asking = threading.Thread(target=lambda: answers.append(invoked(client, "gated", str(gate))))

    asking.start()
    with gate.open("w") as opened:  # opens when the handler has opened it, too
        code, _, _ = refused(client.invoke, FunctionName="gated")
        opened.write("through")
    asking.join()

    assert code == "TooManyRequestsException"
    assert (answers[0]["Payload"], rig.calls("gated")) == ("through", 1)


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (("AKIANOBODY0000000000", "secret"), "UnrecognizedClientException"),
        ((KEYS[0], "another secret"), "InvalidSignatureException"),
        (FORBIDDEN, "AccessDeniedException"),
        (EXPIRED, "ExpiredTokenException"),
    ],
)
def test_keys_that_are_wrong_are_403(rig, keys, code):
    before = rig.calls("hello")

    assert refused(rig.client("lambda", keys).invoke, FunctionName="hello")[:2] == (code, 403)
    assert refused(rig.client("sqs", keys).list_queues)[:2] == (code, 403)
    assert rig.calls("hello") == before


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 403, "MissingAuthenticationTokenException"),
        ({"Authorization": "Bearer token"}, 400, "IncompleteSignatureException"),
    ],
)
def test_what_is_not_signed_is_refused(rig, headers, status, code):
    found = httpx.post(f"{rig.url}/2015-03-31/functions/hello/invocations", headers=headers)

    assert (found.status_code, found.headers["x-amzn-errortype"]) == (status, code)


# --- events that nobody waits for ----------------------------------------------------------------


def test_a_success_is_told_to_its_destination(client, rig):
    rig.deploy("told", FUNCTIONS["hello"])
    queue = rig.queue("told")
    rig.destinations("told", success=queue)

    answer = client.invoke(FunctionName="told", InvocationType="Event", Payload=b'{"token": 1}')
    record = rig.received(queue)

    assert (answer["StatusCode"], answer["Payload"].read()) == (202, b"")
    assert record.keys() == {
        "version", "timestamp", "requestContext", "requestPayload", "responseContext",
        "responsePayload",
    }  # fmt: skip
    assert record["requestContext"] == {
        "requestId": answer["ResponseMetadata"]["RequestId"],
        "functionArn": "arn:aws:lambda:us-east-1:123456789012:function:told:$LATEST",
        "condition": "Success",
        "approximateInvokeCount": 1,
    }
    assert record["requestPayload"] == {"token": 1}
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST"}
    assert record["responsePayload"]["event"] == {"token": 1}


def test_a_failure_is_tried_again_and_then_told(client, rig):
    rig.deploy("failing", FUNCTIONS["raises"])
    queue = rig.queue("failing")
    rig.destinations("failing", failure=queue, retries=1)

    client.invoke(FunctionName="failing", InvocationType="Event", Payload=b"{}")
    record = rig.received(queue)

    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == rig.calls("failing") == 2
    assert record["responseContext"]["functionError"] == "Unhandled"
    assert record["responsePayload"]["errorType"] == "ValueError"


def test_a_failure_that_passes_is_a_success(client, rig, tmp_path):
    queue = rig.queue("flaky")
    rig.destinations("flaky", success=queue)
    payload = json.dumps({"mark": str(tmp_path / "mark")})

    client.invoke(FunctionName="flaky", InvocationType="Event", Payload=payload)

    record = rig.received(queue)
    assert record["requestContext"]["approximateInvokeCount"] == 2
    assert record["responsePayload"] == "well"


def test_a_throttled_event_waits(client, rig):
    rig.deploy("waiting", FUNCTIONS["hello"])
    queue = rig.queue("waiting")
    rig.destinations("waiting", success=queue)
    rig.throttle("waiting")

    client.invoke(FunctionName="waiting", InvocationType="Event", Payload=b"{}")
    calls = rig.calls("waiting")
    rig.throttle("waiting", on=False)

    assert calls == 0
    assert rig.received(queue)["requestContext"]["approximateInvokeCount"] == 1


def test_an_event_that_is_too_old_has_failed(client, rig):
    rig.deploy("aged", FUNCTIONS["hello"])
    queue = rig.queue("aged")
    rig.destinations("aged", failure=queue, minutes=1)
    rig.throttle("aged")

    client.invoke(FunctionName="aged", InvocationType="Event", Payload=b'{"token": 1}')
    record = rig.received(queue)

    assert record["requestContext"]["condition"] == "EventAgeExceeded"
    assert record["requestContext"]["approximateInvokeCount"] == rig.calls("aged") == 0
    assert record["requestPayload"] == {"token": 1}
    assert record.keys().isdisjoint({"responseContext", "responsePayload"})


def test_a_queue_feeds_a_function(client, rig):
    rig.deploy("fed", FUNCTIONS["hello"])
    queue = rig.queue("fed")
    client.create_event_source_mapping(EventSourceArn=rig.arn(queue), FunctionName="fed")

    rig.client("sqs").send_message(QueueUrl=queue, MessageBody="{}")

    assert rig.calls("fed") == 1


# --- state machines ------------------------------------------------------------------------------


def finished(machines, execution):
    """How an execution has ended."""
    while True:
        found = machines.describe_execution(executionArn=execution)
        if found["status"] != "RUNNING":
            return found


def task(name):
    resource = f"arn:aws:lambda:us-east-1:123456789012:function:{name}"
    return {
        "StartAt": "Task",
        "States": {"Task": {"Type": "Task", "Resource": resource, "End": True}},
    }


def started(rig, name, definition):
    machines, machine = rig.client("stepfunctions"), rig.machine(name, definition)
    made = machines.start_execution(stateMachineArn=machine, name=f"{name}-1", input='{"n": 1}')
    return machines, made["executionArn"]


def test_a_state_machine_runs_its_functions(rig):
    machines, execution = started(rig, "fine", task("hello"))

    found = finished(machines, execution)

    assert found["status"] == "SUCCEEDED"
    assert json.loads(found["output"])["event"] == {"n": 1}
    assert execution.endswith(":execution:fine:fine-1")


def test_a_state_machine_fails_as_its_function_does(rig):
    machines, execution = started(rig, "failed", task("raises"))

    found = finished(machines, execution)

    assert (found["status"], found["error"]) == ("FAILED", "ValueError")


def test_a_state_machine_is_stopped(rig):
    wait = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}
    machines, execution = started(rig, "stopped", wait)

    assert machines.describe_execution(executionArn=execution)["status"] == "RUNNING"
    machines.stop_execution(executionArn=execution)

    assert finished(machines, execution)["status"] == "ABORTED"


# --- the rig itself ------------------------------------------------------------------------------


def until(condition):
    while not condition():
        os.sched_yield()


def test_nothing_is_left_when_a_rig_ends():
    with lambda_rig({"pid": FUNCTIONS["pid"]}) as rig:
        pid = invoked(rig.client("lambda"), "pid")["Payload"]

    until(lambda: ended(pid))


@pytest.mark.skipif(not Path("/proc").exists(), reason="it looks for processes in /proc")
def test_nothing_is_left_when_a_test_run_is_killed(tmp_path):
    program = (
        "import json, sys, threading\n"
        "from tests.rigs.lambda_rig import lambda_rig\n"
        f"with lambda_rig({{'pid': {FUNCTIONS['pid']!r}}}) as rig:\n"
        "    answer = rig.client('lambda').invoke(FunctionName='pid')\n"
        "    print(json.load(answer['Payload']), flush=True)\n"
        "    threading.Event().wait()\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True
    ) as run:
        pid = int(run.stdout.readline())
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        run.kill()

    until(lambda: ended(pid) and ended(parent))
