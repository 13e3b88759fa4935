"""Reads Lambda's responses: a function's error, and the end of its log.

https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from ...actions import BAD_RESPONSE, CRASHED, PAYLOAD_TOO_LARGE
from ...composer import APPLICATION_ERROR, TIMEOUT
from ..port import NOTHING_TOLD, Fault, Report, error_document

if TYPE_CHECKING:
    from ...actions import MayHaveRun
    from ...composer import JSON
    from ..port import Response

TIMED_OUT = "Task timed out after"
MAX_MESSAGE, MAX_STACK = 10_000, 100  # characters, lines
MAX_MS = 1e12  # longer than any run
_PLATFORM = ("START RequestId: ", "END RequestId: ", "REPORT RequestId: ", "INIT_START ")
_FIGURE = re.compile(
    r"(?:^|\t)(Duration|Billed Duration|Init Duration|Restore Duration|Memory Size): "
    r"(\d{1,12}(?:\.\d+)?) (?:ms|MB)"
)

# Lambda's own errors: code, `may_have_run`. Others of `Runtime.` are crashes.
_OWN: dict[str, tuple[str, MayHaveRun]] = {
    "Sandbox.Timedout": (TIMEOUT, "unknown"),
    "Function.ResponseSizeTooLarge": (PAYLOAD_TOO_LARGE, "unknown"),
    "Runtime.MarshalError": (BAD_RESPONSE, "yes"),
    "Runtime.UnmarshalError": (CRASHED, "no"),
    "Runtime.ImportModuleError": (CRASHED, "no"),
    "Runtime.HandlerNotFound": (CRASHED, "no"),
    "Runtime.UserCodeSyntaxError": (CRASHED, "no"),
    "Runtime.InvalidEntrypoint": (CRASHED, "no"),
}
_CRASHES = ("Runtime.", "Sandbox.", "Extension.")


def function_fault(payload: JSON, report: Report = NOTHING_TOLD) -> Fault:
    """The Fault of a function's error, or of its crash. The error's own type is its `code`."""
    doc = payload if isinstance(payload, dict) else {}
    kind, said = doc.get("errorType"), doc.get("errorMessage")
    kind = kind if isinstance(kind, str) else ""
    said = said if isinstance(said, str) else ""
    code, may_have_run = _meant(kind, said)
    if code != APPLICATION_ERROR:
        error = error_document(code, said[:MAX_MESSAGE] or kind)
        return Fault(
            code, {**error, "name": kind or code}, may_have_run, None, code == TIMEOUT, report
        )
    if not (kind or said):
        return Fault(
            code, payload if payload is not None else error_document(code, ""), "yes", report=report
        )
    error = error_document(kind or code, said[:MAX_MESSAGE])
    stack = doc.get("stackTrace") or doc.get("trace")
    if isinstance(stack, list):
        error["stack"] = [str(line)[:MAX_MESSAGE] for line in stack[:MAX_STACK]]
    return Fault(code, error, "yes", report=report)


def _meant(kind: str, said: str) -> tuple[str, MayHaveRun]:
    if kind in _OWN:
        return _OWN[kind]
    if kind.startswith(_CRASHES):
        return CRASHED, "unknown"
    if not kind and TIMED_OUT in said:
        return TIMEOUT, "unknown"
    if not kind and said.startswith("RequestId: "):
        return CRASHED, "unknown"
    return APPLICATION_ERROR, "yes"


def report_of_run(response: Response) -> Report:
    """The report in a response's headers: the id, and the last 4 KB of the log, which end in the cost."""
    request = response.headers.get("x-amzn-requestid")
    try:
        tail = base64.b64decode(response.headers.get("x-amz-log-result", ""), validate=True)
    except ValueError:
        tail = b""
    lines = tail.decode(errors="replace").splitlines()
    figures: dict[str, float] = {}
    logs: list[str] = []
    for line in lines:
        found = _figures(line)
        if found is not None:
            figures = found or figures
        elif line.strip() and not line.startswith(_PLATFORM):
            logs.append(line)
    return Report(
        request=request,
        logs=logs,
        ran_ms=figures.get("Duration"),
        billed_ms=figures.get("Billed Duration"),
        cold_ms=figures.get("Init Duration", figures.get("Restore Duration")),
        memory_mb=int(figures["Memory Size"]) if "Memory Size" in figures else None,
    )


def _figures(line: str) -> dict[str, float] | None:
    """The figures in a line of REPORT, as text or as JSON; {} for another line of Lambda's, None for the function's."""
    if line.startswith("REPORT RequestId: "):
        return {name: float(text) for name, text in _FIGURE.findall(line)}
    if not line.startswith("{"):
        return None
    try:
        doc: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not str(doc.get("type")).startswith("platform."):
        return None
    record = doc.get("record")
    metrics = record.get("metrics") if isinstance(record, dict) else None
    if not isinstance(metrics, dict):
        return {}
    return {
        name: float(metrics[field])
        for name, field in _FIELDS.items()
        if type(metrics.get(field)) in (int, float) and 0 <= metrics[field] < MAX_MS
    }


_FIELDS = {
    "Duration": "durationMs",
    "Billed Duration": "billedDurationMs",
    "Init Duration": "initDurationMs",
    "Restore Duration": "restoreDurationMs",
    "Memory Size": "memorySizeMB",
}
