"""Aliases of state machines: names for one version or two, and whom their executions run by."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.kit.stepfunctions.machines import (
    PREFIX,
    M,
    aliased,
    defined,
    described,
    made,
    routed,
    updated,
)
from xingqiao.infra.stepfunctions.api.aliases import chosen
from xingqiao.infra.stepfunctions.machines import Machines
from xingqiao.infra.stepfunctions.records import Alias, Records


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
