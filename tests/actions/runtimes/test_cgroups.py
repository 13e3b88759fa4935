"""Which cgroups a server makes, where it may, and what it says where it may not."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from functools import partial

import pytest

from tests.kit.actions.fake_groups import FakeTree
from xingqiao.actions.runtimes import Kept, open_groups
from xingqiao.actions.runtimes.cgroupfs import CgroupError, Place, find_place
from xingqiao.actions.runtimes.cgroups import name_of, tried
from xingqiao.actions.runtimes.groups import Group

SERVER = 4711
JOINER = 9000  # the process that tries a group out


class World:
    """A fake tree, and a server in it.

    Args:
        path: an empty directory.
        own: the server's group below the root; "" for the root.
        others: processes in the server's group.
        options: of the tree.
    """

    def __init__(self, path, own="", others=(), *, privileged=True, **options):
        self.tree = FakeTree(path / "fs", **options)
        self.own = self.tree.root
        for name in filter(None, own.split("/")):
            for controller in self.tree.controllers:
                self.tree.write(self.own / "cgroup.subtree_control", f"+{controller}")
            self.own /= name
            self.tree.make(self.own)
        for pid in (SERVER, *others):
            self.tree.place(pid, self.own)
        self.homes = path / "workers"
        self.homes.mkdir()
        self.place = Place(
            tree=self.tree,
            own=self.own,
            pid=SERVER,
            is_root=not own,
            is_privileged=privileged,
        )

    def open(self, trial=None):
        return open_groups(self.homes, lambda: self.place, trial or self.try_out)

    def try_out(self, group):
        self.tree.write(group.path / "cgroup.procs", str(JOINER))
        group.kill()
        assert self.tree.where(JOINER) is None

    @property
    def workers(self):
        return self.own / name_of(self.homes)

    @property
    def leaf(self):
        return self.own / f"{self.workers.name}-server"

    @property
    def groups(self):
        return {path for path in self.tree.root.rglob("*") if path.is_dir()}


def held(kept):
    return kept.survivors, kept.memory, kept.processes


@pytest.fixture
def make(tmp_path):
    return partial(World, tmp_path)


# --- everything ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},  # the root of a container's namespace
        {"own": "x.service", "privileged": False},  # a group that belongs to the server's user
    ],
    ids=["container", "user"],
)
def test_a_server_that_is_alone_moves_down_and_holds_everything(make, options):
    world = make(**options)

    with world.open() as groups:
        assert groups.kept == Kept(survivors=True, memory=True, processes=True)
        assert world.tree.where(SERVER) == world.leaf
        group = groups.make(64)
        group.limit_memory(1 << 28)
        assert group.path.parent == world.workers
        assert (group.path / "memory.max").read_text() == str(1 << 28)
        assert (group.path / "pids.max").read_text() == "64"


def test_a_service_that_systemd_delegates_to_moves_down(make):
    world = make(own="system.slice/x.service")
    world.tree.delegated.add(world.own)

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)
        assert world.tree.where(SERVER) == world.leaf


def test_a_server_in_a_subgroup_of_its_delegated_service_stays_there(make):
    world = make(own="x.service/serving")
    world.tree.delegated.add(world.own.parent)
    workers = world.own.parent / world.workers.name

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)
        assert groups.make(1).path.parent == workers
        assert world.tree.where(SERVER) == world.own
    assert not workers.exists()


def test_the_machines_root_passes_controllers_on_with_processes_in_it(make):
    world = make(others=[1, 2], is_machines=True)

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)
        assert world.tree.where(SERVER) == world.own


def test_in_the_end_nothing_is_left_and_the_server_is_where_it_was(make):
    world = make(own="x.service", privileged=False)
    before = world.groups

    with world.open() as groups:
        worker = groups.make(1)
        world.tree.place(5, worker.path)

    assert world.groups == before
    assert world.tree.where(SERVER) == world.own
    assert world.tree.where(5) is None
    assert (world.own / "cgroup.subtree_control").read_text() == ""


def test_the_trial_leaves_no_group(make):
    world = make()

    with world.open():
        assert world.tree.below(world.workers) == []


# --- less, part by part --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("controllers", "expected", "why"),
    [
        ((), (True, False, False), "no cgroup v2 controller named memory or pids"),
        (("cpu", "hugetlb"), (True, False, False), "no cgroup v2 controller named memory or pids"),
        (("memory",), (True, True, False), "no cgroup v2 controller named pids"),
        (("pids",), (True, False, True), "no cgroup v2 controller named memory"),
    ],
)
def test_without_a_controller_its_limit_is_watched_from_outside(make, controllers, expected, why):
    world = make(controllers=controllers)

    with world.open() as groups:
        assert held(groups.kept) == expected
        assert why in groups.kept.why
        assert groups.make(1) is not None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"others": [1]}, "other processes are in"),
        ({"own": "x.service"}, "is not delegated to this server"),
        ({"own": "x.scope", "others": [1], "privileged": False}, "other processes are in"),
    ],
    ids=["not alone", "systemd's own", "a user's session"],
)
def test_a_server_that_may_not_move_holds_survivors(make, options, why):
    world = make(**options)

    with world.open() as groups:
        assert held(groups.kept) == (True, False, False)
        assert why in groups.kept.why
        assert world.tree.where(SERVER) == world.own
    assert not world.workers.exists()


def test_controllers_that_are_passed_on_already_need_no_move(make):
    world = make(own="x.service/serving", others=[1])
    world.tree.delegated.add(world.own.parent)
    for name in ("memory", "pids"):
        world.tree.write(world.own.parent / "cgroup.subtree_control", f"+{name}")

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOENT])
def test_a_control_that_may_not_be_written_moves_nobody(make, number):
    world = make()
    world.tree.errors.append(["write", "fs/cgroup.subtree_control", number, 9])

    with world.open() as groups:
        assert held(groups.kept) == (True, False, False)
        assert "does not pass on memory" in groups.kept.why
        assert world.tree.where(SERVER) == world.own


def test_a_process_that_comes_while_the_server_moves_sends_it_back(make):
    world = make()
    world.tree.errors.append(["write", "fs/cgroup.subtree_control", errno.EBUSY, 4])

    with world.open() as groups:
        assert held(groups.kept) == (True, False, False)
        assert world.tree.where(SERVER) == world.own
        assert not world.leaf.exists()
        assert "does not pass on memory: Device or resource busy" in groups.kept.why


@pytest.mark.parametrize(
    "error",
    [("make", "-server", errno.EACCES, 1), ("write", "-server/cgroup.procs", errno.EPERM, 1)],
    ids=["no leaf", "no way into it"],
)
def test_a_server_that_cannot_move_holds_survivors(make, error):
    world = make()
    world.tree.errors.append([*error])

    with world.open() as groups:
        assert held(groups.kept) == (True, False, False)
        assert "this process cannot move to" in groups.kept.why
        assert world.tree.where(SERVER) == world.own
    assert world.groups == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("memory.max", (True, False, True)),
        ("memory.oom.group", (True, False, True)),
        ("pids.max", (True, True, False)),
    ],
)
def test_a_limit_that_cannot_be_set_is_watched_from_outside(make, name, expected):
    world = make(lacks=[name])

    with world.open() as groups:
        assert held(groups.kept) == expected
        assert "cannot be bounded: No such file or directory" in groups.kept.why


def test_an_older_kernel_without_cgroup_kill_holds_everything(make):
    world = make(lacks=["cgroup.kill", "cgroup.freeze"])

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)


def test_controllers_that_the_workers_group_does_not_pass_on_are_not_held(make):
    world = make()
    end = f"{world.workers.name}/cgroup.subtree_control"
    world.tree.errors.append(["write", end, errno.EACCES, 1])

    with world.open() as groups:
        assert held(groups.kept) == (True, False, True)
        assert "does not pass on memory: Permission denied" in groups.kept.why


# --- nothing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT])
def test_where_no_group_may_be_made_all_is_watched_from_outside(make, number):
    world = make()
    world.tree.errors.append(["make", world.workers.name, number, 1])

    with world.open() as groups:
        assert held(groups.kept) == (False, False, False)
        assert "this user may not make groups in" in groups.kept.why
        assert groups.make(1) is None
    assert world.groups == set()


@pytest.mark.parametrize(
    "error", [CgroupError("it cannot join"), OSError(errno.EAGAIN, "it cannot join")]
)
def test_where_no_process_can_join_nothing_is_held_and_all_is_undone(make, error):
    world = make()

    def refuse(_):
        raise error

    with world.open(refuse) as groups:
        assert held(groups.kept) == (False, False, False)
        assert "it cannot join" in groups.kept.why
        assert world.groups == set()
        assert world.tree.where(SERVER) == world.own


def test_without_cgroups_nothing_is_held(tmp_path):
    def find():
        raise CgroupError("the kernel has no cgroup v2")

    with open_groups(tmp_path, find) as groups:
        assert groups.kept == Kept(why="the kernel has no cgroup v2")


def test_controllers_that_cannot_be_read_are_no_reason_not_to_start(make):
    world = make()
    world.tree.errors.append(["read", "cgroup.controllers", errno.EACCES, 1])

    with world.open() as groups:
        assert held(groups.kept) == (False, False, False)
        assert "Permission denied" in groups.kept.why
    assert world.groups == set()


# --- left over -----------------------------------------------------------------------------------


def test_groups_of_a_server_that_was_killed_are_ended(make):
    world = make()
    for left in (world.leaf, world.workers, world.workers / "worker-3"):
        world.tree.make(left)
    world.tree.place(77, world.workers / "worker-3")

    with world.open() as groups:
        assert world.tree.where(77) is None
        assert world.tree.below(world.workers) == []
        assert held(groups.kept) == (True, True, True)


def test_groups_of_others_are_left_alone(make):
    world = make(is_machines=True)
    others = [world.own / name for name in ("xingqiao-0123456789abcdef", "xingqiao-mine", "other")]
    for number, other in enumerate(others):
        world.tree.make(other)
        world.tree.place(100 + number, other)

    with world.open():
        pass

    assert [world.tree.where(100 + number) for number in range(3)] == others
    assert world.tree.killed == [JOINER]


def test_what_cannot_be_swept_is_no_reason_not_to_start(make):
    world = make()
    for left in (world.workers, world.workers / "worker-1"):
        world.tree.make(left)
    world.tree.errors.append(["remove", "worker-1", errno.EACCES, 1])

    with world.open() as groups:
        assert held(groups.kept) == (True, True, True)
        assert groups.make(1).path.name == "worker-2"


def test_two_directories_have_groups_of_their_own(make, tmp_path):
    world = make(is_machines=True)
    (tmp_path / "others").mkdir()

    def find():
        return world.place

    with world.open() as one, open_groups(tmp_path / "others", find, world.try_out) as other:
        assert one.make(1).path.parent != other.make(1).path.parent
        assert held(other.kept) == (True, True, True)


# --- this machine's ------------------------------------------------------------------------------


def test_a_real_process_is_tried(kernel_group):
    place = find_place()

    tried(Group(place.tree, kernel_group, frozenset(), lambda *_: None))


@pytest.mark.parametrize("there", [False, True], ids=["no group", "a group that is full"])
def test_a_process_that_cannot_join_is_told(tmp_path, there):
    if there:
        (tmp_path / "cgroup.procs").symlink_to("/dev/full")
    group = Group(find_place().tree, tmp_path, frozenset(), lambda *_: None)

    with pytest.raises(CgroupError, match="cannot be moved"):
        tried(group)


def test_what_this_machine_has_is_found_and_removed(tmp_path, kernel_group):
    assert kernel_group.is_dir()

    with open_groups(tmp_path) as groups:
        assert groups.kept.survivors, groups.kept.why
        made = groups.make(64).path
        assert made.is_dir()

    assert not made.parent.exists()


MOVES = """
import json, sys
from dataclasses import replace
from pathlib import Path
from xingqiao.actions.runtimes import cgroups
from xingqiao.actions.runtimes.cgroupfs import find_place

group, homes, controller = sys.argv[1:]
(Path(group) / "cgroup.procs").write_text("0")
cgroups.CONTROLLERS = {controller: "memory"}
found = replace(find_place(), is_privileged=False)  # the group is left to it
with cgroups.open_groups(Path(homes), lambda: found) as groups:
    during = str(find_place().own)
    has = (groups.make(1).path / "cgroup.controllers").read_text().split()
print(json.dumps([during, has, str(find_place().own)]))
"""


@pytest.fixture
def controller(kernel_group):
    """A controller that this machine's groups can have, and that limits nothing by itself."""
    tree, above = find_place().tree, kernel_group.parent
    there = tree.read(above / "cgroup.controllers").split()
    harmless = [name for name in ("hugetlb", "rdma", "misc") if name in there]
    if not harmless:
        pytest.skip(f"{above} has no controller to try this with: {' '.join(there)}")
    control = above / "cgroup.subtree_control"
    was_passed = harmless[0] in tree.read(control).split()
    try:
        tree.write(control, f"+{harmless[0]}")
    except OSError as error:
        pytest.skip(f"{above} passes no controllers on: {error}")
    yield harmless[0]
    if not was_passed:
        tree.write(control, f"-{harmless[0]}")


def test_the_kernel_lets_a_server_that_is_alone_move_down_and_back(
    tmp_path, kernel_group, controller
):
    done = subprocess.run(
        [sys.executable, "-c", MOVES, kernel_group, tmp_path, controller],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    during, has, after = json.loads(done.stdout)
    assert during == str(kernel_group / f"{name_of(tmp_path)}-server")
    assert has == [controller]
    assert after == str(kernel_group)
    assert find_place().tree.below(kernel_group) == []
