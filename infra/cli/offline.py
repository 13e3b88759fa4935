"""Operations on the store of a stopped server."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def list_executions(data: Path, query: dict[str, Any]) -> Any:
    """Lists the executions of all namespaces, in the form of the API's list of one namespace."""
    return asyncio.run(_list_executions(data, query))


def terminate(data: Path, id: str) -> dict[str, Any]:
    """Ends an execution and all executions below it. Returns their number as `below`."""
    return asyncio.run(_terminate(data, id))


async def _list_executions(data: Path, query: dict[str, Any]) -> Any:
    from ...actions import Query  # noqa: PLC0415  no other command needs the engine
    from ..service import open_at_rest  # noqa: PLC0415

    names = {"since": "since_ms", "upto": "upto_ms"}
    fields = {names.get(name, name): value for name, value in query.items()}
    async with open_at_rest(_settings(data)) as engine:
        return await engine.records.executions(Query(namespace=None, **fields))


async def _terminate(data: Path, id: str) -> dict[str, Any]:
    from ..service import open_at_rest  # noqa: PLC0415

    async with open_at_rest(_settings(data)) as engine:
        below = await engine.endings.terminate_all(id)
        return {"executionId": id, "below": below, "status": "cancelled"}


def _settings(data: Path) -> Any:
    from ..settings import Settings  # noqa: PLC0415

    return Settings.from_environment(os.environ, data=data)
