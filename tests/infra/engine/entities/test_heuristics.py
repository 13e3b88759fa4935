"""Operators decide about votes in doubt."""

from __future__ import annotations

import pytest

from tests.kit.engine.counters import counter, message, operate, prepared
from tests.kit.engine.engines import begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao.actions import NotFoundError


@pytest.mark.parametrize("commits", [True, False])
async def test_an_operator_decides_and_it_is_kept(world, commits):
    await prepared(world)
    hand = world.engine.heuristics
    with pytest.raises(NotFoundError):
        await hand.decide("guest", "tx-other", commits=commits, by="me", reason="why")
    await hand.decide("guest", "tx-1", commits=commits, by="me", reason="why")

    (shown,) = hand.votes("guest")
    assert (shown["state"], shown["decision"]) == ("decided", "commit" if commits else "abort")
    assert await operate(world, "k") == {"total": 6 if commits else 1}
    await world.kill()
    again = await begun(world.store, {"counter": counter}, clock=FastClock())
    assert again.engine.heuristics.votes("guest") == [shown]
    await again.run("counter", message("abort" if commits else "commit"))
    assert again.engine.counters.damaged == 1
    assert again.engine.heuristics.votes("guest")[0]["state"] == "damaged"
    await again.engine.heuristics.forget("guest", "tx-1")
    assert again.engine.heuristics.votes("guest") == []
    with pytest.raises(NotFoundError):
        await again.engine.heuristics.forget("guest", "tx-1")
    await again.kill()
