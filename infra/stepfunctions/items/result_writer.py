"""Writes the results of a distributed Map: `/whisk.system/states/writeResults`.

The files depend on the action's parameters only, and lie in a folder of their Map run, so they can be written
again. The manifest is written last, and names the others.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NoReturn

from ....composer.languages.asl.running import (
    RESULT_WRITER_FAILED,
    StatesError,
    result_files,
    writer_config,
)
from .failures import message_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from ....adapters import Objects
    from ....composer import JSON

PUT = "s3:putObject"


async def write(params: Mapping[str, Any], objects: Objects) -> dict[str, Any]:
    """Writes the results as the Map's ResultWriter says. Returns the Map's result.

    Raises:
        StatesError: States.ResultWriterFailed.
    """
    resource, config = params.get("resource"), params.get("config") or {}
    executions, map_run = params.get("executions"), params.get("mapRun")
    if ":".join(str(resource).split(":")[-2:]) != PUT:
        _fail(f"Results cannot be written with the Resource {resource!r}.")
    if not (isinstance(config, dict) and isinstance(map_run, str) and _are(executions)):
        _fail(
            "A ResultWriter has a WriterConfig, an object; a Map run; and executions with a Status."
        )
    made = await asyncio.to_thread(
        result_files, executions, writer_config(config), params.get("arguments"), map_run
    )
    result: Any = made.result
    bucket: str = result["ResultWriterDetails"]["Bucket"]
    for key, body in made.files:
        fault = await objects.write(bucket, key, body)
        if fault is not None:
            _fail(f"'{key}' cannot be written into the bucket '{bucket}': {message_of(fault)}")
    found: dict[str, Any] = result
    return found


def _are(executions: JSON) -> TypeGuard[list[dict[str, JSON]]]:
    return isinstance(executions, list) and all(
        isinstance(one, dict) and isinstance(one.get("Status"), str) for one in executions
    )


def _fail(cause: str) -> NoReturn:
    raise StatesError(RESULT_WRITER_FAILED, cause)
