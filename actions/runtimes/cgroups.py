"""Finds out which groups of cgroup v2 this server may make, and makes one for all of its workers.

    BASE                         the server's own group, or one above that systemd leaves to it
      xingqiao-TAG               groups of the workers; TAG stands for their directory
        worker-1, worker-2, ...
      xingqiao-TAG-server        the server itself, where it had to leave BASE

Only a group without processes can pass controllers on to groups below, so a server that is alone in a
group that it may use moves one level down. Nothing but this process is ever moved.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import subprocess
import sys
from errno import EBUSY
from typing import TYPE_CHECKING

from .cgroupfs import CgroupError, find_place
from .groups import MEMORY, PROCESSES, Group, Groups, Kept, end, pids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .cgroupfs import Place

log = logging.getLogger(__name__)

OURS = "xingqiao-"
TAG_DIGITS = 16
CONTROLLERS = {"memory": MEMORY, "pids": PROCESSES}
TRIED_BYTES, TRIED_PROCESSES = 1 << 30, 64
TRIAL_S = 20.0
_JOIN = "import os, sys; os.write(int(sys.argv[1]), b'0'); os.write(1, b'joined'); sys.stdin.buffer.read()"


@contextlib.contextmanager
def open_groups(
    homes: Path,
    find: Callable[[], Place] = find_place,
    trial: Callable[[Group], None] | None = None,
) -> Iterator[Groups]:
    """Groups for the workers with directories in `homes`, which no other server may use now.

    Groups that a killed server has left for the same directory are ended. No exception is raised if groups
    cannot be made: `kept` of the result has the reason.

    Args:
        homes: directory of the workers' directories.
        find: finds the place of this process.
        trial: raises OSError if a process cannot join a group and be killed by it; None for a real trial.
    """
    with contextlib.ExitStack() as undone:
        try:
            groups = _Opening(find(), homes, undone).groups(trial or tried)
        except (CgroupError, OSError) as error:
            undone.close()
            groups = Groups(None, None, Kept(why=str(error)))
        yield groups


class _Opening:
    def __init__(self, place: Place, homes: Path, undone: contextlib.ExitStack) -> None:
        self._tree, self._place, self._undone = place.tree, place, undone
        above = place.own.parent
        in_leaf = self._tree.is_delegated(above) and not self._tree.is_delegated(place.own)
        self._base = above if in_leaf else place.own
        self._workers = self._base / name_of(homes)
        self._leaf = self._base / f"{self._workers.name}-server"
        self._why: list[str] = []
        self._busy = False  # True if processes in the base block it
        self._has_moved = False

    def groups(self, trial: Callable[[Group], None]) -> Groups:
        end(self._tree, self._workers)  # of a server that was killed
        if self._leaf != self._place.own:
            with contextlib.suppress(OSError):
                self._tree.remove(self._leaf)
        try:
            self._make(self._workers)
        except OSError as error:
            text = f"this user may not make groups in {self._base}: {error.strerror}"
            raise CgroupError(text) from error
        self._undone.callback(end, self._tree, self._workers)
        held = self._held(trial)
        kept = Kept(
            survivors=True,
            memory=MEMORY in held,
            processes=PROCESSES in held,
            why="; ".join(dict.fromkeys(self._why)),
        )
        return Groups(self._tree, self._workers, kept)

    def _make(self, group: Path) -> None:
        with contextlib.suppress(FileExistsError):
            self._tree.make(group)

    def _held(self, trial: Callable[[Group], None]) -> frozenset[str]:
        """The limits that a group can have, tried out with one."""
        passed = [name for name in self._passed() if self._pass_on(self._workers, name)]
        names = frozenset(CONTROLLERS[name] for name in passed)
        tried = Group(self._tree, self._workers / "trial", names, self._refused)
        self._make(tried.path)
        try:
            tried.limit_memory(TRIED_BYTES)
            tried.limit_processes(TRIED_PROCESSES)
            trial(tried)
        finally:
            tried.end()
        return tried.limited

    def _refused(self, what: str, error: OSError) -> None:
        self._why.append(f"{what}: {error.strerror}")

    def _passed(self) -> Sequence[str]:
        """The controllers that the base has and passes on to groups below."""
        there = self._tree.read(self._base / "cgroup.controllers").split()
        missing = [name for name in CONTROLLERS if name not in there]
        if missing:
            text = f"{self._base} has no cgroup v2 controller named {' or '.join(missing)}"
            self._why.append(text)
        wanted = [name for name in CONTROLLERS if name in there]
        passed = [name for name in wanted if self._pass_on(self._base, name)]
        if self._busy and self._may_move():
            return self._moved(wanted)
        return passed

    def _pass_on(self, group: Path, name: str) -> bool:
        """Makes a group pass a controller on to the groups below. True on success."""
        control = group / "cgroup.subtree_control"
        try:
            if name not in self._tree.read(control).split():
                self._tree.write(control, f"+{name}")
        except OSError as error:
            if error.errno == EBUSY and group == self._base and not self._has_moved:
                self._busy = True
            else:
                self._why.append(f"{group} does not pass on {name}: {error.strerror}")
            return False
        return True

    def _may_move(self) -> bool:
        """Checks that this process may leave the base: it is alone there, and the base is delegated to it."""
        others = [pid for pid in pids(self._tree, self._base) if pid != self._place.pid]
        if others or self._place.own != self._base:
            self._why.append(f"other processes are in {self._base}")
            return False
        place = self._place
        if not place.is_privileged or place.is_root or self._tree.is_delegated(self._base):
            return True
        self._why.append(f"{self._base} is not delegated to this server")
        return False

    def _moved(self, wanted: Sequence[str]) -> list[str]:
        """Moves this process down, and returns the controllers that the base passes on then."""
        with contextlib.ExitStack() as back:
            try:
                self._make(self._leaf)
                back.callback(self._move_back, wanted)
                self._tree.write(self._leaf / "cgroup.procs", str(self._place.pid))
            except OSError as error:
                self._why.append(f"this process cannot move to {self._leaf}: {error.strerror}")
                return []
            self._has_moved = True
            passed = [name for name in wanted if self._pass_on(self._base, name)]
            if passed:
                log.info("cgroups: this server has moved to %s", self._leaf)
                kept = back.pop_all()
                self._undone.callback(kept.close)
                # Before that: the base passes controllers on for as long as groups below use them.
                self._undone.callback(end, self._tree, self._workers)
            return passed

    def _move_back(self, wanted: Sequence[str]) -> None:
        for name in wanted:
            with contextlib.suppress(OSError):
                self._tree.write(self._base / "cgroup.subtree_control", f"-{name}")
        with contextlib.suppress(OSError):
            self._tree.write(self._base / "cgroup.procs", str(self._place.pid))
            self._tree.remove(self._leaf)


def name_of(homes: Path) -> str:
    """The name of the group for the workers of a directory, unique on this machine."""
    found = homes.stat()
    text = f"{homes.resolve()}:{found.st_dev}:{found.st_ino}"
    return OURS + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:TAG_DIGITS]


def tried(group: Group) -> None:
    """Makes a process join a group, and kills the process by the group.

    Raises:
        CgroupError: the process cannot join.
        OSError: the process cannot be started.
    """
    with group.joining() as opened:
        if opened is None:
            raise CgroupError("a process cannot be moved to a group of a worker")
        with subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-I", "-S", "-c", _JOIN, str(opened)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[opened],
        ) as process:
            try:
                _try(group, process)
            finally:
                process.kill()


def _try(group: Group, process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None  # noqa: S101  it is a pipe
    if process.stdout.read(len("joined")) != b"joined":
        _, said = process.communicate()
        text = said.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise CgroupError(f"a process cannot be moved to a group of a worker: {' '.join(text)}")
    group.kill()
    try:
        process.wait(TRIAL_S)
    except subprocess.TimeoutExpired:
        raise CgroupError("a group of a worker cannot be killed") from None
