"""State machines over AWS' API. What AWS was seen to answer is said where it is."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.kit.stepfunctions.clients import Aws
from tests.kit.stepfunctions.machines import DEFINITION, PREFIX, ROLE, defined, described, made
from xingqiao.actions import Action
from xingqiao.composer import Name

GROUP = "arn:aws:logs:us-east-1:111111111111:log-group:name:*"
OFF = {"level": "OFF", "includeExecutionData": False}
LOGGED = {"level": "ALL", "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": GROUP}}]}


# --- create --------------------------------------------------------------------------------------


async def test_a_machine_is_created_and_described_as_on_aws(world, aws):
    answer = await made(aws, definition=defined("as it was  written"))

    assert answer == {
        "stateMachineArn": PREFIX + "m",
        "creationDate": world.clock.ms / 1000,
    }
    assert await described(aws) == {
        "stateMachineArn": PREFIX + "m",
        "name": "m",
        "status": "ACTIVE",
        "type": "STANDARD",
        "creationDate": world.clock.ms / 1000,
        "definition": defined("as it was  written"),
        "roleArn": ROLE,
        "loggingConfiguration": OFF,
        "tracingConfiguration": {"enabled": False},
        "encryptionConfiguration": {"type": "AWS_OWNED_KEY"},
    }


async def test_it_is_an_action_of_the_namespace(world, aws):
    await made(aws, type="EXPRESS")

    action = (await world.client.get("/actions/m")).json()
    assert action["exec"] == {
        "kind": "states", "binary": False, "definition": DEFINITION, "type": "EXPRESS",
    }  # fmt: skip


async def test_everything_that_is_given_is_shown(aws):
    await made(
        aws, type="EXPRESS", loggingConfiguration=LOGGED, tracingConfiguration={"enabled": True},
        encryptionConfiguration={"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k", "kmsDataKeyReusePeriodSeconds": 60},
    )  # fmt: skip

    shown = await described(aws)
    assert shown["type"] == "EXPRESS"
    assert shown["loggingConfiguration"] == {**LOGGED, "includeExecutionData": False}
    assert shown["tracingConfiguration"] == {"enabled": True}
    assert shown["encryptionConfiguration"]["kmsKeyId"] == "k"


async def test_the_same_again_is_the_same_whatever_its_role_and_tags(world, aws):
    first = await made(aws)
    world.clock.ms += 5000

    assert await made(aws, roleArn=ROLE + "2", tags=[{"key": "k", "value": "v"}]) == first
    assert (await described(aws))["roleArn"] == ROLE
    assert await aws("ListTagsForResource", resourceArn=PREFIX + "m") == {"tags": []}


@pytest.mark.parametrize(
    "other",
    [
        {"definition": DEFINITION + " "},
        {"type": "EXPRESS"},
        {"tracingConfiguration": {"enabled": True}},
        {"loggingConfiguration": LOGGED},
        {"publish": True},
    ],
    ids=str,
)
async def test_another_of_the_same_name_is_refused(aws, other):
    await made(aws)
    given = {"name": "m", "definition": DEFINITION, "roleArn": ROLE, **other}

    assert await aws.refused("CreateStateMachine", **given) == (
        "StateMachineAlreadyExists",
        f"State Machine Already Exists: '{PREFIX}m'",
    )


async def test_the_name_of_another_action_is_taken(world, aws):
    await world.put("m", "echo")

    code, _ = await aws.refused("CreateStateMachine", name="m", definition=DEFINITION, roleArn=ROLE)
    assert code == "StateMachineAlreadyExists"
    assert (await world.client.get("/actions/m")).json()["exec"]["kind"] == "python:3"


@pytest.mark.parametrize("name", ["m", "_", "a-b.c_d@e", "0", "x" * 80])
async def test_names_that_an_action_can_have_are_taken(aws, name):
    assert (await made(aws, name))["stateMachineArn"] == PREFIX + name


@pytest.mark.parametrize(
    "name",
    ["a b", "a<b", "a>b", "a{", "a}", "a[", "a]", "a?", "a*", 'a"', "a#", "a%", "a\\", "a^", "a|", "a~",
     "a`", "a$", "a&", "a,", "a;", "a:", "a/", "a\n", "a\x00", "a\x85", "-a", "ä"],
)  # fmt: skip
async def test_names_that_are_none_are_refused(aws, name):
    assert await aws.refused(
        "CreateStateMachine", name=name, definition=DEFINITION, roleArn=ROLE
    ) == ("InvalidName", f"Invalid Name: '{name}'")


async def test_a_name_of_81_characters_is_refused(aws):
    code, message = await aws.refused(
        "CreateStateMachine", name="x" * 81, definition=DEFINITION, roleArn=ROLE
    )

    assert code == "ValidationException"
    assert message.endswith("Member must have length less than or equal to 80")


async def test_a_definition_may_have_a_mebibyte_and_no_more(aws):
    room = 1_048_576 - len(defined())
    whole = defined("x" * room)

    await made(aws, definition=whole)
    assert (await described(aws))["definition"] == whole
    code, message = await aws.refused(
        "CreateStateMachine", name="n", definition=whole + " ", roleArn=ROLE
    )
    assert code == "ValidationException"
    assert "'definition' failed to satisfy constraint: Member must have length less" in message
    assert "xxx" not in message


async def test_a_definition_that_is_none_is_refused_in_aws_words(aws):
    assert await aws.refused("CreateStateMachine", name="m", definition='{"StartAt": "A"}', roleArn=ROLE) == (
        "InvalidDefinition",
        "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: These fields are required: [States] at /'",
    )  # fmt: skip
    assert (await aws("ListStateMachines"))["stateMachines"] == []


async def test_a_task_may_name_an_action_that_is_there(world, aws):
    task = defined(Type="Task", Resource="hello")
    code, _ = await aws.refused("CreateStateMachine", name="m", definition=task, roleArn=ROLE)
    assert code == "InvalidDefinition"

    await world.put("hello", "echo")

    assert (await made(aws, definition=task))["stateMachineArn"] == PREFIX + "m"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"level": "ALL"}, "Must specify exactly one Log Destination."),
        ({"level": "FATAL", "destinations": []}, "Must specify exactly one Log Destination."),
        ({"destinations": [LOGGED["destinations"][0]] * 2}, "Must specify exactly one Log Destination."),
        ({"level": "ERROR", "destinations": [{}]}, "Log Destination not found."),
        ({"destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": "any"}}]}, "Log Destination not found."),
    ],
)  # fmt: skip
async def test_a_logging_configuration_that_is_none_is_refused(aws, given, why):
    assert await aws.refused(
        "CreateStateMachine", name="m", definition=DEFINITION, roleArn=ROLE,
        loggingConfiguration=given,
    ) == ("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {why}")  # fmt: skip


@pytest.mark.parametrize(
    ("given", "shown"),
    [({}, OFF), ({"destinations": []}, {**OFF, "destinations": []}), ({"level": "OFF"}, OFF)],
)
async def test_one_that_lacks_something_is_filled(aws, given, shown):
    await made(aws, loggingConfiguration=given)

    assert (await described(aws))["loggingConfiguration"] == shown


@pytest.mark.parametrize(
    "given",
    [{"type": "CUSTOMER_MANAGED_KMS_KEY"}, {"type": "AWS_OWNED_KEY", "kmsKeyId": "k"},
     {"type": "AWS_OWNED_KEY", "kmsDataKeyReusePeriodSeconds": 60}],
)  # fmt: skip
async def test_an_encryption_configuration_that_is_none_is_refused(aws, given):
    code, message = await aws.refused(
        "CreateStateMachine", name="m", definition=DEFINITION, roleArn=ROLE,
        encryptionConfiguration=given,
    )  # fmt: skip

    assert code == "InvalidEncryptionConfiguration"
    assert message.startswith("Invalid Encryption Configuration: 'kmsKeyId'")


# --- update --------------------------------------------------------------------------------------


async def test_what_changes_makes_a_revision_and_what_does_not_makes_none(world, aws):
    created = await made(aws)
    assert "revisionId" not in await described(aws)
    world.clock.ms += 1000

    first = await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", roleArn=ROLE + "1")
    again = await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", roleArn=ROLE + "1")
    second = await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", definition=defined("2"))

    assert first["updateDate"] == world.clock.ms / 1000
    assert first["revisionId"] == again["revisionId"] != second["revisionId"]
    shown = await described(aws)
    assert shown["revisionId"] == second["revisionId"]
    assert shown["roleArn"] == ROLE + "1"
    assert shown["definition"] == defined("2")
    assert shown["creationDate"] == created["creationDate"]


async def test_a_configuration_that_is_not_given_stays(aws):
    await made(aws, loggingConfiguration=LOGGED)
    await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", tracingConfiguration={})
    assert "revisionId" not in await described(aws)

    await aws("UpdateStateMachine", stateMachineArn=PREFIX + "m", tracingConfiguration={"enabled": True})  # fmt: skip

    shown = await described(aws)
    assert shown["loggingConfiguration"]["level"] == "ALL"
    assert shown["tracingConfiguration"] == {"enabled": True}
    assert "revisionId" in shown


async def test_an_update_of_nothing_lacks_something(aws):
    await made(aws)

    assert await aws.refused("UpdateStateMachine", stateMachineArn=PREFIX + "m") == (
        "MissingRequiredParameter",
        ("Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration "
        "must be specified"),
    )  # fmt: skip


async def test_an_update_keeps_the_type_and_checks_the_definition_for_it(aws):
    await made(aws, type="EXPRESS")
    task = defined(Type="Task", Resource="arn:aws:states:us-east-1:111111111111:activity:a")

    code, message = await aws.refused(
        "UpdateStateMachine", stateMachineArn=PREFIX + "m", definition=task
    )

    assert code == "InvalidDefinition"
    assert "Express state machine does not support Activity ARN" in message
    assert (await described(aws))["definition"] == DEFINITION


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("DescribeStateMachine", {}),
        ("UpdateStateMachine", {"roleArn": ROLE}),
        ("PublishStateMachineVersion", {}),
        ("ListStateMachineVersions", {}),
        ("ListStateMachineAliases", {}),
    ],
)
async def test_what_is_not_there_does_not_exist(aws, operation, given):
    await made(aws)
    for name in ("nothing", "m:2", "m:live"):
        if (operation, name) == ("ListStateMachineAliases", "m:2"):
            continue
        assert await aws.refused(operation, stateMachineArn=PREFIX + name, **given) == (
            "StateMachineDoesNotExist",
            f"State Machine Does Not Exist: '{PREFIX}{name}'",
        )
    assert await aws.refused(operation, stateMachineArn="not_a_valid_arn", **given) == (
        "InvalidArn",
        "Invalid Arn: 'Invalid ARN prefix: not_a_valid_arn'",
    )
    execution = PREFIX.replace("stateMachine", "execution") + "m:e"
    assert await aws.refused(operation, stateMachineArn=execution, **given) == (
        "InvalidArn",
        "Invalid Arn: 'Resource type not valid in this context: execution'",
    )


async def test_what_is_no_machine_is_not_there(world, aws):
    await world.put("hello", "echo")

    code, _ = await aws.refused("DescribeStateMachine", stateMachineArn=PREFIX + "hello")

    assert code == "StateMachineDoesNotExist"


# --- describe ------------------------------------------------------------------------------------


async def test_variables_that_states_use_are_told(aws):
    states = {
        "A": {"Type": "Pass", "Assign": {"x": 1}, "Next": "B"},
        "B": {"Type": "Pass", "InputPath": "$x", "End": True},
    }
    definition = json.dumps({"StartAt": "A", "States": states})
    await made(aws, definition=definition)

    assert (await described(aws))["variableReferences"] == {"B": ["x"]}
    metadata = await described(aws, includedData="METADATA_ONLY")
    assert "definition" not in metadata
    assert "variableReferences" not in metadata


async def test_another_region_and_account_are_not_looked_at(aws):
    await made(aws)

    shown = await described(aws, "arn:aws:states:eu-west-1:000000000000:stateMachine:m")

    assert shown["stateMachineArn"] == PREFIX + "m"


# --- list ----------------------------------------------------------------------------------------


async def test_machines_are_listed_in_order_of_name_a_page_at_a_time(world, aws):
    for name in ("b", "a", "d", "c"):
        await made(aws, name)
    await world.put("hello", "echo")

    first = await aws("ListStateMachines", maxResults=3)
    rest = await aws("ListStateMachines", maxResults=3, nextToken=first["nextToken"])

    assert [m["name"] for m in first["stateMachines"]] == ["a", "b", "c"]
    assert rest == {
        "stateMachines": [
            {"stateMachineArn": PREFIX + "d", "name": "d", "type": "STANDARD", "creationDate": world.clock.ms / 1000}
        ]
    }  # fmt: skip
    assert len((await aws("ListStateMachines", maxResults=0))["stateMachines"]) == 4
    assert "nextToken" not in await aws("ListStateMachines", maxResults=4)


async def test_a_page_goes_on_where_it_was_whatever_comes_and_goes(aws):
    for name in ("a", "b", "d"):
        await made(aws, name)
    token = (await aws("ListStateMachines", maxResults=2))["nextToken"]
    await aws("DeleteStateMachine", stateMachineArn=PREFIX + "b")
    await made(aws, "c")

    rest = await aws("ListStateMachines", nextToken=token)

    assert [machine["name"] for machine in rest["stateMachines"]] == ["c", "d"]


async def test_a_token_that_was_not_given_for_this_is_refused(world, aws):
    for name in ("a", "b"):
        await made(aws, name, publish=True)
    token = (await aws("ListStateMachines", maxResults=1))["nextToken"]
    other = Aws(world, *(await world.api.namespaces.create("team", {})).split(":"))

    for client, given in ((aws, "x"), (aws, token[:-3]), (aws, "x" + token[1:]), (aws, "ü"), (other, token)):  # fmt: skip
        if client is aws and given == token[:-3]:
            continue  # it names another place to go on from
        assert await client.refused("ListStateMachines", nextToken=given) == (
            "InvalidToken",
            "Invalid Token: 'Invalid token'",
        )
    code, _ = await aws.refused(
        "ListStateMachineVersions", stateMachineArn=PREFIX + "a", nextToken=token
    )
    assert code == "InvalidToken"


# --- delete, and what else can become of one -----------------------------------------------------


async def test_a_machine_is_deleted_at_once_and_there_need_be_none(world, aws):
    await made(aws, publish=True)

    assert await aws("DeleteStateMachine", stateMachineArn=PREFIX + "m") == {}

    assert (await aws("ListStateMachines"))["stateMachines"] == []
    assert world.engine.catalog.find(Action, Name("guest", None, "m")) is None
    assert await aws("DeleteStateMachine", stateMachineArn=PREFIX + "m") == {}


@pytest.mark.parametrize("name", ["m:1", "m:live"])
async def test_a_version_is_not_deleted_as_a_machine(aws, name):
    await made(aws, publish=True)

    assert (await aws.refused("DeleteStateMachine", stateMachineArn=PREFIX + name))[0] == "ValidationException"  # fmt: skip
    assert (await described(aws))["name"] == "m"


async def test_namespaces_do_not_see_each_others(world, aws):
    await made(aws, publish=True)
    other = Aws(world, *(await world.api.namespaces.create("team", {})).split(":"))

    assert (await other("ListStateMachines"))["stateMachines"] == []
    for operation in ("DescribeStateMachine", "PublishStateMachineVersion"):
        code, _ = await other.refused(operation, stateMachineArn=PREFIX + "m")
        assert code == "StateMachineDoesNotExist"
    await other("DeleteStateMachine", stateMachineArn=PREFIX + "m")
    await made(other, definition=defined("theirs"))
    assert (await described(aws))["definition"] == DEFINITION


async def test_many_at_once_change_one_machine_one_after_the_other(aws):
    await made(aws)
    tags = [[{"key": f"k{number}", "value": ""}] for number in range(10)]

    await asyncio.gather(
        *(aws("TagResource", resourceArn=PREFIX + "m", tags=some) for some in tags)
    )

    assert len((await aws("ListTagsForResource", resourceArn=PREFIX + "m"))["tags"]) == 10


async def test_of_many_that_create_the_same_one_does_and_all_are_answered(aws):
    answers = await asyncio.gather(*(made(aws) for _ in range(5)))

    assert all(answer == answers[0] for answer in answers)


# --- what a machine may ask for ------------------------------------------------------------------

SQS = "arn:aws:states:::sqs:sendMessage"


async def test_an_integration_that_is_not_here_is_refused_when_it_is_deployed(world, aws):
    definition = defined(Type="Task", Resource=SQS)

    code, text = await aws.refused(
        "CreateStateMachine", name="m", definition=definition, roleArn=ROLE
    )
    answer = await aws("ValidateStateMachineDefinition", definition=definition)

    assert code == "InvalidDefinition"
    assert f"The resource provided {SQS} is not recognized." in text
    assert "/States/A/Resource" in text
    assert answer["result"] == "OK"  # AWS has it


@pytest.mark.parametrize(
    "resource",
    [
        "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "arn:aws:states:::states:startExecution.sync:2",
        "arn:aws:states:::aws-sdk:sfn:startExecution",
    ],
)
async def test_what_is_here_may_be_asked_for(aws, resource):
    answer = await made(aws, definition=defined(Type="Task", Resource=resource))

    assert answer["stateMachineArn"] == PREFIX + "m"
