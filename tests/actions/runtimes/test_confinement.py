"""Users of workers, limits of processes, and what there is where a kernel has less."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.kit.actions import things
from tests.kit.actions.things import Answers, StandingClock, invocation, python
from xingqiao.actions.runtimes import (
    Sandbox,
    SandboxError,
    Users,
    WorkerPool,
    WorkerSettings,
    few_files,
)
from xingqiao.actions.runtimes import sandbox as sandboxes
from xingqiao.actions.runtimes.launcher import landlock, seccomp


@pytest.fixture(autouse=True)
def of_nobody_else(tmp_path, monkeypatch):
    """Locks on user ids in a directory of this test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)


def test_a_user_id_is_one_workers_only():
    users = Users("60706-60707")
    first, second = users.take(), users.take()

    assert {first, second} == {60706, 60707}
    with pytest.raises(OSError, match="every user id of XINGQIAO_WORKER_UIDS is in use"):
        users.take()
    users.give_back(first)
    assert users.take() == first


def test_a_user_id_is_one_servers_only():
    users, others = Users("60706-60706"), Users("60706-60706")
    taken = users.take()

    with pytest.raises(OSError, match="is in use"):
        others.take()
    users.give_back(taken)
    assert others.take() == taken


@pytest.mark.parametrize("text", ["", "5", "0-9", "9-5", "a-b", "1-2-3"])
def test_what_is_no_range_of_user_ids_is_refused(text):
    with pytest.raises(SandboxError, match="worker_uids must be FIRST-LAST"):
        Users(text)


# --- limits ----------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
from xingqiao.actions.runtimes.launcher.start import limit
limit({"RLIMIT_NOFILE": 1024, "RLIMIT_NOTHING": 1})
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("hard", "files"), [(256, 256), (1024, 1024), (2048, 1024)])
def test_a_limit_is_as_high_as_it_may_be(hard, files):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(hard)], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == f"({files}, {files})", done.stderr


def test_a_worker_starts_where_few_files_may_be_opened():
    """The server's own limit is what its workers inherit, so another process plays it."""
    code = (
        "import asyncio, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from things import Answers, StandingClock, invocation, python\n"
        "from xingqiao.actions.runtimes import Sandbox, WorkerPool, WorkerSettings, few_files\n"
        "async def main():\n"
        "    answers = Answers()\n"
        "    async with WorkerPool(Sandbox(), StandingClock(), WorkerSettings()) as pool:\n"
        "        asked = 'import resource as r\\ndef main(p): return [r.getrlimit(r.RLIMIT_NOFILE)[1]]'\n"
        "        answers.invoke(pool, invocation(python(asked)))\n"
        "        print((await answers.next()).outcome.value, few_files())\n"
        "asyncio.run(main())\n"
    )
    here = str(Path(things.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, here], capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith(
        "[200] a worker may open 200 files instead of 1024, because this server's hard limit is 200: "
        "raise the limit"
    ), done.stderr


@pytest.mark.parametrize(("hard", "told"), [(1023, True), (1024, False), (-1, False)])
def test_too_low_a_limit_is_told(monkeypatch, hard, told):
    monkeypatch.setattr(sandboxes.resource, "getrlimit", lambda _: (64, hard))

    assert (few_files() is not None) is told
    assert resource.RLIM_INFINITY == -1


# --- other kernels ---------------------------------------------------------------------------------


def test_on_another_machine_there_is_no_filter_and_no_landlock(monkeypatch):
    monkeypatch.setattr(landlock.kernel, "LINUX", False)

    assert landlock.edition() == 0
    assert seccomp.machine() is None


async def test_without_anything_a_worker_still_runs(tmp_path):
    answers = Answers()
    async with WorkerPool(Sandbox(), StandingClock(), WorkerSettings(directory=tmp_path)) as pool:
        answers.invoke(pool, invocation(python(), {"n": 1}))
        assert (await answers.next()).outcome.value == {"n": 1}
