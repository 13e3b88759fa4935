"""A service, and a client that speaks as AWS' clients do."""

from __future__ import annotations

import json

import pytest

from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws

ROLE = "arn:aws:iam::111111111111:role/sfn"


class Machines(Aws):
    """A client that makes machines out of states, and waits for executions."""

    async def machine(self, name="main", type="STANDARD", **states):
        """Makes a machine that starts at the first state. Returns its ARN."""
        return await self.made({"StartAt": next(iter(states)), "States": states}, name, type)

    async def made(self, definition, name="main", type="STANDARD", **more):
        answer = await self(
            "CreateStateMachine", name=name, definition=json.dumps(definition), roleArn=ROLE,
            type=type, **more,
        )  # fmt: skip
        return answer["stateMachineArn"]

    async def start(self, arn, **params):
        """Starts an execution. Returns its ARN."""
        return (await self("StartExecution", stateMachineArn=arn, **params))["executionArn"]

    async def ended(self, arn):
        """What DescribeExecution tells when it has ended."""
        found = await self("DescribeExecution", executionArn=arn)
        name = arn.split(":")
        execution = await self._world.engine.executions.found("guest", name[-2], name[-1])
        await self._world.engine.wait("guest", execution.id, 20)
        found = await self("DescribeExecution", executionArn=arn)
        assert found["status"] != "RUNNING"
        return found

    async def events(self, arn, **params):
        """The whole history."""
        answer = await self("GetExecutionHistory", executionArn=arn, maxResults=1000, **params)
        return answer["events"]


@pytest.fixture
async def world():
    async with opened() as made:
        yield made


@pytest.fixture
def aws(world):
    return Machines(world)
