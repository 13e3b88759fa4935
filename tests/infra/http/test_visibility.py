"""A public package that hides: everybody may run what is in it, and nobody else sees code or values."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from uuid import UUID

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws
from xingqiao import composer

HOME = "/api/v1/namespaces/_"
ANN = "/api/v1/namespaces/ann"
QUERY = {"blocking": "true", "overwrite": "true"}
CODE, PACKAGES, ACTIONS, TREE = (
    "echo",
    "value-of-the-package",
    "value-of-the-action",
    "a-literal-inside",
)
SECRETS = (PACKAGES, ACTIONS, TREE)


@asynccontextmanager
async def shared(hide):
    """Two namespaces, and a public package of one of them; with its owner's and the other's client."""
    async with opened() as world:
        clients, _ = await share(world, hide)
        yield clients


async def share(world, hide):
    """Makes them. Returns the clients, and the keys that they have."""
    keys = [
        tuple((await world.api.namespaces.create(owner, {})).split(":", 1))
        for owner in ("ann", "bob")
    ]
    clients = [world.caller(auth=key) for key in keys]
    ann, bob = clients
    notes = [{"key": "hide", "value": hide}, {"key": "description", "value": "for all"}]
    bound = [{"key": "p", "value": PACKAGES}]
    package = {"publish": True, "annotations": notes, "parameters": bound}
    assert (await ann.put(f"{HOME}/packages/tools", json=package)).status_code == 200
    tree = composer.sequence(composer.literal({"t": TREE}), "/_/tools/code").to_json()
    documents = {
        "code": {"exec": {"kind": "python:3", "code": CODE}},
        "tree": {"exec": {"kind": "composition", "composition": tree}},
        "remote": {"exec": {"kind": "http", "function": f"http://127.0.0.1:9/{TREE}"}},
    }
    for name, document in documents.items():
        document["parameters"] = [{"key": "a", "value": ACTIONS}]
        document["annotations"] = [{"key": "conductor", "value": tree}]
        answer = await ann.put(f"{HOME}/actions/tools/{name}", json=document)
        assert answer.status_code == 200, answer.text
    binding = {"binding": {"namespace": "ann", "name": "tools"}}
    own = [{"key": "b", "value": "bobs-own"}]
    await bob.put(f"{HOME}/packages/bound", json={**binding, "parameters": own})
    return clients, keys


async def everything(client, place):
    """All that a client is shown of the package: as it is, and by a binding."""
    texts = []
    for path in (
        "packages/{}",
        "actions/{}/",
        "actions/{}/code",
        "actions/{}/tree",
        "actions/{}/remote",
    ):
        answer = await client.get(f"{place[0]}/{path.format(place[1])}", params={"code": "true"})
        assert answer.status_code == 200, answer.text
        texts.append(answer.text)
    return "".join(texts)


@pytest.mark.parametrize("place", [(ANN, "tools"), (HOME, "bound")], ids=["itself", "bound"])
async def test_what_hides_shows_names_and_kinds_only(place):
    async with shared(hide=True) as (ann, bob):
        seen = await everything(bob, place)
        assert not [secret for secret in SECRETS if secret in seen]
        assert '"code":"echo"' not in seen
        action = (await bob.get(f"{place[0]}/actions/{place[1]}/code")).json()
        assert action["exec"] == {"kind": "python:3", "binary": False}
        hidden = {p["key"]: p for p in action["parameters"]}
        assert hidden["a"] == {"key": "a", "value": None, "hidden": True}
        package = (await bob.get(f"{place[0]}/packages/{place[1]}")).json()
        assert {doc["name"] for doc in package["actions"]} == {"remote", "tree", "code"}
        values = {p["key"]: p["value"] for p in package["parameters"]}
        assert values == ({"p": None} if place[1] == "tools" else {"p": None, "b": "bobs-own"})

        owners = await everything(ann, (HOME, "tools"))
        assert all(secret in owners for secret in (*SECRETS, '"code":"echo"'))


async def test_what_does_not_hide_is_shown_as_openwhisk_shows_it():
    async with shared(hide=False) as (_, bob):
        seen = await everything(bob, (ANN, "tools"))
        assert all(secret in seen for secret in (*SECRETS, '"code":"echo"'))


@pytest.mark.parametrize("place", [f"{ANN}/actions/tools", f"{HOME}/actions/bound"])
async def test_it_runs_and_its_history_shows_no_values(place):
    async with shared(hide=True) as (_, bob):
        answer = await bob.post(f"{place}/code", params=QUERY, json={"x": 1})
        assert answer.status_code == 200, answer.text
        assert answer.json()["response"]["result"]["p"] == PACKAGES  # the action itself returns it

        answer = await bob.post(f"{place}/tree", params=QUERY, json={"x": 1})
        id = answer.json()["activationId"]
        history = await bob.get(f"{HOME}/executions/{id}/history")
        assert history.status_code == 200
        entries = history.json()["entries"]
        assert entries[0]["type"] == "ExecutionStarted"
        assert not [secret for secret in SECRETS if secret in history.text]
        assert not [
            secret
            for secret in SECRETS
            if secret in (await bob.get(f"{HOME}/executions/{id}")).text
        ]
        query = await bob.get(f"{HOME}/executions/{id}/queries/$variables")
        assert query.status_code in {403, 410}
        other = {"composition": composer.literal({}).to_json()}
        redriven = await bob.post(f"{HOME}/executions/{id}/redrive", json=other)
        assert redriven.status_code == 403


async def test_when_it_is_gone_its_history_still_shows_no_values():
    async with shared(hide=True) as (ann, bob):
        answer = await bob.post(f"{ANN}/actions/tools/tree", params=QUERY, json={})
        id = answer.json()["activationId"]
        for change in (
            ann.put(f"{HOME}/packages/tools", params=QUERY, json={"publish": False}),
            ann.delete(f"{HOME}/packages/tools", params={"force": "true"}),
        ):
            assert (await change).status_code == 200
            history = await bob.get(f"{HOME}/executions/{id}/history")
            assert history.json()["entries"]
            assert not [secret for secret in SECRETS if secret in history.text]


@pytest.mark.parametrize("place", [f"{ANN}/actions/tools", f"{HOME}/actions/bound"])
async def test_a_dead_letter_shows_no_values_of_it(place):
    async with shared(hide=True) as (ann, bob):
        crash = {"exec": {"kind": "python:3", "code": "crash"}}
        crash["parameters"] = [{"key": "a", "value": ACTIONS}]
        await ann.put(f"{HOME}/actions/tools/crash", json=crash)
        assert (await bob.post(f"{place}/crash", json={"x": 1})).status_code == 202

        letter = await only_letter(bob)

        shown = await bob.get(f"{HOME}/dead-letters/{letter['id']}")
        assert shown.json() == {**letter, "error": "gone"}
        gone = await bob.delete(f"{HOME}/dead-letters/{letter['id']}")
        assert not [secret for secret in SECRETS if secret in shown.text + gone.text]

        assert (await ann.post(f"{HOME}/actions/tools/crash", json={"x": 1})).status_code == 202
        letter = await only_letter(ann)
        params = (await ann.get(f"{HOME}/dead-letters/{letter['id']}")).json()["params"]
        assert params == {"p": PACKAGES, "a": ACTIONS, "x": 1}


async def test_its_executions_give_their_answers_to_its_owner_only():
    async with shared(hide=True) as (ann, bob):
        asked = composer.queries(composer.literal({"t": TREE}), state=composer.path("$"))
        document = {"exec": {"kind": "composition", "composition": asked.to_json()}}
        await ann.put(f"{HOME}/actions/tools/asked", json=document)
        answers = []
        for client in (bob, ann):
            call = await client.post(f"{ANN}/actions/tools/asked", params=QUERY, json={})
            path = f"{HOME}/executions/{call.json()['activationId']}/queries/state"
            answers.append(await client.get(path))

        assert [answer.status_code for answer in answers] == [403, 200]
        assert TREE not in answers[0].text
        assert answers[1].json()["answer"] == {"t": TREE}


ARN = "arn:aws:states:us-east-1:111111111111"
ARNS = [
    ("DescribeExecution", "executionArn", "{}:execution:{}/machine:{}"),
    ("GetExecutionHistory", "executionArn", "{}:execution:{}/machine:{}"),
    ("DescribeStateMachineForExecution", "executionArn", "{}:execution:{}/machine:{}"),
    ("ListMapRuns", "executionArn", "{}:execution:{}/machine:{}"),
    ("DescribeStateMachine", "stateMachineArn", "{}:stateMachine:{}/machine"),
]


@pytest.mark.parametrize("place", [f"{ANN}/actions/tools", f"{HOME}/actions/bound"])
async def test_the_api_of_step_functions_shows_nothing_of_a_state_machine_that_is_hidden(place):
    async with opened() as world:
        (ann, bob), keys = await share(world, hide=True)
        states = {"Go": {"Type": "Pass", "Result": {"t": TREE}, "ResultPath": "$.t", "End": True}}
        definition = json.dumps({"StartAt": "Go", "States": states})
        document = {
            "exec": {"kind": "states", "definition": definition, "type": "STANDARD"},
            "parameters": [{"key": "a", "value": ACTIONS}],
        }
        await ann.put(f"{HOME}/actions/tools/machine", json=document)

        answer = await bob.post(f"{place}/machine", params=QUERY, json={"x": 1})
        id = UUID(answer.json()["activationId"])
        aws = Aws(world, *keys[1])
        for operation, name, arn in ARNS:
            for package in ("tools", "bound"):
                body = json.dumps({name: arn.format(ARN, package, id)}).encode()
                answer = await aws.post(body, aws.headers(operation))
                assert answer.status_code == 400, answer.text
                assert not [secret for secret in SECRETS if secret in answer.text]

        answer = await ann.post(f"{HOME}/actions/tools/machine", params=QUERY, json={"x": 1})
        arn = f"{ARN}:execution:tools/machine:{UUID(answer.json()['activationId'])}"
        aws = Aws(world, *keys[0])
        for operation in ("DescribeExecution", "DescribeStateMachineForExecution"):
            assert TREE in json.dumps(await aws(operation, executionArn=arn))


async def only_letter(client):
    """The one dead letter of a namespace, as soon as there is one."""
    async with asyncio.timeout(20):
        while True:
            found = (await client.get(f"{HOME}/dead-letters")).json()
            if found:
                (letter,) = found
                return letter
            await anyio.lowlevel.checkpoint()


async def test_an_owners_history_shows_everything():
    async with shared(hide=True) as (ann, _):
        answer = await ann.post(f"{HOME}/actions/tools/tree", params=QUERY, json={})
        history = await ann.get(f"{HOME}/executions/{answer.json()['activationId']}/history")
        assert PACKAGES in history.text


async def test_a_hidden_action_elsewhere_is_not_looked_at_for_others():
    async with shared(hide=True) as (_, bob):
        answer = await bob.post(f"{HOME}/adapters/check", json={"action": "/ann/tools/remote"})
        assert answer.status_code in (403, 404)
        assert TREE not in answer.text
