"""The files of cgroup v2: where this process's are, and how the kernel's behave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xingqiao.actions.runtimes.cgroupfs import CgroupError, KernelTree, find_place, own_group

V2 = "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
HYBRID = V1 + "43 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("mounts", "groups", "own", "name"),
    [
        (V2, "0::/system.slice/x.service\n", "/sys/fs/cgroup/system.slice/x.service", None),
        (V2, "0::/\n", "/sys/fs/cgroup", "/"),
        (HYBRID, "4:memory:/a\n0::/b\n", "/sys/fs/cgroup/unified/b", "/b"),
        # A container without a namespace of its own sees its part of the tree.
        (V2.replace(" / /sys", " /docker/1 /sys"), "0::/docker/1/x\n", "/sys/fs/cgroup/x", None),
        (V2.replace("/sys/fs/cgroup", "/a\\040b\\011c"), "0::/x\n", "/a b\tc/x", "/x"),
    ],
    ids=["systemd", "a namespace's root", "hybrid", "bound", "escaped"],
)
def test_the_group_of_this_process_is_found(mounts, groups, own, name):
    found = own_group(mounts, groups)

    assert found == (Path(own), name or groups.strip().rpartition("::")[2])


@pytest.mark.parametrize(
    ("mounts", "groups", "why"),
    [
        (V1, "4:memory:/a\n", "the kernel has no cgroup v2"),
        ("", "", "the kernel has no cgroup v2"),
        (V1, "0::/\n", "not mounted"),
        (V2, "0::/../../x\n", "not mounted"),
        (V2.replace(" / /sys", " /docker/1 /sys"), "0::/docker/2\n", "not mounted"),
        (V2.replace(" / /sys", " /../.. /sys"), "0::/\n", "not mounted"),
    ],
)
def test_a_group_that_is_out_of_sight_is_an_error(mounts, groups, why):
    with pytest.raises(CgroupError, match=why):
        own_group(mounts, groups)


def test_without_proc_there_is_no_place(monkeypatch):
    def refuse(self, *_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "read_text", refuse)

    with pytest.raises(CgroupError, match="No such file"):
        find_place()


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        KernelTree().write(tmp_path / "cgroup.kill", "1")

    assert list(tmp_path.iterdir()) == []


def test_groups_below_are_directories(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    KernelTree().make(tmp_path / "group")

    assert KernelTree().below(tmp_path) == [tmp_path / "group"]
    KernelTree().remove(tmp_path / "group")
    assert KernelTree().below(tmp_path) == []


def test_a_group_that_is_gone_is_not_waited_for(tmp_path):
    KernelTree().wait(tmp_path / "gone", 3600)


@pytest.mark.parametrize("mark", ["user.delegate", "trusted.delegate"])
def test_systemds_mark_says_that_a_group_is_delegated(tmp_path, mark):
    assert not KernelTree().is_delegated(tmp_path)
    assert not KernelTree().is_delegated(tmp_path / "gone")
    try:
        os.setxattr(tmp_path, mark, b"1")
    except OSError as error:
        pytest.skip(f"this file system has no such attributes: {error}")

    assert KernelTree().is_delegated(tmp_path)
    os.setxattr(tmp_path, mark, b"0")
    assert not KernelTree().is_delegated(tmp_path)


def test_the_kernels_group_is_waited_for_until_it_is_empty(kernel_group):
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    tree = KernelTree()
    tree.write(kernel_group / "cgroup.procs", str(process.pid))
    assert tree.read(kernel_group / "cgroup.procs").split() == [str(process.pid)]

    tree.kill(process.pid)
    process.wait()
    tree.wait(kernel_group, 3600)

    assert "populated 0" in tree.read(kernel_group / "cgroup.events")
    process.stdin.close()
