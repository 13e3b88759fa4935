"""Schedules that are deployed with a project: in one commit with its actions, over crashes and beside other servers."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import CODE, GUEST, DyingStore
from tests.kit.engine.restarts import restarted
from tests.kit.engine.scheduling import EACH_MINUTE, MINUTE, described, ended, furnished
from xingqiao.actions import Action, ConflictError, Document, InvalidError, NotFoundError, Write
from xingqiao.composer import Name
from xingqiao.infra.engine.schedule_records import STATE
from xingqiao.infra.stores import MemoryStore

HOURLY = {**EACH_MINUTE, "spec": {"intervals": "1h"}}


def body(*schedules, actions=("new",), **fields):
    return {
        "actions": [{"name": name, "origin": "shop/a.py", "definition": CODE} for name in actions],
        "schedules": [
            {"name": name, "origin": "shop/a.py", "document": document}
            for name, document in schedules
        ],
        "origins": ["shop/"],
        **fields,
    }


async def deploy(made, document, *, dry_run=False):
    schedules, registry = made.engine.schedules, made.engine.registry
    plan = await schedules.deployed.deploy(registry, GUEST, document, dry_run=dry_run)
    return {step.name: step.change for step in plan.schedules}


def names(made):
    return made.engine.schedules.names(GUEST)


@pytest.fixture
async def made():
    made = await furnished()
    yield made
    await made.kill()


async def test_a_deployed_schedule_meets_its_times(made):
    assert await deploy(made, body(("t", EACH_MINUTE))) == {"t": "new"}
    made.clock.ms += MINUTE
    await made.until(lambda: described(made, "t")["last"])

    assert described(made, "t")["document"]["deployed_from"] == "shop/a.py"
    assert await deploy(made, body(("t", EACH_MINUTE))) == {"t": "unchanged"}


async def test_a_change_keeps_what_the_schedule_has_done(made):
    await deploy(made, body(("t", EACH_MINUTE)))
    made.clock.ms += MINUTE
    await made.until(lambda: described(made, "t")["last"])
    assert await deploy(made, body(("t", HOURLY))) == {"t": "changed"}

    shown = described(made, "t")
    assert shown["next"][0] % (60 * MINUTE) == 0
    assert shown["last"]


async def test_a_dry_run_and_a_refusal_change_nothing(made):
    before = described(made)
    assert await deploy(made, body(("t", EACH_MINUTE)), dry_run=True) == {"t": "new"}
    with pytest.raises(
        ConflictError, match="the name 's' belongs to a schedule that was not deployed"
    ):
        await deploy(made, body(("t", EACH_MINUTE), ("s", HOURLY)))
    for spec in ({"cron": "0 0 30 2 *"}, {"cron": "@sometimes"}):
        with pytest.raises(InvalidError, match="schedule u: "):
            await deploy(made, body(("t", EACH_MINUTE), ("u", {**HOURLY, "spec": spec})))

    assert (names(made), described(made)) == (["s"], before)
    assert made.engine.catalog.find(Action, Name.parse("/guest/new")) is None


async def test_what_is_pruned_is_gone_and_what_others_made_stays(made):
    await deploy(made, body(("t", EACH_MINUTE), ("u", HOURLY)))
    assert await deploy(made, body(("u", HOURLY))) == {"u": "unchanged", "t": "orphaned"}
    assert await deploy(made, body(actions=(), prune=True)) == {"t": "removed", "u": "removed"}

    assert names(made) == ["s"]
    with pytest.raises(NotFoundError):
        await made.engine.schedules.pause(GUEST, "t")


async def test_a_name_is_taken_over_with_replace(made):
    await ended_one(made)
    assert await deploy(made, body(("s", HOURLY), replace=True)) == {"s": "changed"}
    assert described(made)["last"]


async def ended_one(made):
    made.clock.ms += MINUTE
    await ended(made, 1)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_leaves_the_actions_and_the_schedules_or_neither(when):
    store = MemoryStore()
    dying = DyingStore(store, at=0, when=when)
    made = await furnished(store=dying)
    await deploy(made, body(("gone", HOURLY), actions=("old",)))
    dying.armed = True
    task = asyncio.ensure_future(deploy(made, body(("t", HOURLY), prune=True)))
    await dying.dead.wait()
    task.cancel()
    await asyncio.wait([task])
    made.store = store

    made = await restarted(made)
    catalog = made.engine.catalog
    found = [
        catalog.find(Action, Name.parse(f"/guest/{name}")) is not None for name in ("old", "new")
    ]
    wanted = (["gone", "s"], [True, False]) if when == "before" else (["s", "t"], [False, True])
    assert (names(made), found) == wanted
    await made.kill()


async def test_a_schedule_that_another_server_has_changed_is_not_overwritten(made):
    await deploy(made, body(("t", EACH_MINUTE)))
    async for document in made.store.documents(STATE, "/guest/t", limit=1):
        theirs = Document(kind=STATE, key=document.key, body=document.body)
    await made.store.commit([Write(documents=[theirs])])

    with pytest.raises(ConflictError, match="Concurrent modification"):
        await deploy(made, body(("t", HOURLY)))

    assert described(made, "t")["document"]["spec"] == EACH_MINUTE["spec"]
    assert await deploy(made, body(("t", HOURLY))) == {"t": "changed"}
