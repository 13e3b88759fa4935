"""An assignment: an invocation on its way through the workers, and what has come of it so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..lambdas import function_of, handler_outcome, lambda_failure
from ..outcome import Completion, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...composer import JSON, Failure, Success
    from ..coded import Code
    from ..invocation import Invocation

TRUNCATED = "Logs were truncated because the total bytes size exceeds the limit of {limit} bytes."


class Key(NamedTuple):
    """The work that a worker can do: a namespace, a piece of code, and the limits that it has loaded."""

    namespace: str
    code: str
    memory_mb: int
    logs_mb: int
    concurrency: int = 1


class Holder(Protocol):
    """The worker that has an assignment."""

    def cancel(self, assignment: Assignment, failure: Failure) -> None:
        """Stops an assignment, which fails."""


class Assignment:
    """An invocation on its way through a worker."""

    __slots__ = ("alone", "code", "deadline_s", "done", "function", "init_ms", "invocation", "key", "lacking",
                 "log_left", "logs", "queued_s", "sent", "started_ms", "worker")  # fmt: skip

    def __init__(
        self, invocation: Invocation, code: Code, done: Callable[[Completion], None]
    ) -> None:
        limits = invocation.action.limits
        self.invocation, self.code, self.done = invocation, code, done
        self.key = Key(
            invocation.namespace, code.hash, limits.memory_mb, limits.logs_mb, limits.concurrency
        )
        inline = invocation.function is not None
        self.function = None if inline else function_of(invocation.action)
        # It is told its deadline, or has credentials until then: so it is sent only when it can begin.
        self.alone = self.function is not None or invocation.action.marked("provide-api-key")
        self.worker: Holder | None = None  # that has it
        self.queued_s = 0.0  # by the event loop's clock, as the next
        self.deadline_s = 0.0
        self.sent = 0  # the number of workers that have got it
        self.started_ms = 0
        self.init_ms: int | None = None
        self.logs: list[str] = []
        self.log_left = limits.logs_mb << 20
        self.lacking = False  # packages that it may do without could not be installed

    @property
    def timeout_s(self) -> float:
        return self.invocation.action.limits.timeout_ms / 1000

    def tell(self, text: str, now_ms: int) -> None:
        """Writes lines of the server's own into the log."""
        for line in text.splitlines():
            told = f"{timestamp(now_ms)} stdout: {line}"
            self.log_left -= len(told.encode()) + 1
            if self.log_left >= 0:
                self.logs.append(told)

    def log(self, line: str, now_ms: int) -> None:
        """Writes a line of the worker's into the log, if there is room for it."""
        if self.log_left < 0:
            return
        self.log_left -= len(line.encode()) + 1
        if self.log_left < 0:
            limit = self.invocation.action.limits.logs_mb << 20
            line = f"{timestamp(now_ms)} stderr: {TRUNCATED.format(limit=limit)}"
        self.logs.append(line)

    def fits(self, value: Any, variables: Any) -> bool:
        """True if a worker may answer so: only an inline function returns something else than an object or array."""
        inline = self.invocation.function is not None
        return isinstance(variables, dict) and (inline or isinstance(value, (dict, list)))

    def outcome(self, value: Any) -> Success | Failure:
        """The outcome in an answer that fits."""
        return outcome_of(value) if self.function is None else handler_outcome(value)

    def failed(self, failure: Failure) -> Failure:
        """A failure of its environment, as the action's kind has it."""
        return failure if self.function is None else lambda_failure(failure, self.invocation)

    def completion(
        self, outcome: Success | Failure, variables: dict[str, JSON] | None, now_ms: int
    ) -> Completion:
        """Its completion, when it has ended."""
        started_ms = self.started_ms or now_ms
        return Completion(outcome, started_ms, now_ms, self.logs, self.init_ms, variables)


def timestamp(now_ms: int) -> str:
    """The time at the start of a line of a log."""
    seconds, ms = divmod(now_ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ms:03}000000Z"
