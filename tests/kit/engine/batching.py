"""Engines with batches, and executions for them to deal with."""

from __future__ import annotations

from tests.kit.engine.engines import GUEST, HELD, begun
from xingqiao import composer
from xingqiao.composer import Failure
from xingqiao.infra.engine import EngineSettings, Pacing

ANSWERS = {"a": {"n": 1}, "held": HELD, "broken": Failure("Broken", "once")}
QUICK = EngineSettings(pacing=Pacing(look_s=0.001))
RUNNING = "action = 'waits' and status = 'running'"
BROKEN = "action = 'breaks' and status = 'failed'"


class NoInvoker:
    """An invoker of nothing: with it a world has the packages of a service."""

    kinds = frozenset()

    def __init__(self, _engine):
        pass


async def furnished(store=None, answers=None, *, clock=None, settings=QUICK):
    """A world with actions, of which `waits` never ends and `breaks` fails, as the answers stand."""
    made = await begun(
        store, {**ANSWERS, **(answers or {})}, clock=clock, settings=settings, others=[NoInvoker]
    )
    for name, type in {"customer": "text", "stage": "number"}.items():
        await made.engine.annotations.declare(GUEST, name, type)
    await made.put(
        a=None, held=None, broken=None,
        waits=composer.sequence("a", "held"),
        breaks=composer.sequence("a", "broken"),
        listens=composer.sequence(composer.receive("go"), "a"),
        works=composer.sequence("a"),
    )  # fmt: skip
    return made


async def started(made, action, count):
    """Executions of an action, each a millisecond after the one before; those that end have ended."""
    ids = []
    for _ in range(count):
        ids.append(await made.start(action))
        made.clock.ms += 1
    await made.settle()
    return ids


async def create(made, do, where, **fields):
    """Starts a batch. Returns its id."""
    return await made.engine.batches.create(GUEST, {"do": do, "where": where, **fields})


async def counts(made, id):
    """The counts of a batch that has ended: done, failed, changed, gone."""
    await made.result(id)
    found = await made.engine.batches.get(GUEST, id)
    assert found["status"] == "succeeded"
    return tuple(found[name] for name in ("done", "failed", "changed", "gone"))


async def statuses(made, ids):
    """The status of each execution; None for one that is deleted."""
    rows = {row.id: row.status for row in await made.executions()}
    return [rows.get(id) for id in ids]


async def history(made, id):
    """The types of the entries of a history."""
    entries = await made.engine.records.history(GUEST, id, after=0, limit=1000)
    return [entry["type"] for entry in entries]


async def time_passes(made):
    """Moves the clock on, 10 s at a time, until it is cancelled."""
    while True:
        await made.settle()
        made.clock.ms += 10_000
