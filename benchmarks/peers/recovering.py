"""Recovery after kill -9, seen by what the steps themselves have written down: the same for every system."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .marks import STARTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .work import Recovery

LOOK_S = 0.05  # a look costs a millisecond, which the system cannot have
WITHIN_S = 120.0


class NotRecoveredError(Exception):
    """Steps are missing at the end: the system has lost an execution, or was too slow."""


class Recoverable(Protocol):
    """A system with its processes, on one directory."""

    async def begin(self, recovery: Recovery) -> None:
        """Starts the system and its executions. Returns once all starts are durable: none may be lost."""

    def check(self) -> None:
        """Raises an error if a process has ended by itself."""

    async def kill(self) -> None:
        """Ends all its processes with SIGKILL."""

    async def resume(self, recovery: Recovery) -> None:
        """Starts the system again, and returns at once: it goes on by itself."""


async def recover(system: Recoverable, recovery: Recovery) -> dict[str, float]:
    """Kills a system when half of the steps have begun, starts it again, and waits until all have ended.

    Returns first_step_s and all_s, from the start of the processes to the first step that begins, and to the
    end of the last; and how many steps began more than once.

    Raises:
        NotRecoveredError: some steps never ended.
    """
    with tempfile.TemporaryDirectory() as directory:
        recovery = dataclasses.replace(recovery, marks=str(Path(directory) / "marks"))
        total = recovery.executions * recovery.steps
        await system.begin(recovery)
        _let_steps_begin(recovery)
        await _until(system, recovery, "began", total // 2)
        await system.kill()
        restarted_ns = time.time_ns()
        await system.resume(recovery)
        await _until(system, recovery, "ended", total)
        return seen(_lines(recovery), restarted_ns)


def _let_steps_begin(recovery: Recovery) -> None:
    Path(recovery.marks + STARTED).touch()


def seen(lines: Iterator[tuple[tuple[int, int], str, int]], restarted_ns: int) -> dict[str, float]:
    """What the steps' lines say: first_step_s, all_s (from the restart), repeated."""
    began: list[int] = []
    ended: dict[tuple[int, int], int] = {}
    begun: Counter[tuple[int, int]] = Counter()
    for step, word, at_ns in lines:
        if word == "began":
            begun[step] += 1
            began.append(at_ns)
        else:
            ended[step] = min(at_ns, ended.get(step, at_ns))
    return {
        "first_step_s": (min(at for at in began if at >= restarted_ns) - restarted_ns) / 1e9,
        "all_s": (max(ended.values()) - restarted_ns) / 1e9,
        "repeated": sum(begun.values()) - len(begun),
    }


async def _until(system: Recoverable, recovery: Recovery, word: str, count: int) -> None:
    """Waits until so many steps have begun or ended."""
    deadline = time.monotonic() + WITHIN_S
    while (there := len(_steps(recovery, word))) < count:
        if time.monotonic() > deadline:
            raise NotRecoveredError(f"{there} of {count} steps have {word} after {WITHIN_S:.0f} s")
        system.check()
        await asyncio.sleep(LOOK_S)


def _steps(recovery: Recovery, word: str) -> set[tuple[int, int]]:
    return {step for step, said, _ in _lines(recovery) if said == word}


def _lines(recovery: Recovery) -> Iterator[tuple[tuple[int, int], str, int]]:
    path = Path(recovery.marks)
    if path.exists():
        for line in path.read_text("ascii").splitlines():
            execution, step, word, at_ns = line.split()
            yield (int(execution), int(step)), word, int(at_ns)
