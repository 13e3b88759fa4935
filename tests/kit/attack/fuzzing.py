"""Requests that nobody would send, made from a seed: the same ones every time."""

from __future__ import annotations

import json
from urllib.parse import quote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.kit.infra.servers import KEY, USER
from xingqiao.infra.http.routes import ROUTES as OWN
from xingqiao.infra.service.api import WINGS
from xingqiao.infra.stepfunctions.api.inputs import INPUTS

NAMES = ("a", "b", "echo", "f", "package/a", "guest", "_", "utils", "é", "a b", "x" * 300, "..", "%2e", "\x00", "/",
         "whisk.system/utils/sort", "/_/a", "", "-", "1", "a@0.0.1", "null")  # fmt: skip
NUMBERS = (0, 1, -1, 5, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 0.5, -0.0, 1e308, 1e19)
TEXTS = ("", "x", "0", "true", "\ud83d\ude00", "a\x00b", "{}", "$.x", "States.ALL", "blocking", "é" * 100, "active",
         "abort", "commit", "retry", "python:3", "composition", "states", "sequence", "http")  # fmt: skip
QUERY = ("blocking", "result", "timeout", "wait", "limit", "skip", "since", "upto", "overwrite", "name", "status",
         "count", "code", "after", "prefix", "until", "kind", "cause", "Qualifier", "MaxItems", "Marker", "x")  # fmt: skip
QUERY_VALUES = (
    "true",
    "false",
    "1",
    "0",
    "-1",
    "5",
    "x",
    "",
    "%ff",
    "9" * 18,
    "9" * 30,
    "1.5",
    "null",
    "é",
)
ARCHIVE = "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="  # with nothing in it
CODE = "def main(params):\n    return params\n"
MACHINE = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
EXECUTABLES = (
    {"kind": "python:3", "code": CODE},
    {"kind": "sequence", "components": ["/_/echo", "/_/echo"]},
    {"kind": "composition", "composition": {"type": "sequence", "components": []}},
    {"kind": "states", "definition": MACHINE, "type": "EXPRESS"},
    {"kind": "http", "target": "http://127.0.0.1:1/"},
)
_ACTION = {
    "namespace": "_", "name": "a", "version": "0.0.1", "publish": True,
    "limits": {"timeout": 1000, "memory": 256, "logs": 1, "concurrency": 1},
    "parameters": [{"key": "a", "value": 1, "encryption": {}}],
    "annotations": [{"key": "web-export", "value": True}, {"key": "conductor", "value": False}],
    "delAnnotations": ["a"],
}  # fmt: skip
EVENT = {
    "specversion": "1.0", "id": "1", "source": "/s", "type": "a", "time": "2026-11-23T08:30:00Z", "xqhops": 1,
    "data": {"a": [1]},
}  # fmt: skip
EVENT_FORMATS = (
    "application/cloudevents+json", "application/cloudevents-batch+json", "application/cloudevents+avro",
    "application/json", "text/plain; charset=x",
)  # fmt: skip
DOCUMENTS = {  # what is usually sent to paths that have this word
    "/actions": tuple({**_ACTION, "exec": executable} for executable in EXECUTABLES),
    "/packages": ({"binding": {"namespace": "_", "name": "a"}, "parameters": [{"key": "a", "value": 1}],
                   "publish": True, "annotations": [{"key": "a", "value": 1}]},),
    "/triggers": ({"annotations": [{"key": "feed", "value": "/whisk.system/alarms/alarm"}],
                   "parameters": [{"key": "cron", "value": "* * * * *"}, {"key": "startDate", "value": 1}]},
                  {"parameters": [{"key": "a", "value": {"b": [1]}}]}),
    "/rules": ({"trigger": "/_/a", "action": "/_/echo", "status": "active", "condition": {"type": "all"}, "context": {}},),
    "/events": (EVENT, [EVENT, {**EVENT, "id": "2"}]),
    "/operator": ({"limits": {"invocationsPerMinute": 5, "concurrentInvocations": 5, "firesPerMinute": 5},
                   "auth": "fuzz-uuid-1:a-key-of-the-fuzzer"},),
    "/entities": ({"operation": "add", "params": {"n": 1}, "read": True},),
    "/sagas": ({"do": "retry", "fiber": "0", "result": {}, "params": {}, "reason": "x"},),
    "/transactions": ({"decision": "abort", "reason": "x"},),
    "/adapters": ({"exec": {"kind": "http", "target": "http://127.0.0.1:1/"}, "action": "a"},),
    "/secrets": ({"type": "basic", "username": "u", "password": "p"}, {"type": "bearer", "token": "t"}),
    "/executions": ({"composition": {"type": "sequence", "components": []}},),
    "/aliases": ({"Name": "prod", "FunctionVersion": "$LATEST", "Description": "x",
                  "RoutingConfig": {"AdditionalVersionWeights": {"2": 0.5}}},),
    "/policy": ({"StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "*",
                 "SourceAccount": "111111111111"},),
    "/2015": ({"FunctionName": "f", "Runtime": "python3.12", "Handler": "a.main", "Role": "arn:aws:iam::1:role/r",
               "Code": {"ZipFile": ARCHIVE}, "Timeout": 3, "MemorySize": 128, "Tags": {"a": "b"}, "Layers": [],
               "Environment": {"Variables": {"A": "b"}}, "Publish": False},
              {"ZipFile": ARCHIVE, "DryRun": True, "RevisionId": "x"}),
    "/20": ({"Tags": {"a": "b"}, "AuthType": "NONE", "Cors": {"AllowOrigins": ["*"], "MaxAge": 5}},
            {"MaximumRetryAttempts": 1, "ReservedConcurrentExecutions": 2, "MaximumEventAgeInSeconds": 60}),
    "": ({"cron": "* * * * *", "error": "e", "a": 1, "lines": ["b", "a"], "n": 5, "payload": "x"},),
}  # fmt: skip
ROUTES = [*OWN, *(route for wing in WINGS for route in wing.routes)]
WRITING = [route for route in ROUTES if route[0] in ("PUT", "POST") and route[1] != "/"]
STATES = "arn:aws:states:us-east-1:111111111111:"
MEMBERS = (
    "ok",
    "express:a:b:c",
    "stateMachine:a",
    "execution:a:b",
    "activity:a",
    "stateMachine:a:1",
    "mapRun:a/b:c",
)


class Requests:
    """Requests in an endless row.

    Args:
        random: the seeded chance that makes them.
        url: of the server.
        operator: credentials of the operator.
    """

    def __init__(self, random, url, operator):
        self._random, self._url, self._operator = random, url, operator

    def next(self):
        """One request: what `httpx` needs to send it."""
        door = self._random.random()
        if door < 0.25:
            return self._of_states()
        method, path, _ = self._random.choice(ROUTES if self._random.random() < 0.4 else WRITING)
        if method == "*" or self._random.random() < 0.05:
            method = self._random.choice(
                ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
            )
        lambdas = path.startswith("/20")
        operated = "/operator/" in path
        target = "/".join(self._segment(part, operated) for part in path.split("/")) + self._query()
        content = self._body(path)
        if lambdas and self._random.random() < 0.9:
            return self._signed(method, target, content, "lambda", {})
        user, key = self._operator if operated else (USER, KEY)
        auth = None if self._random.random() < 0.03 else (user, key)
        asked = {"method": method, "url": self._url + target, "content": content, "auth": auth}
        if path.endswith("/events"):
            asked["headers"] = {"Content-Type": self._random.choice(EVENT_FORMATS)}
        return asked

    def _segment(self, part, operated):
        if not part.startswith("{"):
            return part
        if part == "{namespace}" and self._random.random() < 0.9:
            return "_"
        if (
            operated
        ):  # the namespaces that ask are not for fuzzing: without their keys nothing is tested
            return self._random.choice(
                (f"team{self._random.randrange(100)}", "team1", "x" * 300, "%2e", "%00")
            )
        common = self._random.random() < 0.7
        name = self._random.choice(NAMES[:4] if common else NAMES)
        return quote(name, safe="/" if ":path" in part else "") or "_"

    def _query(self):
        if (
            self._random.random() < 0.5
        ):  # so that what there is is replaced, and calls are waited for
            return "?overwrite=true&blocking=true"
        count = self._random.choice((0, 0, 1, 2, 3))
        pairs = (
            f"{self._random.choice(QUERY)}={quote(self._random.choice(QUERY_VALUES), safe='%')}"
            for _ in range(count)
        )
        return "?" + "&".join(pairs) if count else ""

    def _body(self, path):
        if self._random.random() < 0.1:
            return self._random.choice(
                (b"", b"{", b"null", b"[]", b"\xff", b'{"a": 1e400}', b"[" * 2000, b'"x"')
            )
        return json.dumps(self._document(path)).encode()

    def _document(self, path):
        if self._random.random() < 0.05:
            return self._value(3)
        kinds = next(kinds for word, kinds in DOCUMENTS.items() if word in path)
        document = self._random.choice(kinds)
        for _ in range(self._random.choice((0, 1, 1, 1, 2))):
            document = self._changed(document)
        return document

    def _changed(self, value):
        """The value with another one somewhere inside."""
        if isinstance(value, dict) and value and self._random.random() < 0.8:
            key = self._random.choice(sorted(value))
            return {**value, key: self._changed(value[key])}
        if isinstance(value, list) and value and self._random.random() < 0.6:
            at = self._random.randrange(len(value))
            return [*value[:at], self._changed(value[at]), *value[at + 1 :]]
        return self._value(2)

    def _value(self, depth):
        kind = self._random.randrange(8 if depth else 5)
        match kind:
            case 0:
                return self._random.choice((None, True, False))
            case 1:
                return self._random.choice(NUMBERS)
            case 2 | 3:
                return self._random.choice(TEXTS)
            case 4:
                return self._random.choice(([], {}))
            case 5:
                return [self._value(depth - 1) for _ in range(self._random.randrange(4))]
            case _:
                keys = self._random.sample(
                    ("key", "value", "a", "code", "kind", "type", "name", ""), 3
                )
                return {key: self._value(depth - 1) for key in keys}

    def _of_states(self):
        operation = self._random.choice(
            [name for name in sorted(INPUTS) if name != "GetActivityTask"]
        )
        given = {
            name: self._param(name)
            for name in INPUTS[operation].fields
            if self._random.random() < 0.8
        }
        content = self._body("") if self._random.random() < 0.1 else json.dumps(given).encode()
        headers = {
            "X-Amz-Target": f"AWSStepFunctions.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        return self._signed("POST", "/", content, "states", headers)

    def _param(self, name):
        chance = self._random.random()
        if chance < 0.25:
            return self._value(2)
        if name.lower().endswith("arn"):
            return STATES + self._random.choice(MEMBERS)
        if name == "definition":
            return self._machine()
        if name in ("input", "output", "variables", "context"):
            return self._random.choice(
                ("{}", "null", "{", '{"n": 123456789012345678901234567890}', "1e400")
            )
        return self._random.choice((*NAMES, *TEXTS, "STANDARD", "EXPRESS", 1, 0, 1000, True))

    def _machine(self):
        state = {
            "Type": "Pass",
            "Result": 1,
            "End": True,
            "Parameters": {"a.$": "$.b"},
            "Next": "A",
        }
        machine = {
            "StartAt": "A",
            "States": {"A": state},
            "TimeoutSeconds": 5,
            "QueryLanguage": "JSONata",
        }
        return json.dumps(self._changed(machine))

    def _signed(self, method, target, content, service, headers):
        request = AWSRequest(method=method, url=self._url + target, data=content, headers=headers)
        SigV4Auth(Credentials(USER, KEY), service, "us-east-1").add_auth(request)
        return {
            "method": method,
            "url": self._url + target,
            "content": content,
            "headers": dict(request.headers),
        }
