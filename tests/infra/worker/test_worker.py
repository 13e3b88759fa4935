"""A worker: it takes as many tasks as it has slots, answers them, hears of cancellations, and stops in order."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from xingqiao.actions import (
    ConflictError,
    InDoubtError,
    InvalidError,
    NotFoundError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
)
from xingqiao.composer import action
from xingqiao.infra.worker.worker import CANCELLED, STOPPING, Options, Worker


class Queue:
    """A server that is a `Tasks`: tests put tasks into it, and see what comes back."""

    def __init__(self):
        self.tasks, self.errors = asyncio.Queue(), []
        self.answers, self.beats, self.asked, self.left = {}, [], [], []
        self.over = set()  # tokens that nobody waits for
        self.refused = {}  # token: errors for its answers
        self._leaving = asyncio.Event()

    def put(self, name, params=None, heartbeat=None):
        token = f"{name}-{self.tasks.qsize() + len(self.asked)}-{len(self.answers)}"
        self.tasks.put_nowait(
            {"token": token, "action": f"/guest/{name}", "params": params or {}, "attempt": 1,
             "key": "k", "details": None, "deadline": 0, "heartbeat": heartbeat}
        )  # fmt: skip
        return token

    async def take(self, queue, asked, wait_s):
        self.asked.append(asked)
        if self.errors:
            raise self.errors.pop(0)
        getting = asyncio.ensure_future(self.tasks.get())
        leaving = asyncio.ensure_future(self._leaving.wait())
        await asyncio.wait([getting, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if not getting.done():
            getting.cancel()
            return []
        found = [getting.result()]
        while len(found) < asked["count"] and not self.tasks.empty():
            found.append(self.tasks.get_nowait())
        return found

    async def leave(self, queue, worker):
        self.left.append((queue, worker))
        self._leaving.set()

    async def beat(self, token, details):
        self.beats.append((token, details))
        if len(self.beats) == 1 and self.errors:
            raise self.errors.pop(0)
        return token not in self.over

    async def answer(self, token, result):
        if errors := self.refused.get(token):
            raise errors.pop(0)
        self.answers[token] = result


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def working(queue, functions, **options):
    """A worker at work; after the block it stops."""
    made = Options(queue="gpu", worker="one", **{"grace_s": 5.0, **options})
    worker = Worker(queue, [action(of, name=name) for name, of in functions.items()], made)
    running = asyncio.ensure_future(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        async with asyncio.timeout(20):
            await asyncio.wait([running])
    await running


async def test_it_answers_tasks_by_the_functions_of_their_names():
    queue = Queue()
    functions = {"double": lambda p: {"n": 2 * p["n"]}, "shop/add": lambda p: {"n": p["n"] + 1}}
    async with working(queue, functions):
        tokens = [queue.put("double", {"n": 4}), queue.put("shop/add", {"n": 4})]
        await until(lambda: len(queue.answers) == 2)

    assert [queue.answers[token] for token in tokens] == [{"n": 8}, {"n": 5}]
    assert queue.asked[0] == {"worker": "one", "version": "", "slots": 10, "count": 10}
    assert queue.left == [("gpu", "one")]


async def test_a_task_without_a_function_fails_and_the_text_says_what_there_is():
    queue = Queue()
    async with working(queue, {"a": print, "b": print}):
        token = queue.put("other")
        await until(lambda: queue.answers)

    assert queue.answers[token] == {
        "error": "The worker has no function for the action 'other'; it has a, b."
    }


async def test_it_takes_no_more_tasks_than_it_has_slots():
    queue, going, most = Queue(), asyncio.Event(), []

    async def work(params):
        most.append(worker.running)
        await going.wait()

    async with working(queue, {"work": work}, slots=2) as worker:
        for _ in range(5):
            queue.put("work")
        await until(lambda: len(most) == 2)
        assert queue.tasks.qsize() == 3
        going.set()
        await until(lambda: len(queue.answers) == 5)

    assert max(most) == 2


async def test_it_asks_again_while_the_server_cannot_be_reached():
    queue = Queue()
    queue.errors = [InDoubtError("no route"), UnavailableError("busy")]
    async with working(queue, {"work": lambda p: p}):
        token = queue.put("work", {"n": 1})
        await until(lambda: queue.answers)

    assert queue.answers[token] == {"n": 1}


async def test_it_ends_when_the_server_refuses_it():
    queue = Queue()
    queue.errors = [UnauthorizedError("no such key")]

    with pytest.raises(UnauthorizedError, match="no such key"):
        await Worker(queue, [print], Options(queue="gpu", worker="one")).run()


async def test_a_function_that_nobody_waits_for_is_cancelled_and_not_answered():
    queue, seen = Queue(), []

    async def work(params, step):
        step.tell({"at": 1})
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(step.reason)

    async with working(queue, {"work": work, "next": lambda p: p}):
        token = queue.put("work", heartbeat=0.003)
        queue.over.add(token)
        await until(lambda: seen)
        queue.put("next")
        await until(lambda: queue.answers)

    assert seen == [CANCELLED]
    assert token not in queue.answers
    assert queue.beats == [(token, {"at": 1})]


async def test_a_heartbeat_that_does_not_arrive_is_sent_again():
    queue, going = Queue(), asyncio.Event()

    async def work(params):
        await going.wait()

    async with working(queue, {"work": work}):
        token = queue.put("work", heartbeat=0.003)
        await until(lambda: queue.asked and queue.tasks.empty())
        queue.errors = [UnavailableError("busy")]
        await until(lambda: len(queue.beats) >= 2)
        going.set()
        await until(lambda: queue.answers)

    assert queue.answers[token] == {}


async def test_a_result_that_is_too_large_fails_the_task():
    queue = Queue()
    async with working(queue, {"work": lambda p: p}):
        token = queue.put("work")
        queue.refused[token] = [TooLargeError("Request larger than allowed (413)")]
        await until(lambda: queue.answers)

    assert "The result is too large" in queue.answers[token]["error"]


@pytest.mark.parametrize("error", [ConflictError, NotFoundError, UnavailableError])
async def test_an_answer_that_is_not_taken_ends_nothing_else(error):
    queue = Queue()
    async with working(queue, {"work": lambda p: p}) as worker:
        token = queue.put("work")
        queue.refused[token] = [error("too late")]
        await until(lambda: queue.asked and not queue.refused[token] and not worker.running)
        other = queue.put("work", {"n": 2})
        await until(lambda: queue.answers)

    assert queue.answers == {other: {"n": 2}}


# --- a stop in order ---------------------------------------------------------------------------


async def test_a_stop_tells_functions_and_waits_for_those_that_obey_finish_or_fail():
    queue, begun = Queue(), []

    def obeys(params, step):
        begun.append(1)
        return {"stopped": step.wait(20), "why": step.reason}

    async def finishes(params):
        begun.append(1)
        await until(lambda: queue.left)
        return {"finished": True}

    async def fails(params, step):
        begun.append(1)
        await until(lambda: step.cancelled)
        raise InterruptedError(step.reason)

    async with working(queue, {"obeys": obeys, "finishes": finishes, "fails": fails}) as worker:
        tokens = [queue.put(name) for name in ("obeys", "finishes", "fails")]
        await until(lambda: len(begun) == 3)
        worker.stop()

    assert [queue.answers[token] for token in tokens] == [
        {"stopped": True, "why": STOPPING},
        {"finished": True},
        {"error": {"code": "InterruptedError", "message": STOPPING}},
    ]


async def test_a_function_that_ignores_the_stop_is_cancelled_and_left_to_its_timeout():
    queue, begun, cancelled = Queue(), asyncio.Event(), []

    async def ignores(params):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with working(queue, {"ignores": ignores}, grace_s=0.001):
        queue.put("ignores")
        await begun.wait()

    assert cancelled == [True]
    assert queue.answers == {}


# --- its life in a program -----------------------------------------------------------------------


async def test_a_block_starts_a_worker_and_stops_it():
    queue = Queue()
    async with Worker(queue, [repeats], Options(queue="gpu", worker="one")) as worker:
        token = queue.put("repeats", {"n": 1})
        await until(lambda: queue.answers)
        assert worker.functions == ["repeats"]

    assert queue.answers == {token: {"n": 1}}
    assert queue.left == [("gpu", "one")]


async def test_a_block_that_fails_stops_its_worker_and_raises_its_own_error():
    queue = Queue()
    queue.errors = [UnauthorizedError("no such key")]

    with pytest.raises(ZeroDivisionError):
        async with Worker(queue, [repeats], Options(queue="gpu")):
            raise ZeroDivisionError


async def test_a_worker_that_is_refused_says_so_to_whoever_waits_for_it():
    queue = Queue()
    queue.errors = [UnauthorizedError("no such key")]

    with pytest.raises(UnauthorizedError):
        async with Worker(queue, [repeats], Options(queue="gpu")) as worker:
            await worker.wait()


async def test_a_cancelled_run_stops_in_order():
    queue, ended = Queue(), []

    async def work(params, step):
        await until(lambda: step.cancelled)
        ended.append(step.reason)

    worker = Worker(queue, [work], Options(queue="gpu", worker="one"))
    running = asyncio.ensure_future(worker.run())
    queue.put("work")
    await until(lambda: worker.running)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert ended == [STOPPING]


async def test_any_thread_may_stop_a_worker():
    queue = Queue()
    worker = Worker(queue, [repeats], Options(queue="gpu", worker="one"))
    running = asyncio.ensure_future(worker.run())
    await until(lambda: queue.asked)
    await asyncio.to_thread(worker.stop)
    await running

    assert queue.left == [("gpu", "one")]


async def test_a_worker_that_was_stopped_before_it_runs_takes_nothing():
    queue = Queue()
    worker = Worker(queue, [repeats], Options(queue="gpu"))
    worker.stop()
    await worker.wait()
    await worker.run()

    assert queue.asked == []


def test_two_workers_of_a_process_have_two_names():
    assert Options(queue="gpu").worker != Options(queue="gpu").worker


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"queue": "two words"}, "'queue' must be the name of a queue"),
        ({"slots": 0}, "slots: must be a whole number of at least 1, not 0"),
        ({"slots": True}, "slots: must be a whole number"),
        ({"grace_s": -1.0}, "grace_s: must be a number of seconds of at least 0, not -1.0"),
        ({"grace_s": float("nan")}, "grace_s: must be"),
        ({"worker": "x" * 256}, "name: must have at most 255 characters"),
        ({"version": "x" * 256}, "version: must have at most 255 characters"),
    ],
)
def test_an_option_that_is_not_valid_is_named(options, text):
    with pytest.raises(InvalidError, match=text):
        Options(**{"queue": "gpu", **options})


async def repeats(params):
    return params
