"""How workers are started, and what they can reach: as plain processes, and in bubblewrap."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.kit.actions.things import Answers, StandingClock, invocation, python
from xingqiao.actions.runtimes import (
    Sandbox,
    SandboxError,
    WorkerPool,
    WorkerSettings,
    find_sandbox,
)
from xingqiao.actions.runtimes.languages import HERE
from xingqiao.composer import Success


def script(path, text):
    """A program called bwrap, alone on the search path."""
    path.mkdir()
    program = path / "bwrap"
    program.write_text(text)
    program.chmod(0o755)
    return str(program)


# It takes bubblewrap's options, notes them down, and runs the command without any of it.
PRETENDS = """#!/bin/sh
echo "$@" >> "$0.args"
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
"""


def noted(program):
    return Path(program + ".args").read_text()


async def run(sandbox, code, params=None, path=None):
    answers = Answers()
    settings = WorkerSettings(directory=path)
    async with WorkerPool(sandbox, StandingClock(), settings) as pool:
        answers.invoke(pool, invocation(python(code), params))
        return (await answers.next()).outcome


def test_a_process_is_what_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(script(tmp_path / "bin", PRETENDS)).parent))

    found = find_sandbox("process", [tmp_path])

    assert (found.bubblewrap, found.hidden, found.name) == (None, (tmp_path,), "process")


def test_without_bubblewrap_there_are_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_sandbox("auto").name == "process"
    with pytest.raises(SandboxError, match="there is no 'bwrap' here: install it, or set"):
        find_sandbox("bubblewrap")


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "no program at all"])
def test_where_bubblewrap_may_do_nothing_there_are_processes(tmp_path, monkeypatch, text):
    monkeypatch.setenv("PATH", str(Path(script(tmp_path / "bin", text)).parent))

    assert find_sandbox("auto").name == "process"
    with pytest.raises(SandboxError, match="it may not make namespaces here: install it, or set"):
        find_sandbox("bubblewrap")


@pytest.mark.parametrize("isolation", ["auto", "bubblewrap"])
def test_where_bubblewrap_works_it_is_used(tmp_path, monkeypatch, isolation):
    program = script(tmp_path / "bin", PRETENDS)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")

    found = find_sandbox(isolation, [tmp_path])

    assert (found.bubblewrap, found.hidden, found.name) == (program, (tmp_path,), "bubblewrap")


async def test_bubblewrap_is_told_what_to_hide_and_what_to_show(tmp_path):
    program = script(tmp_path / "bin", PRETENDS)
    (tmp_path / "data").mkdir()
    workers = tmp_path / "data" / "workers"
    workers.mkdir()
    hidden = (tmp_path / "data", tmp_path / "not there")

    code = "import os\ndef main(params): return [os.getcwd()]"
    found = await run(Sandbox(program, hidden), code, path=workers)

    (directory,) = found.value
    args = noted(program)
    assert args.startswith(f"--ro-bind / / --dev /dev --proc /proc --bind {directory}.tmp /tmp ")
    assert f"--bind {directory}.shm /dev/shm " in args
    assert f"--tmpfs {tmp_path / 'data'} " in args
    assert "not there" not in args
    assert f"--ro-bind {HERE} {HERE} " in args
    assert f"--dir {workers} --bind {directory} {directory} --chdir {directory} " in args
    assert args.index(f"--tmpfs {tmp_path / 'data'} ") < args.index(
        f"--bind {directory} {directory}"
    )
    assert "--unshare-pid --unshare-ipc --unshare-uts --die-with-parent -- " in args


# --- the real one ------------------------------------------------------------------------------


@pytest.fixture
def bubblewrap(tmp_path):
    hidden = tmp_path / "data"
    hidden.mkdir()
    (hidden / "secret").write_text("hunter2")
    try:
        return find_sandbox("bubblewrap", [hidden])
    except SandboxError as error:
        pytest.skip(str(error))


async def test_in_bubblewrap_an_action_runs(bubblewrap):
    assert await run(bubblewrap, "def main(params): return params", {"n": 1}) == Success({"n": 1})


async def test_in_bubblewrap_the_data_of_the_server_is_hidden(bubblewrap, tmp_path):
    code = "import os\ndef main(params): return os.listdir(params['path'])"

    assert await run(bubblewrap, code, {"path": str(tmp_path / "data")}) == Success([])


async def test_in_bubblewrap_nothing_can_be_written_but_its_own_directory(bubblewrap):
    code = (
        "import os\n"
        "def main(params):\n"
        "    open('mine', 'w').write('x')\n"
        "    try:\n        open('/usr/written', 'w')\n"
        "    except OSError as error:\n        return [error.strerror, os.listdir()]\n"
    )

    assert await run(bubblewrap, code) == Success(["Read-only file system", ["mine"]])


async def test_in_bubblewrap_no_other_process_is_seen(bubblewrap):
    code = "import os\ndef main(params): return [n for n in os.listdir('/proc') if n.isdigit()]"

    assert len((await run(bubblewrap, code)).value) <= 2


async def test_in_bubblewrap_a_loop_without_end_is_stopped(bubblewrap):
    assert shutil.which("bwrap")
    answers = Answers()
    async with WorkerPool(bubblewrap, StandingClock(), WorkerSettings()) as pool:
        action = python("while True: pass", limits={"timeout": 500})
        answers.invoke(pool, invocation(action))
        assert (await answers.next()).outcome.code == "Timeout"
