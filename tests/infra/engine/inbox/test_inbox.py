"""Completions of steps: early, late, and twice."""

from __future__ import annotations

from tests.kit.engine.callbacks import CALLBACK, accepted
from tests.kit.engine.engines import HELD, Hands, begun, world
from xingqiao import composer
from xingqiao.composer import Success


async def test_an_answer_before_the_action_has_returned_is_taken():
    async with world(answers={"ask": HELD}) as made:
        await made.put(ask=CALLBACK, main=composer.sequence("ask"))
        id, token = await accepted(made)
        await made.engine.complete(token, Success({"n": 1}))
        made.hands.finish(made.hands.invoked[0].activation, {})
        await made.settle()

        assert await made.result(id) == {"n": 1}
        assert made.engine.counters.stale == 1


async def test_an_invoker_that_answers_twice_or_late_changes_nothing():
    class Twice(Hands):
        def invoke(self, invocation, done):
            super().invoke(invocation, lambda completion: (done(completion), done(completion)))

    made = await begun(answers={"a": {"n": 1}})
    made.hands.__class__ = Twice
    await made.put(a=None, main=composer.sequence("a", "a"))

    assert await made.run("main") == {"n": 1}
    assert len(made.hands.invoked) == 2
    assert made.engine.counters.stale == 2
    await made.kill()
