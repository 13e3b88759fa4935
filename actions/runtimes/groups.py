"""Groups of workers in cgroup v2: their limits, and the end of all processes in them."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
from dataclasses import dataclass
from errno import EBUSY, ENOTEMPTY
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .cgroupfs import Tree

log = logging.getLogger(__name__)

MEMORY, PROCESSES = "memory", "processes"
WORKER = "worker-"
ROUNDS = 50  # in which a group is killed before it is left to the next start
MOMENT_S = 0.1  # that a round lasts at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The limits of workers that cgroups enforce here; the others are measured from outside.

    Args:
        survivors: True if the group ends processes that a worker leaves behind.
        memory: True if the group bounds memory.
        processes: True if the group bounds processes.
        why: the reason if one of these is False.
    """

    survivors: bool = False
    memory: bool = False
    processes: bool = False
    why: str = ""


class Group:
    """The group of one worker. No method raises OSError: a limit that cannot be set is measured instead.

    Args:
        tree: the groups' files.
        path: of this group.
        limits: the limits that it can hold, `MEMORY` and `PROCESSES`.
        failed: told what could not be done, and why.
    """

    def __init__(
        self, tree: Tree, path: Path, limits: frozenset[str], failed: Callable[[str, OSError], None]
    ) -> None:
        self.path = path
        self._tree, self._limits, self._failed = tree, limits, failed
        self._set: dict[str, int] = {}

    def limit_memory(self, most: int) -> None:
        """Limits memory to so many bytes. Above that the kernel kills all its processes."""
        if MEMORY not in self._limits or self._set.get(MEMORY) == most:
            return

        def written() -> None:
            self._write("memory.oom.group", 1)
            with contextlib.suppress(FileNotFoundError):  # of a kernel without swap
                self._write("memory.swap.max", 0)
            self._write("memory.max", most)

        self._limit(MEMORY, most, written)

    def limit_processes(self, most: int) -> None:
        """Limits processes and threads. Above that none can be started."""
        if PROCESSES in self._limits:
            self._limit(PROCESSES, most, lambda: self._write("pids.max", most))

    def _limit(self, name: str, most: int, written: Callable[[], None]) -> None:
        try:
            written()
        except OSError as error:
            self._set.pop(name, None)
            self._failed(f"{name} of a worker cannot be bounded", error)
        else:
            self._set[name] = most

    def _write(self, name: str, value: int) -> None:
        self._tree.write(self.path / name, str(value))

    @property
    def limited(self) -> frozenset[str]:
        """The limits that are set."""
        return frozenset(self._set)

    @property
    def holding(self) -> frozenset[str]:
        """The limits that it enforces: none while no process is in it."""
        return self.limited if pids(self._tree, self.path) else frozenset()

    @property
    def ran_out(self) -> bool:
        """True if the kernel has killed its processes because they reached the group's limit of memory."""
        try:
            lines = self._tree.read(self.path / "memory.events").splitlines()
        except OSError:
            return False
        found = dict(line.split(" ", 1) for line in lines)
        # The kernel counts `oom` for the group whose limit was reached, which may be one above.
        return all(int(found.get(name, 0)) > 0 for name in ("oom", "oom_kill"))

    @contextlib.contextmanager
    def joining(self) -> Iterator[int | None]:
        """A file descriptor through which a process joins by writing `0` to it; None if it cannot be opened."""
        try:
            opened = os.open(self.path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            self._failed("a worker cannot join its group", error)
            yield None
            return
        try:
            yield opened
        finally:
            os.close(opened)

    def kill(self) -> None:
        """Kills all processes in it."""
        kill(self._tree, self.path)

    def end(self) -> None:
        """Kills all processes in it, waits for their end, and removes it. It may be called again."""
        end(self._tree, self.path)


class Groups:
    """The groups of a server's workers.

    Args:
        tree: the groups' files; None if groups cannot be made.
        path: of the group that holds them.
        kept: the limits that they enforce.
    """

    def __init__(self, tree: Tree | None, path: Path | None, kept: Kept) -> None:
        self.kept = kept
        self.path, self._tree = path, tree
        self._numbers = itertools.count(1)
        self._told: set[str] = set()

    def make(self, processes: int) -> Group | None:
        """A group for a worker and so many processes; None if it cannot be made."""
        if self._tree is None or self.path is None:
            return None
        while True:
            path = self.path / f"{WORKER}{next(self._numbers)}"
            try:
                self._tree.make(path)
            except FileExistsError:  # the last server left it, and it cannot be removed
                continue
            except OSError as error:
                self._failed("a worker has no group", error)
                return None
            break
        names = {MEMORY: self.kept.memory, PROCESSES: self.kept.processes}
        limits = frozenset(name for name, there in names.items() if there)
        group = Group(self._tree, path, limits, self._failed)
        group.limit_processes(processes)
        return group

    def _failed(self, what: str, error: OSError) -> None:
        """Logs a failure once: every worker would have the same one."""
        if what not in self._told:
            self._told.add(what)
            log.warning("cgroups: %s, so it is measured from outside: %s", what, error)


def pids(tree: Tree, path: Path) -> list[int]:
    """The processes in a group that this process can see."""
    try:
        found = [int(line) for line in tree.read(path / "cgroup.procs").split()]
    except OSError:
        return []  # it is gone, or has threads only
    return [pid for pid in found if pid > 0]  # 0 is one of another namespace


def kill(tree: Tree, path: Path) -> None:
    """Kills all processes in a group and, where the kernel can do that (5.14), in those below."""
    try:
        tree.write(path / "cgroup.kill", "1")
    except OSError:
        with contextlib.suppress(OSError):  # frozen, it cannot fork faster than it is killed
            tree.write(path / "cgroup.freeze", "1")
        for pid in pids(tree, path):
            with contextlib.suppress(OSError):  # it has ended
                tree.kill(pid)
        with contextlib.suppress(OSError):
            tree.write(path / "cgroup.freeze", "0")


def end(tree: Tree, path: Path) -> bool:
    """Kills all processes in a group and in those below, and removes them. True if they are gone."""
    for _ in range(ROUNDS):
        try:
            for below in tree.below(path):
                if not end(tree, below):
                    return False
            tree.remove(path)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno not in (EBUSY, ENOTEMPTY):
                log.warning("cgroups: %s cannot be removed: %s", path, error)
                return False
        else:
            return True
        kill(tree, path)
        tree.wait(path, MOMENT_S)
    log.warning("cgroups: %s cannot be removed, because processes in it do not end", path)
    return False
