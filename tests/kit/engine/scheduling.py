"""An engine with a schedule of each minute, and how it stands."""

from __future__ import annotations

from tests.kit.engine.engines import GUEST, begun
from xingqiao.infra.engine import EngineSettings, Pacing

MINUTE = 60_000
EACH_MINUTE = {"spec": {"intervals": "60s"}, "do": {"action": "a", "input": {"n": 1}}}
QUICK = EngineSettings(pacing=Pacing(look_s=0.001))


async def furnished(store=None, answers=None, settings=QUICK, **fields):
    """A world with an action, a minute before a whole one, and a schedule of each minute."""
    made = await begun(store, answers or {"a": {"fine": True}}, settings=settings)
    made.clock.ms = made.clock.ms // MINUTE * MINUTE + 1
    await made.put(a=None)
    if fields.pop("put", True):
        await made.engine.schedules.put(GUEST, "s", {**EACH_MINUTE, **fields})
    return made


def described(made, name="s"):
    return made.engine.schedules.get(GUEST, name)


async def met(made, count, name="s"):
    """Until so many runs have been started, or refused."""
    await made.until(lambda: len(described(made, name)["last"]) >= count)


async def ended(made, count, name="s"):
    """Until so many runs have ended."""
    await made.until(lambda: done(made, name) >= count)


def done(made, name="s"):
    return len([run for run in described(made, name)["last"] if run["ended"]])


def params(made):
    return [invocation.params for invocation in made.hands.invoked]
