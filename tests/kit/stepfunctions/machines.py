"""A state machine, its versions and its aliases, made and described by its API."""

from __future__ import annotations

import json

ROLE = "arn:aws:iam::111111111111:role/sfn"
PREFIX = "arn:aws:states:us-east-1:111111111111:stateMachine:"


def defined(comment="", **state):
    pass_ = {"Type": "Pass", "End": True, **state}
    return json.dumps({"Comment": comment, "StartAt": "A", "States": {"A": pass_}})


DEFINITION = defined()
M = PREFIX + "m"


async def made(aws, name="m", definition=DEFINITION, **given):
    given = {"roleArn": ROLE, **given}
    return await aws("CreateStateMachine", name=name, definition=definition, **given)


async def described(aws, arn=PREFIX + "m", **given):
    return await aws("DescribeStateMachine", stateMachineArn=arn, **given)


async def updated(aws, definition, **given):
    return await aws("UpdateStateMachine", stateMachineArn=M, definition=definition, **given)


async def published(aws, **given):
    return await aws("PublishStateMachineVersion", stateMachineArn=M, **given)


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
