"""What takes long runs beside the event loop, one piece after another."""

from __future__ import annotations

import asyncio
import sys
import threading

import anyio.lowlevel
import pytest

from xingqiao.infra.engine.threads import LARGE_BYTES, Threads, is_large


async def test_the_loop_goes_on_meanwhile():
    goes_on, threads = threading.Event(), Threads()

    running = asyncio.ensure_future(threads.run(lambda: goes_on.wait(20)))
    await anyio.lowlevel.checkpoint()
    goes_on.set()

    assert await running is True
    assert threads.done == 1


async def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        await Threads().run(lambda: 1 // 0)


async def test_threads_change_turns_often_only_while_there_is_one():
    usual_s, threads = sys.getswitchinterval(), Threads()

    assert await threads.run(sys.getswitchinterval) < usual_s
    assert sys.getswitchinterval() == usual_s


async def test_they_run_one_after_another():
    threads, running, most = Threads(), [], []

    def work():
        running.append(1)
        most.append(len(running))
        running.pop()

    await asyncio.gather(*[threads.run(work) for _ in range(20)])

    assert most == [1] * 20


async def test_what_is_small_is_done_at_once():
    threads, here = Threads(), threading.get_ident()

    assert await threads.weigh("x" * (LARGE_BYTES - 2), threading.get_ident) == here
    assert await threads.weigh("x" * LARGE_BYTES, threading.get_ident) != here


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
