"""Service integrations: what `arn:aws:states:::service:operation` in a Task names, besides functions and activities.

Those of Step Functions itself are here. A deployment adds others by Python entry points of the group
`xingqiao.integrations`, named `service:operation`, each a function like `Ask`, or an `Integration`.
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
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

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
    """An integration has failed: with this error, as a state machine's Retry and Catch name it, for this cause."""

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an integration is asked for.

    Args:
        service: `sqs`, `aws-sdk:sqs`, ...
        operation: `sendMessage`, ...
        pattern: "", `.sync`, `.sync:2` or `.waitForTaskToken`.
        parameters: as the state has made them.
        namespace: of the machine that asks, and of whoever runs it.
        execution: its ARN.
        activation: the step's id: the same when it is asked for again after a crash.
    """

    service: str
    operation: str
    pattern: str
    parameters: JSON
    namespace: str
    execution: str
    activation: str

    @property
    def waits(self) -> bool:
        """Whether the end of what is asked for is waited for, and not only the answer."""
        return self.pattern in (SYNC, SYNC_2)

    @property
    def resource(self) -> str:
        return f"{self.service}:{self.operation}{self.pattern}"

    @property
    def traceparent(self) -> str:
        """The W3C trace context of what it asks: all that an execution's step asks is one trace."""
        return f"00-{self.activation}-{self.activation[:16]}-01"


Ask: TypeAlias = Callable[[Asked], Awaitable["JSON"]]


@dataclass(frozen=True, slots=True)
class Integration:
    """An operation of a service.

    Args:
        ask: asks for it and returns its answer; raises IntegrationError.
        finish: waits until what was asked for has ended, given the answer, and returns what came of it, or
            raises IntegrationError; without it there is no `.sync`. It may be called again after a crash.
        stop: stops what was asked for, given the answer.
        patterns: how it may be asked: "", `.sync`, ...; None for in any way.
    """

    ask: Ask
    finish: Callable[[Asked, JSON], Awaitable[JSON]] | None = None
    stop: Callable[[Asked, JSON], Awaitable[None]] | None = None
    patterns: tuple[str, ...] | None = None


class Registry(Protocol):
    """Finds integrations."""

    def get(self, named: tuple[str, str], /) -> Integration | None:
        """That of a service and an operation."""


class FirstOf:
    """Finds an integration in the first of several registries that has it. A `Registry`."""

    def __init__(self, *registries: Registry) -> None:
        self._registries = registries

    def get(self, named: tuple[str, str], /) -> Integration | None:
        found = (registry.get(named) for registry in self._registries)
        return next((one for one in found if one is not None), None)


def discovered() -> Mapping[tuple[str, str], Integration]:
    """What a deployment has added."""
    found = {}
    for entry in entry_points(group=GROUP):
        service, _, operation = entry.name.rpartition(":")
        loaded = entry.load()
        made = loaded if isinstance(loaded, Integration) else Integration(loaded)
        found[service, operation] = made
    return found


@dataclass(slots=True, eq=False)
class _Job:
    """Something under way: what is asked, who hears of it, and the answer once it is being waited for."""

    asked: Asked
    done: Callable[[Completion], None]
    started_ms: int
    answer: JSON = None
    submitted: bool = False
    given_up: bool = False
    task: asyncio.Task[None] | None = None


class Integrations:
    """Asks services. A `RemoteInvoker`; use it with `async with`, around the engine.

    Args:
        registry: what there is.
        clock: the time.
    """

    kinds = frozenset({INTEGRATION})

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self.registry, self._clock = registry, clock
        self._tasks = asyncio.TaskGroup()
        self._jobs: dict[str, _Job] = {}
        self._closing = False

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._closing = True  # the engine has stopped: they are asked, or asked after, again
        for job in list(self._jobs.values()):
            if job.task is not None:
                job.task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def knows(self, resource: str) -> bool:
        """Whether a Task's resource is an integration that is here, and is waited for in a way that it can."""
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
        job = _Job(_asked(invocation), done, self._clock.now_ms())
        refused = _refusal(invocation)
        self._start(job, self._ask if refused is None else partial(_raised, refused))

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        asked = Asked(**{**ticket["asked"], "activation": invocation.activation})
        job = _Job(asked, done, self._clock.now_ms(), ticket["answer"], submitted=True)
        self._start(job, self._finish)

    def cancel(self, activation: str) -> None:
        """What is waited for is stopped; what has only just been asked is so when its answer is there."""
        job = self._jobs.get(activation)
        if job is None or job.task is None:
            return
        job.given_up = True
        if job.submitted or not job.asked.waits:
            asyncio.get_running_loop().call_soon(job.task.cancel)  # not before it has begun

    def _start(self, job: _Job, work: Callable[[_Job], Awaitable[Completion]]) -> None:
        self._jobs[job.asked.activation] = job
        job.task = self._tasks.create_task(self._work(job, work))

    # --- what comes of it --------------------------------------------------------------------

    async def _work(self, job: _Job, work: Callable[[_Job], Awaitable[Completion]]) -> None:
        """Does it, and hands in what came of it: the boundary that no mistake crosses."""
        try:
            completion = await work(job)
        except asyncio.CancelledError:
            if self._closing:
                raise
            completion = await self._given_up(job)
        except IntegrationError as error:
            completion = self._completion(job, _failed(error.error, error.cause))
        except Exception:
            log.exception("the integration %s has failed by a mistake", job.asked.resource)
            why = "The integration could not be asked; the log says why."
            completion = self._completion(job, _failed(RUNTIME, why))
        if self._jobs.get(job.asked.activation) is job:
            del self._jobs[job.asked.activation]
        job.done(completion)

    async def _ask(self, job: _Job) -> Completion:
        asked = job.asked
        found = self.registry.get((asked.service, asked.operation))
        if found is None or (asked.waits and found.finish is None):
            raise IntegrationError(RUNTIME, f"There is no integration {asked.resource} here.")
        job.answer = await found.ask(asked)
        if not asked.waits:
            return self._completion(job, Success(job.answer))
        job.submitted = True
        if job.given_up:
            return await self._given_up(job)
        ticket = {"asked": asdict(replace(asked, parameters=None)), "answer": job.answer}
        return self._completion(job, Success(job.answer), ticket)

    async def _finish(self, job: _Job) -> Completion:
        asked = job.asked
        found = self.registry.get((asked.service, asked.operation))
        if found is None or found.finish is None:
            raise IntegrationError(RUNTIME, f"There is no integration {asked.resource} here.")
        return self._completion(job, Success(await found.finish(asked, job.answer)))

    async def _given_up(self, job: _Job) -> Completion:
        """Nobody waits for it: what was asked for is stopped, if that can be done."""
        found = self.registry.get((job.asked.service, job.asked.operation))
        if job.submitted and found is not None and found.stop is not None:
            try:
                await found.stop(job.asked, job.answer)
            except IntegrationError as error:
                log.warning("%s could not be stopped: %s", job.asked.resource, error)
            except Exception:
                log.exception("%s could not be stopped by a mistake", job.asked.resource)
        return self._completion(job, Failure(CANCELLED, "cancelled"))

    def _completion(
        self, job: _Job, outcome: Success | Failure, ticket: dict[str, JSON] | None = None
    ) -> Completion:
        return Completion(outcome, job.started_ms, self._clock.now_ms(), ticket=ticket)


def _refusal(invocation: Invocation) -> IntegrationError | None:
    """Why nothing is asked. Whoever is no machine could say that it is any."""
    if not invocation.states:
        return IntegrationError(RUNTIME, "Only state machines ask for integrations.")
    if invocation.lent:
        text = (
            f"A state machine of the namespace '{invocation.owner}' that '{invocation.namespace}' runs asks for no "
            "integration: with the secrets of neither."
        )
        return IntegrationError(PERMISSIONS, text)
    return None


async def _raised(error: IntegrationError, _job: _Job) -> Completion:
    raise error


def _asked(invocation: Invocation) -> Asked:
    params = invocation.params
    return Asked(
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
    """What comes with the answers of optimized integrations: the response's headers, status and id."""
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [text] for name, text in headers.items()},
            "HttpHeaders": {name: headers[name] for name in sorted(headers, key=str.lower)},
            "HttpStatusCode": status,
        },
        "SdkResponseMetadata": {"RequestId": request},
    }


def json_text(value: JSON) -> str:
    """A value as the text that causes, and members that are JSON text, have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
