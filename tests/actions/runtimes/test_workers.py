"""A worker that dies before user code has begun: the invocation is given to another, and runs once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.kit.actions.things import Answers, StandingClock, invocation, needed, node, python
from xingqiao.actions import FAILURES
from xingqiao.actions.runtimes import Sandbox, WorkerPool, WorkerSettings
from xingqiao.actions.runtimes.languages import Language
from xingqiao.actions.runtimes.workers import MOST_SENT
from xingqiao.composer import Failure, Success

# Each writes a line when it is loaded, and one when it runs.
PYTHON = """
import os

def note(what, file):
    with open(file, "a") as out:
        out.write(what + "\\n")

def main(params):
    note("ran", params["file"])
    if params.get("dies"):
        os.kill(os.getpid(), 9)
    return {"pid": os.getpid()}
"""
NODE = """
const fs = require('fs')

function main (params) {
  fs.appendFileSync(params.file, 'ran\\n')
  if (params.dies) process.kill(process.pid, 'SIGKILL')
  return { pid: process.pid }
}
"""
LANGUAGES = {"python": python(PYTHON), "node": node(NODE)}


@pytest.fixture(params=LANGUAGES)
def action(request):
    if request.param == "node":
        needed("node")
    return LANGUAGES[request.param]


@pytest.fixture
async def pool():
    async with WorkerPool(Sandbox(), StandingClock(), WorkerSettings()) as made:
        yield made


def written(file):
    return Path(file).read_text()


def ask(pool, action, **params):
    answers = Answers()
    answers.invoke(pool, invocation(action, params))
    return answers


async def run(pool, action, **params):
    return (await ask(pool, action, **params).next()).outcome


async def test_an_idle_worker_that_is_killed_as_it_is_given_a_call_fails_nothing(
    pool, action, tmp_path
):
    file = str(tmp_path / "ran")
    first = await run(pool, action, file=file)
    os.kill(first.value["pid"], signal.SIGKILL)  # nobody has heard of that yet

    second = await run(pool, action, file=file)

    assert isinstance(second, Success)
    assert second != first
    assert written(file) == "ran\n" * 2
    assert pool.size == 1


async def test_a_worker_that_is_killed_with_a_call_it_has_not_read_fails_nothing(
    pool, action, tmp_path
):
    file = str(tmp_path / "ran")
    first = await run(pool, action, file=file)
    os.kill(first.value["pid"], signal.SIGSTOP)
    answers = ask(pool, action, file=file)
    os.kill(first.value["pid"], signal.SIGKILL)

    second = (await answers.next()).outcome

    assert isinstance(second, Success)
    assert written(file) == "ran\n" * 2
    assert pool.resent == 1


async def test_a_worker_that_is_killed_in_user_code_is_not_asked_again(pool, action, tmp_path):
    file = str(tmp_path / "ran")

    outcome = await run(pool, action, file=file, dies=True)

    assert outcome.code == "Crashed"
    assert FAILURES[outcome.code].may_have_run == "unknown"
    assert written(file) == "ran\n"
    assert pool.resent == 0


async def test_to_load_a_module_is_to_run_user_code(pool, tmp_path):
    file = tmp_path / "loaded"
    code = f"import os\nopen({str(file)!r}, 'a').write('loaded ')\nos.kill(os.getpid(), 9)\n"

    outcome = await run(pool, python(code))

    assert outcome == Failure("Crashed", "The action did not initialize and exited unexpectedly.")
    assert written(file) == "loaded "


async def test_a_worker_that_dies_after_it_has_loaded_is_replaced(pool, tmp_path):
    """What a module does when it is loaded is done by each worker anyway."""
    file = str(tmp_path / "ran")
    for expected in range(3):
        outcome = await run(pool, LANGUAGES["python"], file=file)
        os.kill(outcome.value["pid"], signal.SIGKILL)
        assert pool.resent == expected

    assert written(file) == "ran\n" * 3


def language(path):
    """Python as the program in a file, which reads its lines as it is told here, and then dies."""
    return {"python:3": Language(kind="python:3", program=(str(path),))}


DIES = "import os, sys; os.write(os.open({file!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), b'x')"
READS = "; os.read(int(sys.argv[1]), 1 << 20)"


@pytest.mark.parametrize("until", ["", READS], ids=["at once", "with its code in hand"])
async def test_when_all_die_the_failure_says_that_nothing_has_run(tmp_path, until):
    file = tmp_path / "started"
    program = tmp_path / "dies.py"
    program.write_text(DIES.format(file=str(file)) + until)

    async with WorkerPool(
        Sandbox(), StandingClock(), WorkerSettings(), languages=language(program)
    ) as pool:
        outcome = await run(pool, python("def main(p): return p"))

    assert outcome == Failure(
        "Unavailable", "3 workers in a row died before the action had begun; it has not run."
    )
    assert FAILURES[outcome.code].may_have_run == "no"
    assert written(file) == "x" * MOST_SENT


async def test_a_call_may_be_cancelled_while_it_waits_for_its_second_worker(pool, tmp_path):
    action, file = LANGUAGES["python"], str(tmp_path / "ran")
    first = await run(pool, action, file=file)
    os.kill(first.value["pid"], signal.SIGSTOP)
    answers = Answers()
    asked = invocation(action, {"file": file})
    answers.invoke(pool, asked)
    (worker,) = [w for workers in pool._workers.values() for w in workers]
    os.kill(first.value["pid"], signal.SIGKILL)
    worker._died()

    pool.cancel(asked.activation)

    assert (await answers.next()).outcome.code == "Cancelled"
    assert written(file) == "ran\n"


def test_a_program_is_told_of_both_descriptors():
    command = Language(kind="python:3", program=("program",)).command((5, 6), 256)

    assert command == ["program", "5", "6"]
