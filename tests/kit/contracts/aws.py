"""AWS' rows of the adapters' contract: each its service as its wire is, on the strict host.

Functions and state machines that really run: `tests/adapters/aws/test_running.py`.
"""

from __future__ import annotations

import base64
import json
import re
from typing import ClassVar

import pytest

from tests.kit.adapters.aws_world import INVOKE, KEYS, environment, live_in
from tests.kit.contracts.clouds import Strict
from tests.kit.contracts.elsewhere import RESULT_BYTES, SECRET
from tests.rigs.answers import answer


class Lambda(Strict):
    """A function that is waited for."""

    kind, path, broken = "aws:lambda", INVOKE, "yes"
    late_ms = 5000  # botocore looks up where it is, and reads its models first
    credentials: ClassVar = {"type": "aws", "access_key_id": KEYS[0], "secret_access_key": SECRET}

    takes_tokens_of = None  # what is signed carries no token

    def open(self, stack, shared):
        super().open(stack, shared)
        self.function = "hello"
        self.environment = stack.enter_context(pytest.MonkeyPatch.context())
        live_in(self.environment, **environment(self.host.url, keys=None))

    def is_away(self):
        super().is_away()
        live_in(self.environment, **environment(self.host.url, keys=None))

    def returns(self, value):
        self.script(answer(json.dumps(value).encode()))

    def returns_text(self):
        self.script(answer(b'"hello"'))

    def raises(self):
        error = {"errorType": "Sold", "errorMessage": "none left"}
        self.script(answer(error, headers={"X-Amz-Function-Error": "Unhandled"}))

    def told_key(self):
        async def echo(host, seen, writer):
            return await answer({"order": seen.json()["order"]})(host, seen, writer)

        self.script(echo)

    def checks(self):
        self.script(answer(None, 204))

    def context(self, seen):
        return json.loads(base64.b64decode(seen.headers["x-amz-client-context"]))["custom"]

    def seen(self):
        told = [self.context(seen) for seen in self.sent]
        return [(custom["traceparent"], custom["idempotency_key"]) for custom in told]

    def told_how_to_complete(self):
        custom = self.context(self.sent[0])
        return custom["completion_token"], custom["callback_url"]


class Started(Lambda):
    """What is started on AWS and asked after; `begun` is the answer that takes it in."""

    keyed = True
    told_how_to_complete = None  # it is asked after

    def open(self, stack, shared):
        super().open(stack, shared)
        self.running, self.state, self.stopped = 0, ("SUCCEEDED", '{"ok": true}'), False
        self.asked_after = []
        self.host.handlers.append((re.compile("/2025-12-01/.*|/"), self.play))

    def good(self, value=None):
        return self.begun()

    def returns(self, value):
        self.script(self.begun())
        self.state = "SUCCEEDED", None if value is None else json.dumps(value)

    def returns_text(self):
        self.returns("hello")

    def raises(self):
        self.script(self.begun())
        self.state = "FAILED", None

    def breaks(self):
        self.script(self.begun())
        self.state = "SUCCEEDED", '{"half": '

    def answers_too_much(self, *, told):
        self.returns("x" * (RESULT_BYTES + 10))

    def takes_in(self, *, looks, value=None):
        self.returns(value)
        self.running = looks

    def stops(self):
        self.script(self.begun())
        self.running = 1000

    def looks(self):
        return self.asked_after

    told_key = None  # its input is not echoed here

    def look(self):
        """How it stands when somebody looks."""
        self.asked_after.append(self.state[0])
        if self.stopped:
            return "STOPPED", None
        if self.running:
            self.running -= 1
            return "RUNNING", None
        return self.state


class DurableLambda(Started):
    execution = "arn:aws:lambda:eu-west-1:123456789012:function:hello:1/durable-execution/k/1"

    def options(self):
        return {**super().options(), "mode": "durable"}

    def begun(self):
        return answer(None, 202, {"X-Amz-Durable-Execution-Arn": self.execution})

    def play(self, seen):
        if seen.path.endswith("/stop"):
            self.stopped = True
            return answer({"StopTimestamp": 1})
        if seen.query["IncludeExecutionData"] == "false":
            return answer({"Status": self.look()[0]})
        status, result = self.state
        error = {"ErrorType": "Sold", "ErrorMessage": "none left"}
        return answer({"Status": status, "Result": result, "Error": error})

    def seen(self):
        key = self.sent[-1].headers["x-amz-durable-execution-name"]
        return [(self.sent[-1].headers["traceparent"], key)]


class States(Started):
    kind, path = "aws:states", "/"
    execution = "arn:aws:states:eu-west-1:123456789012:execution:orders:1"

    def open(self, stack, shared):
        super().open(stack, shared)
        self.function = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"

    def options(self):
        return {"credentials": "mine"}

    @property
    def sent(self):
        return [seen for seen in self.host.requests if self.operation(seen) == "StartExecution"]

    def operation(self, seen):
        return seen.headers["x-amz-target"].removeprefix("AWSStepFunctions.")

    def begun(self):
        return answer({"executionArn": self.execution})

    def play(self, seen):
        match self.operation(seen):
            case "StartExecution":
                return self.host._routes["POST", "/"].next()
            case "StopExecution":
                self.stopped = True
                return answer({"stopDate": 1})
            case "DescribeStateMachine":
                return answer({"type": "STANDARD"})
        status, output = self.look()
        return answer({"status": status, "output": output, "error": "Sold", "cause": "none left"})

    def checks(self):
        pass  # it is described

    def seen(self):
        return [(seen.headers["traceparent"], seen.json()["name"]) for seen in self.sent]
