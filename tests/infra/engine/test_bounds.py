"""How much one execution may start, and one namespace have: on both sides of each limit, and after a crash."""

from __future__ import annotations

import orjson
import pytest

from tests.kit.engine.bounded import bounded, of_another, usage
from tests.kit.engine.callbacks import CALLBACK
from tests.kit.engine.engines import GUEST, HELD, begun, world
from xingqiao import composer
from xingqiao.actions import Quotas, Rule, ThrottledError, Trigger
from xingqiao.composer import Failure, Name, Success, path
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.stores import MemoryStore

LEADING = {
    "exec": {"kind": "python:3", "code": "..."},
    "annotations": [{"key": "conductor", "value": True}],
}


def concurrent(count):
    return EngineSettings(quotas=lambda _: Quotas(concurrent=count))


def running(made):
    return made.engine._parts.used(GUEST).running


def error(result):
    return result["error"]


WIDE = composer.map("inner", items=path("$.items"))  # one fiber and one execution an item


@pytest.mark.parametrize(("items", "fits"), [(5, True), (6, False)])
async def test_an_execution_starts_so_many_below_it(items, fits):
    async with world(answers={"a": {}}, settings=bounded(descendants=10)) as made:
        await made.put(a=None, inner=composer.sequence("a"), main=WIDE)

        result = await made.run("main", {"items": [{}] * items})

        if fits:
            assert result == {"value": [{}] * items}
        else:
            assert error(result)["code"] == "LimitExceeded"
            assert "would have 11 executions and branches below it" in error(result)["message"]
            assert "may have 10" in error(result)["message"]
            assert "raise the limit 'descendants'" in error(result)["message"]
        await made.settle()
        assert usage(made) == 0
        assert made.engine._bounds._families == {}


@pytest.mark.parametrize(("width", "fits"), [(10, True), (11, False)])
async def test_branches_count_as_well(width, fits):
    async with world(answers={"a": {}}, settings=bounded(descendants=10)) as made:
        await made.put(a=None, main=composer.parallel(*["a"] * width))

        result = await made.run("main")

        assert ("error" in result) is not fits
        if not fits:
            assert "would have 11 executions and branches" in error(result)["message"]
        assert usage(made) == 0


async def test_forks_in_forks_are_refused_before_they_are_made():
    inner = composer.map(composer.map("a", items=path("$.items")), items=path("$.lists"))
    lists = [{"items": [{}] * 100} for _ in range(100)]
    async with world(answers={"a": {}}, settings=bounded(descendants=1_000)) as made:
        await made.put(a=None, main=inner)

        result = await made.run("main", {"lists": lists})

        assert error(result)["code"] == "LimitExceeded"
        await made.settle()
        assert usage(made) == 0


async def test_a_failure_by_a_bound_can_be_handled_as_any_other():
    async with world(answers={"a": {}, "sorry": {"n": 1}}, settings=bounded(descendants=3)) as made:
        await made.put(a=None, sorry=None, main=composer.do(composer.parallel(*["a"] * 4), "sorry"))

        assert await made.run("main") == {"n": 1}


async def test_a_part_that_nobody_waits_for_fails_with_a_record():
    part = composer.sequence(composer.asynchronous("a"), composer.asynchronous("a"), "b")
    settings = bounded(descendants=1)
    async with world(answers={"a": HELD, "b": {}}, settings=settings) as made:
        await made.put(a=None, b=None, main=part)
        id = await made.start("main")
        await made.result(id)
        await made.settle()

        rows = await made.executions()
        failed = [row for row in rows if row.status == "failed"]
        assert len(failed) == 1
        assert "may have 1" in error(await made.result(failed[0].id))["message"]


@pytest.mark.parametrize(("held", "fits"), [(2, True), (3, False)])
async def test_a_namespace_has_so_much_at_a_time(held, fits):
    async with world(answers={"a": HELD}, settings=bounded(live=3)) as made:
        await made.put(a=None)
        for _ in range(held):
            await made.start("a")

        if fits:
            await made.start("a")
        else:
            with pytest.raises(ThrottledError, match=r"count: 3, allowed: 3.*'liveExecutions'"):
                await made.start("a")
            made.hands.answers["a"] = {"n": 1}
            assert await of_another(made) == {"n": 1}


async def test_what_a_step_starts_counts_for_its_namespace():
    async with world(answers={"a": HELD}, settings=bounded(live=3)) as made:
        await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
        await made.start("a")
        await made.start("main")
        await made.until(lambda: len(made.hands.done) == 2)
        assert usage(made) == 3
        for activation in list(made.hands.done):
            made.hands.finish(activation, {})
        await made.until(lambda: usage(made) == 0)
        await made.start("a")
        await made.start("a")

        assert "may have 3" in error(await made.run("main"))["message"]


async def test_a_rule_does_not_begin_what_is_too_much():
    async with world(answers={"a": HELD}, settings=bounded(live=1)) as made:
        await made.put(a=None)
        registry = made.engine.registry
        await registry.put(Trigger, Name(GUEST, None, "t"), {}, overwrite=False)
        for rule in ("one", "two"):
            document = {"trigger": "/_/t", "action": "/_/a"}
            await registry.put(Rule, Name(GUEST, None, rule), document, overwrite=False)

        id = await made.engine.firing.fire(Name(GUEST, None, "t"), {})

        logs = (await made.record(id))["logs"]
        assert len(logs) == 2
        assert sum("Too much is under way" in line for line in logs) == 1


async def test_a_conductor_action_counts_too():
    def lead(params):
        return {"action": "/_/lead", "params": {}} if "error" not in params else {"params": params}

    async with world(answers={"lead": lead}, settings=bounded(descendants=3)) as made:
        await made.put(lead=LEADING)

        assert "may have 3" in orjson.dumps(await made.run("lead")).decode()


async def test_counts_are_exact_after_a_crash():
    store, settings = MemoryStore(), bounded(live=100, descendants=100)
    made = await begun(store, {"a": HELD}, settings=settings)
    waits = composer.sequence(composer.wait(3600), "a")
    await made.put(a=None, waits=waits, inner=composer.parallel("a", "a", "waits"))
    await made.put(main=composer.parallel("inner", "inner"))
    root, alone = await made.start("main"), await made.start("waits")
    await made.until(lambda: len(made.hands.done) == 4)
    await made.settle()
    counted = usage(made)
    assert counted == (1 + 2) + 2 * (1 + 3) + 2 + 1
    family = made.engine._bounds.family(root)
    await made.kill()

    again = await begun(store, {"a": HELD}, settings=settings)
    assert usage(again) == 1 + 2 + 2 + 1  # branches of what is not taken up yet are not known
    await again.until(lambda: len(again.hands.done) == 4)
    await again.settle()

    assert usage(again) == counted
    assert again.engine._bounds.family(root).members == family.members
    assert again.engine._bounds.family(root).live == family.live == counted - 1
    assert again.engine._bounds.family(alone) is None
    await again.engine.cancel(GUEST, root, terminate=True)
    await again.until(lambda: usage(again) == 1)
    await again.kill()


async def test_what_is_redriven_counts_again():
    answers = {"a": composer.Failure("Broken", "broken")}
    async with world(answers=answers, settings=bounded(descendants=2)) as made:
        await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
        id = await made.start("main")
        await made.result(id)
        assert usage(made) == 0
        made.hands.answers["a"] = HELD

        await made.engine.redrive(GUEST, id)
        await made.until(lambda: made.hands.done)

        assert usage(made) == 2
        assert made.engine._bounds.family(id).live == 2


# --- calls under way --------------------------------------------------------------------------------

ASKING = composer.sequence("ask", composer.asynchronous("inner"), "inner")


async def waiting(store, count):
    """A world in which so many calls wait for an answer, out of memory; and tokens to answer with."""
    made = await begun(store, {"ask": {}, "a": {}}, settings=concurrent(count))
    await made.put(ask=CALLBACK, a=None, inner=composer.sequence("a"), main=ASKING)
    ids = [await made.start("main") for _ in range(count)]
    await made.until(lambda: len(made.hands.invoked) == count)
    await made.until(lambda: not made.engine._parts.runs)
    return made, ids, [invocation.token for invocation in made.hands.invoked]


async def answer(made, ids, tokens):
    """Answers all, and waits until nothing is under way."""
    for token in tokens:
        await made.engine.complete(token, Success({}))
    for id in ids:
        await made.result(id)
    await made.settle()


async def test_a_call_that_has_waited_out_of_memory_makes_room_when_it_has_ended():
    made, ids, tokens = await waiting(MemoryStore(), 2)
    assert running(made) == 2
    with pytest.raises(ThrottledError, match="count: 2, allowed: 2"):
        await made.start("main")

    await answer(made, ids, tokens)

    assert running(made) == 0
    await made.result(await made.start("a"))
    await made.kill()


async def test_calls_under_way_are_counted_after_a_restart_and_make_room_when_they_have_ended():
    store = MemoryStore()
    made, ids, tokens = await waiting(store, 2)
    await made.kill()
    again = await begun(store, {"a": {}}, settings=concurrent(2))
    assert running(again) == 2
    with pytest.raises(ThrottledError, match="count: 2, allowed: 2"):
        await again.start("a")

    await answer(again, ids, tokens)

    assert running(again) == 0
    await again.put(a=None)
    await again.result(await again.start("a"))
    await again.kill()


async def test_an_execution_that_is_redriven_is_under_way_again():
    async with world(answers={"a": Failure("Broken", "once")}, settings=concurrent(1)) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.result(id)
        await made.settle()
        assert running(made) == 0

        made.hands.answers["a"] = HELD
        await made.engine.redrive(GUEST, id)
        assert running(made) == 1
        await made.until(lambda: made.hands.done)
        (step,) = made.hands.done
        made.hands.finish(step, {})
        await made.until(lambda: not running(made))
        await made.settle()
        assert running(made) == 0
