"""Which worker runs what, with real ones: kept warm, shared by nobody, capped, ended when idle."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.kit.actions.things import Answers, StandingClock, ended, invocation, python, until
from xingqiao.actions.runtimes import Bounds, Sandbox, WorkerPool, WorkerSettings
from xingqiao.actions.runtimes import pool as pools
from xingqiao.composer import Failure, Success

PID = "import os\ndef main(params):\n    return {'pid': os.getpid()}\n"
GATE = "import os\ndef main(params):\n    open(params['gate']).read()\n    return {'pid': os.getpid()}\n"
CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})


def opened(path=None, **settings):
    return WorkerPool(
        Sandbox(), StandingClock(), WorkerSettings(directory=path), Bounds(**settings)
    )


def ask(pool, action, params=None, **fields):
    answers = Answers()
    asked = invocation(action, params, **fields)
    answers.invoke(pool, asked)
    answers.activation = asked.activation
    return answers


async def run(pool, action, params=None, **fields):
    return await ask(pool, action, params, **fields).next()


async def pid(pool, action, **fields):
    return (await run(pool, action, **fields)).outcome.value["pid"]


class Gate:
    """Holds whoever opens it until it is let through."""

    def __init__(self, path):
        self.path = str(path)
        os.mkfifo(path)

    async def wait(self):
        """Waits until somebody stands at it."""
        self._file = await anyio.open_file(self.path, "w")

    async def open(self):
        await self._file.aclose()


@pytest.fixture
async def gate(tmp_path):
    made = Gate(tmp_path / "gate")
    yield made
    await made.open()


# --- kept warm ---------------------------------------------------------------------------------


async def test_a_worker_is_kept_for_the_next_run_of_its_action():
    async with opened() as pool:
        first, second = [await run(pool, python(PID)) for _ in range(2)]

        assert first.outcome == second.outcome
        assert (first.init_ms, second.init_ms) == (0, None)
        assert pool.size == 1


@pytest.mark.parametrize(
    ("other", "fields"),
    [
        (python(PID + "x = 1\n"), {}),
        (python(PID), {"namespace": "other"}),
        (python(PID, limits={"memory": 128}), {}),
        (python(PID, limits={"logs": 1}), {}),
    ],
    ids=["code", "namespace", "memory", "logs"],
)
async def test_a_worker_is_shared_with_nothing_else(other, fields):
    async with opened() as pool:
        assert await pid(pool, python(PID)) != await pid(pool, other, **fields)
        assert pool.size == 2


async def test_a_worker_that_is_idle_for_long_is_ended():
    async with opened(idle_s=0) as pool:
        worker = await pid(pool, python(PID))

        await until(lambda: pool.size == 0 and ended(worker))


async def test_a_worker_that_was_used_meanwhile_is_not_idle():
    async with opened(idle_s=3600) as pool:
        first = await pid(pool, python(PID))
        (worker,) = pool._workers[next(iter(pool._workers))]

        pool._reap(worker)  # as the timer does that was started an hour before

        assert await pid(pool, python(PID)) == first
        worker.idle_s -= 3600
        pool._reap(worker)
        assert pool.size == 0


async def test_a_worker_that_died_while_idle_is_replaced():
    async with opened() as pool:
        first = await pid(pool, python(PID))
        os.kill(first, signal.SIGKILL)
        await until(lambda: pool.size == 0)

        assert await pid(pool, python(PID)) != first


# --- as many as there may be -------------------------------------------------------------------


async def test_there_are_never_more_workers_than_the_pool_has_places():
    async with opened(size=2) as pool:
        sizes, asked = [], []
        for n in range(12):
            asked.append(ask(pool, python(f"n = {n % 4}\n" + PID)))
            sizes.append(pool.size)
        for answers in asked:
            assert isinstance((await answers.next()).outcome, Success)
            sizes.append(pool.size)

        assert max(sizes) == 2


async def test_an_idle_worker_makes_room_for_other_code():
    async with opened(size=1) as pool:
        first = await pid(pool, python(PID))

        answers = ask(pool, python("other = 1\n" + PID))

        assert pool.size == 1
        assert isinstance((await answers.next()).outcome, Success)
        assert pool.size == 1
        await until(lambda: ended(first))


async def test_the_worker_that_was_used_least_recently_makes_room():
    codes = [python(f"n = {n}\n" + PID) for n in range(3)]
    async with opened(size=2) as pool:
        first, second = await pid(pool, codes[0]), await pid(pool, codes[1])
        assert await pid(pool, codes[0]) == first

        await run(pool, codes[2])

        await until(lambda: ended(second))
        assert await pid(pool, codes[0]) == first


async def test_runs_of_one_action_are_done_side_by_side(tmp_path):
    gates = [Gate(tmp_path / name) for name in "ab"]
    async with opened(size=2) as pool:
        asked = [ask(pool, python(GATE), {"gate": gate.path}) for gate in gates]
        for gate in gates:
            await gate.wait()  # both are under way
        assert pool.size == 2
        for gate in gates:
            await gate.open()

        one, two = [(await answers.next()).outcome.value["pid"] for answers in asked]
        assert one != two


async def test_what_finds_no_worker_waits_and_is_run(gate):
    async with opened(size=1) as pool:
        held = ask(pool, python(GATE), {"gate": gate.path})
        await gate.wait()
        waiting = [ask(pool, python(PID)) for _ in range(5)]
        assert pool.waiting == 5

        await gate.open()

        for answers in [held, *waiting]:
            assert isinstance((await answers.next()).outcome, Success)
        assert pool.waiting == 0


@pytest.mark.parametrize(("fair_s", "order"), [(-1, "ACB"), (1e9, "ABC")])
async def test_code_that_has_waited_for_too_long_takes_the_place_of_code_with_a_queue(
    gate, monkeypatch, fair_s, order
):
    monkeypatch.setattr(pools, "FAIR_S", fair_s)
    ended_in = []
    async with opened(size=1) as pool:
        held = ask(pool, python(GATE), {"gate": gate.path})
        await gate.wait()
        queue = {"C": python(PID), "B": python(GATE)}
        asked = {name: invocation(action, {"gate": os.devnull}) for name, action in queue.items()}
        for name, each in asked.items():
            pool.invoke(each, lambda completion, name=name: ended_in.append(name))
        await gate.open()
        await held.next()

        await until(lambda: len(ended_in) == 2)

    assert ["A", *ended_in] == [*order]


async def test_code_whose_workers_wait_for_it_takes_the_place_of_code_that_is_done(tmp_path):
    """All places are taken: one of the code that is asked for again, whose run waits for that."""
    gates = [Gate(tmp_path / name) for name in "ab"]
    async with opened(size=2) as pool:
        blocked = ask(pool, python(GATE), {"gate": gates[0].path})
        other = ask(pool, python(GATE, name="other", parameters=[]), {"gate": gates[1].path},
                    namespace="other")  # fmt: skip
        for gate in gates:
            await gate.wait()
        again = ask(pool, python(GATE), {"gate": os.devnull})
        loop = asyncio.get_running_loop()
        late = loop.time() + pools.FAIR_S * 1.5
        await until(lambda: loop.time() > late)  # it is sure by now that it finds no place

        await gates[1].open()

        assert isinstance((await other.next()).outcome, Success)
        assert isinstance((await again.next()).outcome, Success)
        await gates[0].open()
        assert isinstance((await blocked.next()).outcome, Success)


# --- one harms no other ------------------------------------------------------------------------


async def test_a_crash_harms_no_other_run_of_the_same_action(gate):
    code = "import os\ndef main(params):\n    if 'gate' not in params: os._exit(1)\n    open(params['gate']).read()\n    return {'n': 1}\n"
    async with opened() as pool:
        held = ask(pool, python(code), {"gate": gate.path})
        await gate.wait()

        for _ in range(3):
            assert (await run(pool, python(code))).outcome.code == "Crashed"
        await gate.open()

        assert (await held.next()).outcome == Success({"n": 1})


async def test_what_waits_behind_a_crash_is_run():
    code = "import os\ndef main(params):\n    params.get('n') or os._exit(1)\n    return params\n"
    async with opened(size=1) as pool:
        asked = [ask(pool, python(code), {"n": n}) for n in (0, 1, 0, 2)]

        outcomes = [(await answers.next()).outcome for answers in asked]

    assert outcomes[1::2] == [Success({"n": 1}), Success({"n": 2})]
    assert {outcome.code for outcome in outcomes[::2]} == {"Crashed"}


async def test_every_run_of_code_that_cannot_be_taken_in_is_told_so():
    async with opened(size=1) as pool:
        asked = [ask(pool, python("1 / 0\n")) for _ in range(3)]

        for answers in asked:
            assert "division by zero" in (await answers.next()).outcome.error
        await until(lambda: pool.size == 0)


# --- cancel ------------------------------------------------------------------------------------


async def test_to_cancel_a_run_kills_its_worker(gate, tmp_path):
    code = (
        "import os\ndef main(params):\n"
        "    open(params['pid'], 'w').write(str(os.getpid()))\n"
        "    open(params['gate']).read()\n"
    )
    told = tmp_path / "pid"
    async with opened() as pool:
        held = ask(pool, python(code), {"gate": gate.path, "pid": str(told)})
        await gate.wait()

        pool.cancel(held.activation)

        assert (await held.next()).outcome == CANCELLED
        assert pool.size == 0
        await until(lambda: ended(int(told.read_text())))


async def test_to_cancel_what_waits_leaves_the_worker_alone(gate):
    async with opened(size=1) as pool:
        held = ask(pool, python(GATE), {"gate": gate.path})
        await gate.wait()
        waiting = ask(pool, python(GATE), {"gate": gate.path})

        pool.cancel(waiting.activation)

        assert (await waiting.next()).outcome == CANCELLED
        assert pool.waiting == 0
        await gate.open()
        assert isinstance((await held.next()).outcome, Success)


# --- the beginning and the end -----------------------------------------------------------------


def files():
    return {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.exists()}


@pytest.mark.parametrize("jobs", [1, 3])
async def test_when_no_worker_can_be_started_every_run_is_told_so(tmp_path, jobs):
    sandbox = Sandbox(bubblewrap=str(tmp_path / "nothing here"))
    (tmp_path / "workers").mkdir()
    settings = WorkerSettings(directory=tmp_path / "workers")
    before = files()
    async with WorkerPool(sandbox, StandingClock(), settings) as pool:
        for answers in [ask(pool, python(PID)) for _ in range(jobs)]:
            assert (await answers.next()).outcome == Failure(
                "Unavailable", "no worker can be started: No such file or directory"
            )
        assert (pool.size, pool.waiting) == (0, 0)
    assert files() <= before
    assert list((tmp_path / "workers").iterdir()) == []


async def test_without_a_directory_no_worker_can_be_started(tmp_path):
    before = files()
    async with opened(tmp_path / "missing") as pool:
        assert (await run(pool, python(PID))).outcome.code == "Unavailable"
    assert files() <= before


async def test_a_run_that_is_cancelled_while_no_worker_can_be_started_is_told_so_once(tmp_path):
    sandbox = Sandbox(bubblewrap=str(tmp_path / "nothing here"))
    async with WorkerPool(sandbox, StandingClock(), WorkerSettings()) as pool:
        answers = ask(pool, python(PID))
        pool.cancel(answers.activation)

        assert (await answers.next()).outcome == CANCELLED
        await until(lambda: pool.size == 0)
    assert len(answers.all) == 1


@pytest.mark.parametrize("turns", range(6))
async def test_a_pool_may_be_closed_while_a_worker_is_started(tmp_path, turns):
    async with opened(tmp_path) as pool:
        answers = ask(pool, python(PID))
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()

    assert len(answers.all) == 1
    await until(lambda: not list(tmp_path.iterdir()))


async def test_what_is_asked_of_a_closed_pool_is_answered():
    second = Answers()
    async with opened() as pool:
        again = invocation(python(PID))
        pool.invoke(invocation(python(PID)), lambda completion: second.invoke(pool, again))

    assert (await second.next()).outcome == Failure("Unavailable", "the server is stopping")


async def test_a_pool_that_is_closed_has_ended_all_its_workers(tmp_path, gate):
    (tmp_path / "workers").mkdir()
    async with opened(tmp_path / "workers", size=2) as pool:
        idle = await pid(pool, python(PID))
        held = ask(pool, python(GATE), {"gate": gate.path})
        await gate.wait()
        waiting = [ask(pool, python(GATE), {"gate": gate.path}) for _ in range(2)]
        starting = ask(pool, python("other = 1\n" + PID))

    assert (await held.next()).outcome.code == "Lost"  # nobody knows how far it came
    for answers in (*waiting, starting):
        assert (await answers.next()).outcome.code in {"Unavailable", "Lost"}
        assert len(answers.all) == 1
    assert pool.size == 0
    await until(lambda: ended(idle) and not list((tmp_path / "workers").iterdir()))
