"""Resets and forks: a run begins where another's history stood, in one commit, and does nothing done again."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import (
    AlreadyStartedError,
    Call,
    ConflictError,
    NotFoundError,
    StartOptions,
    ThrottledError,
    Write,
)
from xingqiao.composer import Failure, Name
from xingqiao.infra.engine import Place
from xingqiao.infra.engine.resets import ResetRefusedError
from xingqiao.infra.stores import MemoryStore

ANSWERS = {"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}}
BIG = {"text": "x" * 5000}


@pytest.fixture
async def made():
    async with world(answers=dict(ANSWERS)) as made:
        await made.put(a=None, b=None, c=None, main=composer.sequence("a", "b", "c"))
        yield made


async def named(made, id, action="main"):
    """Starts an action with a user's id."""
    call = Call(
        name=Name.parse(f"/guest/{action}"), params={}, namespace=GUEST, options=StartOptions(id=id)
    )
    return (await made.engine.invoke(call)).activation


async def state(made, id):
    return await made.engine.records.execution(GUEST, id)


async def test_an_execution_that_has_ended_is_run_again_from_a_step(made):
    id = await made.start("main")
    await made.result(id)
    made.hands.answers["c"] = {"n": 30}

    run = await made.engine.resets.reset(GUEST, id, Place(step="c", reason="c was wrong"))

    assert await made.result(run) == {"n": 30}
    assert made.hands.names == ["a", "b", "c", "c"]
    assert (await state(made, id))["status"] == "succeeded"
    found = await state(made, run)
    assert found["reset"] == {"executionId": id, "entry": 6}
    assert "redriven" not in found


async def test_the_new_history_begins_with_the_old_one_and_says_why_it_differs(made):
    made.hands.answers["a"] = BIG
    id = await made.start("main")
    await made.result(id)
    before = await made.engine.records.history(GUEST, id, after=0, limit=1000)

    run = await made.engine.resets.reset(GUEST, id, Place(to=3, reason="why not"))
    await made.result(run)

    after = await made.engine.records.history(GUEST, run, after=0, limit=1000)
    assert after[:3] == before[:3]
    assert after[2]["value"] == BIG
    marked = {**after[3], "at": 0}
    assert marked["type"] == "ExecutionReset"
    assert (marked["how"], marked["from"], marked["entry"]) == ("reset", id, 3)
    assert marked["reason"] == "why not"
    assert after[-1]["type"] == "ExecutionSucceeded"


async def test_an_open_run_ends_without_its_finalizers_when_its_successor_begins(made):
    made.hands.answers["b"] = HELD
    await made.put(careful=composer.ensure(composer.sequence("a", "b"), "c"))
    id = await named(made, "order-7", "careful")
    await made.until(lambda: made.hands.done)

    run = await made.engine.resets.reset(GUEST, id, Place(to="first"))

    await made.until(lambda: made.hands.names.count("b") == 2)
    assert (await state(made, id))["status"] == "cancelled"
    assert "c" not in made.hands.names
    assert await made.engine.identities.run_of(GUEST, "order-7") == run
    assert (await state(made, run))["id"] == "order-7"
    assert made.engine.gauges()["live"] == 1


async def test_steps_that_are_executions_end_with_the_run_that_is_reset(made):
    made.hands.answers["b"] = HELD
    await made.put(inner=composer.sequence("b"), outer=composer.sequence("a", "inner"))
    id = await made.start("outer")
    await made.until(lambda: made.hands.done)

    await made.engine.resets.reset(GUEST, id, Place())

    await made.until(lambda: made.hands.names.count("b") == 2)
    await made.until(lambda: made.engine.gauges()["live"] == 2)


async def test_a_part_of_another_execution_is_forked_not_reset(made):
    await made.put(inner=composer.sequence("b"), outer=composer.sequence("a", "inner"))
    id = await made.start("outer")
    await made.result(id)
    child = next(row.id for row in await made.executions() if row.id != id)

    with pytest.raises(ResetRefusedError, match=f"a step of {id}"):
        await made.engine.resets.reset(GUEST, child, Place())
    run = await made.engine.resets.fork(GUEST, child, Place(to="first"))

    assert await made.result(run) == {"n": 2}
    assert "parent" not in await state(made, run)


async def test_a_fork_leaves_the_original_as_it_is_and_may_change_a_step_s_input(made):
    made.hands.answers |= {"b": HELD, "c": lambda params: params}
    id = await made.start("main")
    await made.until(lambda: made.hands.done)

    place = Place(step="b", value={"n": 50})
    run = await made.engine.resets.fork(GUEST, id, place, StartOptions(id="try-2"))
    await made.until(lambda: len(made.hands.done) == 2)
    for activation in [*made.hands.done]:
        made.hands.finish(activation, {"n": 9})

    assert await made.result(id) == await made.result(run) == {"n": 9}
    assert [i.params for i in made.hands.invoked if i.action.name.name == "b"] == [
        {"n": 1}, {"n": 50},
    ]  # fmt: skip
    assert (await state(made, run))["fork"] == {"executionId": id, "entry": 4}
    assert await made.engine.identities.run_of(GUEST, "try-2") == run


async def test_a_fork_may_run_another_composition_that_agrees_so_far(made):
    id = await made.start("main")
    await made.result(id)

    other = composer.sequence("a", "c").to_json()
    run = await made.engine.resets.fork(GUEST, id, Place(to=3, composition=other))

    assert await made.result(run) == {"n": 3}
    wrong = composer.sequence("c", "b").to_json()
    with pytest.raises(ResetRefusedError, match="does not agree"):
        await made.engine.resets.fork(GUEST, id, Place(to=3, composition=wrong))


async def test_the_id_of_a_fork_must_not_be_in_use(made):
    made.hands.answers["b"] = HELD
    await named(made, "taken")
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == 2)

    with pytest.raises(AlreadyStartedError):
        await made.engine.resets.fork(GUEST, id, Place(), StartOptions(id="taken"))


async def test_a_run_is_not_reset_while_another_of_its_id_is_open(made):
    first = await named(made, "order-7")
    await made.result(first)
    made.hands.answers["b"] = HELD
    await named(made, "order-7")

    with pytest.raises(AlreadyStartedError, match="another open run"):
        await made.engine.resets.reset(GUEST, first, Place())


@pytest.mark.parametrize("verb", ["reset", "fork"])
async def test_what_cannot_begin_there_is_refused_and_nothing_ends(made, verb):
    made.hands.answers["b"] = HELD
    id = await made.start("main")
    await made.until(lambda: made.hands.done)
    does = getattr(made.engine.resets, verb)

    with pytest.raises(NotFoundError):
        await does(GUEST, "0" * 32, Place())
    with pytest.raises(NotFoundError):
        await does("others", id, Place())
    with pytest.raises(ResetRefusedError, match=r"entries 1 to 4\.$"):
        await does(GUEST, id, Place(to=5))
    with pytest.raises(ResetRefusedError, match="has not asked for a step 'z'"):
        await does(GUEST, id, Place(step="z"))

    assert (await state(made, id))["status"] == "running"
    assert made.hands.names == ["a", "b"]


async def test_a_single_action_has_no_history_to_begin_from(made):
    made.hands.answers["a"] = HELD
    id = await made.start("a")

    with pytest.raises(ResetRefusedError, match="single action"):
        await made.engine.resets.fork(GUEST, id, Place())


async def test_it_counts_against_the_limits_of_the_namespace(made, monkeypatch):
    id = await made.start("main")
    await made.result(id)
    usage = made.engine._parts.used(GUEST)

    def refuse(*_):
        raise ThrottledError("Too many requests.")

    monkeypatch.setattr(type(usage), "admit", refuse)
    with pytest.raises(ThrottledError):
        await made.engine.resets.reset(GUEST, id, Place())
    assert len(await made.executions()) == 1


async def test_a_reset_run_can_be_redriven(made):
    id = await made.start("main")
    await made.result(id)
    made.hands.answers["c"] = Failure("Broken", "once")
    run = await made.engine.resets.reset(GUEST, id, Place(step="b"))
    await made.result(run)
    made.hands.answers["c"] = {"n": 33}

    await made.engine.redrive(GUEST, run)
    assert await made.engine.wait(GUEST, run, 20)

    assert await made.result(run) == {"n": 33}
    assert made.hands.names == ["a", "b", "c", "b", "c", "c"]
    assert (await state(made, run))["redriven"] == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", [0, 1])
async def test_a_crash_leaves_the_old_run_or_the_new_one_never_both(at, when):
    """The first commit is the barrier of the reading, or the reset itself; the second is what follows."""
    store = DyingStore(MemoryStore(), at, when)
    made = await begun(store, {**ANSWERS, "b": HELD})
    await made.put(a=None, b=None, c=None, main=composer.sequence("a", "b", "c"))
    id = await named(made, "order-7")
    await made.until(lambda: made.hands.done)
    await made.settle()
    store.armed = True
    resetting = asyncio.ensure_future(made.engine.resets.reset(GUEST, id, Place()))
    await asyncio.wait({resetting, asyncio.ensure_future(store.dead.wait())}, timeout=20,
                       return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
    resetting.cancel()
    await made.kill()

    again = await begun(store._store, {**ANSWERS, "b": HELD}, clock=made.clock)
    await again.settle()

    (standing,) = [row.id for row in await again.executions() if row.ended_ms is None]
    assert await again.engine.identities.run_of(GUEST, "order-7") == standing
    await again.until(lambda: again.hands.done)
    again.hands.finish(next(iter(again.hands.done)), {"n": 2})
    assert await again.result(standing) == {"n": 3}
    assert again.hands.names == ["b", "c"]
    await again.kill()


TOLD = composer.sequence(composer.receive("go"), "a", composer.receive("on"), "b")


@pytest.mark.parametrize(
    ("messages", "names"), [("keep", ["a", "b", "a", "b"]), ("drop", ["a", "b", "a"])]
)
async def test_messages_that_came_later_are_told_again_or_dropped(made, messages, names):
    await made.put(told=TOLD)
    id = await made.start("told")
    await made.engine.messages.tell(GUEST, id, "go", {"n": 0}, "m1")
    await made.until(lambda: made.hands.names == ["a"])
    await made.engine.messages.tell(GUEST, id, "on", {"n": 9})
    await made.result(id)

    run = await made.engine.resets.reset(GUEST, id, Place(step="a", messages=messages))

    await made.until(lambda: made.hands.names == names)
    assert not await made.engine.messages.tell(GUEST, run, "go", {}, "m1"), "it was told before"
    if messages == "drop":
        assert (await state(made, run))["status"] == "running"
        await made.engine.messages.tell(GUEST, run, "on", {"n": 8})
    assert await made.result(run) == {"n": 2}


async def test_a_message_that_comes_while_the_history_is_replayed_is_told_to_the_new_run(made):
    await made.put(listens=composer.sequence("a", composer.receive("go"), "b"))
    id = await made.start("listens")
    await made.settle()
    resets = made.engine.resets
    replaceable = resets._endings.replaceable

    async def told_first(namespace, run):
        resets._endings.replaceable = replaceable
        await made.engine.messages.tell(namespace, run, "go", {"n": 1})
        return await replaceable(namespace, run)

    resets._endings.replaceable = told_first

    run = await resets.reset(GUEST, id, Place(to="first"))

    assert await made.result(run) == {"n": 2}


async def a_child(made):
    """An execution, and its open child: their runs."""
    made.hands.answers["b"] = HELD
    await made.put(kid=composer.sequence("b"), parent=composer.child("kid", id="kid"))
    parent = await made.start("parent")
    await made.until(lambda: made.hands.done)
    return parent, await made.engine.identities.run_of(GUEST, "kid")


async def test_an_open_child_is_not_reset_because_its_parent_waits_for_it(made):
    parent, kid = await a_child(made)

    with pytest.raises(ResetRefusedError, match=f"a child of {parent}"):
        await made.engine.resets.reset(GUEST, kid, Place(to="first"))

    assert (await state(made, kid))["status"] == (await state(made, parent))["status"] == "running"


@pytest.mark.parametrize("how", ["reset", "redrive"])
async def test_a_child_that_goes_on_after_its_parent_is_not_closed_at_the_next_start(how):
    made = await begun(answers=dict(ANSWERS))
    await made.put(b=None)
    parent, run = await a_child(made)
    made.hands.finish(next(iter(made.hands.done)), Failure("Broken", "no"))
    await made.result(parent)
    if how == "reset":
        run = await made.engine.resets.reset(GUEST, run, Place(to="first"))
    else:
        await made.engine.redrive(GUEST, run)
    await made.until(lambda: made.hands.done)
    await made.settle()

    again = await restarted(made)
    await again.settle()

    assert (await state(again, run))["status"] == "running"
    await again.kill()


# --- another server's write ----------------------------------------------------------------------


class Overtaking:
    """A store into which another server writes the document of an id just before the next commit with one."""

    def __init__(self, store):
        self._store, self.armed, self.document = store, False, None

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        documents = [document for write in writes for document in write.documents]
        if self.armed and any(document.kind == "id" for document in documents):
            self.armed = False
            await self._store.commit([Write(documents=self.document)])
        return await self._store.commit(writes)


@pytest.fixture(params=["one run", "second run of a chain"])
async def contested(request):
    """An open run with a child of its own, a part that is an execution, and a wait for a message."""
    async with world(answers={**ANSWERS, "a": HELD}) as made:
        parts = (
            composer.sequence("inner"),
            composer.sequence(composer.receive("go"), "c"),
            composer.sequence(composer.child("inner", id="below", wait=False)),
        )
        await made.put(
            a=None, c=None, inner=composer.sequence("a"), outer=composer.parallel(*parts),
            before=composer.sequence(composer.continue_as_new({}, action="outer")),
        )  # fmt: skip
        chained = request.param != "one run"
        id = await named(made, "order-7", "before" if chained else "outer")
        await made.settle()
        id = await made.engine.chains.newest(id)
        await made.until(lambda: made.hands.names == ["a", "a"])
        await made.settle()
        store = made.engine._tick._store = Overtaking(made.store)
        store.document = made.engine.identities.documents(GUEST, "order-7", id)[:1]
        store.armed = True
        yield made, id


async def goes_on(made, id):
    """The run goes on with all that it has started, and ends."""
    await made.settle()
    assert (await state(made, id))["status"] == "running"
    assert await made.engine.identities.run_of(GUEST, "order-7") == id
    first = await made.engine.chains.first(id)
    assert made.engine._parts.offspring[first], "its child is closed with it"
    assert await made.engine.messages.tell(GUEST, id, "go", None, "")
    for invocation in made.hands.invoked[:2]:
        made.hands.finish(invocation.activation, {"n": 1})
    await made.result(id)
    await made.settle()
    ended = [row.status for row in await made.executions() if row.id != first or first == id]
    assert ended == ["succeeded"] * 3
    assert not made.engine._bounds.live


async def test_a_run_goes_on_whose_reset_another_server_has_refused(contested):
    made, id = contested
    with pytest.raises(ConflictError, match="at the same time"):
        await made.engine.resets.reset(GUEST, id, Place(to="first"))

    await goes_on(made, id)


async def test_a_run_goes_on_though_nobody_waits_for_the_refusal_any_more(contested):
    made, id = contested
    options = StartOptions(id="order-7", on_open="terminate")
    call = Call(name=Name.parse("/guest/outer"), params={}, namespace=GUEST, options=options)
    asking = asyncio.ensure_future(made.engine.invoke(call))
    await made.until(lambda: id not in made.engine._parts.runs)
    asking.cancel()
    await asyncio.wait([asking])

    await goes_on(made, id)


async def test_a_chain_may_start_more_after_a_refusal():
    async with world(answers={**ANSWERS, "a": HELD}) as made:
        works = composer.parallel("inner", composer.sequence(composer.receive("go"), "then"))
        await made.put(
            a=None, c=None, inner=composer.sequence("a"), then=composer.sequence("c"), outer=works,
            before=composer.sequence(composer.child("inner", id="below", wait=False),
                                     composer.continue_as_new({}, action="outer")),
        )  # fmt: skip
        first = await named(made, "order-7", "before")
        await made.until(lambda: made.hands.names == ["a", "a"])
        await made.settle()
        id = await made.engine.chains.newest(first)
        store = made.engine._tick._store = Overtaking(made.store)
        store.document = made.engine.identities.documents(GUEST, "order-7", id)[:1]
        store.armed = True

        with pytest.raises(ConflictError, match="at the same time"):
            await made.engine.resets.reset(GUEST, id, Place(to="first"))
        await made.settle()
        assert await made.engine.messages.tell(GUEST, id, "go", None, "")
        await made.settle()
        assert "c" in made.hands.names
        for activation in list(made.hands.done):
            made.hands.finish(activation, {"n": 1})

        await made.result(id)
        await made.settle()
        assert [row.status for row in await made.executions() if row.id != first] == [
            "succeeded"
        ] * 4
        assert not made.engine._bounds.live
