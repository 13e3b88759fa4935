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
from functools import cache
from typing import TYPE_CHECKING, Any

from ...actions import Action, Call
from ...composer import ActionFunction, Error, Failure, Name
from ..settings import Settings
from .app import open_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from ...composer import JSON, Composition, Outcome
    from ..engine import Engine
    from ..stepfunctions import Call as Operations
    from .app import Service

NAMESPACE = "guest"
PAGE = 1000
FOREVER_S = 366 * 24 * 3600.0


class ActionError(Error):
    """An invoked action has failed; `failure` has its code and its error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.code}: {failure.error}")
        self.failure = failure


class Embedded:
    """An engine and its actions, in the namespace `guest`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def register(self, function: ActionFunction) -> None:
        """Registers a function of this program as an action, until the engine is closed."""
        self.engine.register(_name(function.name), function.function, function.annotations)

    async def deploy(self, name: str, composition: Composition) -> None:
        """Deploys a composition as an action, with the actions that it defines inline.

        Raises:
            RefusedError: a definition is malformed.
        """
        for defined, definition in composition.definitions():
            if isinstance(definition, ActionFunction):
                self.register(definition)
            else:
                await self.put(defined, definition)
        document: JSON = {"exec": {"kind": "composition", "composition": composition.to_json()}}
        await self.put(name, document)

    async def put(self, name: str, document: JSON) -> None:
        """Creates or updates an action from a document in the form of the HTTP API.

        Raises:
            RefusedError: the document is malformed.
        """
        await self.engine.registry.put(Action, _name(name), document, overwrite=True)

    async def invoke(self, name: str, params: dict[str, JSON] | None = None) -> JSON:
        """Runs an action to its end. Returns its result.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
            ActionError: the action has failed.
        """
        _, outcome = await self.run(name, params)
        if isinstance(outcome, Failure):
            raise ActionError(outcome)
        return outcome.value

    async def run(self, name: str, params: dict[str, JSON] | None = None) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the activation's id and the outcome.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """
        call = Call(name=_name(name), params=params or {}, namespace=NAMESPACE)
        invoked = await self.engine.invoke(call, wait_s=FOREVER_S)
        assert invoked.ended is not None  # noqa: S101  we would have waited forever
        return invoked.activation, invoked.ended.outcome

    async def history(self, id: str) -> list[dict[str, JSON]]:
        """All history entries so far of a composition's execution."""
        entries: list[dict[str, Any]] = []
        while True:
            after = entries[-1]["seq"] if entries else 0
            page = await self.engine.records.history(NAMESPACE, id, after=after, limit=PAGE)
            entries += page
            if len(page) < PAGE:
                return entries

    async def start(self, name: str, params: dict[str, JSON] | None = None) -> str:
        """Starts an action without waiting. Returns the activation's id once the start is durable."""
        call = Call(name=_name(name), params=params or {}, namespace=NAMESPACE)
        return (await self.engine.invoke(call)).activation


def _name(name: str) -> Name:
    return Name.parse(name).within(NAMESPACE)


@asynccontextmanager
async def embedded(directory: Path | None = None) -> AsyncIterator[Embedded]:
    """Opens an engine in this process. Without a directory, its state is lost when it is closed.

    `XINGQIAO_EGRESS_ALLOW` controls access to functions on other hosts; secrets need a server. The
    directory's store is encrypted in the same way as a server's.

    Raises:
        StoreError: the directory cannot be used, or its key is missing.
    """
    read = os.environ.get
    settings = Settings(
        data=directory,
        cgroups="off",  # this process is another's: it is not moved
        egress_allow=read("XINGQIAO_EGRESS_ALLOW", ""),
        parameter_keys=read("XINGQIAO_PARAMETER_KEYS", ""),
        key_command=read("XINGQIAO_KEY_COMMAND", ""),
    )
    async with open_service(settings) as service:
        service.step_functions.serve(service.engine, _operations(service, settings))
        yield Embedded(service.engine)


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
