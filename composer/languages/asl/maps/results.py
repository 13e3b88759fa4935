"""The results of a distributed Map, from its executions: the Map's result, and the files of a ResultWriter.

https://docs.aws.amazon.com/step-functions/latest/dg/input-output-resultwriter.html

An execution that has ended, or never began, is an object: `Status` (SUCCEEDED, FAILED, TIMED_OUT, ABORTED or
PENDING), `Input`, `Output` if it succeeded, `Error` and `Cause` if it did not, and members of DescribeExecution under
the same names (`ExecutionArn`, `Name`, `StartDate`, `StopDate`, `StateMachineArn`, `RedriveCount`, ...). `Input` and
`Output` are values; in records they are JSON texts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias, final

from ....freezing import frozen
from ..state_errors import RESULT_WRITER_FAILED, StatesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ....values import JSON

Transformation: TypeAlias = Literal["NONE", "COMPACT", "FLATTEN"]

PENDING, SUCCEEDED, FAILED = "PENDING", "SUCCEEDED", "FAILED"
FILES: Final = (
    FAILED,
    PENDING,
    SUCCEEDED,
)  # timed out and aborted executions are in the file of the failed
MANIFEST: Final = "manifest.json"
_TEXTS = {"Input": "InputDetails", "Output": "OutputDetails"}
_ENDED = {
    True: {
        "RedriveStatus": "NOT_REDRIVABLE",
        "RedriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
    },
    False: {"RedriveStatus": "REDRIVABLE_BY_MAP_RUN"},
}

ExecutionRecord: TypeAlias = "Mapping[str, Any]"
"""An execution as the module's docstring has it; the server checks those that it receives for their `Status`."""


@final
@frozen
class WriterConfig:
    """A WriterConfig: the form of the results.

    `transformation`: NONE, the records of the executions; COMPACT, their outputs alone; FLATTEN, outputs, and of
    arrays their members. `lines`: one result on each line instead of one array.
    """

    transformation: Transformation
    lines: bool


@final
@frozen
class ResultFiles:
    """The files of a ResultWriter, names and contents, the manifest last; and the Map's result."""

    files: tuple[tuple[str, bytes], ...]
    result: dict[str, JSON]


def writer_config(config: Mapping[str, Any]) -> WriterConfig:
    """Reads a WriterConfig; the defaults are NONE and JSON.

    Raises:
        StatesError: States.ResultWriterFailed for an unknown value.
    """
    transformation = config.get("Transformation", "NONE")
    kind = config.get("OutputType", "JSON")
    if transformation not in ("NONE", "COMPACT", "FLATTEN"):
        _fail(f"This server does not know the Transformation {transformation!r}.")
    if kind not in ("JSON", "JSONL"):
        _fail(f"This server does not know the OutputType {kind!r}.")
    return WriterConfig(transformation, lines=kind == "JSONL")


def inline_results(executions: Iterable[ExecutionRecord], config: WriterConfig) -> JSON:
    """The result of a Map whose ResultWriter has no destination; text if it asks for lines.

    Without any ResultWriter it is as with COMPACT.
    """
    results = _results(executions, config.transformation)
    return _lines(results).decode() if config.lines else results


def result_files(
    executions: Iterable[ExecutionRecord], config: WriterConfig, arguments: JSON, map_run: str
) -> ResultFiles:
    """The files that a ResultWriter writes for a Map run, and the result of the Map.

    The same executions make the same files: they may be written again.

    Args:
        executions: in the order of their items.
        config: the form of the results.
        arguments: its Bucket, and its Prefix if there is one.
        map_run: the Map run's ARN.

    Raises:
        StatesError: States.ResultWriterFailed if there is no bucket.
    """
    bucket, prefix = _destination(arguments)
    folder = f"{prefix}{map_run.rpartition(':')[2]}/"
    kept: dict[str, list[ExecutionRecord]] = {status: [] for status in FILES}
    for execution in executions:
        status = execution["Status"]
        kept[status if status in kept else FAILED].append(execution)
    files: list[tuple[str, bytes]] = []
    listed: dict[str, JSON] = {status: [] for status in FILES}
    ending = "jsonl" if config.lines else "json"
    for status, some in kept.items():
        if some:
            results = _results(some, config.transformation)
            name, text = f"{folder}{status}_0.{ending}", _written(results, config)
            files.append((name, text))
            listed[status] = [{"Key": name, "Size": len(text)}]
    manifest: dict[str, JSON] = {
        "DestinationBucket": bucket,
        "MapRunArn": map_run,
        "ResultFiles": listed,
    }
    key = folder + MANIFEST
    details: dict[str, JSON] = {"Bucket": bucket, "Key": key}
    result: dict[str, JSON] = {"MapRunArn": map_run, "ResultWriterDetails": details}
    return ResultFiles((*files, (key, _text(manifest).encode())), result)


def _destination(arguments: JSON) -> tuple[str, str]:
    given: Any = arguments if isinstance(arguments, dict) else {}
    bucket, prefix = given.get("Bucket"), given.get("Prefix", "")
    if not isinstance(bucket, str) or not bucket:
        _fail("The ResultWriter needs a Bucket, a text that is not empty.")
    if not isinstance(prefix, str):
        _fail("The Prefix of a ResultWriter must be a text.")
    return bucket, f"{prefix}/" if prefix and not prefix.endswith("/") else prefix


def _results(executions: Iterable[ExecutionRecord], transformation: Transformation) -> list[JSON]:
    """The results of executions: of one that has not succeeded always its record."""
    results: list[JSON] = []
    for execution in executions:
        if transformation == "NONE" or execution["Status"] != SUCCEEDED:
            results.append(_record(execution))
            continue
        output = execution.get("Output")
        if transformation == "FLATTEN" and isinstance(output, list):
            results.extend(output)
        else:
            results.append(output)
    return results


def _record(execution: ExecutionRecord) -> dict[str, JSON]:
    """The record of an execution in the results, sorted by name as on AWS."""
    record: dict[str, JSON] = dict(execution)
    for name, details in _TEXTS.items():
        if name in record:
            record[name] = _text(record[name])
            record[details] = {"Included": True}
    if record["Status"] != PENDING:
        ended = _ENDED[record["Status"] == SUCCEEDED]
        record = {"RedriveCount": 0, **ended, **record}
    return dict(sorted(record.items()))


def _written(results: list[JSON], config: WriterConfig) -> bytes:
    return _lines(results) if config.lines else _text(results).encode()


def _lines(results: list[JSON]) -> bytes:
    return "".join(f"{_text(result)}\n" for result in results).encode()


def _text(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _fail(cause: str) -> NoReturn:
    raise StatesError(RESULT_WRITER_FAILED, cause)
