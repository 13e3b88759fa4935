"""State machines in a program of one's own: also those that start others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from xingqiao.embedded import ActionError, embedded

SERVER = (
    "aiohttp.web",
    "click",
    "prometheus_client",
    "starlette",
    "uvicorn",
    "xingqiao.infra.cli",
    "xingqiao.infra.edge",
    "xingqiao.infra.http",
    "xingqiao.infra.lambdas.routes",
    "xingqiao.infra.service.server",
    "xingqiao.infra.stepfunctions.api",
)


def machine(**states):
    definition = {"StartAt": next(iter(states)), "States": states}
    return {"exec": {"kind": "states", "definition": json.dumps(definition)}}


START = {
    "Type": "Task",
    "Resource": "arn:aws:states:::states:startExecution.sync:2",
    "Parameters": {
        "StateMachineArn": "arn:aws:states:us-east-1:111111111111:stateMachine:child",
        "Input.$": "$",
    },
    "ResultSelector": {"got.$": "$.Output"},
    "End": True,
}


def test_importing_it_loads_neither_the_server_nor_the_command_line():
    code = f"import sys, xingqiao.embedded; print(*{{*{SERVER}}} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == []


async def test_a_machine_starts_another_without_a_server():
    async with embedded() as xingqiao:
        await xingqiao.put("child", machine(P={"Type": "Pass", "End": True}))
        await xingqiao.put("main", machine(T=START))

        assert await xingqiao.invoke("main", {"n": 1}) == {"got": {"n": 1}}


async def test_a_machine_that_is_not_there_fails_as_on_aws():
    async with embedded() as xingqiao:
        await xingqiao.put("main", machine(T=START))

        with pytest.raises(ActionError, match="StateMachineDoesNotExist"):
            await xingqiao.invoke("main")
