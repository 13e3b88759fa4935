"""Writes the results of a distributed Map: `/whisk.system/states/writeResults`.

What is written depends on nothing but the action's parameters, and lies in a folder of the Map run's own; so it may
be written again, and the manifest, which is written last, names what is there.
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
    from typing import TypeGuard

    from ....adapters import Objects
    from ....composer import JSON

PUT = "s3:putObject"


async def write(params: dict[str, Any], objects: Objects) -> JSON:
    """Writes what its ResultWriter asks for. Returns the Map's result.

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
    bucket = made.result["ResultWriterDetails"]["Bucket"]
    for key, body in made.files:
        fault = await objects.write(bucket, key, body)
        if fault is not None:
            _fail(f"'{key}' cannot be written into the bucket '{bucket}': {message_of(fault)}")
    return made.result


def _are(executions: JSON) -> TypeGuard[list[dict[str, JSON]]]:
    return isinstance(executions, list) and all(
        isinstance(one, dict) and isinstance(one.get("Status"), str) for one in executions
    )


def _fail(cause: str) -> NoReturn:
    raise StatesError(RESULT_WRITER_FAILED, cause)
