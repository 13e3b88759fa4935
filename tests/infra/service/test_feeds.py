"""Alarms as a service runs them: what they fire, and what becomes of them."""

from __future__ import annotations

import anyio.lowlevel
import orjson
import pytest

from tests.kit.http.worlds import world as opened
from xingqiao.actions import Document, Quotas, Rule, Trigger, Write
from xingqiao.composer import Name
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore, StoreError

LOOKS = 2000


class Alarms:
    """A service with a trigger `t`, an action `echo` and a rule between them."""

    def __init__(self, world):
        self.world = world
        self.caller = world.caller(auth=world.client.auth)

    async def furnish(self):
        await self.world.put("echo", "echo")
        await self.world.client.put("/triggers/t", json={"parameters": [{"key": "a", "value": 1}]})
        link = {"trigger": "/_/t", "action": "/_/echo"}
        await self.world.client.put("/rules/r", json=link)
        return self

    async def ask(self, feed, event, **params):
        path = f"/api/v1/namespaces/whisk.system/actions/alarms/{feed}"
        body = {"lifecycleEvent": event, "triggerName": "/_/t", **params}
        query = {"blocking": "true", "result": "true"}
        return (await self.caller.post(path, params=query, json=body)).json()

    async def fired(self, name="t"):
        answer = await self.world.client.get("/activations", params={"name": name, "docs": "true"})
        return [doc["response"]["result"] for doc in answer.json()]

    async def until(self, condition):
        for _ in range(LOOKS):
            if await condition():
                return
            await anyio.lowlevel.checkpoint()
        raise AssertionError("it has not come to that")


@pytest.fixture
async def alarms(world):
    return await Alarms(world).furnish()


async def test_an_alarm_fires_with_its_payload_and_so_often(alarms):
    payload = {"b": 2}
    assert await alarms.ask(
        "interval", "CREATE", minutes=1, trigger_payload=payload, maxTriggers=1
    ) == {"status": "success"}

    async def done():
        return await alarms.fired() == [{"a": 1, "b": 2}]

    await alarms.until(done)
    status = (await alarms.ask("interval", "READ"))["status"]
    assert (status["active"], status["next"]) == (False, None)


async def test_there_is_one_alarm_for_a_trigger_and_it_is_of_one_feed(alarms):
    when = alarms.world.clock.now_ms() + 10**9
    await alarms.ask("once", "CREATE", date=when)

    assert await alarms.ask("once", "CREATE", date=when) == {"status": "success"}
    again = await alarms.ask("alarm", "CREATE", cron="* * * * *")
    other = await alarms.ask("alarm", "READ")
    changed = await alarms.ask("once", "UPDATE", trigger_payload={"x": 1})
    read = await alarms.ask("once", "READ")

    assert again["error"] == "the trigger /guest/t has an alarm: delete or update that"
    assert other["error"] == "the trigger /guest/t has no alarm of the feed 'alarm'"
    assert changed == {"status": "success"}
    assert (read["config"]["date"], read["config"]["payload"]) == (when, {"x": 1})
    assert await alarms.ask("once", "DELETE") == {"status": "success"}
    assert "has no alarm" in (await alarms.ask("once", "DELETE"))["error"]


@pytest.mark.parametrize(("option", "rules"), [(True, 1), ("rules", 0)])
async def test_what_has_fired_once_is_deleted_where_that_is_asked_for(alarms, option, rules):
    clock, catalog = alarms.world.clock, alarms.world.engine.catalog
    await alarms.ask("once", "CREATE", date=clock.now_ms() + 5, deleteAfterFire=option)
    clock.ms += 5

    async def gone():
        return catalog.find(Trigger, Name("guest", None, "t")) is None

    await alarms.until(gone)
    assert await alarms.fired() == [{"a": 1}]
    assert len(catalog.all(Rule, "guest")) == rules


async def test_what_passes_while_it_is_paused_is_not_met(alarms):
    clock = alarms.world.clock
    await alarms.ask("once", "CREATE", date=clock.now_ms() + 5)
    assert await alarms.ask("once", "PAUSE") == {"status": "success"}
    assert (await alarms.ask("once", "READ"))["status"]["active"] is False
    clock.ms += 10
    assert await alarms.ask("once", "UNPAUSE") == {"status": "success"}

    assert (await alarms.ask("once", "READ"))["status"]["next"] is None
    assert await alarms.fired() == []


async def test_a_fire_that_is_refused_is_a_dead_letter_and_its_time_passes(caplog):
    settings = EngineSettings(quotas=lambda _: Quotas(fires_per_minute=1))
    async with opened(settings=settings) as world:
        alarms = await Alarms(world).furnish()
        await world.client.post("/triggers/t", json={})
        await alarms.ask("interval", "CREATE", minutes=1, trigger_payload={"b": 2})

        async def passed():
            read = await alarms.ask("interval", "READ")
            return read["status"]["next"] == world.clock.now_ms() + 60_000

        await alarms.until(passed)
        assert await alarms.fired() == [{"a": 1}]
        assert "/guest/t did not fire at its time: Too many requests" in caplog.text
        (letter,) = (await world.client.get("/dead-letters")).json()
        assert (letter["kind"], letter["target"], letter["mayHaveRun"]) == (
            "alarm",
            "/guest/t",
            "no",
        )
        path = f"/dead-letters/{letter['id']}"
        assert (await world.client.get(path)).json()["params"] == {"b": 2}

        assert (await world.client.post(f"{path}/retry")).status_code == 429
        world.clock.ms += 60_001
        retried = await world.client.post(f"{path}/retry")
        assert retried.status_code == 202
        assert retried.headers["x-openwhisk-activation-id"] == retried.json()["activationId"]
        assert {"a": 1, "b": 2} in await alarms.fired()
        left = [letter["id"] for letter in (await world.client.get("/dead-letters")).json()]
        assert path.rpartition("/")[2] not in left


async def test_the_retry_of_an_alarm_without_an_active_rule_removes_its_letter():
    settings = EngineSettings(quotas=lambda _: Quotas(fires_per_minute=1))
    async with opened(settings=settings) as world:
        alarms = await Alarms(world).furnish()
        await world.client.post("/triggers/t", json={})
        await alarms.ask("interval", "CREATE", minutes=1)

        async def kept():
            return (await world.client.get("/dead-letters")).json()

        await alarms.until(kept)
        (letter, *_) = await kept()
        await alarms.ask("interval", "DELETE")
        await world.client.delete("/rules/r")
        retried = await world.client.post(f"/dead-letters/{letter['id']}/retry")

        assert (retried.status_code, retried.json()) == (202, {"activationId": None})
        assert await kept() == []


async def test_an_alarm_goes_on_after_a_restart_and_ends_with_its_trigger():
    store = MemoryStore()
    async with opened(store) as world:
        alarms = await Alarms(world).furnish()
        await alarms.ask("interval", "CREATE", minutes=1, startDate=world.clock.now_ms() + 60_000)
    schedule = {"feed": "once", "params": {}, "due": 1, "left": None, "paused": False, "changed": 0}
    orphan = Document(kind="schedule", key="/guest/gone", body=orjson.dumps(schedule))
    await store.commit([Write(documents=[orphan])])
    async with opened(store) as world:
        alarms = Alarms(world)
        assert (await alarms.ask("interval", "READ"))["status"]["active"] is True
        assert [d.key async for d in store.documents("schedule")] == ["/guest/t"]
        await world.client.delete("/triggers/t")

        async def forgotten():
            return [d async for d in store.documents("schedule")] == []

        await alarms.until(forgotten)


class FullDisk(MemoryStore):
    """A store that does not commit while it is full."""

    full = False

    async def commit(self, writes):
        if self.full:
            raise StoreError("the disk is full")
        return await super().commit(writes)


async def test_an_alarm_that_the_store_did_not_take_fires_when_it_works_again():
    pacing = Pacing(commit_retry_s=0, commit_deadline_s=0)
    store = FullDisk()
    async with opened(store, pacing=pacing) as world:
        alarms = await Alarms(world).furnish()
        await alarms.ask("once", "CREATE", date=world.clock.now_ms() + 5)
        store.full = True
        world.clock.ms += 5

        async def refused():
            return await alarms.fired() == [] and not world.engine.healthy

        await alarms.until(refused)
        store.full = False

        async def fired():
            world.clock.ms += 1
            return await alarms.fired() == [{"a": 1}]

        await alarms.until(fired)
        assert (await alarms.ask("once", "READ"))["status"]["next"] is None
