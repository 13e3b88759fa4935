"""The engine in a program of your own: compositions run in this process, without a server.

    async with embedded() as engine:
        await engine.deploy("pipeline", pipeline)
        result = await engine.invoke("pipeline", {"build": 7})

Functions marked `@composer.action` run here, trusted; inline functions and actions with code run in
workers. With a directory, executions survive this process: the next to open it takes them up.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from ..actions import Action, Call
from ..composer import ActionFunction, Error, Failure, Name
from .app import open_service
from .settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from ..composer import JSON, Composition, Outcome
    from .app import Service
    from .engine import Engine
    from .sfn import Call as Asking

NAMESPACE = "guest"
PAGE = 1000
FOREVER_S = 366 * 24 * 3600.0


class ActionError(Error):
    """An action that was invoked has failed: `failure` has its code and its error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.code}: {failure.error}")
        self.failure = failure


class Embedded:
    """An engine and its actions, in the namespace `guest`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def register(self, function: ActionFunction) -> None:
        """Makes a function of this program an action, for as long as this is open."""
        self.engine.register(_name(function.name), function.function, function.annotations)

    async def deploy(self, name: str, composition: Composition) -> None:
        """Makes a composition an action, and the actions that it defines where it names them.

        Raises:
            RefusedError: when something in it is malformed.
        """
        for defined, definition in composition.definitions():
            if isinstance(definition, ActionFunction):
                self.register(definition)
            else:
                await self.put(defined, definition)
        document = {"exec": {"kind": "composition", "composition": composition.to_json()}}
        await self.put(name, document)

    async def put(self, name: str, document: JSON) -> None:
        """Creates or updates an action from its document, as the HTTP API takes it.

        Raises:
            RefusedError: when it is malformed.
        """
        await self.engine.registry.put(Action, _name(name), document, overwrite=True)

    async def invoke(self, name: str, params: dict[str, JSON] | None = None) -> JSON:
        """Runs an action to its end. Returns its result.

        Raises:
            RefusedError: when there is none of this name, or it may not run now.
            ActionError: when it has failed.
        """
        _, outcome = await self.run(name, params)
        if isinstance(outcome, Failure):
            raise ActionError(outcome)
        return outcome.value

    async def run(self, name: str, params: dict[str, JSON] | None = None) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the activation's id, and what came of it.

        Raises:
            RefusedError: when there is none of this name, or it may not run now.
        """
        call = Call(name=_name(name), params=params or {}, namespace=NAMESPACE)
        invoked = await self.engine.invoke(call, wait_s=FOREVER_S)
        assert invoked.ended is not None  # noqa: S101  we would have waited forever
        return invoked.activation, invoked.ended.outcome

    async def history(self, id: str) -> list[dict[str, JSON]]:
        """All history entries of a composition's execution, so far."""
        entries: list[dict[str, JSON]] = []
        while True:
            after = entries[-1]["seq"] if entries else 0
            page = await self.engine.records.history(NAMESPACE, id, after=after, limit=PAGE)
            entries += page
            if len(page) < PAGE:
                return entries

    async def start(self, name: str, params: dict[str, JSON] | None = None) -> str:
        """Starts an action and does not wait. Returns the activation's id, once it is durable."""
        call = Call(name=_name(name), params=params or {}, namespace=NAMESPACE)
        return (await self.engine.invoke(call)).activation


def _name(name: str) -> Name:
    return Name.parse(name).within(NAMESPACE)


@asynccontextmanager
async def embedded(directory: Path | None = None) -> AsyncIterator[Embedded]:
    """An engine in this process; it forgets everything when it is closed, unless it has a directory.

    Functions elsewhere may be reached as `XINGQIAO_EGRESS_ALLOW` says; secrets need a server. The directory's
    store is sealed, as a server's is.

    Raises:
        StoreError: when the directory cannot be used, or its key is not there.
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


def _operations(service: Service, settings: Settings) -> Asking:
    """What state machines ask of Step Functions' API, which is loaded when the first of them does."""

    @cache
    def loaded() -> Asking:
        from .api import api_of  # noqa: PLC0415  it takes half a second
        from .http import operations  # noqa: PLC0415

        return operations(api_of(service, settings, metrics=bytes))

    async def call(
        namespace: str, request: str, operation: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        return await loaded()(namespace, request, operation, params)

    return call
