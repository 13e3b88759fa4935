"""What takes long runs beside the event loop, one piece after another."""

from __future__ import annotations

import asyncio
import sys
import threading

import anyio.lowlevel
import pytest

from xingqiao.infra.engine.aside import LARGE_BYTES, Aside, is_large


async def test_the_loop_goes_on_meanwhile():
    goes_on, aside = threading.Event(), Aside()

    running = asyncio.ensure_future(aside.run(lambda: goes_on.wait(20)))
    await anyio.lowlevel.checkpoint()
    goes_on.set()

    assert await running is True
    assert aside.done == 1


async def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        await Aside().run(lambda: 1 // 0)


async def test_threads_change_turns_often_only_while_there_is_one():
    usual_s, aside = sys.getswitchinterval(), Aside()

    assert await aside.run(sys.getswitchinterval) < usual_s
    assert sys.getswitchinterval() == usual_s


async def test_they_run_one_after_another():
    aside, running, most = Aside(), [], []

    def work():
        running.append(1)
        most.append(len(running))
        running.pop()

    await asyncio.gather(*[aside.run(work) for _ in range(20)])

    assert most == [1] * 20


async def test_what_is_small_is_done_at_once():
    aside, here = Aside(), threading.get_ident()

    assert await aside.weigh("x" * (LARGE_BYTES - 2), threading.get_ident) == here
    assert await aside.weigh("x" * LARGE_BYTES, threading.get_ident) != here


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ("x" * (LARGE_BYTES - 2), False),
        ("x" * (LARGE_BYTES - 1), True),
        ([0] * LARGE_BYTES, True),
        ({}, False),
    ],
)
def test_a_value_is_large_from_so_many_bytes_on(value, large):
    assert is_large(value) == large
