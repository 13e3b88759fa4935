"""The shop's program on a server that is killed and started again between any two of its calls."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.kit.client.lives import Killed, Life
from tests.kit.infra.servers import AUTH
from xingqiao.client import connect

ORDERS = Path(__file__).parents[2] / "examples" / "orders"
SEEN = {
    "one run": True,
    "before": {"state": "waits for an approval"},
    "no address": "rejected",
    "moved": {"to": "Elm Street 2"},
    "moved again": {"to": "Elm Street 2"},
    "new": True,
    "told again": False,
    "result": {"sent": "book", "to": "Elm Street 2", "approved_by": "ben"},
    "after": {"state": "is on its way"},
    "reminder": "Cancelled",
}
CALLS = 13


@pytest.fixture
def life(tmp_path):
    made = Life(tmp_path / "data")
    try:
        yield made
    finally:
        made.end()


async def test_the_shop_sells_while_its_server_is_killed_between_any_two_calls(life, monkeypatch):
    monkeypatch.syspath_prepend(ORDERS)
    shop = importlib.import_module("shop")
    async with connect(life.server.url, AUTH) as x:
        seen = await shop.sell(Killed(x, life), "order-7")

        assert seen == SEEN
        assert life.restarts == CALLS
        assert len(await x.executions(name="order")) == 1
        types = [entry["type"] for entry in await x.history("order-7")]
        assert types.count("MessageReceived") == types.count("UpdateAccepted") == 1
