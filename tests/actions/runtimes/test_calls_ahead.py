"""Quick code gets its next calls ahead: they are quick, they run once, and they are given to others in time."""

from __future__ import annotations

import os
import random
import signal

import anyio
import anyio.lowlevel
import pytest

from tests.kit.actions.things import Answers, StandingClock, invocation, needed, node, python, until
from tests.kit.actions.workers import logged
from xingqiao.actions.runtimes import Bounds, Sandbox, WorkerPool, WorkerSettings, workers
from xingqiao.composer import Failure, Success

CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})

# Each call writes its number when it runs; it waits at a gate, or ends its worker, if it is told to.
PYTHON = """
import os, sys

def main(params):
    print("this is", params.get("n"))
    with open(params["file"], "a") as file:
        file.write(f"{params.get('n')} ")
    if "gate" in params:
        open(params["gate"]).read()
    if "dies" in params:
        os.kill(os.getpid(), 9)
    if "starves" in params:
        raise MemoryError
    if "floods" in params:
        os.write(int(sys.argv[1]), b"x" * 5_000_000)
    return {"pid": os.getpid(), "deadline": int(os.environ["__OW_DEADLINE"])}
"""
NODE = """
const fs = require('fs')

function main (params) {
  console.log('this is', params.n)
  fs.appendFileSync(params.file, `${params.n} `)
  if (params.gate) fs.readFileSync(params.gate)
  if (params.dies) process.kill(process.pid, 'SIGKILL')
  return { pid: process.pid, deadline: Number(process.env.__OW_DEADLINE) }
}
"""
LANGUAGES = {"python": (python, PYTHON), "node": (node, NODE)}


@pytest.fixture(params=LANGUAGES)
def action(request):
    if request.param == "node":
        needed("node")
    make, code = LANGUAGES[request.param]
    return make(code)


class World:
    """A pool whose only worker has run quick calls, so that it gets its next calls ahead."""

    def __init__(self, pool, clock, action, directory):
        self.pool, self.clock, self.action = pool, clock, action
        self.file, self.gate = directory / "ran", directory / "gate"
        os.mkfifo(self.gate)

    def ask(self, action=None, **params):
        answers = Answers()
        asked = invocation(action or self.action, {"file": str(self.file), **params})
        answers.invoke(self.pool, asked)
        answers.activation = asked.activation
        return answers

    @property
    def worker(self):
        (worker,) = [each for all in self.pool._workers.values() for each in all]
        return worker

    async def warm(self):
        await self.ask().next()
        while self.worker.room < workers.MOST_AHEAD:
            self.pid = (await self.ask().next()).outcome.value["pid"]
        self.file.unlink()

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def ran(self):
        """The numbers of the calls that have run, in no order."""
        return sorted(map(int, self.file.read_text().split())) if self.file.exists() else []


@pytest.fixture
async def world(action, tmp_path, monkeypatch):
    # Nothing is taken back because this machine is busy; tests of that set it again.
    monkeypatch.setattr(workers, "PATIENCE_S", 3600)
    async with warm_world(action, tmp_path) as made:
        yield made


class warm_world:  # noqa: N801  used as a function
    def __init__(self, action, directory, size=2):
        self._action, self._directory, self._clock = action, directory, StandingClock()
        self._pool = WorkerPool(Sandbox(), self._clock, WorkerSettings(), Bounds(size=size))

    async def __aenter__(self):
        made = World(await self._pool.__aenter__(), self._clock, self._action, self._directory)
        await made.warm()
        return made

    async def __aexit__(self, *exc):
        await self._pool.__aexit__(*exc)


async def pids(asked):
    return {(await answers.next()).outcome.value["pid"] for answers in asked}


# --- ahead -------------------------------------------------------------------------------------


async def test_a_worker_gets_so_many_calls_ahead_and_no_more(world):
    world.stop()
    asked = [world.ask(n=n) for n in range(workers.MOST_AHEAD + 2)]
    assert world.worker.load == workers.MOST_AHEAD
    assert world.pool.waiting == workers.MOST_AHEAD + 1  # all but the first

    world.go_on()

    await pids(asked)
    assert world.ran() == [*range(workers.MOST_AHEAD + 2)]
    assert world.pool.waiting == 0


@pytest.mark.parametrize(
    ("took_us", "ahead"), [(0, 8), (249, 8), (251, 7), (999, 2), (1001, 1), (100_000, 1)]
)
async def test_the_longer_calls_take_the_fewer_are_ahead(tmp_path, took_us, ahead):
    async with warm_world(python(PYTHON), tmp_path) as world:
        for _ in range(1000):
            world.worker._measure(took_us)

        assert world.worker.room == ahead


async def test_each_call_has_its_own_log_and_begins_when_the_one_before_has_ended(world):
    world.stop()
    asked = [world.ask(n=n) for n in range(3)]
    world.clock.ms += 1000

    world.go_on()

    ended = [await answers.next() for answers in asked]
    assert [logged(each) for each in ended] == [[("stdout", f"this is {n}")] for n in range(3)]
    assert [world.clock.ms - each.started_ms for each in ended] == [1000, 0, 0]
    # The worker knows when it begins, by its own clock.
    deadlines = [each.outcome.value["deadline"] - world.clock.ms for each in ended]
    assert deadlines[0] == 59_000
    assert min(deadlines[1:]) > 60_000


async def test_an_action_with_credentials_is_sent_when_it_can_begin(tmp_path):
    keyed = python(PYTHON, annotations=[{"key": "provide-api-key", "value": True}])
    async with warm_world(keyed, tmp_path, size=1) as world:
        world.stop()
        asked = [world.ask(n=n) for n in range(2)]
        assert world.worker.load == 1

        world.go_on()

        await pids(asked)


async def test_code_whose_children_print_gets_none_ahead_so_that_lines_find_their_call(tmp_path):
    prints = python(
        "import os\n" + PYTHON.replace("    print(", "    os.write(1, b'raw\\n')\n    print(")
    )
    world = World(
        WorkerPool(Sandbox(), StandingClock(), WorkerSettings(), Bounds(size=1)),
        None, prints, tmp_path,
    )  # fmt: skip
    async with world.pool:
        for n in range(40):
            await world.ask(n=n).next()

        assert world.worker.room == 1


async def test_no_call_is_sent_ahead_while_other_code_waits(tmp_path):
    async with warm_world(python(PYTHON), tmp_path, size=1) as world:
        world.stop()
        first, other = world.ask(n=0), world.ask(python(PYTHON + "# other\n"), n=1)

        late = world.ask(n=2)

        assert world.worker.load == 1
        world.go_on()
        await pids([first, other, late])
        assert world.ran() == [0, 1, 2]


# --- taken back --------------------------------------------------------------------------------


async def test_calls_behind_one_that_takes_long_run_in_another_worker(action, tmp_path):
    async with warm_world(action, tmp_path) as world:
        held = world.ask(n=0, gate=str(world.gate))
        behind = [world.ask(n=n) for n in range(1, 4)]

        async with await anyio.open_file(world.gate, "w"):
            found = await pids(behind)

        assert await pids([held]) == {world.pid}
        assert world.pid not in found
        assert world.ran() == [0, 1, 2, 3]


async def test_calls_behind_one_that_takes_long_wait_if_there_is_no_other_worker(action, tmp_path):
    async with warm_world(action, tmp_path, size=1) as world:
        held = world.ask(n=0, gate=str(world.gate))
        behind = [world.ask(n=n) for n in range(1, 4)]

        async with await anyio.open_file(world.gate, "w"):
            await until(lambda: world.worker.load == 1)
            later = world.ask(n=4)
            assert world.worker.load == 1
            assert world.pool.waiting == 4

        assert await pids([held, *behind, later]) == {world.pid}
        assert world.ran() == [0, 1, 2, 3, 4]


async def test_a_call_ahead_is_cancelled_and_does_not_run(world):
    world.stop()
    asked = [world.ask(n=n) for n in range(4)]

    world.pool.cancel(asked[2].activation)
    world.go_on()

    assert (await asked[2].next()).outcome == CANCELLED
    await pids([asked[0], asked[1], asked[3]])
    assert world.ran() == [0, 1, 3]
    assert [len(each.all) for each in asked] == [1] * 4


async def test_to_cancel_the_call_that_runs_leaves_those_behind_it_alone(world):
    held = world.ask(n=0, gate=str(world.gate))
    behind = [world.ask(n=n) for n in range(1, 4)]
    async with await anyio.open_file(world.gate, "w"):
        world.pool.cancel(held.activation)

        assert (await held.next()).outcome == CANCELLED
        assert world.pid not in await pids(behind)

    assert world.ran() == [0, 1, 2, 3]


async def test_a_call_is_cancelled_though_the_answer_of_the_one_before_has_not_been_read(
    world, monkeypatch
):
    monkeypatch.setattr(workers, "PATIENCE_S", 0.05)
    asked = [world.ask(n=0), world.ask(n=1, gate=str(world.gate))]
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    while world.ran() != [0, 1]:  # the event loop stands still meanwhile, and reads no answer
        pass

    world.pool.cancel(asked[1].activation)

    assert (await asked[1].next()).outcome == CANCELLED
    assert isinstance((await asked[0].next()).outcome, Success)


async def test_a_call_that_takes_too_long_harms_none_behind_it(world, action):
    hanging = world.ask(world.action, n=0, gate=str(world.gate))
    hanging_worker = world.worker
    behind = [world.ask(n=n) for n in range(1, 4)]
    async with await anyio.open_file(world.gate, "w"):
        for assignment in hanging_worker._timed():
            assignment.deadline_s = 0.0
        hanging_worker._look()

        assert (await hanging.next()).outcome.code == "Timeout"
        assert world.pid not in await pids(behind)

    assert world.ran() == [0, 1, 2, 3]


# --- a worker dies -----------------------------------------------------------------------------


async def test_when_a_call_ends_its_worker_those_behind_it_run_in_another(world):
    world.stop()
    asked = [world.ask(n=n, **({"dies": 1} if n == 1 else {})) for n in range(4)]

    world.go_on()

    outcomes = [(await answers.next()).outcome for answers in asked]
    assert [getattr(each, "code", "ok") for each in outcomes] == ["ok", "Crashed", "ok", "ok"]
    assert world.ran() == [0, 1, 2, 3]


async def test_when_a_worker_is_killed_before_any_has_begun_all_run_once(world):
    world.stop()
    asked = [world.ask(n=n) for n in range(5)]

    os.kill(world.pid, signal.SIGKILL)

    assert world.pid not in await pids(asked)
    assert world.ran() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("how", ["starves", "floods"])
async def test_a_call_whose_worker_the_server_ends_harms_none_behind_it(tmp_path, monkeypatch, how):
    monkeypatch.setattr(workers, "PATIENCE_S", 3600)
    async with warm_world(python(PYTHON), tmp_path) as world:
        world.stop()
        asked = [world.ask(n=n, **({how: 1} if n == 0 else {})) for n in range(4)]

        world.go_on()

        outcomes = [(await answers.next()).outcome for answers in asked]
        assert [getattr(each, "code", "ok") for each in outcomes] == ["Crashed", "ok", "ok", "ok"]
        assert world.ran() == [0, 1, 2, 3]


async def test_when_the_pool_is_closed_calls_ahead_are_known_not_to_have_run(action, tmp_path):
    async with warm_world(action, tmp_path) as world:
        world.stop()
        asked = [world.ask(n=n) for n in range(4)]

    outcomes = [(await answers.next()).outcome for answers in asked]
    assert {each.code for each in outcomes} == {"Unavailable"}
    assert world.ran() == []


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_ends_workers_no_call_runs_twice(action, tmp_path, seed):
    chance = random.Random(seed)
    async with warm_world(action, tmp_path) as world:
        asked = {}
        for n in range(120):
            asked[n] = world.ask(n=n, **({"dies": 1} if chance.random() < 0.05 else {}))
            if chance.random() < 0.1:
                world.pool.cancel(chance.choice([*asked.values()]).activation)
            if chance.random() < 0.3:
                await chance.choice([*asked.values()]).next()

        ended = {n: (await answers.next()).outcome for n, answers in asked.items()}

    ran = world.ran()
    assert len(ran) == len(set(ran))
    assert {n for n, outcome in ended.items() if isinstance(outcome, Success)} <= set(ran)
    codes = {outcome.code for outcome in ended.values() if isinstance(outcome, Failure)}
    assert codes <= {"Crashed", "Cancelled"}
    assert [len(answers.all) for answers in asked.values()] == [1] * 120
