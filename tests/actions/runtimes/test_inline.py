"""Functions of this process as actions: what only their invoker does. The laws of all are in `tests/contracts`."""

from __future__ import annotations

import asyncio

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.actions.things import Answers, StandingClock, inline, invocation
from xingqiao.actions.runtimes import InlineInvoker
from xingqiao.composer import Success

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
RESULTS = st.recursive(
    SCALARS,
    lambda parts: (
        st.lists(parts) | st.tuples(parts) | st.dictionaries(st.text() | st.just(1), parts)
    ),
)


async def answered(function):
    answers = Answers()
    async with InlineInvoker(StandingClock()) as invoker:
        answers.invoke(invoker, invocation(inline(function)))
        return await answers.next()


@settings(deadline=None)
@given(result=RESULTS)
def test_the_text_of_an_answer_is_its_value_as_orjson_writes_it(result):
    completion = asyncio.run(answered(lambda params: {"a": result}))

    if completion.text is not None:
        assert isinstance(completion.outcome, Success)
        assert completion.text == orjson.dumps(completion.outcome.value)


async def test_the_text_is_there_unless_only_json_can_write_the_value():
    plain = await answered(lambda params: {"a": 1})
    keyed = await answered(lambda params: {1: "a key that is no text"})

    assert plain.text == b'{"a":1}'
    assert (keyed.outcome, keyed.text) == (Success({"1": "a key that is no text"}), None)


async def test_answers_come_in_one_turn_and_one_that_is_not_taken_holds_up_no_other(caplog):
    def refuse(completion):
        raise AssertionError("a mistake")

    answers = Answers()
    async with InlineInvoker(StandingClock()) as invoker:
        echo = inline(lambda params: params)
        invoker.invoke(invocation(echo, {"n": 1}), refuse)
        answers.invoke(invoker, invocation(echo, {"n": 2}))
        await answers.next()

    assert [completion.outcome for completion in answers.all] == [Success({"n": 2})]
    assert "an answer was not taken" in caplog.text
