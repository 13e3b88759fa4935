"""One queue: its backlog, the workers that poll for its tasks, and the workers that were seen lately."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from ....actions import Backlog, Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Waiting
    from ....composer import JSON

FORGET_MS = 300_000  # after which a worker that does not poll is not shown
MOST_SEEN = 1_000  # workers of a queue that are remembered


class Poll:
    """A worker's request for tasks.

    Args:
        worker: its name.
        version: of the worker.
        count: tasks that it takes at most.
        answered: gets true once tasks are assigned and durable.
    """

    __slots__ = ("answered", "assigned", "count", "ready", "turn", "version", "worker")

    def __init__(
        self, worker: str, version: str, count: int, answered: asyncio.Future[bool]
    ) -> None:
        self.worker, self.version, self.count, self.answered = worker, version, count, answered
        self.assigned: set[str] = set()  # tasks that are being committed as its own
        self.ready: list[tuple[Any, int]] = []  # those that are durable, with the attempt
        self.turn = 0

    @property
    def gone(self) -> bool:
        """True if the worker does not wait for an answer any more."""
        return self.answered.done()

    def settle(self) -> None:
        """Answers once nothing that is assigned is being committed any more."""
        if not self.assigned and not self.answered.done():
            self.answered.set_result(True)


class _Seen:
    """A worker that was seen."""

    __slots__ = ("last_ms", "slots", "version")

    def __init__(self, version: str, slots: int, last_ms: int) -> None:
        self.version, self.slots, self.last_ms = version, slots, last_ms


class Line:
    """One queue."""

    def __init__(self, rules: Rules | None) -> None:
        self.backlog = Backlog(rules)
        self.since_ms: dict[str, int] = {}  # waiting tasks, and since when
        self.alarm: asyncio.TimerHandle | None = None
        self._polls: dict[str, deque[Poll]] = {}  # by version
        self._turns = 0
        self._seen: dict[str, _Seen] = {}

    @property
    def polls(self) -> int:
        """The number of workers that wait for a task."""
        return sum(map(len, self._polls.values()))

    def idle(self, now_ms: int) -> bool:
        """True if nothing of it need be remembered."""
        self._forget(now_ms)
        used = self.backlog or self.backlog.under_way or self._polls or self.alarm
        return not (used or self._seen)

    def see(self, worker: str, version: str, slots: int, now_ms: int) -> None:
        """Notes that a worker has been heard of."""
        self._seen.pop(worker, None)
        self._seen[worker] = _Seen(version, slots, now_ms)
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    def heard(self, worker: str, now_ms: int) -> None:
        """Notes that a worker has sent a heartbeat."""
        seen = self._seen.get(worker)
        if seen is not None:
            seen.last_ms = now_ms

    def change(self, rules: Rules | None, now_ms: int) -> None:
        """Replaces the rules of its tasks."""
        self.backlog.change(rules or Rules(), now_ms)

    def close(self) -> None:
        """Ends the wait of all workers."""
        self.quiet()
        for polls in self._polls.values():
            for poll in polls:
                poll.settle()

    def quiet(self) -> None:
        """Ends the wait for a rate."""
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def wake(self, now_ms: int, look: Callable[[], None]) -> None:
        """Has tasks looked at when a rate lets one pass, if a worker waits."""
        self.quiet()
        next_ms = self.backlog.next_ms
        if next_ms is not None and self._polls:
            delay_s = max(0, next_ms - now_ms) / 1000
            self.alarm = asyncio.get_running_loop().call_later(delay_s, self._rings, look)

    def _rings(self, look: Callable[[], None]) -> None:
        self.alarm = None
        look()

    def waits(self, poll: Poll) -> None:
        """Has a worker wait behind the others."""
        self._turns += 1
        poll.turn = self._turns
        self._polls.setdefault(poll.version, deque()).append(poll)

    def leaves(self, poll: Poll) -> None:
        """Has a worker wait no longer."""
        polls = self._polls.get(poll.version)
        if polls is not None and poll in polls:
            polls.remove(poll)
            if not polls:
                del self._polls[poll.version]

    def forget(self, worker: str) -> None:
        """Ends the wait of a worker, which stops."""
        self._seen.pop(worker, None)
        for polls in [*self._polls.values()]:
            for poll in [poll for poll in polls if poll.worker == worker]:
                self.leaves(poll)
                poll.settle()

    def matched(self, now_ms: Callable[[], int]) -> list[tuple[Poll, list[Waiting]]]:
        """Tasks for workers: the worker that has waited longest chooses first."""
        found: list[tuple[Poll, list[Waiting]]] = []
        idle: set[str] = set()  # versions whose workers may take nothing now
        while fronts := [polls[0] for of, polls in self._polls.items() if of not in idle]:
            poll = min(fronts, key=_turn)
            tasks: list[Waiting] = []
            while len(tasks) < poll.count:
                task = self.backlog.take(now_ms(), poll.version)
                if task is None:
                    break
                tasks.append(task)
            if tasks:
                self.leaves(poll)
                found.append((poll, tasks))
            else:
                idle.add(poll.version)
        return found

    def shown(self, now_ms: int) -> dict[str, JSON]:
        """The backlog, its age, and the workers by version."""
        self._forget(now_ms)
        versions: dict[str, Any] = {}
        for worker, seen in self._seen.items():
            about = versions.setdefault(seen.version, {"slots": 0, "lastSeen": 0, "workers": []})
            about["slots"] += seen.slots
            about["lastSeen"] = max(about["lastSeen"], seen.last_ms)
            about["workers"].append(worker)
        oldest_ms = min(self.since_ms.values(), default=None)
        return {
            "backlog": len(self.backlog),
            "oldestMs": None if oldest_ms is None else max(0, now_ms - oldest_ms),
            "underWay": self.backlog.under_way,
            "polling": self.polls,
            "workers": versions,
        }

    def _forget(self, now_ms: int) -> None:
        late = [name for name, seen in self._seen.items() if now_ms - seen.last_ms > FORGET_MS]
        for worker in late:
            del self._seen[worker]


def _turn(poll: Poll) -> int:
    return poll.turn
