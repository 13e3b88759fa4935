"""A worker's group: its limits, its end, and what becomes of either where the kernel refuses."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import subprocess
import sys

import pytest

from tests.kit.actions.fake_groups import FakeTree
from tests.kit.actions.things import ended
from xingqiao.actions.runtimes import groups as groups_module
from xingqiao.actions.runtimes.cgroupfs import KernelTree
from xingqiao.actions.runtimes.groups import MEMORY, PROCESSES, Group, Groups, Kept, end, kill, pids

ALL = frozenset({MEMORY, PROCESSES})
EVERY = Kept(survivors=True, memory=True, processes=True)
FORGETS = (  # its child's child has a session of its own, and no parent but the first of all
    "import os, sys\n"
    "os.write(int(sys.argv[1]), b'0')\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.write(1, f'{os.getpid()}\\n'.encode())\n"
    "        os.read(0, 1)\n"
    "    os._exit(0)\n"
)


class Fake:
    """A group of the fake, and processes that are numbers."""

    def __init__(self, path):
        self.tree = FakeTree(path / "root")
        self.tree.write(self.tree.root / "cgroup.subtree_control", "+memory")
        self.tree.write(self.tree.root / "cgroup.subtree_control", "+pids")
        self.group = self.tree.root / "group"
        self.tree.make(self.group)
        self._next = 100

    @contextlib.contextmanager
    def process(self, group):
        self._next += 1
        self.tree.place(self._next, group)
        yield self._next

    def is_gone(self, pid):
        return self.tree.where(pid) is None


class Kernel:
    """A group of this machine's, and processes that are left behind in it."""

    tree = KernelTree()

    def __init__(self, group):
        self.group = group

    @contextlib.contextmanager
    def process(self, group):
        made = Group(self.tree, group, frozenset(), fail)
        with made.joining() as joins:
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", FORGETS, str(joins)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[joins],
            )  # fmt: skip
        with process:
            yield int(process.stdout.readline())

    def is_gone(self, pid):
        return ended(pid)


def fail(what, error):
    raise AssertionError(f"{what}: {error}")


@pytest.fixture(params=["fake", "kernel"])
def world(request, tmp_path):
    if request.param == "fake":
        return Fake(tmp_path)
    return Kernel(request.getfixturevalue("kernel_group"))


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


# --- the laws, of the fake and of this machine's kernel ------------------------------------------


def test_a_process_that_was_left_behind_ends_with_its_group(world):
    with world.process(world.group) as pid:
        assert pid in pids(world.tree, world.group)

        assert end(world.tree, world.group)

        assert world.is_gone(pid)
    assert not world.group.exists()


def test_a_group_is_killed_without_being_removed(world):
    with world.process(world.group) as pid:
        kill(world.tree, world.group)
        world.tree.wait(world.group, 60)

        assert world.is_gone(pid)
    assert pids(world.tree, world.group) == []
    assert world.group.exists()


def test_groups_below_end_with_it(world):
    below = world.group / "below"
    world.tree.make(below)
    with world.process(below) as pid:
        assert end(world.tree, world.group)

        assert world.is_gone(pid)
    assert not world.group.exists()


def test_an_empty_group_and_one_that_is_gone_end(world):
    group = Group(world.tree, world.group, frozenset(), fail)

    group.end()
    group.end()
    group.kill()

    assert not world.group.exists()
    assert (group.holding, group.ran_out) == (frozenset(), False)


def test_without_cgroup_kill_processes_are_killed_one_by_one(world, monkeypatch):
    wanted = world.tree.write

    def write(path, text):
        if path.name == "cgroup.kill":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        wanted(path, text)

    monkeypatch.setattr(world.tree, "write", write, raising=False)
    with world.process(world.group) as pid:
        assert end(world.tree, world.group)

        assert world.is_gone(pid)
    assert not world.group.exists()


def test_a_group_is_made_for_every_worker(world):
    groups = Groups(world.tree, world.group, Kept(survivors=True))

    one, other = groups.make(10), groups.make(10)

    assert {one.path, other.path} == set(world.tree.below(world.group))
    assert one.path.name.startswith("worker-")
    assert one.holding == frozenset()


# --- limits --------------------------------------------------------------------------------------


def made(fake, limits=ALL, failed=fail):
    return Group(fake.tree, fake.group, limits, failed)


def text(group, name):
    return (group.path / name).read_text()


def test_the_limits_are_written(fake):
    group = made(fake)

    group.limit_memory(1 << 28)
    group.limit_processes(64)

    assert [text(group, name) for name in ("memory.max", "memory.swap.max")] == [str(1 << 28), "0"]
    assert text(group, "memory.oom.group") == "1"
    assert text(group, "pids.max") == "64"
    assert group.limited == ALL


def test_the_limit_of_memory_may_change_and_is_written_only_then(fake):
    group = made(fake)
    group.limit_memory(1 << 28)
    fake.tree.done.clear()

    group.limit_memory(1 << 28)
    assert fake.tree.done == []
    group.limit_memory(1 << 27)

    assert text(group, "memory.max") == str(1 << 27)


def test_nothing_is_written_of_a_limit_that_it_cannot_hold(fake):
    group = made(fake, frozenset())

    group.limit_memory(1)
    group.limit_processes(1)

    assert text(group, "memory.max") == text(group, "pids.max") == ""
    assert group.limited == frozenset()


def test_a_kernel_without_swap_bounds_memory_all_the_same(fake):
    (fake.group / "memory.swap.max").unlink()
    group = made(fake)

    group.limit_memory(1 << 28)

    assert group.limited == {MEMORY}


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOENT, errno.EBUSY, errno.EROFS])
@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("memory.max", {PROCESSES}),
        ("memory.oom.group", {PROCESSES}),
        ("pids.max", {MEMORY}),
    ],
)
def test_a_limit_that_cannot_be_set_is_the_only_one_that_is_not_held(fake, number, name, left):
    fake.tree.errors.append(["write", name, number, 1])
    told = []
    group = made(fake, failed=lambda what, error: told.append((what, error.errno)))

    group.limit_memory(1 << 28)
    group.limit_processes(64)

    assert group.limited == left
    (missing,) = ALL - left
    assert told == [(f"{missing} of a worker cannot be bounded", number)]


def test_a_limit_that_cannot_be_changed_is_not_held_any_more(fake):
    told = []
    group = made(fake, failed=lambda what, _: told.append(what))
    group.limit_memory(1 << 28)
    fake.tree.errors.append(["write", "memory.max", errno.ENODEV, 1])

    group.limit_memory(1 << 27)

    assert group.limited == frozenset()
    assert len(told) == 1


def test_it_holds_its_limits_while_a_process_is_in_it(fake):
    group = made(fake)
    group.limit_processes(64)

    assert group.holding == frozenset()
    with fake.process(fake.group):
        assert group.holding == {PROCESSES}


def test_a_process_of_another_namespace_is_no_process_that_it_can_kill(fake):
    fake.tree.place(0, fake.group)

    assert pids(fake.tree, fake.group) == []


@pytest.mark.parametrize(
    ("events", "ran_out"),
    [
        ("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n", True),
        ("max 0\noom 0\noom_kill 0\n", False),
        ("max 9\noom 0\noom_kill 0\n", False),  # its cache was taken back
        ("max 0\noom 0\noom_kill 2\n", False),  # the machine, or a group above, had no memory left
        ("max 9\noom 1\noom_kill 0\n", False),  # a call failed, and nobody was killed
        ("", False),
    ],
)
def test_the_kernel_says_whether_its_limit_of_memory_has_ended_it(fake, events, ran_out):
    (fake.group / "memory.events").write_text(events)

    assert made(fake).ran_out is ran_out


def test_a_process_joins_by_what_it_inherits(fake):
    with made(fake).joining() as opened:
        os.write(opened, b"7")

    assert fake.tree.processes(fake.group) == [7]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened)


def test_a_group_that_cannot_be_joined_says_so(fake):
    told = []
    end(fake.tree, fake.group)

    with made(fake, failed=lambda what, _: told.append(what)).joining() as opened:
        assert opened is None
    assert told == ["a worker cannot join its group"]


# --- the end, where it is not easy ---------------------------------------------------------------


def test_a_process_that_takes_its_time_is_waited_for(fake):
    with fake.process(fake.group) as pid:
        fake.tree.stubborn[pid] = 3

        assert end(fake.tree, fake.group)
    assert fake.tree.killed == [pid] * 4
    assert not fake.group.exists()


def test_a_process_that_never_ends_leaves_its_group(fake, monkeypatch, caplog):
    monkeypatch.setattr(groups_module, "ROUNDS", 3)
    with fake.process(fake.group) as pid:
        fake.tree.stubborn[pid] = 1000

        assert not end(fake.tree, fake.group)
        assert not end(fake.tree, fake.tree.root)
    assert "processes in it do not end" in caplog.text
    assert fake.group.exists()


@pytest.mark.parametrize("number", [errno.EBUSY, errno.ENOTEMPTY])
def test_a_group_that_is_busy_for_a_moment_is_removed(fake, number):
    fake.tree.errors.append(["remove", "group", number, 2])

    assert end(fake.tree, fake.group)
    assert not fake.group.exists()


def test_a_group_that_may_not_be_removed_is_left(fake, caplog):
    fake.tree.errors.append(["remove", "group", errno.EACCES, 1])

    assert not end(fake.tree, fake.group)
    assert "Permission denied" in caplog.text


def test_one_that_another_has_removed_meanwhile_is_gone(fake):
    fake.tree.errors.append(["remove", "group", errno.ENOENT, 1])

    assert end(fake.tree, fake.group)


def test_without_cgroup_kill_it_is_frozen_while_it_is_killed(tmp_path):
    fake = Fake(tmp_path)
    (fake.group / "cgroup.kill").unlink()
    with fake.process(fake.group) as pid:
        fake.tree.done.clear()

        kill(fake.tree, fake.group)

    writes = [what for what in fake.tree.done if what[0] == "write"]
    assert writes == [
        ("write", "cgroup.kill"),
        ("write", "cgroup.freeze"),
        ("write", "cgroup.freeze"),
    ]
    assert text(made(fake), "cgroup.freeze") == "0"
    assert fake.tree.killed == [pid]


def test_a_kernel_that_cannot_freeze_kills_all_the_same(fake, monkeypatch):
    for name in ("cgroup.kill", "cgroup.freeze"):
        (fake.group / name).unlink()

    def kill_one(pid):
        fake.tree.place(pid, fake.tree.root)
        raise ProcessLookupError(errno.ESRCH, "No such process")

    monkeypatch.setattr(fake.tree, "kill", kill_one)
    with fake.process(fake.group):
        assert end(fake.tree, fake.group)
    assert not fake.group.exists()


# --- making them ---------------------------------------------------------------------------------


def test_a_group_has_the_limits_that_are_kept(fake):
    fake.tree.write(fake.group / "cgroup.subtree_control", "+pids")
    groups = Groups(fake.tree, fake.group, Kept(survivors=True, processes=True))

    group = groups.make(32)
    group.limit_memory(1)

    assert group.limited == {PROCESSES}
    assert text(group, "pids.max") == "32"


def test_a_name_that_is_taken_is_passed_over(fake):
    for number in (1, 2):
        fake.tree.make(fake.group / f"worker-{number}")
    groups = Groups(fake.tree, fake.group, Kept(survivors=True))

    assert groups.make(1).path.name == "worker-3"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EAGAIN, errno.ENOSPC])
def test_a_group_that_cannot_be_made_is_none_and_said_once(fake, number, caplog):
    fake.tree.errors.append(["make", "", number, 2])
    groups = Groups(fake.tree, fake.group, EVERY)

    with caplog.at_level(logging.WARNING):
        assert groups.make(1) is None
        assert groups.make(1) is None
    assert caplog.text.count("a worker has no group, so it is measured from outside") == 1
    assert groups.make(1) is not None


def test_nowhere_no_group_is_made():
    assert Groups(None, None, Kept()).make(1) is None
