"""An activity, and a machine whose only task is its work."""

from __future__ import annotations

import pytest


@pytest.fixture
async def activity(aws):
    answer = await aws("CreateActivity", name="work")
    return answer["activityArn"]


@pytest.fixture
async def machine(aws, activity):
    return await aws.machine(
        T={"Type": "Task", "Resource": activity, "HeartbeatSeconds": 10, "End": True}
    )
