"""A service for each test of its HTTP API."""

from __future__ import annotations

import pytest

from tests.kit.http.worlds import world as opened


@pytest.fixture
async def world():
    async with opened() as made:
        yield made


@pytest.fixture
def client(world):
    return world.client
