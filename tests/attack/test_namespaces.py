"""A namespace that tries every route with every name and id of another namespace.

The victim owns one of each thing, and each holds a secret. The thief has a key of its own, knows all
names and ids of the victim, and sends them to every path that is served and to every operation of AWS'
doors. No answer may hold the secret, nothing of the victim's may change, and nothing of it may run.
"""

from __future__ import annotations

import json
import re
from itertools import product

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws
from xingqiao import composer
from xingqiao.composer import Failure, saga, step
from xingqiao.infra.http.routes import ROUTES
from xingqiao.infra.lambdas.routes import ROUTES as LAMBDA_ROUTES
from xingqiao.infra.stepfunctions.api.service import OPERATIONS

SECRET = "the-victims-secret"
ANSWERED = ("echo", "hold", "account", "fail")
LISTS = (
    "/api/v1/namespaces/victim/packages"  # anyone may list the packages that are public: here none
)
PARAMETERS = [{"key": "secret", "value": SECRET}]
STUCK = saga(step("echo", undo="hold", undo_retries=0), step("fail", no_undo="it refuses"))
DEFINITION = {"StartAt": "Say", "States": {"Say": {"Type": "Pass", "Result": SECRET, "End": True}}}
ARNS = (
    "stateMachineArn", "stateMachineVersionArn", "stateMachineAliasArn", "executionArn",
    "activityArn", "mapRunArn", "resourceArn",
)  # fmt: skip
ROLE = "arn:aws:iam::111111111111:role/sfn"


class Victim:
    """A namespace with one of each thing, and all the names and ids of those."""

    def __init__(self, world, auth):
        self.world = world
        self.client = world.caller(auth=tuple(auth.split(":", 1)))
        self.aws = Aws(world, *auth.split(":", 1))
        self.known = {}

    async def ask(self, method, path, expected=200, **asked):
        answer = await self.client.request(method, f"/api/v1/namespaces/_{path}", **asked)
        assert answer.status_code == expected, (method, path, answer.text)
        return answer.json()

    async def furnish(self):
        for word in ANSWERED:
            document = {"exec": {"kind": "python:3", "code": word}, "parameters": PARAMETERS}
            if word == "account":
                document = {**document, "annotations": [{"key": "entity", "value": True}]}
            await self.ask("PUT", f"/actions/{word}", json=document)
        for name, part in (
            ("held", composer.sequence("hold")),
            ("stuck", STUCK),
            ("done", composer.sequence("echo")),
        ):
            document = {"kind": "composition", "composition": part.to_json()}
            await self.ask("PUT", f"/actions/{name}", json={"exec": document})
        await self.ask("PUT", "/packages/shut", json={"parameters": PARAMETERS})
        code = {"exec": {"kind": "python:3", "code": "echo"}, "parameters": PARAMETERS}
        await self.ask("PUT", "/actions/shut/inside", json=code)
        await self.ask("PUT", "/triggers/bell", json={"parameters": PARAMETERS})
        rule = {"trigger": "/_/bell", "action": "/_/echo", "annotations": PARAMETERS}
        await self.ask("PUT", "/rules/when", json=rule)
        await self.ask("PUT", "/secrets/kept", json={"type": "bearer", "token": SECRET})
        for key in ("k", SECRET):
            called = {"operation": "add", "params": {"n": 1}}
            await self.ask("POST", f"/entities/account/keys/{key}", json=called)
        query = {"type": "secret.told", "source": "/victim", "wait": "effects"}
        told = await self.ask("POST", "/events", 202, params=query, json={"said": SECRET})
        self.known["key"] = told["keys"]
        await self._run()
        await self._aws()

    async def _run(self):
        """Leaves an execution under way, one that is done, and a saga that is stuck."""
        ids = {}
        for name in ("done", "held", "stuck"):
            started = await self.ask("POST", f"/actions/{name}", 202, json={"said": SECRET})
            ids[name] = started["activationId"]
            if name == "held":
                await self.world.hands.held.get()
        undoing = await self.world.hands.held.get()
        self.world.hands.answer(undoing.activation, Failure("Down", SECRET))
        await self.ask("GET", f"/activations/{ids['done']}", params={"wait": 20_000})
        while (await self.ask("GET", f"/executions/{ids['stuck']}"))["status"] != "stuck":
            await anyio.lowlevel.checkpoint()
        self.known["id"] = list(ids.values())

    async def _aws(self):
        made = await self.aws(
            "CreateStateMachine", name="machine", definition=json.dumps(DEFINITION), roleArn=ROLE
        )
        started = await self.aws(
            "StartExecution", stateMachineArn=made["stateMachineArn"], name="once"
        )
        activity = await self.aws("CreateActivity", name="work")
        self.known["arn"] = [
            made["stateMachineArn"], started["executionArn"], activity["activityArn"],
        ]  # fmt: skip

    async def seen(self):
        """All that the victim can see of itself."""
        paths = [
            "",
            *(f"/{name}" for name in ("actions", "packages", "triggers", "rules", "secrets")),
        ]
        paths += ["/entities/account/keys?states=true", "/executions", "/sagas", "/transactions"]
        paths += [f"/executions/{id}" for id in self.known["id"]]
        paths += [f"/events/{key}" for key in self.known["key"]]
        found = [await self.ask("GET", path) for path in paths]
        found += [await self.ask("GET", f"/actions/{word}") for word in ANSWERED]
        return found, await self.aws("ListStateMachines"), await self.aws("ListActivities")


@pytest.fixture
async def victim():
    async with opened() as world:
        made = Victim(world, await world.api.namespaces.create("victim", {}))
        await made.furnish()
        yield made


def filled(path, victim):
    """A route's path with each of the victim's names and ids in the places it has."""
    things = ["echo", "held", "shut/inside", "shut", "bell", "when", "kept", "account", "machine"]
    places = re.findall(r"{(\w+)(?::path)?}", path)
    choices = {
        "namespace": ["victim", "_"],
        "id": victim.known["id"],
        "key": ["k", SECRET, *victim.known["key"]],
        "type": ["account"],
        "package": ["shut"],
        "token": [*victim.known["id"][:1], "0" * 32],
        "worker": ["w"],
        "update": ["u"],
        "path": ["victim/default/echo", "victim/shut/inside.json"],
        "name": ["victim", *things] if "operator" in path else things,
    }
    for values in product(*(choices[place] for place in places)):
        text = path
        for place, value in zip(places, values, strict=True):
            text = re.sub(rf"{{{place}(:path)?}}", value, text, count=1)
        yield text, dict(zip(places, values, strict=True)).get("namespace")


BODIES = {
    "PUT": [{"exec": {"kind": "python:3", "code": "echo"}, "trigger": "/victim/bell",
             "action": "/victim/echo", "token": "x", "type": "bearer"},
            {"binding": {"namespace": "victim", "name": "shut"}}],
    "POST": [{"operation": "add", "params": {}, "do": "skip", "status": "inactive", "decision": "abort"}],
}  # fmt: skip


async def test_no_route_gives_a_namespace_what_is_another_s(victim, figures):
    world, tried, answered = victim.world, 0, {}
    thief = world.caller(auth=tuple((await world.api.namespaces.create("thief", {})).split(":", 1)))
    before = await victim.seen()
    for method, path, _ in ROUTES:
        if path == "/":
            continue
        for text, namespace in filled(path, victim):
            for body in BODIES.get(method, [None]):
                query = {"overwrite": "true", "force": "true", "blocking": "true", "wait": 0}
                answer = await thief.request(
                    "GET" if method == "*" else method,
                    f"http://test{text}",
                    params=query,
                    json=body,
                )
                tried += 1
                answered[answer.status_code] = answered.get(answer.status_code, 0) + 1
                assert SECRET not in answer.text, (method, text, answer.text)
                if (method, text.rstrip("/")) == ("GET", LISTS):
                    assert answer.json() == []
                elif namespace == "victim":
                    assert answer.status_code in (400, 401, 403, 404, 405), (
                        method,
                        text,
                        answer.text,
                    )

    assert await victim.seen() == before
    assert world.hands.held.empty(), "something of the victim's has run"
    figures(tried=tried, answered=answered)


async def test_no_operation_of_aws_gives_a_namespace_what_is_another_s(victim, figures):
    world = victim.world
    auth = await world.api.namespaces.create("thief", {})
    thief, before, tried = Aws(world, *auth.split(":", 1)), await victim.seen(), 0
    for operation in OPERATIONS:
        for arn in victim.known["arn"]:
            asked = dict.fromkeys(ARNS, arn)
            if operation in ("CreateStateMachine", "CreateActivity"):
                continue  # they make what is the thief's own
            answer = await thief.post(json.dumps(asked).encode(), thief.headers(operation))
            tried += 1
            assert SECRET not in answer.text, (operation, arn, answer.text)
            told = answer.json()
            assert answer.status_code >= 400 or not any(told.values()), (operation, told)

    assert await victim.seen() == before
    figures(tried=tried)


async def test_the_functions_of_another_namespace_are_not_found_on_lambda_s_door(victim, figures):
    world = victim.world
    auth = await world.api.namespaces.create("thief", {})
    thief, tried = Aws(world, *auth.split(":", 1), service="lambda"), 0
    client = world.caller()
    before = await victim.seen()
    for method, path, _ in LAMBDA_ROUTES:
        if method == "POST" and not path.endswith("/invocations"):
            continue  # it makes what is the thief's own
        for name in ("echo", "held", "victim:echo", "arn:aws:lambda:us-east-1:1:function:echo"):
            url = f"http://test{path.replace('{name}', name)}"
            body = b"{}" if method in ("POST", "PUT") else b""
            headers = thief.signed(body, {"Content-Type": "application/json"}, url, method)
            answer = await client.request(method, url, content=body, headers=headers)
            tried += 1
            assert SECRET not in answer.text, (method, url, answer.text)
            if "{name}" in path:
                assert answer.status_code >= 400, (method, url, answer.text)

    assert await victim.seen() == before
    figures(tried=tried)
