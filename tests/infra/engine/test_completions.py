"""What invokers and others hand in: early, late, twice, forged, after a crash."""

from __future__ import annotations

import pytest

from tests.kit.engine.callbacks import CALLBACK, accepted
from tests.kit.engine.engines import CODE, HELD, begun, world
from xingqiao import composer
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.composer import Failure, Success
from xingqiao.infra.stores import MemoryStore

ONCE = {**CODE, "annotations": [{"key": "at-most-once", "value": True}]}


async def test_a_step_that_answers_later_is_answered_by_its_token():
    async with world(answers={"ask": {}, "a": lambda p: p}) as made:
        await made.put(ask=CALLBACK, a=None, main=composer.sequence("ask", "a"))
        id, token = await accepted(made)
        assert (await made.engine.records.execution("guest", id))["fibers"][0]["waits"] == "answer"

        await made.engine.complete(token, Success({"said": "yes"}))

        assert await made.result(id) == {"said": "yes"}


async def test_the_first_answer_counts():
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=composer.sequence("ask"))
        id, token = await accepted(made)
        await made.engine.complete(token, Success({"n": 1}))

        with pytest.raises(ConflictError, match="has been answered, or is not waited for"):
            await made.engine.complete(token, Success({"n": 2}))

        assert await made.result(id) == {"n": 1}


async def test_an_answer_after_a_cancel_is_refused():
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=composer.sequence("ask"))
        id, token = await accepted(made)
        await made.engine.cancel("guest", id)

        with pytest.raises(ConflictError):
            await made.engine.complete(token, Success({}))


async def test_an_answer_after_a_crash_is_taken_and_the_action_does_not_run_again():
    store = MemoryStore()
    made = await begun(store, {"ask": {}})
    await made.put(ask=CALLBACK, main=composer.sequence("ask"))
    id, token = await accepted(made)
    await made.kill()

    async with world(store, {"ask": {}}) as again:
        await again.engine.complete(token, Failure("ApplicationError", "no"))

        assert await again.result(id) == {"error": "no"}
        assert again.hands.invoked == []


@pytest.mark.parametrize(
    "change", [lambda t: "", lambda t: t[:-2] + "AA", lambda t: "x" + t, lambda t: "ä"]
)
async def test_a_forged_token_opens_nothing(change):
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=composer.sequence("ask"))
        _, token = await accepted(made)

        with pytest.raises(NotFoundError):
            await made.engine.complete(change(token), Success({}))


@pytest.mark.parametrize("part", [composer.sequence("once"), composer.parallel("once", "a")])
async def test_what_may_run_once_does_not_run_again(part):
    store = MemoryStore()
    made = await begun(store, {"once": HELD, "a": {}})
    await made.put(once=ONCE, a=None, main=part)
    id = await made.start("main")
    await made.until(lambda: "once" in made.hands.names)
    await made.kill()

    async with world(store, {"once": HELD, "a": {}}) as again:
        result = await again.result(id)

        assert "it may run only once" in result["error"]
        assert "once" not in again.hands.names
        lost = [row for row in await again.activations() if row.name == "once"]
        assert [row.status for row in lost] == [3]
