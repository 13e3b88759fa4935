"""The engine embedded in your program: compositions run in this process, without a server.

    async with embedded() as engine:
        await engine.deploy("pipeline", pipeline)
        result = await engine.invoke("pipeline", {"build": 7})

Functions marked `@composer.action` run in this process, trusted; inline functions and actions with code run
in workers. With a directory, executions survive this process: the next program that opens it resumes them.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...actions import (
    PLAIN,
    Action,
    Call,
    InvalidError,
    StartOptions,
    UnavailableError,
)
from ...composer import ActionFunction, Failure, Name
from ..handles import failed, started_with
from ..settings import Settings
from ..worker import Options as WorkerOptions
from ..worker import Worker
from .app import open_service
from .embedded_records import EmbeddedRecords
from .embedded_tasks import EngineTasks
from .handles import CLOSED, FOREVER_S, NAMESPACE, ExecutionHandle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
    from typing import Unpack

    from starlette.types import ASGIApp

    from ...composer import JSON, Composition, Outcome
    from ..engine import Engine
    from ..handles import StartArguments, Telling
    from ..stepfunctions import Call as Operations
    from .app import Service


class Embedded(EmbeddedRecords):
    """An engine and its actions, in the namespace `guest`."""

    def __init__(
        self, engine: Engine, serve: Callable[[str], Awaitable[ASGIApp]] | None = None
    ) -> None:
        super().__init__(engine, self.define)
        self._serve = serve

    # --- definitions -------------------------------------------------------------------------

    def register(self, function: ActionFunction[..., Any]) -> None:
        """Registers a function of this program as an action, until the engine is closed.

        Steps that have waited for it run. A function that is marked with a queue runs here, too; pass it to
        `embedded(actions=...)` instead to have it wait for a `worker`.

        Raises:
            RefusedError: one of its limits is not valid.
        """
        self.engine.register(
            _name(function.name), function.function, function.annotations, function.limits
        )

    async def deploy(self, name: str, composition: Composition) -> None:
        """Deploys a composition as an action, with the actions that it defines inline.

        A composition that is deployed already in this form gets no new version.

        Raises:
            RefusedError: a definition is malformed.
        """
        await self.define(composition)
        tree = composition.to_json()
        before = self.engine.catalog.find(Action, _name(name))
        if before is None or getattr(before.exec, "document", None) != tree:
            await self.put(name, {"exec": {"kind": "composition", "composition": tree}})

    async def define(self, composition: Composition) -> None:
        """Deploys the actions that a composition defines inline, without the composition.

        Raises:
            RefusedError: a definition is malformed.
        """
        for name, definition in composition.definitions():
            if isinstance(definition, ActionFunction):
                await self._add(definition)
            else:
                await self.put(name, definition)

    async def _add(self, function: ActionFunction[..., Any]) -> None:
        """Registers a function, or stores the action of one that waits in a queue."""
        if function.queue is None:
            self.register(function)
        else:
            await self.put(function.name, function.definition())

    async def put(self, name: str, document: JSON) -> None:
        """Creates or updates an action from a document in the form of the HTTP API.

        Raises:
            RefusedError: the document is malformed.
        """
        await self.engine.registry.put(Action, _name(name), document, overwrite=True)

    async def invoke(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> JSON:
        """Runs an action to its end. Returns its result.

        Args:
            name: the action.
            params: its parameters.
            options: see `StartArguments`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
            TakenIdError: an execution has the id, and a policy refuses the start.
            ActionError: the action has failed.
        """
        _, outcome = await self.run(name, params, **options)
        if isinstance(outcome, Failure):
            raise failed(outcome)
        return outcome.value

    async def run(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the activation's id and the outcome; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """
        call = _call(name, params, *started_with(**options))
        invoked = await self.engine.invoke(call, wait_s=FOREVER_S)
        if invoked.ended is None:
            raise UnavailableError(CLOSED.format(id=invoked.activation))
        return invoked.activation, invoked.ended.outcome

    async def start(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> ExecutionHandle:
        """Starts an action without waiting. Returns its handle once the start is durable; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """
        call = _call(name, params, *started_with(**options))
        begun = (await self.engine.invoke(call)).activation
        id = call.options.id
        return self.execution(id, begun) if id else self.execution(begun)

    async def tell_or_start(
        self, name: str, params: dict[str, JSON] | None = None, *, id: str, message: Telling
    ) -> ExecutionHandle:
        """Tells the open execution with your id a message, or starts one that is told it first, in one commit.

        Args:
            name: the composition to start if no execution with the id is open.
            params: its parameters.
            id: your id for the execution.
            message: `(name, payload)`, or `(name, payload, message id)`: a message id is taken once.

        Returns:
            The handle of the run that is told.

        Raises:
            RefusedError: the composition does not exist, or the message is refused.
        """
        call = _call(name, params, "", StartOptions(id=id, on_open="use"))
        invoked, _ = await self.engine.messages.tell_or_start(call, *message)
        return self.execution(id, invoked.activation)

    def worker(  # noqa: PLR0913  a worker has as many options
        self,
        queue: str,
        functions: Iterable[Callable[..., Any]],
        *,
        slots: int = 10,
        version: str = "",
        name: str = "",
        grace_s: float = 30.0,
    ) -> Worker:
        """Makes a worker, which takes tasks from a queue and runs functions on them: see `Worker`.

        `async with` starts the worker and stops it at the end of the block; `await worker.run()` works until `stop`.

        Args:
            queue: name of the queue.
            functions: functions marked `@composer.action`, or plain ones under their own names. A function that
                is not `async` runs in a thread; a parameter `step` gets the task's `Step`.
            slots: tasks at the same time.
            version: version of the worker; it gets the tasks for this version and those for any.
            name: name of the worker; "" for one made of the host and the process.
            grace_s: seconds in which functions may end when the worker stops.

        Raises:
            InvalidError: an argument is not valid. The text names it.
        """
        options = WorkerOptions(
            queue=queue, worker=name, version=version, slots=slots, grace_s=grace_s
        )
        return Worker(EngineTasks(self.engine), functions, options)

    # --- HTTP --------------------------------------------------------------------------------

    async def mount(self, auth: str) -> ASGIApp:
        """The HTTP API of this engine, as an application to mount in Starlette or FastAPI.

        Args:
            auth: the credentials (`uuid:key`) of the namespace `guest`, as `xingqiao serve --auth` takes them.

        Raises:
            InvalidError: the credentials are malformed.
        """
        assert self._serve is not None  # noqa: S101  `embedded` gives it
        return await self._serve(auth)


async def _served(service: Service, settings: Settings, auth: str) -> ASGIApp:
    """See `Embedded.mount`. Only a program that mounts the API loads the web framework."""
    from ..access import AuthError, first_namespaces  # noqa: PLC0415
    from ..http import create_app  # noqa: PLC0415
    from .api import WINGS, api_of  # noqa: PLC0415
    from .telemetry import metrics_of  # noqa: PLC0415

    try:
        await first_namespaces(service.namespaces, auth, None)
    except AuthError as error:
        raise InvalidError(f"auth: {error}") from None
    metrics = metrics_of(service.engine, service.pool, service.clouds.invoker)
    return create_app(api_of(service, settings, metrics), WINGS)


def _call(name: str, params: dict[str, JSON] | None, token: str, options: StartOptions) -> Call:
    return Call(
        name=_name(name),
        params=params or {},
        namespace=NAMESPACE,
        idempotency_key=token,
        options=PLAIN if options == PLAIN else options,
    )


def _name(name: str) -> Name:
    return Name.parse(name).within(NAMESPACE)


@asynccontextmanager
async def embedded(
    directory: Path | str | None = None,
    *,
    actions: Iterable[ActionFunction[..., Any]] = (),
    compositions: Mapping[str, Composition] | None = None,
) -> AsyncIterator[Embedded]:
    """Opens an engine in this process. Without a directory, its state is lost when it is closed.

    Executions that were running when the directory was closed, or when its program died, go on as soon as the
    actions and compositions are there. A step whose function is not registered by then waits for
    `register` or `deploy`.

    `XINGQIAO_EGRESS_ALLOW` controls access to functions on other hosts; secrets need a server. The
    directory's store is encrypted in the same way as a server's.

    Args:
        directory: where executions are stored.
        actions: functions of this program to register; those marked with a queue wait there for a `worker`.
        compositions: compositions to deploy, by name.

    Raises:
        StoreError: the directory cannot be used, or its key is missing.
        RefusedError: an action or a composition is malformed.
    """
    read = os.environ.get
    settings = Settings(
        data=None if directory is None else Path(directory),
        paused=True,  # until the program has said what it has
        cgroups="off",  # this process is another's: it is not moved
        egress_allow=read("XINGQIAO_EGRESS_ALLOW", ""),
        parameter_keys=read("XINGQIAO_PARAMETER_KEYS", ""),
        key_command=read("XINGQIAO_KEY_COMMAND", ""),
    )
    async with open_service(settings) as service:
        service.step_functions.serve(service.engine, _operations(service, settings))
        opened = Embedded(service.engine, partial(_served, service, settings))
        for action in actions:
            await opened._add(action)  # noqa: SLF001  its own
        for name, composition in (compositions or {}).items():
            await opened.deploy(name, composition)
        await service.resumption.resume()
        yield opened


def _operations(service: Service, settings: Settings) -> Operations:
    """The Step Functions API for state machines; it is loaded on the first call."""

    @cache
    def loaded() -> Operations:
        from ..stepfunctions import operations  # noqa: PLC0415
        from .api import api_of  # noqa: PLC0415  it takes half a second

        return operations(api_of(service, settings, metrics=bytes))

    async def call(
        namespace: str, request: str, operation: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        return await loaded()(namespace, request, operation, params)

    return call
