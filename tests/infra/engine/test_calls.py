"""Calls from outside: calls that are refused, and calls in doubt."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import world
from tests.kit.engine.full_disks import full, room
from xingqiao.actions import (
    Call,
    InDoubtError,
    InvalidError,
    UnavailableError,
)
from xingqiao.composer import Name


def call(**params):
    return Call(name=Name.parse("/guest/a"), params=params, namespace="guest")


async def test_parameters_that_are_not_json_are_refused():
    async with world(answers={"a": {}}) as made:
        await made.put(a=None)

        with pytest.raises(InvalidError, match="was malformed"):
            await made.engine.invoke(call(n=object()))


async def test_a_closed_engine_refuses_calls():
    async with world(answers={"a": {}}) as closed:
        await closed.put(a=None)

    with pytest.raises(UnavailableError, match="The engine is closed"):
        await closed.engine.invoke(call())


async def test_a_call_that_is_waited_for_is_refused_too_and_not_said_to_go_on():
    made, _, _ = await full()

    for wait_s in (0, 60):  # the shorter wait is over before the commit has failed
        with pytest.raises(UnavailableError):
            await made.engine.invoke(call(), wait_s=wait_s)
    await made.kill()


async def test_a_commit_in_doubt_leaves_the_caller_an_id_to_ask_for():
    made, store, _ = await full(does="doubts")

    with pytest.raises(InDoubtError, match="may still run") as raised:
        await made.start("a")

    await room(made, store)
    assert await made.result(raised.value.activation) == {"n": 1}
    assert len(made.hands.invoked) == 1
    await made.kill()
