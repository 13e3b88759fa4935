"""Versions of state machines, and what an ARN of theirs starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kit.stepfunctions.machines import (
    DEFINITION,
    PREFIX,
    ROLE,
    M,
    aliased,
    defined,
    described,
    made,
    published,
    updated,
    versions,
)
from xingqiao.infra.aws.errors import AwsError
from xingqiao.infra.stepfunctions.api.protocol import Caller
from xingqiao.infra.stepfunctions.api.starts import start_of

# --- versions ------------------------------------------------------------------------------------


async def test_a_machine_can_be_published_as_it_is_created(world, aws):
    answer = await made(aws, publish=True, versionDescription="first")

    assert answer["stateMachineVersionArn"] == M + ":1"
    shown = await described(aws, M + ":1")
    assert shown["stateMachineArn"] == M + ":1"
    assert shown["description"] == "first"
    assert "revisionId" not in shown
    assert "description" not in await described(aws)
    again = await made(aws, publish=True, versionDescription="first")
    assert again == answer
    assert await made(aws) == {k: v for k, v in answer.items() if k != "stateMachineVersionArn"}


async def test_a_description_is_for_what_is_published(aws):
    refused = ("ValidationException", "Version description can only be set when publish is true")

    assert await aws.refused("CreateStateMachine", name="m", definition=DEFINITION, roleArn=ROLE, versionDescription="x") == refused  # fmt: skip
    await made(aws)
    assert await aws.refused("UpdateStateMachine", stateMachineArn=M, roleArn=ROLE, versionDescription="x") == refused  # fmt: skip


async def test_a_version_stays_as_it_was(aws):
    await made(aws, publish=True)
    second = await updated(aws, defined("2"), publish=True, versionDescription="two")
    await updated(aws, defined("3"), roleArn=ROLE + "3")

    assert second["stateMachineVersionArn"] == M + ":2"
    first, two = await described(aws, M + ":1"), await described(aws, M + ":2")
    assert (first["definition"], first["roleArn"]) == (DEFINITION, ROLE)
    assert (two["definition"], two["description"]) == (defined("2"), "two")
    assert two["revisionId"] == second["revisionId"]
    assert await versions(aws) == ["2", "1"]


async def test_what_is_published_already_is_the_version_that_it_is(aws):
    await made(aws)
    first = await published(aws)

    assert await published(aws) == first
    assert first["stateMachineVersionArn"] == M + ":1"
    update = await updated(aws, DEFINITION, publish=True)
    assert update["stateMachineVersionArn"] == M + ":1"
    assert "revisionId" not in update
    assert await versions(aws) == ["1"]


async def test_an_update_of_nothing_publishes_what_was_not(aws):
    await made(aws)

    update = await updated(aws, DEFINITION, publish=True)

    assert update["stateMachineVersionArn"] == M + ":1"
    assert "revisionId" not in update


async def test_a_number_is_not_given_twice(aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"), publish=True)
    await aws("DeleteStateMachineVersion", stateMachineVersionArn=M + ":2")

    assert (await published(aws))["stateMachineVersionArn"] == M + ":3"


async def test_only_the_revision_that_is_meant_is_published(aws):
    await made(aws)
    assert (await published(aws, revisionId="INITIAL"))["stateMachineVersionArn"] == M + ":1"
    old = (await updated(aws, defined("2")))["revisionId"]
    new = (await updated(aws, defined("3")))["revisionId"]

    assert await aws.refused("PublishStateMachineVersion", stateMachineArn=M, revisionId=old) == (
        "ConflictException",
        (f"Failed to publish the State Machine version for revision {old}. "
        f"The current State Machine revision is {new}."),
    )  # fmt: skip
    assert (await published(aws, revisionId=new, description="d"))["stateMachineVersionArn"] == M + ":2"  # fmt: skip
    assert (await described(aws, M + ":2"))["description"] == "d"


async def test_a_version_is_deleted_and_there_need_be_none(aws):
    await made(aws, publish=True)
    for _ in range(2):
        await aws("DeleteStateMachineVersion", stateMachineVersionArn=M + ":1")
    await aws("DeleteStateMachineVersion", stateMachineVersionArn=PREFIX + "nothing:1")

    assert await versions(aws) == []
    assert (await aws.refused("DescribeStateMachine", stateMachineArn=M + ":1"))[0] == "StateMachineDoesNotExist"  # fmt: skip
    assert (await aws.refused("DeleteStateMachineVersion", stateMachineVersionArn=M))[0] == "ValidationException"  # fmt: skip


async def test_one_that_an_alias_leads_to_is_not(aws):
    await made(aws, publish=True)
    await aliased(aws, "one")
    await aliased(aws, "two")

    assert await aws.refused("DeleteStateMachineVersion", stateMachineVersionArn=M + ":1") == (
        "ConflictException",
        ("Version to be deleted must not be referenced by an alias. Current list of aliases "
        "referencing this version: [one, two]"),
    )  # fmt: skip
    for name in ("one", "two"):
        await aws("DeleteStateMachineAlias", stateMachineAliasArn=f"{M}:{name}")
    await aws("DeleteStateMachineVersion", stateMachineVersionArn=M + ":1")


async def test_versions_are_listed_the_newest_first_a_page_at_a_time(aws):
    await made(aws, publish=True)
    for number in range(2, 12):
        await updated(aws, defined(str(number)), publish=True)

    first = await aws("ListStateMachineVersions", stateMachineArn=M, maxResults=6)
    rest = await aws("ListStateMachineVersions", stateMachineArn=M, nextToken=first["nextToken"])

    listed = [*first["stateMachineVersions"], *rest["stateMachineVersions"]]
    numbers = [int(version["stateMachineVersionArn"].rpartition(":")[2]) for version in listed]
    assert numbers == list(range(11, 0, -1))
    assert "nextToken" not in rest


async def test_a_machine_has_a_thousand_versions_and_no_more(world, aws):
    await made(aws, publish=True)
    machine = world.api.machines.find("guest", "m")
    for number in range(2, 1000):  # published here, so that it does not take a minute
        machine.versions[number] = replace(machine.versions[1], number=number, revision=str(number))
    await world.api.machines.keep(machine, replace(machine.record, published=999))

    assert (await updated(aws, defined("2"), publish=True))["stateMachineVersionArn"] == M + ":1000"
    await updated(aws, defined("3"))
    for operation, given in (
        ("PublishStateMachineVersion", {}),
        ("UpdateStateMachine", {"definition": defined("4"), "publish": True}),
    ):
        code, message = await aws.refused(operation, stateMachineArn=M, **given)
        assert code == "ServiceQuotaExceededException"
        assert "1000" in message
    assert (await described(aws))["definition"] == defined("3")


# --- what is started -----------------------------------------------------------------------------


async def test_an_arn_leads_to_what_is_to_be_run(world, aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"), roleArn=ROLE + "2", publish=True)
    await updated(aws, defined("3"), roleArn=ROLE + "3")
    await aliased(aws, "live", (1, 0), (2, 100))
    caller = Caller("guest", "id")

    now = await start_of(M, "e", caller, world.api)
    first = await start_of(M + ":1", "e", caller, world.api)
    live = await start_of(M + ":live", "e", caller, world.api)

    assert [s.action.exec.document["definition"] for s in (now, first, live)] == [
        defined("3"), DEFINITION, defined("2"),
    ]  # fmt: skip
    assert [(s.version, s.alias) for s in (now, first, live)] == [
        (None, None), (1, None), (2, "live"),
    ]  # fmt: skip
    assert [s.configuration.role for s in (now, first, live)] == [ROLE + "3", ROLE, ROLE + "2"]
    assert first.revision is None
    assert live.revision != now.revision
    again = await start_of(M + ":1", "f", caller, world.api)
    assert again.action is first.action
    for name in ("nothing", "m:9", "m:dead"):
        with pytest.raises(AwsError, match="State Machine Does Not Exist"):
            await start_of(PREFIX + name, "e", caller, world.api)
