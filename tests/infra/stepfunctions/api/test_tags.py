"""Tags of state machines; and definitions that are only checked."""

from __future__ import annotations

import json

import pytest

from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws
from tests.kit.stepfunctions.machines import DEFINITION, PREFIX, ROLE, defined, made
from xingqiao.infra.aws.integrations import Integration

M = PREFIX + "m"


def tagged(**tags):
    return [{"key": key, "value": value} for key, value in tags.items()]


async def tags(aws):
    listed = (await aws("ListTagsForResource", resourceArn=M))["tags"]
    return {tag["key"]: tag["value"] for tag in listed}


async def test_tags_are_set_replaced_and_removed(aws):
    await made(aws, tags=tagged(a="1"))
    await aws("TagResource", resourceArn=M, tags=tagged(a="2", b="", c="3"))
    await aws("TagResource", resourceArn=M, tags=[])
    assert await tags(aws) == {"a": "2", "b": "", "c": "3"}

    await aws("UntagResource", resourceArn=M, tagKeys=["b", "c", "d"])
    await aws("UntagResource", resourceArn=M, tagKeys=[])

    assert await tags(aws) == {"a": "2"}


async def test_a_resource_has_fifty_tags_and_no_more(aws):
    fifty = tagged(**{f"k{number}": "" for number in range(50)})
    more = [*fifty, *tagged(more="")]
    create = {"name": "m", "definition": DEFINITION, "roleArn": ROLE}
    assert (await aws.refused("CreateStateMachine", tags=more, **create))[0] == "TooManyTags"
    await made(aws, tags=fifty)

    assert (await aws.refused("TagResource", resourceArn=M, tags=tagged(more="")))[0] == "TooManyTags"  # fmt: skip
    await aws("TagResource", resourceArn=M, tags=tagged(k7="changed"))

    assert len(await tags(aws)) == 50


@pytest.mark.parametrize("name", ["nothing", "m:1", "m:live"])
async def test_what_is_no_machine_has_none(aws, name):
    await made(aws, publish=True)
    arn = PREFIX + name
    missing = ("ResourceNotFound", f"Resource not found: '{arn}'")

    assert await aws.refused("TagResource", resourceArn=arn, tags=tagged(a="1")) == missing
    assert await aws.refused("UntagResource", resourceArn=arn, tagKeys=["a"]) == missing
    assert await aws.refused("ListTagsForResource", resourceArn=arn) == missing


async def test_a_tag_has_a_key(aws):
    await made(aws)

    assert (await aws.refused("TagResource", resourceArn=M, tags=[{"value": "v"}]))[0] == "ValidationException"  # fmt: skip
    assert await tags(aws) == {}


async def test_an_activity_has_tags_too(world, aws):
    arn = (await aws("CreateActivity", name="work", tags=tagged(a="1")))["activityArn"]
    await aws("TagResource", resourceArn=arn, tags=tagged(b="2"))
    await aws("UntagResource", resourceArn=arn, tagKeys=["a"])

    assert (await aws("ListTagsForResource", resourceArn=arn))["tags"] == tagged(b="2")
    missing = arn.replace("work", "nothing")
    assert await aws.refused("TagResource", resourceArn=missing, tags=[]) == (
        "ResourceNotFound",
        f"Resource not found: '{missing}'",
    )
    async with opened(world.store) as again:
        listed = await Aws(again)("ListTagsForResource", resourceArn=arn)
        assert listed["tags"] == tagged(b="2")


@pytest.mark.parametrize("arn", ["nothing", M.replace("stateMachine", "execution") + ":e"])
async def test_nothing_else_has_any(aws, arn):
    assert (await aws.refused("ListTagsForResource", resourceArn=arn))[0] == "InvalidArn"


# --- ValidateStateMachineDefinition --------------------------------------------------------------


async def validated(aws, definition, **given):
    return await aws("ValidateStateMachineDefinition", definition=definition, **given)


async def test_a_definition_that_is_right_is_ok(aws):
    assert await validated(aws, DEFINITION) == {
        "result": "OK", "diagnostics": [], "truncated": False,
    }  # fmt: skip


async def test_what_is_wrong_is_told_with_its_place(aws):
    assert await validated(aws, "{}", type="STANDARD") == {
        "result": "FAIL",
        "diagnostics": [
            {
                "severity": "ERROR",
                "code": "SCHEMA_VALIDATION_FAILED",
                "message": "These fields are required: [States, StartAt]",
                "location": "/",
            }
        ],
        "truncated": False,
    }
    (found,) = (await validated(aws, "[]"))["diagnostics"]
    assert "location" not in found


async def test_warnings_are_told_when_they_are_asked_for(aws):
    doubtful = defined(Parameters={"a": "$.b"})

    assert (await validated(aws, doubtful))["diagnostics"] == []
    assert (await validated(aws, doubtful, severity="ERROR"))["diagnostics"] == []
    told = await validated(aws, doubtful, severity="WARNING")
    assert told["result"] == "OK"
    assert [found["severity"] for found in told["diagnostics"]] == ["WARNING"]


def wrong(count):
    states = {f"S{number}": {"Type": "Pass", "End": 1} for number in range(count)}
    return json.dumps({"StartAt": "S0", "States": states})


@pytest.mark.parametrize(
    ("count", "most", "told", "truncated"),
    [(3, 3, 3, False), (3, 2, 2, True), (3, 0, 3, False), (3, None, 3, False),
     (100, 100, 100, False), (101, 100, 100, True), (101, None, 100, True), (300, None, 100, True)],
)  # fmt: skip
async def test_so_many_findings_are_told_and_whether_there_are_more(
    aws, count, most, told, truncated
):
    given = {} if most is None else {"maxResults": most}
    answer = await validated(aws, wrong(count), **given)

    assert len(answer["diagnostics"]) == told
    assert answer["truncated"] is truncated
    assert answer["result"] == "FAIL"


async def test_an_express_machine_is_checked_as_one(aws):
    task = defined(Type="Task", Resource="arn:aws:states:::sqs:sendMessage.waitForTaskToken")

    assert (await validated(aws, task, type="EXPRESS"))["result"] == "FAIL"
    assert (await validated(aws, task, type="STANDARD"))["result"] == "OK"


async def test_what_this_deployment_integrates_is_known(world, aws):
    async def ask(asked):
        return {}

    task = defined(Type="Task", Resource="arn:aws:states:::mine:greet")
    assert (await validated(aws, task))["result"] == "FAIL"

    world.api.integrations.registry = {("mine", "greet"): Integration(ask)}

    assert (await validated(aws, task))["result"] == "OK"
