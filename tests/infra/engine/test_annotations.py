"""Attributes of executions are indexed in the commit that sets them, whichever commit the process dies at."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, PromptHands, begun, world
from xingqiao import composer
from xingqiao.actions import (
    Call,
    ConflictError,
    ExecutionRow,
    InvalidError,
    NotFoundError,
    Query,
    StartOptions,
    TooLargeError,
    parse,
)
from xingqiao.composer import Name, path
from xingqiao.infra.stores import MemoryStore, SqliteStore

DECLARED = {"customer": "text", "stage": "number"}
ANSWERS = {"a": lambda params: params, "held": HELD}
NOTING = composer.sequence(
    composer.annotate(stage=1), "a", composer.annotate(stage=2, customer=path("$.c")), "a",
    composer.annotate(stage=3),
)  # fmt: skip


async def deploy(made, **parts):
    await made.put(a=None, held=None, **parts)
    for name, type in DECLARED.items():
        await made.engine.annotations.declare(GUEST, name, type)


def call(name, params=None, **options):
    name = Name(GUEST, None, name)
    return Call(name=name, params=params or {}, namespace=GUEST, options=StartOptions(**options))


async def found(store, text):
    where = parse(text, DECLARED)
    rows = await store.find(ExecutionRow, Query(namespace=GUEST, where=where, limit=100))
    return [row.id for row in rows]


async def agrees(store):
    """The index says what the rows say."""
    for row in await store.find(ExecutionRow, Query(namespace=GUEST, limit=100)):
        attributes = orjson.loads(row.body).get("options", {}).get("attributes", {})
        for name in DECLARED:
            value = attributes.get(name)
            text = (
                f"{name} is null" if value is None else f"{name} = {orjson.dumps(value).decode()}"
            )
            assert row.id in await found(store, text.replace('"', "'"))
    return True


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("hands", [None, PromptHands])
async def test_whatever_commit_it_dies_at(when, hands):
    at, died = 0, True
    more = {} if hands is None else {"hands": hands}
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, ANSWERS, **more)
        await deploy(made, noting=NOTING)
        store.armed = True
        start = call("noting", {"c": "anna"}, attributes={"customer": "bert"}, memo=[1])
        invoked = asyncio.ensure_future(made.engine.invoke(start))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait((dead, invoked), return_when=asyncio.FIRST_COMPLETED)
        if invoked.done() and not dead.done():
            ended = asyncio.ensure_future(made.record(invoked.result().activation))
            await asyncio.wait((dead, ended), return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
        dead.cancel()
        died = store.dead.is_set()
        await made.kill()
        invoked.cancel()
        assert await agrees(kept)

        again = await begun(kept, ANSWERS, **more)
        rows = [row.id for row in await again.executions()]
        if rows:
            await again.record(rows[0])
            await again.settle()
            assert await found(kept, "customer = 'anna' and stage = 3") == rows
            assert (await again.engine.records.execution(GUEST, rows[0]))["memo"] == [1]
        await again.kill()
        at += 1
    assert at >= 2


async def test_declarations_and_attributes_outlive_the_process(tmp_path):
    async with SqliteStore(tmp_path) as store, world(store, ANSWERS) as made:
        await deploy(made, long=composer.sequence(composer.wait(3600)))
        id = (await made.engine.invoke(call("long", attributes={"stage": 7}))).activation
    async with SqliteStore(tmp_path) as store, world(store, ANSWERS) as made:
        assert made.engine.annotations.declared(GUEST) == [
            {"name": "customer", "type": "text"}, {"name": "stage", "type": "number"},
        ]  # fmt: skip
        assert await found(store, "stage = 7") == [id]
        told = await made.engine.annotations.annotate(GUEST, id, {"customer": "anna"})
        assert told == {"attributes": {"stage": 7, "customer": "anna"}, "memo": None}
        assert await found(store, "stage = 7 and customer = 'anna'") == [id]
        await made.engine.cancel(GUEST, id, terminate=True)
        assert await found(store, "stage = 7 and status = 'cancelled'") == [id]


async def test_a_part_that_begins_by_itself_and_a_nested_one_have_no_attributes():
    async with world(answers=ANSWERS) as made:
        apart = composer.sequence(composer.asynchronous("held"), "inner", "held")
        await deploy(made, main=apart, inner=composer.sequence("a"))
        id = (await made.engine.invoke(call("main", attributes={"stage": 1}))).activation
        await made.until(lambda: len(made.hands.done) == 2)

        assert len(await made.executions()) == 3
        assert await found(made.store, "stage = 1") == [id]


async def test_an_express_execution_is_found_at_its_end():
    async with world(answers=ANSWERS) as made:
        await deploy(made)
        document = {
            "exec": {"kind": "composition", "composition": NOTING.to_json()},
            "annotations": [{"key": "durability", "value": "express"}],
        }
        await made.put(quick=document, slow={**document, "exec": {
            "kind": "composition", "composition": composer.sequence("held").to_json()}})  # fmt: skip
        start = call("quick", {"c": "anna"}, attributes={"customer": "bert"})
        id = (await made.engine.invoke(start)).activation
        await made.record(id)

        assert await found(made.store, "customer = 'anna' and stage = 3") == [id]
        slow = (await made.engine.invoke(call("slow"))).activation
        with pytest.raises(ConflictError, match="is express: annotate it when it has ended"):
            await made.engine.annotations.annotate(GUEST, slow, {"stage": 1})


async def test_a_single_action_is_found_while_it_runs():
    async with world(answers=ANSWERS) as made:
        await deploy(made)
        id = (await made.engine.invoke(call("held", attributes={"stage": 1}))).activation
        assert await found(made.store, "stage = 1") == [id]
        await made.engine.annotations.annotate(GUEST, id, {"stage": 2})
        assert await found(made.store, "stage = 2") == [id]

        made.hands.finish(id, {})
        await made.record(id)

        assert await found(made.store, "stage is not null") == []


async def test_annotating_needs_an_execution_of_the_namespace():
    async with world(answers=ANSWERS) as made:
        await deploy(made, good=composer.sequence("a"), long=composer.sequence("held"))
        ended, running = await made.start("good"), await made.start("long")
        await made.record(ended)
        for id in (ended, running, "0" * 32):
            with pytest.raises(NotFoundError):
                await made.engine.annotations.annotate("other", id, {})
        with pytest.raises(InvalidError, match="no attribute 'x'"):
            await made.engine.annotations.annotate(GUEST, running, {"x": 1})
        with pytest.raises(TooLargeError):
            await made.engine.annotations.annotate(GUEST, running, {}, memo="x" * (64 << 10))


async def test_values_of_a_deleted_attribute_stay_and_are_not_found_by():
    async with world(answers=ANSWERS) as made:
        await deploy(made, long=composer.sequence("held"))
        options = {"attributes": {"stage": 1, "customer": "anna"}}
        id = (await made.engine.invoke(call("long", **options))).activation
        await made.engine.annotations.remove(GUEST, "stage")

        told = await made.engine.annotations.annotate(GUEST, id, {"customer": "bert"})

        assert told["attributes"] == {"stage": 1, "customer": "bert"}
        assert await found(made.store, "stage is null and customer = 'bert'") == [id]


async def test_a_redriven_execution_keeps_its_attributes():
    failing = iter([composer.Failure("Broken", "broken"), {}])
    async with world(answers={**ANSWERS, "a": lambda _: next(failing)}) as made:
        await deploy(made, part=composer.sequence(composer.annotate(stage=1), "a"))
        id = (await made.engine.invoke(call("part", attributes={"customer": "anna"}))).activation
        await made.record(id)
        await made.engine.annotations.annotate(GUEST, id, {"customer": "bert"}, memo="again")
        await made.engine.redrive(GUEST, id)
        await made.settle()
        await made.until(lambda: id not in made.engine._parts.runs)
        await made.settle()

        assert await found(
            made.store, "customer = 'bert' and stage = 1 and status = 'succeeded'"
        ) == [id]
        assert (await made.engine.records.execution(GUEST, id))["memo"] == "again"
