"""The resources that a worker and everything it has started use together, measured at intervals from outside.

Most limits that the kernel holds are by process: what is shared between processes, what several take
together, and the disk are seen here. Memory and processes are not where the worker's cgroup holds them.
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
REST = 8  # turns that one with nothing to do is left alone for
SHARE = 20  # times what a look takes, that there is at least between two: many files take long
BLOCK_BYTES = 512  # as `st_blocks` counts, whatever the file system does
_MEMORY_FILE = "/memfd:"
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a worker takes: bytes of memory that nothing else needs, bytes on disk, processes and threads."""

    memory: int = 0
    disk: int = 0
    processes: int = 0


class Watch:
    """Looks at a worker as long as it lives.

    Args:
        pid: of the process that it stems from.
        home: its directories.
        busy: whether it has something to do.
        seen: is told what it takes.
    """

    def __init__(
        self, pid: int, home: Home, busy: Callable[[], bool], seen: Callable[[Use], None]
    ) -> None:
        self._pid, self._home, self._busy, self._seen = pid, home, busy, seen
        self._loop = asyncio.get_running_loop()
        self._rested = 0
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(EVERY_S, self._look)

    def end(self) -> None:
        """Looks no more."""
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
    """What all that stems from a process takes, and what lies in a worker's directories.

    What the worker's group holds is not measured, and 0.
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
    # What lies in memory as a file may be mapped, too, and is then counted already.
    return private + max(shared, in_memory)


def _fields(path: str) -> dict[str, int]:
    """What a file of /proc says in kB, in bytes."""
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
    """Bytes of files that have no name but are kept open: in memory, and on disk."""
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
    """Entries of a directory that user code has locked: it is our user's, so it can be opened."""
    try:
        os.chmod(directory, 0o700)  # noqa: PTH101
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []
