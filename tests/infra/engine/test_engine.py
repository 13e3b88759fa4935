"""Timers, cancelling, pausing, redriving, nesting, express: also across a restart."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, begun, world
from xingqiao import composer
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.composer import Failure, Limits, path
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.redrives import Redrives
from xingqiao.infra.stores import MemoryStore

EXPRESS = [{"key": "durability", "value": "express"}]


def express(part):
    return {"exec": {"kind": "composition", "composition": part.to_json()}, "annotations": EXPRESS}


async def standing(made, id):
    return [f["waits"] for f in (await made.engine.records.execution("guest", id))["fibers"]]


async def restarted(made, seconds=0, answers=None):
    """Another engine over the same store, so much later."""
    await made.kill()
    made.clock.ms += int(seconds * 1000)
    return await begun(made.store, answers or made.hands.answers, clock=made.clock)


async def test_a_wait_outlasts_a_restart():
    made = await begun(answers={"a": {"done": True}})
    await made.put(a=None, main=composer.sequence(composer.wait(3600), "a"))
    id = await made.start("main")
    await made.settle()
    assert made.engine.gauges()["executions_in_memory"] == 0  # it waits in the store
    assert await standing(made, id) == ["timer"]

    early = await restarted(made, 3599)
    await early.settle()
    assert early.hands.invoked == []
    late = await restarted(early, 1)

    assert await late.result(id) == {"done": True}
    await late.kill()


async def test_a_timeout_and_a_retrys_delay_outlast_a_restart():
    part = composer.do(composer.timeout(60, "slow"), composer.retry(1, "fails", delay=60))
    made = await begun(answers={"slow": HELD, "fails": Failure("No", "no")})
    await made.put(slow=None, fails=None, main=part)
    id = await made.start("main")
    await made.settle()

    second = await restarted(made, 60)
    await second.until(lambda: "fails" in second.hands.names)
    await second.settle()
    third = await restarted(second, 60)

    assert (await third.result(id))["error"] == "no"
    assert third.hands.names == ["fails"]
    await third.kill()


async def test_cancelling_stops_steps_and_runs_finalizers():
    async with world(answers={"a": HELD, "tidy": {}}) as made:
        await made.put(a=None, tidy=None, main=composer.ensure("a", "tidy"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id)

        assert (await made.result(id))["error"]["code"] == "Cancelled"
        assert made.hands.names == ["a", "tidy"]
        assert made.hands.cancelled == [made.hands.invoked[0].activation]
        with pytest.raises(ConflictError, match="has ended: it has cancelled"):
            await made.engine.cancel("guest", id)


async def test_terminating_runs_nothing():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, tidy=None, main=composer.ensure("a", "tidy"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id, terminate=True)

        assert (await made.result(id))["error"]["message"] == "terminated"
        assert made.hands.names == ["a"]


async def test_a_paused_execution_waits_for_an_operator_across_a_restart():
    made = await begun(answers={"a": Failure("Down", "down")})
    await made.put(a=None, main=composer.retry(0, "a", on_exhausted="pause"))
    id = await made.start("main")
    await made.settle()
    assert (await made.engine.records.execution("guest", id))["status"] == "paused"

    again = await restarted(made, answers={"a": {"up": True}})
    assert await standing(again, id) == ["operator"]
    await again.engine.resume("guest", id)

    assert await again.result(id) == {"up": True}
    with pytest.raises(ConflictError):
        await again.engine.resume("guest", id)
    await again.kill()


async def test_another_namespace_can_do_nothing():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        for ask in (
            made.engine.cancel("other", id),
            made.engine.resume("other", id),
            made.engine.redrive("other", id),
            made.engine.wait("other", id, 1),
            made.engine.records.execution("other", id),
            made.engine.records.activation("other", id),
        ):
            with pytest.raises(NotFoundError):
                await ask


async def test_a_failed_execution_is_redriven_with_its_children():
    answers = {"a": {"n": 1}, "b": Failure("Broken", "broken"), "c": {"n": 3}}
    async with world(answers=answers) as made:
        await made.put(a=None, b=None, c=None, inner=composer.sequence("a", "b"),
                       main=composer.sequence("a", "inner", "c"))  # fmt: skip
        id = await made.start("main")
        assert (await made.result(id)) == {"error": "broken"}
        made.hands.answers["b"] = {"n": 2}

        await made.engine.redrive("guest", id)
        assert await made.engine.wait("guest", id, 20)

        assert (await made.engine.records.execution("guest", id))["status"] == "succeeded"
        assert await made.result(id) == {"n": 3}
        assert made.hands.names == ["a", "a", "b", "b", "c"]
        with pytest.raises(ConflictError, match="has succeeded"):
            await made.engine.redrive("guest", id)


class Waiting(MemoryStore):
    """Commits nothing until it may."""

    def __init__(self):
        super().__init__()
        self.may = asyncio.Event()
        self.may.set()

    async def commit(self, writes):
        await self.may.wait()
        return await super().commit(writes)


async def failed_with_its_child(made):
    """An execution that has failed by a step that was one, and that step; it would succeed now."""
    await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
    id = await made.start("main")
    await made.result(id)
    await made.settle()
    child = next(row.id for row in await made.executions() if row.id != id)
    made.hands.answers["a"] = {"n": 1}
    return id, child


@pytest.mark.parametrize("also", ["itself", "its child"])
async def test_what_is_redriven_is_not_redriven_again_before_the_store_knows(also):
    store = Waiting()
    async with world(store, {"a": Failure("Broken", "once")}) as made:
        id, child = await failed_with_its_child(made)
        store.may.clear()
        first = asyncio.ensure_future(made.engine.redrive("guest", id))
        await made.until(lambda: id in made.engine._parts.runs)

        with pytest.raises(ConflictError, match="is being redriven"):
            await made.engine.redrive("guest", id if also == "itself" else child)

        store.may.set()
        await first
        await made.settle()
        assert made.hands.names == ["a", "a"]
        assert made.engine.gauges()["live"] == 0


async def test_a_child_that_a_redrive_has_read_is_not_redriven_by_another(monkeypatch):
    """The first still reads other parts of the execution when the second asks."""
    async with world(answers={"a": Failure("Broken", "once")}) as made:
        id, child = await failed_with_its_child(made)
        redriven, refused = Redrives._redriven, []

        async def read_slowly(self, row, *rest):
            work = await redriven(self, row, *rest)
            if row.id == child and not refused:
                refused.append(True)
                with pytest.raises(ConflictError, match="is being redriven"):
                    await made.engine.redrive("guest", child)
            return work

        monkeypatch.setattr(Redrives, "_redriven", read_slowly)

        await made.engine.redrive("guest", id)

        assert await made.engine.wait("guest", id, 20)
        assert refused
        assert made.hands.names == ["a", "a"]


async def test_a_redrive_with_another_program_that_needs_no_step_ends_at_once():
    async with world(answers={"a": {"n": 1}}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.raise_error("No")))
        id = await made.start("main")
        await made.result(id)

        await made.engine.redrive("guest", id, composer.action("a").to_json())
        assert await made.engine.wait("guest", id, 20)

        assert await made.result(id) == {"n": 1}
        assert made.hands.names == ["a"]


async def test_what_is_under_way_is_not_redriven():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        with pytest.raises(ConflictError, match="still under way"):
            await made.engine.redrive("guest", id)


async def test_a_child_is_cancelled_with_its_parent():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id)
        await made.result(id)
        await made.settle()

        assert {row.status for row in await made.executions()} == {"cancelled"}


@pytest.mark.parametrize(("depth", "fits"), [(3, True), (4, False)])
async def test_compositions_nest_so_deep(depth, fits):
    async with world(answers={"a": {"n": 1}}, settings=EngineSettings(nesting=3)) as made:
        await made.put(a=None, c0=composer.sequence("a"))
        for number in range(depth):
            await made.put(**{f"c{number + 1}": composer.sequence(f"c{number}")})

        result = await made.run(f"c{depth}")

        assert result == {"n": 1} if fits else "nest more than 3 deep" in result["error"]["message"]


async def test_an_express_execution_leaves_one_record_and_its_history():
    async with world(answers={"a": {"n": 1}}) as made:
        await made.put(a=None, main=express(composer.sequence("a", "a")))
        commits = made.engine.gauges()["commits"]

        id = await made.start("main")
        assert await made.result(id) == {"n": 1}

        assert made.engine.gauges()["commits"] == commits + 1
        assert [row.id for row in await made.activations()] == [id]
        history = await made.engine.records.history("guest", id, after=0, limit=100)
        assert [entry["type"] for entry in history][-1] == "ExecutionSucceeded"


async def test_an_express_execution_is_gone_with_its_process():
    made = await begun(answers={"a": HELD})
    await made.put(a=None, main=express(composer.sequence("a")))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)

    again = await restarted(made)
    await again.settle()

    assert again.hands.invoked == []
    assert await again.executions() == []
    assert id
    await again.kill()


async def test_steps_of_an_execution_are_bounded():
    settings = EngineSettings(limits=Limits(steps=5))
    async with world(answers={"a": {}}, settings=settings) as made:
        await made.put(
            a=None, five=composer.sequence(*["a"] * 5), six=composer.sequence(*["a"] * 6)
        )

        assert await made.run("five") == {}
        assert (await made.run("six"))["error"]["code"] == "LimitExceeded"


async def test_large_values_are_stored_once_and_read_everywhere():
    text = "x" * 5000
    async with world(answers={"a": lambda p: p}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.retain("a"), path("$.result")))
        id = await made.start("main", {"text": text})

        assert (await made.result(id)) == {"text": text}
        history = await made.engine.records.history("guest", id, after=0, limit=100)
        assert [e["value"]["text"] for e in history if e["type"] == "StepSucceeded"] == [text] * 2


async def test_a_store_that_fails_for_a_while_holds_everybody_and_loses_nothing():
    class Failing(MemoryStore):
        failures = 0

        async def commit(self, writes):
            if self.failures:
                self.failures -= 1
                raise OSError("disk full")
            return await super().commit(writes)

    store = Failing()
    settings = EngineSettings(pacing=Pacing(commit_retry_s=0))
    made = await begun(store, {"a": {"n": 1}}, settings=settings)
    await made.put(a=None, main=composer.sequence("a"))
    store.failures = 1
    id = await made.start("main")
    assert await made.result(id) == {"n": 1}
    assert made.engine.healthy
    await made.kill()


async def test_stopping_in_order_loses_nothing():
    store = MemoryStore()
    made = await begun(store, {"a": HELD})
    await made.put(a=None, main=composer.sequence("a", "a"))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)
    assert not await made.engine.drain(0)
    await made.engine.__aexit__(None, None, None)

    async with world(store, {"a": {"n": 1}}) as again:
        assert await again.result(id) == {"n": 1}


class FullDisk:
    """A store that cannot commit any more, from when it is told so."""

    def __init__(self):
        self._store, self.full, self.tried = MemoryStore(), False, asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        if self.full:
            self.tried.set()
            raise OSError("no space left on device")
        return await self._store.commit(writes)


@pytest.mark.parametrize("before", [True, False])
async def test_a_store_that_cannot_commit_does_not_keep_a_server_from_stopping(before):
    store = FullDisk()
    made = await begun(store, {"a": {"n": 1}})
    await made.put(a=None)
    calling = asyncio.ensure_future(made.start("a"))
    store.full = True
    if before:
        await store.tried.wait()  # it knows by now; else it finds out while it stops

    async with asyncio.timeout(20):
        await made.engine.__aexit__(None, None, None)

    assert not calling.done()  # nobody has heard of what was not committed
    calling.cancel()


async def test_a_start_that_fails_leaves_no_task_behind():
    class Unreadable(MemoryStore):
        async def standing(self):
            raise OSError("the disk")

    before = asyncio.all_tasks()
    with pytest.raises(OSError, match="the disk"):
        await begun(Unreadable())

    assert asyncio.all_tasks() == before
