"""A worker, seen from the server: the process loads code, then runs one activation at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from ...composer import TIMEOUT, Failure, Success, classes_told
from ..lambdas import function_of, handler_outcome, handler_request, lambda_failure
from ..outcome import (
    BAD_RESPONSE,
    CRASHED,
    EXITED,
    FAILURES,
    UNAVAILABLE,
    Completion,
    outcome_of,
)
from .process import Process
from .sandbox import Program, Room

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...composer import JSON
    from ..coded import Code
    from ..invocation import Invocation
    from ..model import Action
    from ..ports import Clock
    from .environments import Lease
    from .languages import Language
    from .packages import Packages
    from .sandbox import Sandbox
    from .watch import Use

log = logging.getLogger(__name__)


class Key(NamedTuple):
    """The work that a worker can do: a namespace, a piece of code, and the memory and log limits that it has loaded."""

    namespace: str
    code: str
    memory_mb: int
    logs_mb: int


INIT_S = 10.0  # Lambda's time limit for loading a function
OUT_OF_MEMORY = "The action exhausted its memory and was aborted."
OUT_OF_HEAP = "JavaScript heap out of memory"  # Node.js' last line
MOST_SENT = 3  # attempts, if each worker dies before the code of the invocation has begun
LAST_LINES = 40  # of a log, which may hold `OUT_OF_HEAP`
TRUNCATED = "Logs were truncated because the total bytes size exceeds the limit of {limit} bytes."


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings that all workers share.

    Args:
        result_bytes: the longest result.
        directory: the parent of the workers' directories; None for the system's temporary one.
        environment: variables such as the API host.
        packages: provides code with the packages that it needs; None to provide none.
        action_key: makes credentials of a namespace that are valid until an instant, in ms.
    """

    result_bytes: int = 1 << 20
    directory: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    packages: Packages | None = None
    action_key: Callable[[str, int], str] | None = None


class Assignment:
    """An invocation on its way through a worker."""

    __slots__ = ("code", "done", "function", "init_ms", "invocation", "key", "lacking", "log_left",
                 "logs", "queued_s", "sent", "started_ms")  # fmt: skip

    def __init__(
        self, invocation: Invocation, code: Code, done: Callable[[Completion], None]
    ) -> None:
        limits = invocation.action.limits
        self.invocation, self.code, self.done = invocation, code, done
        self.key = Key(invocation.namespace, code.hash, limits.memory_mb, limits.logs_mb)
        inline = invocation.function is not None
        self.function = None if inline else function_of(invocation.action)
        self.queued_s = 0.0  # by the event loop's clock
        self.sent = 0  # the number of workers that have got it
        self.started_ms = 0
        self.init_ms: int | None = None
        self.logs: list[str] = []
        self.log_left = limits.logs_mb << 20
        self.lacking = False  # packages that it may do without could not be installed

    def tell(self, text: str, now_ms: int) -> None:
        """Writes lines of the server's own into the log."""
        for line in text.splitlines():
            told = f"{timestamp(now_ms)} stdout: {line}"
            self.log_left -= len(told.encode()) + 1
            if self.log_left >= 0:
                self.logs.append(told)


class Owner(Protocol):
    """Learns about the events of a worker."""

    def idle(self, worker: Worker) -> None:
        """The worker has nothing to do."""

    def ended(self, worker: Worker) -> None:
        """The worker has ended."""

    def finished(
        self, assignment: Assignment, outcome: Success | Failure, variables: dict[str, JSON] | None
    ) -> None:
        """An assignment has ended, with success or failure."""

    def again(self, assignment: Assignment) -> None:
        """An assignment's worker died before any of its code had begun: another worker must run it."""


class Worker:
    """A worker process and its current assignment.

    `key` is the work that it can do; before it has loaded code, only its `language` is set.
    """

    def __init__(
        self, language: Language, settings: WorkerSettings, clock: Clock, owner: Owner
    ) -> None:
        self.language = language
        self.key: Key | None = None
        self.uses = 0
        self.assignment: Assignment | None = None
        self._settings, self._clock, self._owner = settings, clock, owner
        # A result and the variables, each as long as a result may be.
        self._process = Process(2 * settings.result_bytes, self._heard, self._printed)
        self._room = Room()
        self._initialized = False
        self._timer: asyncio.TimerHandle | None = None
        self._lease: Lease | None = None
        self._lacking = False

    async def start(self, sandbox: Sandbox, memory_mb: int, lease: Lease | None = None) -> None:
        """Starts the process, with packages that it keeps in use until it ends.

        Raises:
            OSError: it cannot be started.
        """
        self._lease = lease
        packages = None if lease is None else lease.packages
        program = Program(
            language=self.language,
            memory_mb=memory_mb,
            environment={"NODE_PATH": str(packages)} if packages and self.language.heap else {},
            packages=packages,
        )
        await self._process.start(sandbox, program, self._settings.directory)
        self._room = sandbox.room
        self._process.watch(lambda: self.assignment is not None, self._measured)

    def run(self, assignment: Assignment) -> None:
        """Runs an assignment, which must have this worker's key. The worker must be idle or new."""
        self.assignment, self.uses = assignment, self.uses + 1
        assignment.sent += 1
        assignment.started_ms = self._clock.now_ms()
        self._lacking |= assignment.lacking
        self._limit(assignment, 0 if assignment.function is None or self._initialized else INIT_S)
        if self._initialized:
            self._process.say(orjson.dumps(self._request(assignment)))
        else:
            # A worker that was started ahead had another limit until now.
            self._process.limit_memory(self.language.most_mb(assignment.key.memory_mb) << 20)
            self._process.say(orjson.dumps({"init": self._init(assignment)}))

    def end(self, failure: Failure | None = None) -> None:
        """Kills the process. Its assignment fails with `failure`."""
        self._process.drain()
        assignment, self.assignment = self.assignment, None
        self._quiet()
        self._process.end()
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()
        self._owner.ended(self)
        if assignment is not None and failure is not None:
            told = (
                failure
                if assignment.function is None
                else lambda_failure(failure, assignment.invocation)
            )
            self._owner.finished(assignment, told, None)

    # --- requests ----------------------------------------------------------------------------

    def _init(self, assignment: Assignment) -> dict[str, Any]:
        action, code = assignment.invocation.action, assignment.code
        return {
            "name": action.name.name,
            "code": code.text,
            "main": code.main,
            "binary": code.binary,
            "functions": code.functions,
            "packages": None if self._lease is None else str(self._lease.packages),
            "memory_bytes": action.limits.memory_mb << 20,
            "logs_bytes": action.limits.logs_mb << 20,
            "result_bytes": self._settings.result_bytes,
            "env": {
                **self._settings.environment,
                "__OW_NAMESPACE": assignment.invocation.namespace,
                **_named(action),
            },
        }

    def _request(self, assignment: Assignment) -> dict[str, JSON]:
        invocation, make_key = assignment.invocation, self._settings.action_key
        began_ms = assignment.started_ms if assignment.function is None else self._clock.now_ms()
        deadline_ms = began_ms + invocation.action.limits.timeout_ms
        key = None  # also if None: the key of an earlier run of the same code must not stay
        if make_key is not None and invocation.action.marked("provide-api-key"):
            key = make_key(invocation.namespace, deadline_ms)
        params: JSON = invocation.params
        if assignment.function is not None:
            params = handler_request(invocation, assignment.function, deadline_ms)
        request: dict[str, JSON] = {
            "params": params,
            "env": {
                **_named(invocation.action),  # several actions may have the same code
                "__OW_ACTIVATION_ID": invocation.activation,
                "__OW_TRANSACTION_ID": invocation.transaction,
                "__OW_API_KEY": key,
                "__OW_DEADLINE": str(deadline_ms),
                "__OW_IDEMPOTENCY_KEY": invocation.idempotency_key,
                "__OW_COMPLETION_TOKEN": invocation.token,
            },
        }
        if invocation.function is not None:
            request["function"] = invocation.function
            request["variables"] = invocation.variables
        return request

    # --- messages ----------------------------------------------------------------------------

    def _heard(self, document: Any) -> None:
        """Handles a message of the worker. User code can send anything in the worker's name."""
        assignment = self.assignment
        if document is None:
            self._died()
            return
        if assignment is None:
            return  # a message without a request
        match document:
            case {"value": value, **rest} if _fits(assignment, value, rest):
                outcome = (
                    outcome_of(value) if assignment.function is None else handler_outcome(value)
                )
                self._finish(outcome, document.get("variables"))
            case {"log": str(line)}:
                self._log(assignment, line)
            case {"ready": True} if not self._initialized:
                self._initialized = True
                assignment.init_ms = max(0, self._clock.now_ms() - assignment.started_ms)
                if assignment.function is not None:
                    self._limit(assignment)
                self._process.say(orjson.dumps(self._request(assignment)))
            case {"error": error, "code": str(code), **rest} if code in FAILURES:
                variables = rest.get("variables")
                self._finish(
                    Failure(code, error, classes_told(rest.get("raised"))),
                    variables if isinstance(variables, dict) else None,
                )
            case {"full": str(reason)} if not self._initialized:
                text = f"The disk has no room for the action's code: {reason}"
                self.end(Failure(UNAVAILABLE, text))
            case {"failed": str(reason)} if not self._initialized:
                self.end(Failure(CRASHED, f"Initialization has failed due to: {reason}"))
            case _:
                text = f"The action did not produce a valid JSON response: {document!r:.1000}"
                self.end(Failure(BAD_RESPONSE, text))

    def _printed(self, stream: str, lines: list[bytes]) -> None:
        assignment = self.assignment
        if assignment is None:
            return
        at = timestamp(self._clock.now_ms())
        for line in lines:
            self._log(assignment, f"{at} {stream}: {line.decode('utf-8', 'replace')}")
            if assignment.log_left < 0:
                return

    def _finish(self, outcome: Success | Failure, variables: dict[str, JSON] | None) -> None:
        self._process.drain()  # the last lines that it printed belong to the assignment
        assignment, self.assignment = self.assignment, None
        assert assignment is not None  # noqa: S101  `_heard` has seen it
        self._quiet()
        if self._lacking or (isinstance(outcome, Failure) and outcome.code == CRASHED):
            self.end()
        else:
            self._owner.idle(self)
        self._owner.finished(assignment, outcome, variables)

    def _died(self) -> None:
        assignment = self.assignment
        self._process.drain()
        ran_out = self._process.ran_out
        if assignment is not None and not self._process.has_begun and not ran_out:
            self.assignment = None
            self.end()
            self._unbegun(assignment)
            return
        last = assignment.logs[-LAST_LINES:] if assignment is not None else []
        text = EXITED
        if ran_out or any(OUT_OF_HEAP in line for line in last):
            text = OUT_OF_MEMORY
        elif not self._initialized:
            text = "The action did not initialize and exited unexpectedly."
        self.end(Failure(CRASHED, text))

    def _unbegun(self, assignment: Assignment) -> None:
        """Handles the death of a worker before the code of its assignment began: a retry repeats no side effect."""
        if assignment.sent < MOST_SENT:
            self._owner.again(assignment)
            return
        text = (
            f"{assignment.sent} workers in a row died before the action had begun; it has not run."
        )
        told = Failure(UNAVAILABLE, text)
        self._owner.finished(
            assignment,
            told if assignment.function is None else lambda_failure(told, assignment.invocation),
            None,
        )

    def _expire(self) -> None:
        assignment = self.assignment
        assert assignment is not None  # noqa: S101  the timer is cancelled with the assignment
        limit_ms = assignment.invocation.action.limits.timeout_ms
        during = "" if self._initialized else " during initialization"
        text = f"The action exceeded its time limits of {limit_ms} milliseconds{during}."
        self.end(Failure(TIMEOUT, text))

    def _measured(self, use: Use) -> None:
        """Ends the worker if it exceeds a limit. The kernel limits each process only, not all of them together."""
        room, text = self._room, None
        if self.key is not None and use.memory > self.language.most_mb(self.key.memory_mb) << 20:
            text = OUT_OF_MEMORY
        elif use.disk > room.disk_mb << 20:
            text = (
                f"The action exceeded its disk space of {room.disk_mb} megabytes and was aborted."
            )
        elif use.processes > room.processes:
            text = f"The action exceeded its limit of {room.processes} processes and was aborted."
        if text is None:
            return
        if self.assignment is None:
            log.warning("%s between runs: %s", self.key and self.key.namespace, text)
        self.end(Failure(CRASHED, text))

    def _log(self, assignment: Assignment, line: str) -> None:
        if assignment.log_left < 0:
            return
        assignment.log_left -= len(line.encode()) + 1
        if assignment.log_left < 0:
            limit = assignment.invocation.action.limits.logs_mb << 20
            line = f"{timestamp(self._clock.now_ms())} stderr: {TRUNCATED.format(limit=limit)}"
        assignment.logs.append(line)

    def _limit(self, assignment: Assignment, more_s: float = 0) -> None:
        """Starts the time limit. The time to load a function does not count, as on Lambda."""
        self._quiet()
        delay = assignment.invocation.action.limits.timeout_ms / 1000 + more_s
        self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _quiet(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _fits(assignment: Assignment, value: Any, rest: dict[Any, Any]) -> bool:
    """True if a worker may give this answer: only an inline function returns something else than an object or array."""
    inline = assignment.invocation.function is not None
    variables = isinstance(rest.get("variables", {}), dict)
    return variables and (inline or isinstance(value, (dict, list)))


def _named(action: Action) -> dict[str, JSON]:
    return {"__OW_ACTION_NAME": str(action.name), "__OW_ACTION_VERSION": action.version}


def timestamp(now_ms: int) -> str:
    """The time at the start of a line of a log."""
    seconds, ms = divmod(now_ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ms:03}000000Z"


def completion(
    assignment: Assignment,
    outcome: Success | Failure,
    variables: dict[str, JSON] | None,
    now_ms: int,
) -> Completion:
    """The completion of an assignment that has ended."""
    started_ms = assignment.started_ms or now_ms
    return Completion(outcome, started_ms, now_ms, assignment.logs, assignment.init_ms, variables)
