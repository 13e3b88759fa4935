"""The state of a task, which its fiber keeps: whether it waits or which worker has it, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import Waiting
from ....composer import changed, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ....actions import Queued
    from ....composer import JSON


@frozen
class State:
    """The state of a task.

    Args:
        queue: its queue.
        order: its place among all tasks of the server.
        priority: from 1, the highest, to 5.
        key: for turns and limits.
        version: of the only workers that may take it; "" for all.
        since_ms: when it began to wait.
        attempt: how many workers have got it.
        taken_ms: when the worker got it; None while it waits.
        worker: the name of that worker.
    """

    queue: str
    order: int
    priority: int
    key: str
    version: str
    since_ms: int
    attempt: int = 0
    taken_ms: int | None = None
    worker: str = ""

    def taken(self, worker: str, now_ms: int) -> State:
        """The state when a worker gets it."""
        return changed(self, attempt=self.attempt + 1, taken_ms=now_ms, worker=worker)

    def again(self, now_ms: int) -> State:
        """The state when it waits for another worker: its place in the queue is the old one."""
        return changed(self, taken_ms=None, worker="", since_ms=now_ms)

    def kept(self) -> State:
        """The state when its worker went before it got the task: nobody has had it."""
        return changed(self, attempt=self.attempt - 1, taken_ms=None, worker="")

    def waiting(self, id: str, action: str, queued: Queued) -> Waiting:
        """The task as its backlog sees it."""
        return Waiting(
            id,
            self.order,
            self.priority,
            self.key,
            self.version,
            action,
            queued.bound,
            queued.keyed,
        )

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> State:
        """Reads what `to_json` wrote."""
        return cls(**doc)

    def to_json(self) -> dict[str, JSON]:
        """The members that are not the defaults."""
        doc: dict[str, JSON] = {
            "queue": self.queue, "order": self.order, "priority": self.priority, "key": self.key,
            "version": self.version, "since_ms": self.since_ms,
        }  # fmt: skip
        if self.attempt:
            doc["attempt"] = self.attempt
        if self.taken_ms is not None:
            doc |= {"taken_ms": self.taken_ms, "worker": self.worker}
        return doc
