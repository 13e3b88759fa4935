"""Versions and aliases of state machines, and what an ARN of theirs starts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.infra.stepfunctions.api.test_machines import (
    DEFINITION,
    PREFIX,
    ROLE,
    defined,
    described,
    made,
)
from tests.kit.stepfunctions.clients import Aws
from xingqiao.infra.aws.errors import AwsError
from xingqiao.infra.stepfunctions.api.aliases import chosen
from xingqiao.infra.stepfunctions.api.protocol import Caller
from xingqiao.infra.stepfunctions.api.starts import start_of
from xingqiao.infra.stepfunctions.machines import Machines
from xingqiao.infra.stepfunctions.records import Alias, Records

M = PREFIX + "m"


@pytest.fixture
def aws(world):
    return Aws(world)


async def published(aws, **given):
    return await aws("PublishStateMachineVersion", stateMachineArn=M, **given)


async def updated(aws, definition, **given):
    return await aws("UpdateStateMachine", stateMachineArn=M, definition=definition, **given)


async def versions(aws):
    listed = (await aws("ListStateMachineVersions", stateMachineArn=M))["stateMachineVersions"]
    return [version["stateMachineVersionArn"].removeprefix(M + ":") for version in listed]


def routed(*weighted):
    return [
        {"stateMachineVersionArn": f"{M}:{number}", "weight": weight} for number, weight in weighted
    ]


async def aliased(aws, name="live", *weighted, **given):
    return await aws(
        "CreateStateMachineAlias", name=name,
        routingConfiguration=routed(*(weighted or [(1, 100)])), **given,
    )  # fmt: skip


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


# --- aliases -------------------------------------------------------------------------------------


async def test_an_alias_leads_to_versions(world, aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"), publish=True)
    created = world.clock.ms

    answer = await aliased(aws, "live", (1, 30), (2, 70), description="both")

    assert answer == {"stateMachineAliasArn": M + ":live", "creationDate": created / 1000}
    world.clock.ms += 1000
    update = await aws("UpdateStateMachineAlias", stateMachineAliasArn=M + ":live", routingConfiguration=routed((2, 100)))  # fmt: skip
    assert update == {"updateDate": world.clock.ms / 1000}
    await aws("UpdateStateMachineAlias", stateMachineAliasArn=M + ":live", description="one")
    shown = await aws("DescribeStateMachineAlias", stateMachineAliasArn=M + ":live")
    assert shown == {
        "stateMachineAliasArn": M + ":live",
        "name": "live",
        "description": "one",
        "routingConfiguration": routed((2, 100)),
        "creationDate": created / 1000,
        "updateDate": world.clock.ms / 1000,
    }
    assert (await described(aws, M + ":live"))["definition"] == defined("2")
    assert (await described(aws, M + ":live"))["stateMachineArn"] == M + ":live"


async def test_the_same_alias_again_is_the_same_and_another_a_conflict(aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"), publish=True)
    first = await aliased(aws)

    assert await aliased(aws) == first
    for routes, given in ((routed((2, 100)), {}), (routed((1, 100)), {"description": "x"})):
        assert await aws.refused("CreateStateMachineAlias", name="live", routingConfiguration=routes, **given) == (
            "ConflictException",
            ("Failed to create alias because an alias with the same name and a different routing "
            "configuration already exists."),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ([(1, 70), (2, 29)], "Sum of routing configuration weights must equal 100. Received: [70, 29]"),
        ([(1, 70), (2, 31)], "Sum of routing configuration weights must equal 100. Received: [70, 31]"),
        ([(1, 50), (1, 50)], f"Routing configuration must contain distinct state machine version ARNs. Received: [{M}:1, {M}:1]"),
        ([("live", 50), (2, 50)], f"Routing configuration must contain state machine version ARNs. Received: [{M}:live, {M}:2]"),
    ],
)  # fmt: skip
async def test_routes_that_do_not_go_together_are_refused(aws, routes, told):
    await made(aws, publish=True)
    await updated(aws, defined("2"), publish=True)
    refused = ("ValidationException", told)

    given = {"routingConfiguration": routed(*routes)}
    assert await aws.refused("CreateStateMachineAlias", name="live", **given) == refused
    await aliased(aws)
    assert await aws.refused("UpdateStateMachineAlias", stateMachineAliasArn=M + ":live", **given) == refused  # fmt: skip


async def test_routes_that_lead_nowhere_are_refused(aws):
    await made(aws, publish=True)
    await made(aws, "n", publish=True)
    unqualified = [{"stateMachineVersionArn": M, "weight": 100}]
    elsewhere = [{"stateMachineVersionArn": f"{PREFIX}n:1", "weight": 50}]
    missing = (
        "ResourceNotFound",
        "Request references a resource that does not exist.",
    )

    assert await aws.refused("CreateStateMachineAlias", name="live", routingConfiguration=unqualified) == (
        "ValidationException",
        f"Routing configuration must contain state machine version ARNs. Received: [{M}]",
    )  # fmt: skip
    mixed = [*elsewhere, *routed((1, 50))]
    assert (await aws.refused("CreateStateMachineAlias", name="live", routingConfiguration=mixed))[0] == "ValidationException"  # fmt: skip
    assert await aws.refused("CreateStateMachineAlias", name="live", routingConfiguration=routed((9, 100))) == missing  # fmt: skip
    nowhere = [{"stateMachineVersionArn": f"{PREFIX}x:1", "weight": 100}]
    assert await aws.refused("CreateStateMachineAlias", name="live", routingConfiguration=nowhere) == missing  # fmt: skip
    await aliased(aws)
    elsewhere[0]["weight"] = 100
    assert (await aws.refused("UpdateStateMachineAlias", stateMachineAliasArn=M + ":live", routingConfiguration=elsewhere))[0] == "ValidationException"  # fmt: skip
    assert (await aws.refused("UpdateStateMachineAlias", stateMachineAliasArn=M + ":live"))[0] == "ValidationException"  # fmt: skip


async def test_an_alias_that_is_not_there(aws):
    await made(aws, publish=True)
    missing = ("ResourceNotFound", "Request references a resource that does not exist.")
    for arn in (M + ":nothing", PREFIX + "nothing:live"):
        given = {"stateMachineAliasArn": arn}
        assert await aws.refused("DescribeStateMachineAlias", **given) == missing
        assert await aws.refused("UpdateStateMachineAlias", description="x", **given) == missing
        assert await aws("DeleteStateMachineAlias", **given) == {}
    for arn in (M, M + ":1"):
        code, _ = await aws.refused("DescribeStateMachineAlias", stateMachineAliasArn=arn)
        assert code == "InvalidArn"


async def test_aliases_are_listed_the_oldest_first_of_a_machine_or_of_a_version(world, aws):
    await made(aws, publish=True)
    await updated(aws, defined("2"), publish=True)
    for name, routes in (("c", [(1, 100)]), ("b", [(2, 100)]), ("a", [(1, 50), (2, 50)])):
        world.clock.ms += 1000
        await aliased(aws, name, *routes)

    async def listed(arn, **given):
        answer = await aws("ListStateMachineAliases", stateMachineArn=arn, **given)
        names = [a["stateMachineAliasArn"].rpartition(":")[2] for a in answer["stateMachineAliases"]]  # fmt: skip
        return names, answer.get("nextToken")

    assert await listed(M) == (["c", "b", "a"], None)
    assert await listed(M + ":1") == (["c", "a"], None)
    assert await listed(M + ":2") == (["b", "a"], None)
    first, token = await listed(M, maxResults=2)
    assert (first, await listed(M, nextToken=token)) == (["c", "b"], (["a"], None))


async def test_a_machine_has_a_hundred_aliases_and_no_more(aws):
    await made(aws, publish=True)
    for number in range(100):
        await aliased(aws, f"a{number}")

    code, message = await aws.refused(
        "CreateStateMachineAlias", name="more", routingConfiguration=routed((1, 100))
    )
    assert code == "ServiceQuotaExceededException"
    assert "100" in message
    assert (await aliased(aws, "a7"))["stateMachineAliasArn"] == M + ":a7"


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


@pytest.mark.parametrize("weight", [0, 1, 25, 50, 99, 100])
def test_executions_are_shared_out_by_weight(weight):
    alias = Alias(name="a", description=None, routes=((1, weight), (2, 100 - weight)), created_ms=0, updated_ms=0)  # fmt: skip
    names = [f"execution-{number}" for number in range(2000)]

    counted = Counter(chosen(alias, name) for name in names)

    assert abs(counted[1] / 2000 - weight / 100) < 0.03
    assert [chosen(alias, name) for name in names[:9]] == [chosen(alias, n) for n in names[:9]]


async def test_a_change_from_elsewhere_in_between_is_a_conflict(world, aws):
    await made(aws)
    other = Machines(Records(world.store, "111111111111"), world.engine)
    await other.load()
    await aws("TagResource", resourceArn=M, tags=[{"key": "k", "value": "v"}])
    world.api.machines = other

    assert await aws.refused("TagResource", resourceArn=M, tags=[{"key": "l", "value": ""}]) == (
        "ConflictException",
        "Concurrent modification to resource detected.",
    )
