"""State machines with their versions and programs, as the service keeps them."""

from __future__ import annotations

from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws
from tests.kit.stepfunctions.machines import (
    DEFINITION,
    PREFIX,
    M,
    defined,
    described,
    made,
    updated,
)
from xingqiao.actions import Document, Write
from xingqiao.infra.stepfunctions.api.protocol import Caller
from xingqiao.infra.stepfunctions.api.starts import start_of
from xingqiao.infra.stores import MemoryStore


async def test_the_program_of_a_version_is_there_after_a_crash(world, aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"))
    start = await start_of(M + ":1", "e", Caller("guest", "id"), world.api)

    kept = [d.key async for d in world.store.documents("program", start.action.program.hash)]
    assert kept == [start.action.program.hash]


async def test_few_versions_are_kept_ready_and_those_that_go_are_not(world, aws):
    await made(aws, publish=True)
    for name in "234":
        await updated(aws, defined(name), publish=True)
    caller = Caller("guest", "id")
    first = await start_of(M + ":1", "e", caller, world.api)
    for number in (2, 3, 4):
        await start_of(f"{M}:{number}", "e", caller, world.api)

    again = await start_of(M + ":1", "e", caller, world.api)
    assert again.action is not first.action
    await aws("DeleteStateMachine", stateMachineArn=M)
    await made(aws, definition=defined("new"), publish=True)
    new = await start_of(M + ":1", "e", caller, world.api)
    assert new.action.exec.document["definition"] == defined("new")


async def left(store):
    return [
        (document.kind, document.key)
        for kind in ("machine", "machine-version")
        async for document in store.documents(kind)
    ]


async def test_whoever_deletes_the_action_nothing_is_left_of_the_machine(world, aws):
    await made(aws, publish=True, tags=[{"key": "k", "value": "v"}])
    assert await left(world.store) == [("machine", "guest/m"), ("machine-version", "guest/m/0000000001")]  # fmt: skip

    assert (await world.client.delete("/actions/m")).status_code == 200

    assert await left(world.store) == []
    await made(aws)
    assert await aws("ListTagsForResource", resourceArn=PREFIX + "m") == {"tags": []}
    assert (await aws("ListStateMachineVersions", stateMachineArn=PREFIX + "m"))["stateMachineVersions"] == []  # fmt: skip
    assert "revisionId" not in await described(aws)


async def test_so_it_is_when_it_becomes_another_action(world, aws):
    await made(aws, publish=True)

    body = {"exec": {"kind": "python:3", "code": "echo"}}
    await world.client.put("/actions/m", params={"overwrite": "true"}, json=body)

    assert await left(world.store) == []
    assert (await aws.refused("DescribeStateMachine", stateMachineArn=PREFIX + "m"))[0] == "StateMachineDoesNotExist"  # fmt: skip


async def test_so_it_is_when_its_namespace_is_deleted(world):
    aws = Aws(world, *(await world.api.namespaces.create("team", {})).split(":"))
    await made(aws, publish=True)
    operator = world.caller(auth=("operator", "an-operators-key"))

    assert (await operator.delete("/api/v1/operator/namespaces/team")).status_code == 200

    assert await left(world.store) == []


async def test_what_is_deployed_as_an_action_is_a_machine_with_a_record_of_its_own(world, aws):
    body = {"exec": {"kind": "states", "definition": DEFINITION}}
    await world.client.put("/actions/m", json=body)
    created = await described(aws)
    world.clock.ms += 1000
    body["exec"]["definition"] = defined("2")
    await world.client.put("/actions/m", params={"overwrite": "true"}, json=body)

    shown = await described(aws)

    assert created["roleArn"] == "arn:aws:iam::111111111111:role/xingqiao"
    assert "revisionId" not in created
    assert shown["definition"] == defined("2")
    assert shown["creationDate"] == created["creationDate"]
    assert "revisionId" in shown


async def test_a_machine_in_a_package_is_an_action_and_no_machine_of_the_api(world, aws):
    await world.client.put("/packages/p", json={})
    body = {"exec": {"kind": "states", "definition": DEFINITION}}
    await world.client.put("/actions/p/m", json=body)

    assert (await aws("ListStateMachines"))["stateMachines"] == []
    assert await left(world.store) == []


async def test_all_of_it_is_there_after_a_restart():
    store = MemoryStore()
    async with opened(store) as world:
        aws = Aws(world)
        await made(aws, tags=[{"key": "k", "value": "v"}], publish=True, versionDescription="one")
        await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", definition=defined("2"), publish=True)  # fmt: skip
        route = {"stateMachineVersionArn": PREFIX + "m:1", "weight": 100}
        await aws("CreateStateMachineAlias", name="live", routingConfiguration=[route])
        arns = [PREFIX + name for name in ("m", "m:1", "m:2", "m:live")]
        before = [await described(aws, arn) for arn in arns]

    async with opened(store) as world:
        aws = Aws(world)
        assert [await described(aws, arn) for arn in arns] == before
        assert (await aws("ListTagsForResource", resourceArn=PREFIX + "m"))["tags"] == [
            {"key": "k", "value": "v"}
        ]
        await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", definition=defined("3"), publish=True)  # fmt: skip
        await aws("DeleteStateMachine", stateMachineArn=PREFIX + "m")
    assert await left(store) == []


async def test_what_is_left_of_an_action_that_is_gone_is_dropped_at_a_start():
    store = MemoryStore()
    async with opened(store) as world:
        await made(Aws(world), publish=True)
    await store.commit([Write(documents=[Document(kind="entity", key="/guest/m", body=None)])])

    async with opened(store) as world:
        assert await left(store) == []
        assert "stateMachineVersionArn" not in await made(Aws(world))
