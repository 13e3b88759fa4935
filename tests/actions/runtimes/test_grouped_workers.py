"""Workers in cgroups: nothing outlives them, and the kernel's limit of memory is told as what it is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kit.actions.fake_groups import FakeTree
from tests.kit.actions.things import Answers, StandingClock, ended, invocation, python, until
from xingqiao.actions.runtimes import (
    Bounds,
    Groups,
    Kept,
    Room,
    SandboxError,
    WorkerPool,
    WorkerSettings,
    find_sandbox,
    open_groups,
)
from xingqiao.actions.runtimes.cgroupfs import KernelTree
from xingqiao.actions.runtimes.groups import pids
from xingqiao.actions.runtimes.homes import make_home
from xingqiao.actions.runtimes.launcher import kernel, start
from xingqiao.actions.runtimes.watch import measure
from xingqiao.composer import Success

OUT_OF_MEMORY = "The action exhausted its memory and was aborted."
EVERY = Kept(survivors=True, memory=True, processes=True)
ECHO = python()
DIES = "import os, signal\ndef main(params): os.kill(os.getpid(), signal.SIGKILL)\n"
DIES_LOADING = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
LEAVES = """
import os, time

def main(params):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
    os.wait()
    return {}
"""
FLEES = """
import os

def main(params):
    refused = []
    for path in params["groups"]:
        for attempt in (lambda: open(path + "/cgroup.procs", "w").write("0"), lambda: os.mkdir(path + "/mine")):
            try:
                attempt()
            except OSError:
                refused.append(path)
    return {"refused": len(refused)}
"""
HOLDS = """
import mmap

def main(params):
    held = mmap.mmap(-1, params["mb"] << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    return {}
"""
FORKS = """
import os, signal, time

def main(params):
    children, refused = [], {}
    for n in range(params["n"]):
        try:
            child = os.fork()
        except OSError as error:
            refused = {"refused": error.strerror}
            break
        if child == 0:
            time.sleep(3600)
        children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return refused
"""


class Grouped:
    """A pool whose workers have groups.

    Args:
        sandbox: how workers are started, with groups.
        path: directory of the workers'.
        bounds: of the pool.
    """

    def __init__(self, sandbox, path=None, **bounds):
        self.pool = WorkerPool(
            sandbox, StandingClock(), WorkerSettings(directory=path), Bounds(**bounds)
        )

    async def run(self, action, **params):
        answers = Answers()
        answers.invoke(self.pool, invocation(action, params))
        return (await answers.next()).outcome


def with_groups(sandbox, groups):
    return replace(sandbox, groups=groups)


# --- the fake: what the kernel says --------------------------------------------------------------


class Fake:
    """Groups of the fake, for workers that are real."""

    def __init__(self, path, kept=EVERY):
        self.tree = FakeTree(path / "root")
        self.group = self.tree.root / "workers"
        for name in ("memory", "pids"):
            self.tree.write(self.tree.root / "cgroup.subtree_control", f"+{name}")
        self.tree.make(self.group)
        for name in ("memory", "pids"):
            self.tree.write(self.group / "cgroup.subtree_control", f"+{name}")
        self.groups = Groups(self.tree, self.group, kept)
        self.sandbox = with_groups(find_sandbox("none"), self.groups)

    @property
    def workers(self):
        return self.tree.below(self.group)

    def say(self, events):
        """Has the kernel say something of each group that is made from now on."""
        make = self.tree.make

        def made(group):
            make(group)
            (group / "memory.events").write_text(events)

        self.tree.make = made


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


async def test_a_worker_has_its_limits_before_it_has_code(fake, tmp_path):
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        assert await grouped.run(ECHO, n=1) == Success({"n": 1})
        (group,) = fake.workers
        # 256 MB, and what a Python process has besides.
        assert (group / "memory.max").read_text() == str((256 + 16) << 20)
        assert (group / "pids.max").read_text() == "1024"
        # It has joined by what it inherited, and the fake kernel took it as it was written.
        assert (group / "cgroup.procs").read_text() == "0"


async def test_a_worker_that_was_started_ahead_gets_the_limit_of_its_action(fake, tmp_path):
    grouped = Grouped(fake.sandbox, tmp_path, prewarmed=1)
    small = python("def main(params): return {}", limits={"memory": 128})
    async with grouped.pool:
        await grouped.run(ECHO)
        await until(lambda: grouped.pool.size == 2)
        await grouped.run(small)
        limits = {(group / "memory.max").read_text() for group in fake.workers}

    assert str((128 + 16) << 20) in limits


@pytest.mark.parametrize("code", [DIES, DIES_LOADING], ids=["as it runs", "as it loads"])
async def test_a_kill_for_the_groups_memory_is_told_as_the_limit(fake, tmp_path, code):
    fake.say("oom 1\noom_kill 1\n")
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        outcome = await grouped.run(python(code))

    assert (outcome.code, outcome.error) == ("Crashed", OUT_OF_MEMORY)
    assert grouped.pool.resent == 0


async def test_a_kill_for_the_groups_memory_before_any_code_is_not_tried_again(fake, tmp_path):
    """The next worker would have the same limit."""
    fake.say("oom 1\noom_kill 1\n")
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        first = await grouped.run(
            python("import os\ndef main(params): return {'pid': os.getpid()}")
        )
        os.kill(first.value["pid"], signal.SIGKILL)
        second = await grouped.run(
            python("import os\ndef main(params): return {'pid': os.getpid()}")
        )

    assert (second.code, second.error) == ("Crashed", OUT_OF_MEMORY)
    assert grouped.pool.resent == 0


async def test_a_kill_because_the_machine_has_no_memory_is_a_crash_as_before(fake, tmp_path):
    fake.say("oom 0\noom_kill 1\n")
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        outcome = await grouped.run(python(DIES))

    assert outcome.code == "Crashed"
    assert OUT_OF_MEMORY not in str(outcome.error)


async def test_a_groups_end_is_asked_for_when_its_worker_ends(fake, tmp_path):
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        await grouped.run(ECHO)
        (group,) = fake.workers

    await until(lambda: not group.exists())
    assert ("write", "cgroup.kill") in fake.tree.done


async def test_workers_start_where_no_group_can_be_made(fake, tmp_path):
    fake.tree.errors.append(["make", "", 28, 99])
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        assert await grouped.run(ECHO, n=1) == Success({"n": 1})
    assert fake.workers == []


async def test_workers_start_where_no_group_can_be_joined(fake, tmp_path):
    make = fake.tree.make

    def made(group):
        make(group)
        (group / "cgroup.procs").unlink()

    fake.tree.make = made
    grouped = Grouped(fake.sandbox, tmp_path)
    async with grouped.pool:
        assert await grouped.run(ECHO, n=1) == Success({"n": 1})
        for group in fake.workers:
            (group / "cgroup.procs").touch()


def test_a_worker_that_cannot_join_runs_outside():
    full = os.open("/dev/full", os.O_WRONLY)

    start.join(full)

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(full)


@pytest.mark.parametrize(
    ("kept", "memory", "processes"),
    [
        (EVERY, 0, 0),
        (Kept(survivors=True, memory=True), 0, 1),
        (Kept(survivors=True, processes=True), 1, 0),
        (Kept(survivors=True), 1, 1),
    ],
)
def test_what_a_group_holds_is_not_measured(tmp_path, kept, memory, processes):
    fake = Fake(tmp_path, kept)
    group = fake.groups.make(64)
    group.limit_memory(1 << 28)
    home = replace(make_home(tmp_path, None, private=False), group=group)
    sleeper = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", sleeper], stdin=subprocess.PIPE) as child:
        outside = measure(os.getpid(), home)
        fake.tree.place(child.pid, group.path)
        inside = measure(os.getpid(), home)
        child.stdin.close()

    assert outside.memory > 0
    assert outside.processes > 0
    assert (inside.memory > 0, inside.processes > 0) == (bool(memory), bool(processes))


# --- this machine's ------------------------------------------------------------------------------


class Real(Grouped):
    """A pool in groups of this machine's kernel."""

    def __init__(self, sandbox, path):
        super().__init__(sandbox, path)
        self.groups = sandbox.groups

    @property
    def group(self):
        """The only worker's group."""
        (group,) = KernelTree().below(self.groups.path)
        return group

    @property
    def pids(self):
        return pids(KernelTree(), self.group)


@pytest.fixture(params=["none", "process", "bubblewrap"])
def real(request, tmp_path, kernel_group):
    """A pool in groups of this machine's kernel, in each isolation."""
    assert kernel_group.is_dir()
    try:
        sandbox = find_sandbox(request.param, room=Room(processes=40))
    except SandboxError as error:
        pytest.skip(str(error))
    homes = tmp_path / "workers"
    homes.mkdir()
    tmp_path.chmod(0o755)
    with open_groups(homes) as groups:
        if not groups.kept.survivors:
            pytest.skip(groups.kept.why)
        yield Real(with_groups(sandbox, groups), homes)


async def test_all_that_a_worker_starts_is_in_its_group(real):
    async with real.pool:
        assert await real.run(python(LEAVES)) == Success({})
        group, found = real.group, real.pids

        assert len(found) == 2
    await until(lambda: not group.exists())
    assert all(map(ended, found))


async def test_what_is_left_behind_ends_although_nobody_is_there_to_end_it(real):
    """Its parent, which would end it, is killed first."""
    async with real.pool:
        await real.run(python(LEAVES))
        group, found = real.group, real.pids
        for supervisor in kernel.children(os.getpid()):
            if set(found) & set(kernel.descendants(supervisor)):
                os.kill(supervisor, signal.SIGKILL)

    await until(lambda: not group.exists())
    assert all(map(ended, found))


async def test_user_code_cannot_leave_its_group(real, request):
    async with real.pool:
        await real.run(ECHO)
        groups = [str(real.group), str(real.groups.path), str(real.groups.path.parent)]
        outcome = await real.run(python(FLEES), groups=groups)
        if "none" in request.node.name:  # it may do what the server may
            for group in groups:
                with contextlib.suppress(FileNotFoundError):
                    (Path(group) / "mine").rmdir()
        else:
            assert outcome == Success({"refused": 6})


async def test_memory_is_bounded_by_the_group(real):
    if not real.groups.kept.memory:
        pytest.skip(f"this kernel cannot do that: {real.groups.kept.why}")
    holds = python(HOLDS, limits={"memory": 128})
    async with real.pool:
        assert await real.run(holds, mb=64) == Success({})
        outcome = await real.run(holds, mb=192)

    assert (outcome.code, outcome.error) == ("Crashed", OUT_OF_MEMORY)


async def test_processes_are_bounded_by_the_group(real):
    if not real.groups.kept.processes:
        pytest.skip(f"this kernel cannot do that: {real.groups.kept.why}")
    async with real.pool:
        assert await real.run(python(FORKS), n=30) == Success({})
        outcome = await real.run(python(FORKS), n=60)

    assert outcome == Success({"refused": "Resource temporarily unavailable"})
