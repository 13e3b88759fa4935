"""An engine with a type of counters."""

from __future__ import annotations

import pytest

from tests.kit.engine.counters import counter, entity
from tests.kit.engine.engines import begun
from tests.kit.engine.infra_clock import FastClock


@pytest.fixture
async def world():
    made = await begun(answers={"counter": counter}, clock=FastClock())
    await made.put(counter=entity())
    yield made
    await made.kill()
