"""AWS Lambda's API, with AWS' own client, against a server that runs."""

from __future__ import annotations

import base64
import io
import json
import signal
import zipfile

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.kit.infra.servers import AUTH, KEY, USER, running

ROLE = "arn:aws:iam::111111111111:role/any"
PYTHON, NODE = "python3.11", "nodejs20.x"
HANDLER = """
import decimal, json, os, sys

def handler(event, context):
    print("asked", json.dumps(event, sort_keys=True))
    return event

def fails(event, context):
    raise KeyError(event["what"])

class Odd(Exception):
    def __str__(self):
        return "odd " + self.args[0]

def odd(event, context):
    return deeper(event)

def deeper(event):
    raise Odd("one")

def about(event, context):
    assert 0 < context.get_remaining_time_in_millis() <= 3000
    return {
        "name": context.function_name, "version": context.function_version, "arn": context.invoked_function_arn,
        "memory": context.memory_limit_in_mb, "request": context.aws_request_id, "group": context.log_group_name,
        "variable": os.environ.get("COLOUR"), "region": os.environ["AWS_REGION"], "argv": context.client_context,
        "handler": os.environ["_HANDLER"], "root": os.environ["LAMBDA_TASK_ROOT"] == os.getcwd(),
    }

def unwritable(event, context):
    return {1, 2}

RESULTS = {
    "text": b'"HelloWorld!"', "object": b'{"a": [1]}', "plain": "caf\u00e9".encode(), "empty": b"", "nan": b"NaN",
    "inner": [b"caf\\xc3\\xa9", {"a": (b"1",)}], "key": {b"k": {1: {b"j": b"x"}}},
    "decimals": [decimal.Decimal("1.10"), decimal.Decimal(5)],
    "bad": b"\\xff", "inner bad": [b"\\xff"], "bytearray": bytearray(b"a"), "no number": decimal.Decimal("NaN"),
}

def makes(event, context):
    return RESULTS[event]

def large(event, context):
    return b"a" * event

def exits(event, context):
    sys.exit(3)

def dies(event, context):
    os._exit(1)

def sleeps(event, context):
    import time
    time.sleep(60)
"""
SCRIPT = """
exports.handler = async (event, context) => { console.log('asked', JSON.stringify(event)); return event }
exports.nothing = async () => {}
exports.fails = async () => { throw new TypeError('bad') }
exports.rejects = () => Promise.reject('a text')
exports.throws = () => { throw new RangeError('at once') }
exports.calls = (event, context, callback) => setTimeout(() => callback(null, { called: event }), 1)
exports.refuses = (event, context, callback) => { callback(new Error('no')) }
exports.value = 5
exports.circle = async () => { const it = {}; it.it = it; return it }
exports.about = async (event, context) => ({
  name: context.functionName, arn: context.invokedFunctionArn, request: context.awsRequestId,
  memory: context.memoryLimitInMB, left: context.getRemainingTimeInMillis() > 0, variable: process.env.COLOUR
})
"""


def archive(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return made.getvalue()


ARCHIVES = {
    PYTHON: archive(handler_dot_py=HANDLER, inner__module_dot_py="def handler(e, c):\n    return __file__\n"),
    NODE: archive(handler_dot_js=SCRIPT, other_dot_mjs="export const handler = async event => [event]\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("server"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


def client_of(server, service, user=USER, key=KEY):
    return boto3.client(
        service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=user,
        aws_secret_access_key=key, config=Config(retries={"max_attempts": 0}, inject_host_prefix=False),
    )  # fmt: skip


@pytest.fixture(scope="module")
def aws(server):
    return client_of(server, "lambda")


@pytest.fixture
def deployed(aws):
    """Creates a function, and deletes it at the end."""
    made = []

    def create(name, handler="handler.handler", runtime=PYTHON, **options):
        made.append(name)
        code = {"ZipFile": options.pop("archive", ARCHIVES[runtime])}
        return aws.create_function(
            FunctionName=name, Runtime=runtime, Handler=handler, Role=ROLE, Code=code, **options
        )

    yield create
    for name in made:
        aws.delete_function(FunctionName=name)


def answer(aws, name, event=None, **options):
    """What a function answers, and how it is called if that is an error."""
    got = aws.invoke(FunctionName=name, Payload=json.dumps(event).encode(), **options)
    return json.loads(got["Payload"].read()), got.get("FunctionError")


def refused(operation, **options):
    with pytest.raises(ClientError) as refusal:
        operation(**options)
    response = refusal.value.response
    return (
        response["Error"]["Code"],
        response["ResponseMetadata"]["HTTPStatusCode"],
        response["Error"]["Message"],
    )


# --- invoking ------------------------------------------------------------------------------------

EVENTS = [
    {"n": 1}, {}, [], [1, [2]], "text", "", 0, 1.5, None, True, {"error": "is a success"}, {"payload": 1}, {"Error": "E"},
]  # fmt: skip


@pytest.mark.parametrize("runtime", [PYTHON, NODE])
def test_any_event_and_any_result_goes_through_as_it_is(aws, deployed, runtime):
    deployed("echo", runtime=runtime)

    assert [answer(aws, "echo", event) for event in EVENTS] == [(event, None) for event in EVENTS]


def test_no_payload_is_an_empty_object(aws, deployed):
    deployed("echo")

    got = aws.invoke(FunctionName="echo")
    assert (got["StatusCode"], got["ExecutedVersion"], got["Payload"].read()) == (
        200,
        "$LATEST",
        b"{}",
    )


def test_an_error_of_python_is_told_as_lambda_tells_it(aws, deployed):
    deployed("fails", "handler.odd")

    error, kind = answer(aws, "fails")
    assert kind == "Unhandled"
    assert list(error) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert (error["errorMessage"], error["errorType"]) == ("odd one", "Odd")
    assert error["stackTrace"] == [
        '  File "/var/task/handler.py", line 16, in odd\n    return deeper(event)\n',
        '  File "/var/task/handler.py", line 19, in deeper\n    raise Odd("one")\n',
    ]


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        ("handler.fails", "TypeError", "'NoneType' object is not subscriptable"),
        ("handler.unwritable", "Runtime.MarshalError", "Unable to marshal response: Object of type set is not JSON serializable"),
        ("handler.none", "Runtime.HandlerNotFound", "Handler 'none' missing on module 'handler'"),
        ("none.none", "Runtime.ImportModuleError", "Unable to import module 'none': No module named 'none'"),
        ("handler", "Runtime.MalformedHandlerName", "Bad handler 'handler': not enough values to unpack (expected 2, got 1)"),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_lambdas_names(aws, deployed, handler, kind, message):
    deployed("wrong", handler)

    error, _ = answer(aws, "wrong")
    assert (error["errorType"], error["errorMessage"]) == (kind, message)


def test_bytes_are_the_response_itself_and_in_a_result_text(aws, deployed):
    deployed("makes", "handler.makes")

    found = {event: answer(aws, "makes", event) for event in MADE}
    assert found == {event: (made, None) for event, made in MADE.items()}


MADE = {
    "text": "HelloWorld!", "object": {"a": [1]}, "plain": "café", "empty": "", "nan": "NaN",
    "inner": ["café", {"a": ["1"]}], "key": {"k": {"1": {"j": "x"}}}, "decimals": [1.1, 5],
}  # fmt: skip


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("bad", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("inner bad", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("bytearray", "Object of type bytearray is not JSON serializable"),
        ("no number", "Out of range float values are not JSON compliant"),
    ],
)
def test_a_result_that_cannot_be_written_has_lambdas_error(aws, deployed, event, why):
    deployed("makes", "handler.makes")

    error, kind = answer(aws, "makes", event)
    assert (kind, error["errorType"]) == ("Unhandled", "Runtime.MarshalError")
    assert error["errorMessage"].startswith(f"Unable to marshal response: {why}")


def test_code_that_is_none_is_told(aws, deployed):
    deployed("wrong", archive=archive(handler_dot_py="def handler(:\n"))

    error, _ = answer(aws, "wrong")
    assert error["errorType"] == "Runtime.UserCodeSyntaxError"
    assert error["errorMessage"].startswith("Syntax error in module 'handler': invalid syntax")
    assert error["stackTrace"] == ['  File "/var/task/handler.py" Line 1\n    def handler(:\n']


def test_a_function_that_is_cut_off_is_told(aws, deployed):
    deployed("exits", "handler.exits")
    deployed("dies", "handler.dies")
    deployed("sleeps", "handler.sleeps", Timeout=1)

    errors = [answer(aws, name)[0] for name in ("exits", "dies", "sleeps")]
    assert [error["errorType"] for error in errors] == [
        "Runtime.ExitError", "Runtime.ExitError", "Sandbox.Timedout",
    ]  # fmt: skip
    assert errors[0]["errorMessage"].endswith("Runtime exited with error: exit status 3")
    assert errors[2]["errorMessage"].endswith("Error: Task timed out after 1.00 seconds")


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        ("handler.fails", "TypeError", "bad"),
        ("handler.rejects", "string", "a text"),
        ("handler.throws", "RangeError", "at once"),
        ("handler.refuses", "Error", "no"),
        ("handler.value", "Runtime.HandlerNotFound", "handler.value is not a function"),
        ("handler.none", "Runtime.HandlerNotFound", "handler.none is undefined or not exported"),
        ("none.none", "Runtime.ImportModuleError", "Error: Cannot find module 'none'"),
    ],
)
def test_an_error_of_node_is_told_as_lambda_tells_it(aws, deployed, handler, kind, message):
    deployed("wrong", handler, NODE)

    error, unhandled = answer(aws, "wrong")
    assert unhandled == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == (kind, message)
    assert isinstance(error["trace"], list)


def test_handlers_of_node_answer_in_their_ways(aws, deployed):
    deployed("nothing", "handler.nothing", NODE)
    deployed("calls", "handler.calls", NODE)
    deployed("module", "other.handler", NODE)
    deployed("circle", "handler.circle", NODE)
    deployed("about", "handler.about", NODE, Environment={"Variables": {"COLOUR": "red"}})

    assert answer(aws, "nothing") == (None, None)
    assert answer(aws, "calls", 1) == ({"called": 1}, None)
    assert answer(aws, "module", 1) == ([1], None)
    assert answer(aws, "circle")[0]["errorType"] == "Runtime.MarshalError"
    told, _ = answer(aws, "about")
    request = told.pop("request")
    assert len(request) == 36
    assert told == {
        "name": "about", "arn": "arn:aws:lambda:us-east-1:111111111111:function:about", "memory": "128",
        "left": True, "variable": "red",
    }  # fmt: skip


def test_a_handler_knows_its_run(aws, deployed):
    deployed(
        "about", "handler.about", Environment={"Variables": {"COLOUR": "red"}}, MemorySize=1024
    )

    got = aws.invoke(FunctionName="about", LogType="Tail")
    told = json.loads(got["Payload"].read())
    assert told == {
        "name": "about", "version": "$LATEST", "memory": "1024", "variable": "red", "region": "us-east-1",
        "arn": "arn:aws:lambda:us-east-1:111111111111:function:about", "group": "/aws/lambda/about",
        "request": got["ResponseMetadata"]["RequestId"], "argv": None, "handler": "handler.about", "root": True,
    }  # fmt: skip


def test_a_module_in_a_folder_is_found(aws, deployed):
    deployed("deep", "inner/module.handler")

    assert answer(aws, "deep")[0].endswith("/task/inner/module.py")


def test_the_end_of_the_log_is_told_if_asked_for(aws, deployed):
    deployed("echo")

    got = aws.invoke(FunctionName="echo", Payload=b'{"n": 1}', LogType="Tail")
    id = got["ResponseMetadata"]["RequestId"]
    lines = base64.b64decode(got["LogResult"]).decode().splitlines()
    assert lines[:3] == [
        f"START RequestId: {id} Version: $LATEST", 'asked {"n": 1}', f"END RequestId: {id}",
    ]  # fmt: skip
    assert lines[3].startswith(f"REPORT RequestId: {id}\tDuration: ")


def test_an_event_has_at_most_the_size_of_a_machines_input(aws, deployed):
    deployed("large", "handler.large")

    most = b"1" + b" " * 262_143
    assert aws.invoke(FunctionName="large", Payload=most)["StatusCode"] == 200
    text = b'"' + b"x" * 262_142 + b'"'
    assert (
        aws.invoke(FunctionName="large", InvocationType="DryRun", Payload=text)["StatusCode"] == 204
    )
    for kind in ("RequestResponse", "Event", "DryRun"):
        larger = text[:-1] + b'x"'
        code, status, said = refused(
            aws.invoke, FunctionName="large", Payload=larger, InvocationType=kind
        )
        assert (code, status) == ("RequestTooLargeException", 413)
        assert said.endswith("the event has 262145.")


def test_an_event_is_not_waited_for_and_a_dry_run_runs_nothing(aws, server, deployed):
    deployed("echo")

    assert aws.invoke(FunctionName="echo", InvocationType="DryRun")["StatusCode"] == 204
    got = aws.invoke(FunctionName="echo", InvocationType="Event", Payload=b"[1]")
    assert (got["StatusCode"], got["Payload"].read()) == (202, b"")
    with server.client() as client:
        (id,) = [
            doc["executionId"]
            for doc in client.get("/executions", params={"name": "echo", "limit": 1}).json()
        ]
        record = client.get(f"/activations/{id}", params={"wait": 30_000}).json()
    assert record["response"]["success"] is True
    assert record["response"]["result"] == [1]


def test_what_cannot_be_invoked_is_refused(aws, deployed):
    deployed("echo")

    missing = "arn:aws:lambda:us-east-1:111111111111:function:none"
    assert refused(aws.invoke, FunctionName="none") == (
        "ResourceNotFoundException", 404, f"Function not found: {missing}",
    )  # fmt: skip
    assert refused(aws.invoke, FunctionName="echo:7")[:2] == ("ResourceNotFoundException", 404)
    code, status, _ = refused(aws.invoke, FunctionName="echo", Payload=b"{no")
    assert (code, status) == ("InvalidRequestContentException", 400)
    code, status, _ = refused(aws.invoke, FunctionName="echo", Payload=b"[" * 500 + b"]" * 500)
    assert (code, status) == ("InvalidRequestContentException", 400)
    code, status, _ = refused(aws.invoke, FunctionName="echo", InvocationType="Later")
    assert (code, status) == ("InvalidParameterValueException", 400)
    code, status, _ = refused(
        aws.invoke, FunctionName="echo", Payload=b'"' + b"x" * (5 << 20) + b'"'
    )
    assert (code, status) == ("RequestTooLargeException", 413)


# --- functions -----------------------------------------------------------------------------------


def test_a_function_is_created_shown_and_deleted(aws):
    code = {"ZipFile": ARCHIVES[PYTHON]}
    made = aws.create_function(
        FunctionName="one", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code, Description="it",
        Timeout=7, MemorySize=256, Environment={"Variables": {"COLOUR": "red"}}, Tags={"team": "x"},
    )  # fmt: skip
    aws.get_waiter("function_active_v2").wait(FunctionName="one")

    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    shown = aws.get_function(FunctionName=made["FunctionArn"])
    expected = {
        "FunctionName": "one", "FunctionArn": "arn:aws:lambda:us-east-1:111111111111:function:one", "Runtime": PYTHON,
        "Role": ROLE, "Handler": "handler.handler", "CodeSize": len(ARCHIVES[PYTHON]), "Description": "it", "Timeout": 7,
        "MemorySize": 256, "Version": "$LATEST", "Environment": {"Variables": {"COLOUR": "red"}}, "State": "Active",
        "LastUpdateStatus": "Successful", "PackageType": "Zip",
    }  # fmt: skip
    assert shown["Configuration"].items() >= expected.items()
    assert made.items() >= expected.items()
    assert shown["Tags"] == {"team": "x"}
    configuration = aws.get_function_configuration(FunctionName="function:one")
    assert configuration.items() >= expected.items()
    (version,) = aws.list_versions_by_function(FunctionName="one")["Versions"]
    assert version["RevisionId"] == made["RevisionId"]
    conflict = refused(
        aws.create_function, FunctionName="one", Runtime=PYTHON, Handler="h.h", Role=ROLE, Code=code
    )
    assert conflict == ("ResourceConflictException", 409, "Function already exist: one")
    aws.delete_function(FunctionName="one")
    assert refused(aws.get_function, FunctionName="one")[:2] == ("ResourceNotFoundException", 404)
    assert refused(aws.delete_function, FunctionName="one")[:2] == (
        "ResourceNotFoundException",
        404,
    )


def test_code_and_configuration_are_changed_apart(aws, deployed):
    made = deployed("one", Environment={"Variables": {"COLOUR": "red"}})
    assert answer(aws, "one", 1) == (1, None)

    changed = aws.update_function_configuration(
        FunctionName="one",
        Handler="handler.about",
        Environment={"Variables": {"COLOUR": "blue"}},
        Timeout=2,
    )
    assert (changed["CodeSha256"], changed["Timeout"]) == (made["CodeSha256"], 2)
    assert answer(aws, "one")[0]["variable"] == "blue"
    second = archive(handler_dot_py="def about(event, context):\n    return 'second'\n")
    dry = aws.update_function_code(FunctionName="one", ZipFile=second, DryRun=True)
    assert answer(aws, "one")[0]["variable"] == "blue"
    replaced = aws.update_function_code(FunctionName="one", ZipFile=second)
    assert replaced["CodeSha256"] == dry["CodeSha256"] != made["CodeSha256"]
    assert answer(aws, "one") == ("second", None)
    stale = refused(
        aws.update_function_code, FunctionName="one", ZipFile=second, RevisionId=made["RevisionId"]
    )
    assert stale[:2] == ("PreconditionFailedException", 412)
    aws.update_function_configuration(
        FunctionName="one", Description="again", RevisionId=replaced["RevisionId"]
    )
    kept = aws.get_function_configuration(FunctionName="one")
    assert (kept["Description"], kept["Environment"]) == (
        "again",
        {"Variables": {"COLOUR": "blue"}},
    )


def test_functions_are_listed_a_page_at_a_time(aws, server, deployed):
    for name in ("b", "a", "c"):
        deployed(name)
    with server.client() as client:
        body = {"exec": {"kind": "python:3", "code": "def main(p):\n    return p\n"}}
        assert client.put("/actions/plain", json=body).status_code == 200

    pages = list(aws.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2}))
    assert [[f["FunctionName"] for f in page["Functions"]] for page in pages] == [["a", "b"], ["c"]]
    assert refused(aws.list_functions, Marker="%%%")[:2] == ("InvalidParameterValueException", 400)
    assert refused(aws.list_functions, MaxItems=10_001)[:2] == (
        "InvalidParameterValueException",
        400,
    )
    assert refused(aws.get_function, FunctionName="plain")[:2] == ("ResourceNotFoundException", 404)
    assert answer(aws, "plain", {"n": 1}) == ({"n": 1}, None)  # it can be invoked all the same


WRONG = {
    "a name": ({"FunctionName": "no name"}, "ValidationException", "at 'functionName' failed"),
    "a runtime": ({"Runtime": "java21"}, "InvalidParameterValueException", "Value java21 at 'runtime'"),
    "no handler": ({"Handler": None}, "InvalidParameterValueException", "are mandatory parameters"),
    "a time": ({"Timeout": 901}, "ValidationException", "Member must have value less than or equal to 900"),
    "memory": ({"MemorySize": 10_241}, "ValidationException", "less than or equal to 10240"),
    "no archive": ({"Code": {"ZipFile": b"none"}}, "InvalidParameterValueException", "Could not unzip uploaded file."),
    "an archive that leaves": ({"Code": {"ZipFile": archive(**{"..__x": "x"})}}, "InvalidParameterValueException", "outside"),
    "no code": ({"Code": {"S3Bucket": "bucket", "S3Key": "k"}}, "InvalidParameterValueException", "source for function code"),
    "an image": ({"PackageType": "Image"}, "InvalidParameterValueException", "PackageType Zip"),
    "a tag": ({"Tags": {"aws:x": ""}}, "InvalidParameterValueException", "is reserved"),
    "a layer": ({"Layers": ["arn:aws:lambda:us-east-1:111111111111:layer:x:1"]}, "InvalidParameterValueException", "leave out 'Layers'"),
    "a variable": ({"Environment": {"Variables": {"1": "x"}}}, "InvalidParameterValueException", "Map keys must"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_created_is_refused(aws, options, code, message):
    given = {
        "FunctionName": "wrong", "Runtime": PYTHON, "Handler": "handler.handler", "Role": ROLE,
        "Code": {"ZipFile": ARCHIVES[PYTHON]}, **options,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}

    found, status, said = refused(aws.create_function, **given)
    assert (found, status) == (code, 400)
    assert message in said


@pytest.mark.parametrize(
    ("user", "key", "code"),
    [
        (USER, "another", "InvalidSignatureException"),
        ("nobody", KEY, "UnrecognizedClientException"),
    ],
)
def test_who_does_not_sign_is_refused(server, user, key, code):
    stranger = client_of(server, "lambda", user, key)

    assert refused(stranger.list_functions)[:2] == (code, 403)


def test_functions_and_machines_share_names(aws, server, deployed):
    machines = client_of(server, "stepfunctions")
    definition = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
    arn = machines.create_state_machine(name="a-machine", definition=definition, roleArn=ROLE)
    deployed("a-function")

    code = {"ZipFile": ARCHIVES[PYTHON]}
    assert refused(
        aws.create_function, FunctionName="a-machine", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code
    )[2] == "Function already exist: a-machine (an action that is not a Lambda function has this name)"  # fmt: skip
    assert refused(
        aws.create_function, FunctionName="a-function", Runtime=PYTHON, Handler="handler.handler", Role=ROLE, Code=code
    )[2] == "Function already exist: a-function"  # fmt: skip
    said = refused(machines.create_state_machine, name="a-function", definition=definition, roleArn=ROLE)[2]  # fmt: skip
    assert said.endswith("stateMachine:a-function' (an action has this name, and is no state machine)")  # fmt: skip
    machines.delete_state_machine(stateMachineArn=arn["stateMachineArn"])


def test_an_operation_that_is_not_here_is_named(aws):
    assert refused(aws.get_function_recursion_config, FunctionName="any") == (
        "UnknownOperationException",
        404,
        "This operation of Lambda is not supported: GET /2024-08-31/functions/any/recursion-config",
    )
    assert refused(aws.list_layers)[2].endswith("GET /2018-10-31/layers")


def test_an_event_that_fails_is_tried_again_later_also_after_a_crash(tmp_path):
    def standing(server):
        with server.client() as client:
            (execution,) = client.get(
                "/executions", params={"name": "fails", "status": "running"}
            ).json()
            return client.get(f"/executions/{execution['executionId']}").json()

    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        aws = client_of(server, "lambda")
        aws.create_function(
            FunctionName="fails", Runtime=PYTHON, Handler="handler.fails", Role=ROLE,
            Code={"ZipFile": ARCHIVES[PYTHON]},
        )  # fmt: skip
        aws.invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")
        while (waits := standing(server)["fibers"][0]["waits"]) != "timer":
            pass  # the function starts, or runs
        server.stop(signal.SIGKILL)
    with running(tmp_path, "--auth", AUTH, "--isolation", "none") as server:
        found = standing(server)

    assert (found["status"], found["fibers"][0]["waits"]) == ("running", waits)


# --- as others see it ----------------------------------------------------------------------------


def test_a_task_of_a_state_machine_gets_its_result_or_its_error(aws, server, deployed):
    deployed("echo")
    deployed("fails", "handler.odd")
    states = client_of(server, "stepfunctions")
    catch = {"ErrorEquals": ["Odd"], "Next": "Caught"}
    definition = {
        "StartAt": "Echo",
        "States": {
            "Echo": {
                "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:111111111111:function:echo",
                "ResultPath": "$.echoed", "Next": "Fails",
            },
            "Fails": {
                "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
                "Parameters": {"FunctionName": "fails", "Payload": [1]}, "Catch": [catch], "End": True,
            },
            "Caught": {"Type": "Pass", "End": True},
        },
    }  # fmt: skip
    machine = states.create_state_machine(
        name="tasks", definition=json.dumps(definition), roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]

    ended = states.start_sync_execution(stateMachineArn=machine, input='{"n": [1]}')
    assert ended["status"] == "SUCCEEDED"
    caught = json.loads(ended["output"])
    assert caught["Error"] == "Odd"
    cause = json.loads(caught["Cause"])
    assert list(cause) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert cause["errorMessage"] == "odd one"


INVOKE = "arn:aws:states:::lambda:invoke"
FUNCTION = "arn:aws:lambda:us-east-1:111111111111:function:"


def done(server, task, input):
    """What comes of a machine that is one Task."""
    states = client_of(server, "stepfunctions")
    definition = json.dumps(
        {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **task}}}
    )
    machine = states.create_state_machine(
        name="one-task", definition=definition, roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]
    ended = states.start_sync_execution(stateMachineArn=machine, input=json.dumps(input))
    states.delete_state_machine(stateMachineArn=machine)
    return ended


@pytest.mark.parametrize(
    ("payload", "event", "length"),
    [("0", 0, "1"), ("0.0", 0.0, "3"), ('"HelloWorld"', "HelloWorld", "12"), ('{"a":[1]}', {"a": [1]}, "10"), (None, {}, "2")],
)  # fmt: skip
def test_a_machines_payload_is_the_requests_text(server, deployed, payload, event, length):
    deployed("echo")

    ended = done(server, {"Resource": INVOKE}, {"FunctionName": "echo", "Payload": payload})
    output = json.loads(ended["output"])
    assert output["Payload"] == event
    assert output["SdkHttpMetadata"]["HttpHeaders"]["Content-Length"] == length


def test_a_machine_is_told_the_end_of_the_log_if_it_asks(server, deployed):
    deployed("echo")

    parameters = {"FunctionName": "echo", "Payload": {"n": 1}, "LogType": "Tail"}
    output = json.loads(done(server, {"Resource": INVOKE}, parameters)["output"])
    request = output["SdkResponseMetadata"]["RequestId"]
    lines = base64.b64decode(output["LogResult"]).decode().splitlines()
    assert lines[:3] == [f"START RequestId: {request} Version: $LATEST", 'asked {"n": 1}', f"END RequestId: {request}"]  # fmt: skip
    assert output["SdkHttpMetadata"]["HttpHeaders"]["X-Amz-Log-Result"] == output["LogResult"]


@pytest.mark.parametrize("resource", [INVOKE, f"{FUNCTION}fails"])
def test_a_machines_error_says_where_in_the_functions_files_it_was_raised(
    server, deployed, resource
):
    deployed("fails", "handler.odd")

    ended = done(server, {"Resource": resource}, {"FunctionName": "fails"})
    assert ended["error"] == "Odd"
    trace = json.loads(ended["cause"])["stackTrace"]
    assert [line.split(",")[0] for line in trace] == ['  File "/var/task/handler.py"'] * 2


@pytest.mark.parametrize(
    ("size", "fits"), [(262_142, True), (262_143, False), (1 << 20, False), (3 << 20, False)]
)
def test_bytes_are_a_result_as_large_as_any_other(server, deployed, size, fits):
    deployed("large", "handler.large")

    ended = done(server, {"Resource": f"{FUNCTION}large"}, size)
    if fits:
        assert ended["output"] == '"' + "a" * size + '"'
    else:
        told = f"The state/task '{FUNCTION}large' returned a result with a size exceeding the maximum number of bytes service limit."  # fmt: skip
        assert (ended["error"], ended["cause"]) == ("States.DataLimitExceeded", told)


def test_openwhisks_clients_can_invoke_it(aws, server, deployed):
    deployed("echo")

    with server.client() as client:
        url = "/actions/echo?blocking=true&result=true"
        assert client.post(url, json={"n": 1}).json() == {"n": 1}
