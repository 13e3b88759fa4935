"""Several calls in one worker: each has its own answer, log, deadline and end."""

from __future__ import annotations

import asyncio
import os
import random
import signal

import pytest

from tests.kit.actions.things import (
    Answers,
    StandingClock,
    composed,
    ended,
    invocation,
    needed,
    node,
    python,
    until,
)
from tests.kit.actions.workers import logged
from xingqiao.actions.runtimes import Bounds, Sandbox, WorkerPool, WorkerSettings, workers
from xingqiao.actions.runtimes import pool as pools
from xingqiao.composer import Failure, Success

CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})

# A call waits until `n` calls are there, or, with no `n`, for ever. All print before and after.
PYTHON = """
import asyncio, os
there = {}

async def main(params):
    event, n = there.setdefault(params.get("meet"), [asyncio.Event(), 0])
    there[params.get("meet")][1] += 1
    print("come", params.get("me"), end="")
    if there[params.get("meet")][1] == params.get("n"):
        event.set()
    await event.wait()
    print(" and gone")
    return {"pid": os.getpid(), "me": params.get("me")}
"""
NODE = """
const there = {}

async function main (params) {
  const met = there[params.meet] = there[params.meet] || { n: 0 }
  met.all = met.all || new Promise(resolve => { met.resolve = resolve })
  process.stdout.write(`come ${params.me}`)
  if (++met.n === params.n) met.resolve()
  await met.all
  console.log(' and gone')
  return { pid: process.pid, me: params.me }
}
"""
LANGUAGES = {"python": (python, PYTHON), "node": (node, NODE)}


@pytest.fixture(params=LANGUAGES)
def made(request):
    """Makes the action whose calls meet."""
    if request.param == "node":
        needed("node")
    make, code = LANGUAGES[request.param]
    return lambda concurrency=10, **limits: make(
        code, limits={"concurrency": concurrency, **limits}
    )


def opened(**bounds):
    return WorkerPool(Sandbox(), StandingClock(), WorkerSettings(), Bounds(**bounds))


@pytest.fixture
async def pool():
    async with opened(size=4) as made:
        yield made


def ask(pool, action, params=None, **fields):
    answers = Answers()
    asked = invocation(action, params, **fields)
    answers.invoke(pool, asked)
    answers.activation = asked.activation
    return answers


async def values(asked):
    return [(await answers.next()).outcome.value for answers in asked]


async def held(pool, action, count=1):
    """Calls that are under way until they are stopped."""
    asked = [ask(pool, action, {"me": f"held {n}"}) for n in range(count)]
    (answer,) = await values([ask(pool, action, {"meet": "alone", "n": 1})])
    return asked, answer["pid"]


# --- in one worker -----------------------------------------------------------------------------


async def test_as_many_calls_as_the_limit_says_share_a_worker(pool, made):
    asked = [ask(pool, made(100), {"meet": 1, "n": 100, "me": n}) for n in range(100)]

    found = await values(asked)

    assert [each["me"] for each in found] == [*range(100)]
    assert len({each["pid"] for each in found}) == 1
    assert pool.size == 1


async def test_no_more_calls_than_the_limit_says_share_a_worker(pool, made):
    _, worker = await held(pool, made(3), 2)

    within = ask(pool, made(3), {"me": "third"})
    beyond = ask(pool, made(3), {"meet": "elsewhere", "n": 1})

    (found,) = await values([beyond])
    assert found["pid"] != worker
    assert within.all == []


async def test_calls_beyond_the_limit_wait_when_there_is_no_other_worker():
    action = python(PYTHON, limits={"concurrency": 2})
    async with opened(size=1) as pool:
        (first,), worker = await held(pool, action)
        met = [ask(pool, action, {"meet": "pair", "n": 2}) for _ in range(2)]
        assert pool.waiting == 1

        pool.cancel(first.activation)

        assert {each["pid"] for each in await values(met)} == {worker}
        assert pool.waiting == 0


async def test_other_limits_are_other_workers(pool, made):
    both = [ask(pool, made(limit), {"meet": 1, "n": 1}) for limit in (1, 2)]

    one, other = await values(both)

    assert one["pid"] != other["pid"]


async def test_a_plain_function_runs_one_call_at_a_time_and_has_several_workers(pool, tmp_path):
    code = "import os\ndef main(params):\n    open(params['gate']).read()\n    return {'pid': os.getpid()}\n"
    action = python(code, limits={"concurrency": 10})
    gates = [str(tmp_path / name) for name in "abc"]
    for gate in gates:
        os.mkfifo(gate)
    asked = [ask(pool, action, {"gate": gate}) for gate in gates]

    # Each blocks until a call stands at the other end: they are all under way.
    opened = [await asyncio.to_thread(os.open, gate, os.O_WRONLY) for gate in gates]
    for fd in opened:
        os.close(fd)

    assert len({each["pid"] for each in await values(asked)}) == 3


async def test_inline_functions_share_a_worker_too(pool):
    action = composed(_meet, limits={"concurrency": 10})
    (function,) = action.exec.program.functions
    asked = [ask(pool, action, {"n": 2}, function=function, variables={}) for _ in range(2)]

    assert await values(asked) == [{"met": 2}] * 2


async def _meet(params):
    import asyncio
    import sys

    there = sys.modules.setdefault("there", [])
    there.append(asyncio.Event())
    if len(there) == params["n"]:
        for event in there:
            event.set()
    await there[-1].wait()
    return {"met": params["n"]}


# --- each for itself ---------------------------------------------------------------------------


async def test_logs_are_told_apart(pool, made):
    asked = [ask(pool, made(), {"meet": 1, "n": 5, "me": n}) for n in range(5)]

    lines = [logged(await answers.next()) for answers in asked]

    assert lines == [[("stdout", f"come {n} and gone")] for n in range(5)]


async def test_each_call_has_the_limit_of_its_log_for_itself(pool):
    code = "async def main(params):\n    print('x' * params['n'])\n    return {}\n"
    action = python(code, limits={"concurrency": 5, "logs": 1})
    asked = [ask(pool, action, {"n": n}) for n in (2 << 20, 10)]

    flood, short = [(await answers.next()).logs for answers in asked]

    assert "Logs were truncated" in flood[-1]
    assert short[0].endswith("stdout: " + "x" * 10)


@pytest.mark.parametrize(
    "write",
    [
        "os.write(1, b'raw\\n')",
        "thread = threading.Thread(target=print, args=['raw']); thread.start(); thread.join()",
    ],
)
async def test_output_that_is_no_calls_goes_to_the_call_that_came_last(pool, write):
    code = f"import os, threading\nasync def main(params):\n    {write}\n    return {{}}\n"

    (answers,) = [ask(pool, python(code, limits={"concurrency": 5}))]

    assert logged(await answers.next()) == [("stdout", "raw")]


async def test_a_call_sees_its_own_environment_until_it_awaits(pool):
    code = (
        "import asyncio, os\n"
        "async def main(params):\n"
        "    mine = os.environ['__OW_ACTIVATION_ID']\n"
        "    await asyncio.sleep(0)\n"
        "    return {'mine': mine}\n"
    )
    asked = [ask(pool, python(code, limits={"concurrency": 50})) for _ in range(50)]

    assert [each["mine"] for each in await values(asked)] == [each.activation for each in asked]


async def test_a_failure_is_that_of_its_call_alone(pool):
    code = (
        "import asyncio\n"
        "async def main(params):\n"
        "    await asyncio.sleep(0)\n"
        "    if params['n'] == 1: raise KeyError('no')\n"
        "    if params['n'] == 2: raise asyncio.CancelledError('mine')\n"
        "    if params['n'] == 3: return object()\n"
        "    return params\n"
    )
    action = python(code, limits={"concurrency": 5})
    asked = [ask(pool, action, {"n": n}) for n in range(5)]

    found = [await answers.next() for answers in asked]

    codes = [getattr(each.outcome, "code", None) for each in found]
    assert codes == [None, "ApplicationError", "ApplicationError", "BadResponse", None]
    assert found[1].logs[0].endswith("Traceback (most recent call last):")
    assert not any("together.py" in line or "worker.py" in line for line in found[1].logs)
    assert pool.size == 1


# --- cancelled, or late ------------------------------------------------------------------------


async def test_to_cancel_a_call_leaves_the_others_alone(pool, made):
    (first, second), worker = await held(pool, made(), 2)

    pool.cancel(first.activation)

    assert (await first.next()).outcome == CANCELLED
    assert second.all == []
    assert not ended(worker)
    pool.cancel(second.activation)
    assert (await second.next()).outcome == CANCELLED


async def test_a_call_that_takes_too_long_leaves_the_others_alone(pool, made):
    action = made()
    (other,), worker = await held(pool, action)
    late = ask(pool, made(timeout=100), {"me": "late"})

    outcome = (await late.next()).outcome

    assert outcome == Failure("Timeout", "The action exceeded its time limits of 100 milliseconds.")
    assert other.all == []
    assert not ended(worker)


async def test_a_task_that_was_cancelled_is_gone_and_its_worker_is_kept(pool):
    code = (
        "import asyncio, os\nleft = []\n"
        "async def main(params):\n"
        "    if 'hang' not in params: return {'pid': os.getpid(), 'left': left}\n"
        "    try:\n        await asyncio.Event().wait()\n"
        "    finally:\n        await asyncio.sleep(0)\n        left.append(1)\n"
    )
    action = python(code, limits={"concurrency": 5})
    (before,) = await values([ask(pool, action)])
    hanging = ask(pool, action, {"hang": 1})
    await values([ask(pool, action)])

    pool.cancel(hanging.activation)
    await until(lambda: not any(w._leaving for all in pool._workers.values() for w in all))

    assert await values([ask(pool, action)]) == [{"pid": before["pid"], "left": [1]}]


async def test_a_call_may_be_cancelled_before_it_has_begun(pool):
    code = "async def main(params):\n    print('begun')\n    return {}\n"
    action = python(code, limits={"concurrency": 5})
    await ask(pool, action).next()
    asked = ask(pool, action)

    pool.cancel(asked.activation)

    assert (await asked.next()).outcome == CANCELLED
    assert isinstance((await ask(pool, action).next()).outcome, Success)
    assert pool.size == 1
    assert len(asked.all) == 1


STUBBORN = """
import asyncio, os
async def main(params):
    if 'stubborn' in params:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
    if 'wait' in params:
        await asyncio.Event().wait()
    return {'pid': os.getpid()}
"""


async def test_a_worker_with_a_call_that_cannot_be_stopped_takes_no_more(pool):
    action = python(STUBBORN, limits={"concurrency": 5})
    stubborn, waiting = ask(pool, action, {"stubborn": 1}), ask(pool, action, {"wait": 1})
    (before,) = await values([ask(pool, action)])
    (worker,) = [each for all in pool._workers.values() for each in all]

    pool.cancel(stubborn.activation)
    await until(lambda: not worker.room)
    (after,) = await values([ask(pool, action)])

    assert after != before
    assert waiting.all == []  # it may still end
    pool.cancel(waiting.activation)
    await until(lambda: ended(before["pid"]))
    assert pool.size == 1


BLOCKS = """
import asyncio, threading
async def main(params):
    if 'block' in params:
        threading.Event().wait()
    await asyncio.Event().wait()
"""


async def test_a_call_that_blocks_its_loop_ends_the_worker(pool, monkeypatch):
    monkeypatch.setattr(workers, "GRACE_S", 0.05)
    slow, quick = (python(BLOCKS, limits={"concurrency": 5, "timeout": t}) for t in (60_000, 100))
    beside = ask(pool, slow)
    blocking = ask(pool, quick, {"block": 1})

    assert (await blocking.next()).outcome.code == "Timeout"
    assert (await beside.next()).outcome == Failure(
        "Crashed",
        "Another call in the same worker has ended the worker: it could not be stopped.",
    )
    await until(lambda: pool.size == 0)


# --- a crash -----------------------------------------------------------------------------------


async def test_a_crash_fails_all_calls_that_had_begun(pool, made):
    asked, worker = await held(pool, made(), 3)

    os.kill(worker, signal.SIGKILL)

    for answers in asked:
        assert (await answers.next()).outcome.code == "Crashed"
        assert len(answers.all) == 1
    assert pool.resent == 0


async def test_whoever_hears_of_a_crash_may_cancel_the_calls_beside_it(pool, made):
    other, heard = Answers(), []
    beside = invocation(made(), {"me": "beside"})

    def cancel(completion):
        heard.append(completion.outcome.code)
        pool.cancel(beside.activation)

    pool.invoke(invocation(made(), {"me": "first"}), cancel)
    other.invoke(pool, beside)
    (met,) = await values([ask(pool, made(), {"meet": "alone", "n": 1})])

    os.kill(met["pid"], signal.SIGKILL)

    assert (await other.next()).outcome.code == "Crashed"
    assert heard == ["Crashed"]
    assert len(other.all) == 1


async def test_calls_that_had_not_begun_are_given_to_another_worker(pool, made):
    action = made()
    (begun,), worker = await held(pool, action)
    os.kill(worker, signal.SIGSTOP)
    unbegun = [ask(pool, action, {"meet": "again", "n": 3}) for _ in range(3)]

    os.kill(worker, signal.SIGKILL)

    found = {each["pid"] for each in await values(unbegun)}
    assert len(found) == 1
    assert worker not in found
    assert (await begun.next()).outcome.code == "Crashed"
    assert pool.resent == 3


@pytest.mark.parametrize(
    "end", ["sys.exit(1)", "raise KeyboardInterrupt", "raise GeneratorExit", "os._exit(1)"]
)
async def test_a_call_that_ends_its_process_ends_the_calls_beside_it(pool, end):
    code = (
        "import asyncio, os, sys\nasync def main(params):\n"
        f"    if 'end' in params: {end}\n    await asyncio.Event().wait()\n"
    )
    action = python(code, limits={"concurrency": 5})
    asked = [ask(pool, action, params) for params in ({}, {"end": 1})]

    for answers in asked:
        assert (await answers.next()).outcome.code == "Crashed"


async def test_a_fork_of_a_call_that_comes_back_does_not_answer(pool):
    code = (
        "import os\n"
        "async def main(params):\n"
        "    child = os.fork()\n"
        "    if child:\n        os.waitpid(child, 0)\n"
        "    return {'n': params['n'], 'child': not child}\n"
    )
    action = python(code, limits={"concurrency": 5})

    asked = [ask(pool, action, {"n": n}) for n in range(5)]

    assert await values(asked) == [{"n": n, "child": False} for n in range(5)]


# --- fairness ----------------------------------------------------------------------------------


async def test_calls_that_never_pause_leave_a_place_to_other_code(monkeypatch):
    """Each call of A asks for the next one before it ends: A's only worker is never idle by itself."""
    monkeypatch.setattr(pools, "FAIR_S", 0.0)
    code = "import asyncio\nasync def main(params):\n    await asyncio.sleep(0)\n    return {}\n"
    busy, more = python(code, limits={"concurrency": 2}), True
    async with opened(size=1) as pool:

        def again(_completion):
            if more:
                pool.invoke(invocation(busy), again)

        for _ in range(2):
            pool.invoke(invocation(busy), again)
        await ask(pool, busy).next()

        other = await ask(pool, python(), {"n": 1}, namespace="other").next()

        more = False
        assert other.outcome == Success({"n": 1})


# --- all of it ---------------------------------------------------------------------------------

CHAOS = """
import asyncio, os
async def main(params):
    with open(params["file"], "a") as file:
        file.write(f"{params['n']} ")
    if "dies" in params:
        os.kill(os.getpid(), 9)
    for _ in range(params["n"] % 7):
        await asyncio.sleep(0)
    return {"n": params["n"]}
"""


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_ends_workers_no_call_runs_twice_and_all_are_answered_once(
    pool, tmp_path, seed
):
    chance, file = random.Random(seed), tmp_path / "ran"
    action, asked = python(CHAOS, limits={"concurrency": 5}), []
    for n in range(120):
        end = {"dies": 1} if chance.random() < 0.03 else {}
        asked.append(ask(pool, action, {"file": str(file), "n": n, **end}))
        if chance.random() < 0.1:
            pool.cancel(chance.choice(asked).activation)
        if chance.random() < 0.2:
            await chance.choice(asked).next()

    ended = [(await answers.next()).outcome for answers in asked]

    ran = [int(n) for n in file.read_text().split()]
    assert len(ran) == len(set(ran))
    for n, outcome in enumerate(ended):
        if isinstance(outcome, Success):
            assert outcome.value == {"n": n}
            assert n in ran
        else:
            assert outcome.code in {"Crashed", "Cancelled"}
    assert [len(answers.all) for answers in asked] == [1] * 120
