"""Service integrations: what `arn:aws:states:::service:operation` in a Task names, except functions and activities.

A deployment adds integrations by Python entry points of the group `xingqiao.integrations`, named
`service:operation`: each loads a function like `Ask`, or an `Integration`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from ...actions import Completion
from ...composer import CANCELLED, Error, Failure, Success

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Clock, Invocation
    from ...composer import JSON

log = logging.getLogger(__name__)

INTEGRATION = "integration"  # the kind of the action
GROUP = "xingqiao.integrations"  # of entry points
SYNC, SYNC_2, TOKEN = ".sync", ".sync:2", ".waitForTaskToken"
FUNCTIONS = ("arn:aws:states:::lambda:invoke", "arn:aws:states:::lambda:invoke.waitForTaskToken")
TASK_FAILED = "States.TaskFailed"
RUNTIME = "States.Runtime"
PERMISSIONS = "States.Permissions"
_RESOURCE = re.compile(
    r"arn:[a-z-]+:states:::(?P<service>(?:aws-sdk:)?[\w-]+):(?P<operation>\w+)"
    r"(?P<pattern>\.sync(?::2)?|\.waitForTaskToken)?"
)


class IntegrationError(Error):
    """An integration failed: `error` is the name that Retry and Catch match, `cause` the text."""

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrationRequest:
    """A request to an integration: one step of a state machine.

    Args:
        service: `sqs`, `aws-sdk:sqs`, ...
        operation: `sendMessage`, ...
        pattern: "", `.sync`, `.sync:2` or `.waitForTaskToken`.
        parameters: the value that the state made.
        namespace: of the state machine, and of its caller.
        execution: the execution's ARN.
        activation: the step's id: the same when the request is repeated after a crash.
    """

    service: str
    operation: str
    pattern: str
    parameters: Any  # their shape is the integration's
    namespace: str
    execution: str
    activation: str

    @property
    def waits(self) -> bool:
        """True if the step ends when the job ends, not with the answer to the request."""
        return self.pattern in (SYNC, SYNC_2)

    @property
    def resource(self) -> str:
        return f"{self.service}:{self.operation}{self.pattern}"

    @property
    def traceparent(self) -> str:
        """The W3C trace context: all requests of one step belong to one trace."""
        return f"00-{self.activation}-{self.activation[:16]}-01"


@dataclass(frozen=True, slots=True)
class Ticket:
    """An answered request whose job has not ended, as the store keeps it: without its parameters."""

    request: IntegrationRequest
    answer: Any  # its shape is the integration's

    def to_json(self) -> dict[str, JSON]:
        request = asdict(replace(self.request, parameters=None))
        return {"asked": request, "answer": self.answer}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Ticket:
        return cls(IntegrationRequest(**doc["asked"]), doc["answer"])


Ask: TypeAlias = Callable[[IntegrationRequest], Awaitable["JSON"]]


@dataclass(frozen=True, slots=True)
class Integration:
    """An operation of a service.

    Args:
        ask: sends the request and returns the answer; raises IntegrationError.
        finish: given the answer, waits until the job has ended and returns its result, or raises
            IntegrationError; `.sync` needs it. It may be called again after a crash.
        stop: given the answer, stops the job.
        patterns: supported patterns: "", `.sync`, ...; None for all.
    """

    ask: Ask
    finish: Callable[[IntegrationRequest, Any], Awaitable[JSON]] | None = None
    stop: Callable[[IntegrationRequest, Any], Awaitable[None]] | None = None
    patterns: tuple[str, ...] | None = None


class Registry(Protocol):
    """Finds integrations."""

    def get(self, named: tuple[str, str], /) -> Integration | None:
        """The integration of a service and an operation; None if this registry has none."""


class FirstOf:
    """Finds an integration in the first of several registries that has one. A `Registry`."""

    def __init__(self, *registries: Registry) -> None:
        self._registries = registries

    def get(self, named: tuple[str, str], /) -> Integration | None:
        found = (registry.get(named) for registry in self._registries)
        return next((one for one in found if one is not None), None)


def discovered() -> Mapping[tuple[str, str], Integration]:
    """The integrations that a deployment adds by entry points."""
    found = {}
    for entry in entry_points(group=GROUP):
        service, _, operation = entry.name.rpartition(":")
        loaded = entry.load()
        made = loaded if isinstance(loaded, Integration) else Integration(loaded)
        found[service, operation] = made
    return found


@dataclass(slots=True, eq=False)
class _Pending:
    """A request under way; `submitted` when it was answered and its job has not ended."""

    request: IntegrationRequest
    done: Callable[[Completion], None]
    started_ms: int
    answer: Any = None
    submitted: bool = False
    given_up: bool = False
    task: asyncio.Task[None] | None = None


class Integrations:
    """Sends requests to integrations. A `RemoteInvoker`; use it with `async with`, around the engine.

    Args:
        registry: the known integrations.
        clock: source of time.
    """

    kinds = frozenset({INTEGRATION})

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self.registry, self._clock = registry, clock
        self._tasks = asyncio.TaskGroup()
        self._pending: dict[str, _Pending] = {}
        self._closing = False

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._closing = (
            True  # the engine has stopped, and repeats the requests when it starts again
        )
        for pending in list(self._pending.values()):
            if pending.task is not None:
                pending.task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def knows(self, resource: str) -> bool:
        """True if a Task's resource is a known integration that supports the resource's pattern."""
        if resource in FUNCTIONS:  # the machine itself calls them
            return True
        match = _RESOURCE.fullmatch(resource)
        found = self.registry.get((match["service"], match["operation"])) if match else None
        if match is None or found is None:
            return False
        pattern = match["pattern"] or ""
        if found.patterns is not None and pattern not in found.patterns:
            return False
        return pattern not in (SYNC, SYNC_2) or found.finish is not None

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        pending = _Pending(_request(invocation), done, self._clock.now_ms())
        refused = _refusal(invocation)
        self._start(pending, self._ask if refused is None else partial(_raised, refused))

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        stored = Ticket.from_json(ticket)
        request = replace(stored.request, activation=invocation.activation)
        pending = _Pending(request, done, self._clock.now_ms(), stored.answer, submitted=True)
        self._start(pending, self._finish)

    def cancel(self, activation: str) -> None:
        """Stops a job; one whose request is not answered yet is stopped when the answer arrives."""
        pending = self._pending.get(activation)
        if pending is None or pending.task is None:
            return
        pending.given_up = True
        if pending.submitted or not pending.request.waits:
            asyncio.get_running_loop().call_soon(pending.task.cancel)  # not before it has begun

    def _start(self, pending: _Pending, work: Callable[[_Pending], Awaitable[Completion]]) -> None:
        self._pending[pending.request.activation] = pending
        pending.task = self._tasks.create_task(self._work(pending, work))

    # --- results -------------------------------------------------------------------------------

    async def _work(
        self, pending: _Pending, work: Callable[[_Pending], Awaitable[Completion]]
    ) -> None:
        """Carries a request out and reports its completion: no exception crosses this boundary."""
        try:
            completion = await work(pending)
        except asyncio.CancelledError:
            if self._closing:
                raise
            completion = await self._given_up(pending)
        except IntegrationError as error:
            completion = self._completion(pending, _failed(error.error, error.cause))
        except Exception:
            log.exception(
                "the integration %s failed with an unexpected error", pending.request.resource
            )
            why = "The integration failed with an unexpected error; the log says why."
            completion = self._completion(pending, _failed(RUNTIME, why))
        if self._pending.get(pending.request.activation) is pending:
            del self._pending[pending.request.activation]
        pending.done(completion)

    async def _ask(self, pending: _Pending) -> Completion:
        request = pending.request
        found = self.registry.get((request.service, request.operation))
        if found is None or (request.waits and found.finish is None):
            raise IntegrationError(RUNTIME, f"The server has no integration {request.resource}.")
        pending.answer = await found.ask(request)
        if not request.waits:
            return self._completion(pending, Success(pending.answer))
        pending.submitted = True
        if pending.given_up:
            return await self._given_up(pending)
        ticket = Ticket(request, pending.answer)
        return self._completion(pending, Success(pending.answer), ticket.to_json())

    async def _finish(self, pending: _Pending) -> Completion:
        request = pending.request
        found = self.registry.get((request.service, request.operation))
        if found is None or found.finish is None:
            raise IntegrationError(RUNTIME, f"The server has no integration {request.resource}.")
        result: Any = await found.finish(request, pending.answer)  # not always an object, as on AWS
        return self._completion(pending, Success(result))

    async def _given_up(self, pending: _Pending) -> Completion:
        """Stops the job of a cancelled request, if it can be stopped."""
        found = self.registry.get((pending.request.service, pending.request.operation))
        if pending.submitted and found is not None and found.stop is not None:
            try:
                await found.stop(pending.request, pending.answer)
            except IntegrationError as error:
                log.warning("%s could not be stopped: %s", pending.request.resource, error)
            except Exception:
                log.exception("%s could not be stopped: unexpected error", pending.request.resource)
        return self._completion(pending, Failure(CANCELLED, "cancelled"))

    def _completion(
        self, pending: _Pending, outcome: Success | Failure, ticket: dict[str, JSON] | None = None
    ) -> Completion:
        return Completion(outcome, pending.started_ms, self._clock.now_ms(), ticket=ticket)


def _refusal(invocation: Invocation) -> IntegrationError | None:
    """The reason to refuse a request: a caller that is not a state machine could pose as any."""
    if not invocation.states:
        return IntegrationError(RUNTIME, "Only state machines can use integrations.")
    if invocation.lent:
        text = (
            f"A state machine of the namespace '{invocation.owner}' cannot use integrations when "
            f"'{invocation.namespace}' runs it: it gets the secrets of neither."
        )
        return IntegrationError(PERMISSIONS, text)
    return None


async def _raised(error: IntegrationError, _pending: _Pending) -> Completion:
    raise error


def _request(invocation: Invocation) -> IntegrationRequest:
    params = invocation.params
    return IntegrationRequest(
        service=str(params.get("service")),
        operation=str(params.get("operation")),
        pattern=str(params.get("pattern", "")),
        parameters=params.get("parameters"),
        namespace=invocation.namespace,
        execution=str(params.get("execution", "")),
        activation=invocation.activation,
    )


def _failed(error: str, cause: str) -> Failure:
    return Failure(error, {"Error": error, "Cause": cause})


def came_with(headers: Mapping[str, str], status: int, request: str) -> dict[str, JSON]:
    """The metadata in answers of optimized integrations: the response's headers, status and id."""
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [text] for name, text in headers.items()},
            "HttpHeaders": {name: headers[name] for name in sorted(headers, key=str.lower)},
            "HttpStatusCode": status,
        },
        "SdkResponseMetadata": {"RequestId": request},
    }


def json_text(value: JSON) -> str:
    """Compact JSON, as causes and members that are JSON text have it."""
    return _COMPACT.encode(value)


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
