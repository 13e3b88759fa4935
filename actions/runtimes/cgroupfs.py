"""The files of cgroup v2, and this process's place among them."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from ...composer import Error

MARKS = ("user.delegate", "trusted.delegate")  # systemd's, on a group that it leaves to a service


class CgroupError(Error):
    """Groups cannot be made here. The text says why."""


class Tree(Protocol):
    """The operations on groups, which are directories.

    Every method but `is_delegated` and `wait` raises OSError when the kernel refuses.
    """

    def read(self, path: Path) -> str:
        """The text of a file."""

    def write(self, path: Path, text: str) -> None:
        """Writes to a file that exists."""

    def make(self, group: Path) -> None:
        """Makes a group."""

    def remove(self, group: Path) -> None:
        """Removes a group without processes and without groups below."""

    def below(self, group: Path) -> list[Path]:
        """The groups directly below a group."""

    def kill(self, pid: int) -> None:
        """Kills a process."""

    def wait(self, group: Path, seconds: float) -> None:
        """Returns when a group has no processes, or after so many seconds."""

    def is_delegated(self, group: Path) -> bool:
        """True if systemd leaves the groups below this one to a service."""


class KernelTree:
    """The kernel's own files. A `Tree`."""

    def read(self, path: Path) -> str:
        return path.read_text("ascii", "replace")

    def write(self, path: Path, text: str) -> None:
        # Without O_CREAT, for which the kernel has another error than for a file that is missing.
        opened = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(opened, text.encode())
        finally:
            os.close(opened)

    def make(self, group: Path) -> None:
        group.mkdir(mode=0o755)

    def remove(self, group: Path) -> None:
        group.rmdir()

    def below(self, group: Path) -> list[Path]:
        with os.scandir(group) as found:
            return [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def wait(self, group: Path, seconds: float) -> None:
        try:
            with (group / "cgroup.events").open("rb", buffering=0) as events:
                poll = select.poll()
                poll.register(events, select.POLLPRI)
                if b"populated 1" in events.read():  # read first: it tells of changes since then
                    poll.poll(seconds * 1000)
        except OSError:
            return  # it is gone

    def is_delegated(self, group: Path) -> bool:
        for mark in MARKS:
            try:
                if os.getxattr(group, mark) == b"1":
                    return True
            except OSError:
                continue  # it has none, or this user must not see it
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of this process among the groups.

    Args:
        tree: the groups' files.
        own: the group of this process.
        pid: of this process.
        is_root: True if `own` is the root, of the machine or of a container's namespace.
        is_privileged: True if this process may write to groups that are not delegated to it.
    """

    tree: Tree
    own: Path
    pid: int
    is_root: bool
    is_privileged: bool


def find_place() -> Place:
    """The place of this process.

    Raises:
        CgroupError: cgroup v2 is not mounted, or its files cannot be seen from here.
    """
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        groups = Path("/proc/self/cgroup").read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise CgroupError(f"/proc does not name this process's group: {error.strerror}") from error
    own, name = own_group(mounts, groups)
    return Place(
        tree=KernelTree(),
        own=own,
        pid=os.getpid(),
        is_root=name == "/",
        is_privileged=os.geteuid() == 0,
    )


def own_group(mounts: str, groups: str) -> tuple[Path, str]:
    """The directory of a process's group and the group's name, from its `mountinfo` and `cgroup` in /proc.

    Raises:
        CgroupError: cgroup v2 is not mounted, or the directory cannot be seen from here.
    """
    names = [line.removeprefix("0::") for line in groups.splitlines() if line.startswith("0::")]
    if not names:
        raise CgroupError("the kernel has no cgroup v2")
    name = PurePosixPath(names[0])
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        if not kind.startswith("cgroup2 "):
            continue
        root, point = (_unescaped(field) for field in place.split(" ")[3:5])
        if name.is_relative_to(root) and ".." not in name.relative_to(root).parts:
            return Path(point) / name.relative_to(root), str(name)
    raise CgroupError("cgroup v2 is not mounted where this process can see its own group")


def _unescaped(field: str) -> str:
    """A path of `mountinfo`, which writes spaces and the like as octal numbers."""
    head, *rest = field.split("\\")
    return head + "".join(chr(int(part[:3], 8)) + part[3:] for part in rest)
