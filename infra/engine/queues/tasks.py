"""A task in memory: its state, the times that it must keep, and what its worker gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....composer import TIMEOUT, Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Completion, Invocation, MayHaveRun, Queued, Waiting
    from ....composer import JSON
    from .lines import Poll
    from .states import State

TO_START, TO_END, HEARTBEAT = "to_start", "to_end", "heartbeat"
TEXTS = {
    TO_START: "No worker took the task from the queue '{queue}' within {seconds:g} s.",
    TO_END: "The worker '{worker}' did not answer within {seconds:g} s (attempt {attempt} of {attempts}).",
    HEARTBEAT: "The worker '{worker}' sent no heartbeat for {seconds:g} s (attempt {attempt} of {attempts}).",
}


class Late(NamedTuple):
    """The instant at which a task is late, the time that it then exceeds, and the length of that time."""

    at_ms: int
    which: str
    length_ms: int


class Task:
    """A task in memory.

    Args:
        invocation: of its step.
        queued: the `exec` of its action.
        state: its state. `done` reports another one, and is None while that is being committed.
    """

    __slots__ = ("beat_ms", "done", "invocation", "poll", "queued", "state")

    def __init__(self, invocation: Invocation, queued: Queued, state: State) -> None:
        self.invocation, self.queued, self.state = invocation, queued, state
        self.done: Callable[[Completion], None] | None = None
        self.poll: Poll | None = None  # of the worker that it is being committed for
        self.beat_ms = 0  # when its worker was last heard of

    @property
    def id(self) -> str:
        return self.invocation.activation

    @property
    def place(self) -> tuple[str, str]:
        """Its queue: the namespace of its action, and the name."""
        return self.invocation.action.name.namespace, self.state.queue

    @property
    def waiting(self) -> Waiting:
        """The task as its backlog sees it."""
        return self.state.waiting(self.id, str(self.invocation.action.name), self.queued)

    @property
    def has_attempts(self) -> bool:
        """True if another worker may get it when this one is silent."""
        return self.state.taken_ms is not None and self.state.attempt < self.queued.attempts

    @property
    def ends_ms(self) -> int:
        """The end of the attempt that is under way."""
        return (self.state.taken_ms or 0) + self.invocation.action.limits.timeout_ms

    @property
    def late(self) -> Late | None:
        """The first time that it may exceed."""
        queued, state = self.queued, self.state
        if state.taken_ms is None:
            if queued.to_start_ms is None:
                return None
            return Late(state.since_ms + queued.to_start_ms, TO_START, queued.to_start_ms)
        end = Late(self.ends_ms, TO_END, self.invocation.action.limits.timeout_ms)
        if queued.heartbeat_ms is None:
            return end
        return min(end, Late(self.beat_ms + queued.heartbeat_ms, HEARTBEAT, queued.heartbeat_ms))

    def expired(self, late: Late) -> tuple[Failure, MayHaveRun]:
        """The failure of a task that is late and has no attempts left, and whether it may have run."""
        state = self.state
        text = TEXTS[late.which].format(
            queue=state.queue, worker=state.worker, seconds=late.length_ms / 1000,
            attempt=state.attempt, attempts=self.queued.attempts,
        )  # fmt: skip
        error: dict[str, JSON] = {"code": TIMEOUT, "message": text, "timeout": late.which}
        return Failure(TIMEOUT, error), "no" if state.attempt == 0 else "unknown"

    def shown(self, token: str) -> dict[str, JSON]:
        """The task as its worker gets it."""
        invocation, heartbeat_ms = self.invocation, self.queued.heartbeat_ms
        again = invocation.again
        return {
            "token": token,
            "action": str(invocation.action.name),
            "params": invocation.params,
            "attempt": self.state.attempt,
            "attempts": self.queued.attempts,
            "activation": invocation.activation,
            "key": invocation.idempotency_key,
            "heartbeat": None if heartbeat_ms is None else heartbeat_ms / 1000,
            "details": None if again is None else again.details,
            "deadline": self.ends_ms,
            "traceparent": invocation.traceparent,
        }
