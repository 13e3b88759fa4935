"""The resources that a worker and all its processes use together, measured at intervals from outside.

The kernel holds most limits for each process only. The memory that processes share, their sum, and the disk are
measured here. Memory and processes are not measured if the worker's cgroup limits them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .groups import MEMORY, PROCESSES
from .launcher.kernel import descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from .homes import Home

EVERY_S = 0.25
REST = 8  # turns without a measurement of an idle worker
SHARE = 20  # times the duration of a measurement between two: many files take long
BLOCK_BYTES = 512  # as `st_blocks` counts, whatever the file system does
_MEMORY_FILE = "/memfd:"
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The resources of a worker: bytes of unshared memory, bytes on disk, processes and threads."""

    memory: int = 0
    disk: int = 0
    processes: int = 0


class Watch:
    """Measures a worker as long as it lives.

    Args:
        pid: of its first process.
        home: its directories.
        busy: True while it has an assignment.
        seen: gets each measurement.
    """

    def __init__(
        self, pid: int, home: Home, busy: Callable[[], bool], seen: Callable[[Use], None]
    ) -> None:
        self._pid, self._home, self._busy, self._seen = pid, home, busy, seen
        self._loop = asyncio.get_running_loop()
        self._rested = 0
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(EVERY_S, self._look)

    def end(self) -> None:
        """Stops measuring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._rested = 0 if self._busy() else self._rested + 1
        if self._rested % REST:
            self._timer = self._loop.call_later(EVERY_S, self._look)
            return
        began = self._loop.time()
        looking = self._loop.run_in_executor(None, measure, self._pid, self._home)
        looking.add_done_callback(lambda looked: self._told(looked, began))

    def _told(self, looked: asyncio.Future[Use], began: float) -> None:
        if self._timer is None or looked.cancelled():
            return
        took = self._loop.time() - began
        self._timer = self._loop.call_later(max(EVERY_S, SHARE * took), self._look)
        self._seen(looked.result())


def measure(pid: int, home: Home) -> Use:
    """Measures a process with all its descendants, and the files in a worker's directories.

    Resources that the worker's group limits are not measured, and 0.
    """
    pids = descendants(pid)
    held = home.group.holding if home.group is not None else ()
    in_memory, deleted = _open_files(pids)
    return Use(
        memory=0 if MEMORY in held else _memory(pids, in_memory),
        disk=deleted + sum(size for path in home.directories for size in _sizes(path)),
        processes=0 if PROCESSES in held else sum(map(_threads, pids)),
    )


def _memory(pids: Iterable[int], in_memory: int) -> int:
    private = shared = 0
    for each in pids:
        found = _fields(f"/proc/{each}/smaps_rollup") or _fields(f"/proc/{each}/status")
        private += found.get("Pss_Anon", found.get("RssAnon", 0)) + found.get("SwapPss", 0)
        shared += found.get("Pss_Shmem", found.get("RssShmem", 0))
    # A file in memory may be mapped, too, and is then counted already.
    return private + max(shared, in_memory)


def _fields(path: str) -> dict[str, int]:
    """The fields of a file of /proc that are in kB, in bytes."""
    found = {}
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123  it is called often
        for line in file:
            name, _, rest = line.partition(":")
            amount, _, unit = rest.strip().partition(" ")
            if unit == "kB":
                found[name] = int(amount) << 10
    return found


def _threads(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2  # noqa: PTH116  as above
    except OSError:
        return 0


def _open_files(pids: Iterable[int]) -> tuple[int, int]:
    """Bytes of files without a name that are kept open: in memory, and on disk."""
    memory: dict[tuple[int, int], int] = {}
    disk: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208  as above
                path = f"/proc/{pid}/fd/{fd}"
                with contextlib.suppress(OSError):
                    target = os.readlink(path)  # noqa: PTH115
                    if not target.endswith(_DELETED):
                        continue
                    found = os.stat(path)  # noqa: PTH116
                    if stat.S_ISREG(found.st_mode):
                        kept = memory if target.startswith(_MEMORY_FILE) else disk
                        kept[found.st_dev, found.st_ino] = found.st_blocks * BLOCK_BYTES
    return sum(memory.values()), sum(disk.values())


def _sizes(directory: Path) -> Iterator[int]:
    """Bytes on disk of each file below a directory."""
    linked = set()
    left = [str(directory)]
    while left:
        for entry in _entries(left.pop()):
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone
            if stat.S_ISDIR(found.st_mode):
                left.append(entry.path)
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                if found.st_ino in linked:
                    continue
                linked.add(found.st_ino)
            yield found.st_blocks * BLOCK_BYTES


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except PermissionError:
        return _insisted(directory)
    except OSError:
        return []


def _insisted(directory: str) -> list[os.DirEntry[str]]:
    """The entries of a directory that user code has locked: our user owns it, so it can be opened."""
    try:
        os.chmod(directory, 0o700)  # noqa: PTH101
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []
