"""One queue: the workers that wait, and those that were seen."""

from __future__ import annotations

import asyncio

from xingqiao.actions import Rules, Waiting
from xingqiao.composer import Bound
from xingqiao.infra.engine.queues.lines import FORGET_MS, MOST_SEEN, Line, Poll


def polling(line, worker="one", version="", count=1):
    poll = Poll(worker, version, count, asyncio.get_running_loop().create_future())
    line.waits(poll)
    return poll


def matched(line, now_ms=0):
    found = line.matched(lambda: now_ms)
    return [(poll.worker, [task.id for task in tasks]) for poll, tasks in found]


async def test_workers_choose_in_the_order_in_which_they_wait():
    line = Line(None)
    for worker in ("one", "two", "three"):
        polling(line, worker)
    for order in range(2):
        line.backlog.add(Waiting(f"t{order}", order))

    assert matched(line) == [("one", ["t0"]), ("two", ["t1"])]
    assert line.polls == 1


async def test_workers_of_another_version_do_not_stand_in_the_way():
    line = Line(None)
    polling(line, "old", "v1")
    polling(line, "new", "v2")
    line.backlog.add(Waiting("t", 0, version="v2"))

    assert matched(line) == [("new", ["t"])]


async def test_a_worker_takes_no_more_than_it_asks_for():
    line = Line(None)
    polling(line, count=2)
    for order in range(3):
        line.backlog.add(Waiting(f"t{order}", order))

    assert matched(line) == [("one", ["t0", "t1"])]


async def test_a_worker_that_leaves_waits_no_longer():
    line = Line(None)
    poll, other = polling(line), polling(line, "two")
    line.leaves(poll)
    line.leaves(poll)
    line.backlog.add(Waiting("t", 0))

    assert matched(line) == [("two", ["t"])]
    assert not other.gone


async def test_the_end_of_a_line_answers_all_who_wait():
    line = Line(None)
    poll = polling(line)
    line.close()

    assert await poll.answered


async def test_a_rate_wakes_the_line_when_somebody_waits():
    line, woken = Line(Rules(Bound(per_minute=60_000))), asyncio.Event()
    polling(line)
    for order in range(1002):
        line.backlog.add(Waiting(f"t{order}", order))
    assert line.backlog.take(0) is not None
    assert line.backlog.take(0) is None

    line.wake(0, woken.set)
    async with asyncio.timeout(10):
        await woken.wait()
    line.close()
    assert line.alarm is None


async def test_a_line_without_tasks_and_workers_is_idle_when_the_last_was_seen_long_ago():
    line = Line(None)
    line.see("one", "v1", 4, 0)
    line.heard("one", 1_000)
    line.heard("unknown", 1_000)

    assert not line.idle(FORGET_MS + 1_000)
    assert line.idle(FORGET_MS + 1_001)


async def test_not_all_workers_are_remembered():
    line = Line(None)
    for n in range(MOST_SEEN + 5):
        line.see(f"w{n}", "", 1, n)

    assert len(line.shown(2_000)["workers"][""]["workers"]) == MOST_SEEN
