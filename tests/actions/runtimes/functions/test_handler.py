"""A Lambda function in Python: how its handler is found and called, and what goes wrong with it."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import zipfile

import pytest

from xingqiao.actions.runtimes import packed

CALL = (
    "import json, os, runpy, sys; asked = json.loads(sys.argv[1]); "
    "scope = runpy.run_path(os.path.abspath('__main__.py')); "
    "answer = scope['main'](asked); sys.stderr.write(json.dumps(answer))"
)
ASKED = {
    "event": {"n": 1}, "request": "r-1", "name": "fn", "version": "$LATEST", "arn": "arn:fn", "memory_mb": 128,
    "log_group": "/aws/lambda/fn", "log_stream": "s", "deadline_ms": 0,
}  # fmt: skip


@pytest.fixture
def called(tmp_path):
    """Calls the handler of a module's source; the answer, and what was printed before."""

    def call(source, handler="module.handler", **environment):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as bundle:
            bundle.writestr("module.py", source)
        archive = packed(made.getvalue(), "python:3", handler, environment)
        if isinstance(archive, str):
            archive = base64.b64decode(archive)
        zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
        arguments = [sys.executable, "-c", CALL, json.dumps(ASKED)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=tmp_path)
        return json.loads(done.stderr), done.stdout

    return call


def test_a_handler_is_given_the_event_and_what_lambda_tells_of_the_run(called):
    source = """
import os
def handler(event, context):
    return [event, context.aws_request_id, context.function_name, context.memory_limit_in_mb,
            context.get_remaining_time_in_millis(), os.environ["A"], os.environ["_HANDLER"]]
"""
    answer, _ = called(source, A="b")

    assert answer == {"payload": [{"n": 1}, "r-1", "fn", "128", 0, "b", "module.handler"]}


@pytest.mark.parametrize(
    ("returned", "payload"),
    [
        ("None", None),
        ("(1, 2)", [1, 2]),
        ("{1: b'ab'}", {"1": "ab"}),
        ("{b'a': 1}", {"a": 1}),
        ("decimal.Decimal('1.50')", 1.5),
        ("b'[1]'", [1]),
        ("b'a text'", "a text"),
    ],
)
def test_a_result_is_written_as_lambdas_runtime_writes_it(called, returned, payload):
    answer, _ = called(f"import decimal\ndef handler(event, context): return {returned}")

    assert answer == {"payload": payload}


@pytest.mark.parametrize(
    ("source", "handler", "kind", "text"),
    [
        ("", "module", "Runtime.MalformedHandlerName", "Bad handler 'module'"),
        ("", "other.handler", "Runtime.ImportModuleError", "Unable to import module 'other'"),
        ("import nothing_of_that_name", "module.handler", "Runtime.ImportModuleError", "nothing_of"),
        ("def", "module.handler", "Runtime.UserCodeSyntaxError", "Syntax error in module 'module'"),
        ("", "module.handler", "Runtime.HandlerNotFound", "Handler 'handler' missing on module"),
        ("def handler(e, c): return {1, 2}", "module.handler", "Runtime.MarshalError", "Unable to marshal"),
        ("def handler(e, c): return float('nan')", "module.handler", "Runtime.MarshalError", "Unable to"),
        ("def handler(e, c): raise SystemExit(3)", "module.handler", "Runtime.ExitError", "exit status 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_called_has_lambdas_name_for_that(called, source, handler, kind, text):
    answer, _ = called(source, handler)

    assert (answer["error"]["errorType"], answer["error"]["requestId"]) == (kind, "r-1")
    assert text in answer["error"]["errorMessage"]


def test_an_exception_is_told_and_printed_with_the_handlers_own_frames(called):
    answer, printed = called("def handler(event, context):\n    raise KeyError('no')\n")

    (frame,) = answer["error"].pop("stackTrace")
    assert answer == {
        "error": {"errorMessage": "'no'", "errorType": "KeyError", "requestId": "r-1"}
    }
    assert frame.startswith('  File "/var/task/module.py", line 2, in handler\n')
    assert printed.startswith("[ERROR] KeyError: 'no'\nTraceback (most recent call last):\n")
