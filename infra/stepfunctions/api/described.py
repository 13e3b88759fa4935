"""Executions as DescribeExecution and lists show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ....composer import CANCELLED, Failure, Success
from ...aws import json_text
from .protocol import seconds

if TYPE_CHECKING:
    from ....actions import Arns
    from ....composer import JSON, Outcome
    from ...engine import NamedExecution

About: TypeAlias = Mapping[str, Any]
"""The facts that were stored with an execution when it began: see `executions.start_execution`."""

DAY_MS = 24 * 3600 * 1000
REDRIVABLE_MS = 14 * DAY_MS
OPEN_MS = 365 * DAY_MS
RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED = (
    "RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED",
)  # fmt: skip
STATUSES = {  # our statuses, and AWS' words
    "running": RUNNING,
    "paused": RUNNING,
    "stuck": RUNNING,
    "succeeded": SUCCEEDED,
    "failed": FAILED,
    "timed_out": TIMED_OUT,
    "cancelled": ABORTED,
}


def listed(execution: NamedExecution, arns: Arns) -> dict[str, JSON]:
    """An execution as lists show it."""
    doc: dict[str, JSON] = {
        "executionArn": execution.address,
        "stateMachineArn": arns.machine(execution.path),
        "name": execution.name,
        "status": STATUSES[execution.status],
        "startDate": seconds(execution.started_ms),
        "redriveCount": execution.redrives,
    }
    if execution.ended_ms is not None:
        doc["stopDate"] = seconds(execution.ended_ms)
    if execution.redriven_ms:
        doc["redriveDate"] = seconds(execution.redriven_ms)
    return doc | qualified(execution, arns)


def qualified(execution: NamedExecution, arns: Arns) -> dict[str, JSON]:
    """The ARNs of the version and the alias that started the execution, if any."""
    names = {"stateMachineVersionArn": "version", "stateMachineAliasArn": "alias"}
    about: About = execution.about
    return {
        member: arns.machine(execution.path, about[field])
        for member, field in names.items()
        if field in about
    }


def described(
    execution: NamedExecution, given: JSON, outcome: Outcome | None, arns: Arns, *, data: bool
) -> dict[str, JSON]:
    """An execution as DescribeExecution shows it; input and output only with `data`."""
    doc = listed(execution, arns)
    if outcome is not None:
        doc["status"] = ended_as(outcome)
    if "traceHeader" in execution.about:
        doc["traceHeader"] = execution.about["traceHeader"]
    doc["inputDetails"] = {"included": data}
    if data:
        doc["input"] = json_text(given)
    match outcome:
        case Success(value):
            doc["outputDetails"] = {"included": data}
            if data:
                doc["output"] = json_text(value)
        case Failure() if data:
            doc |= error_and_cause(outcome)
    return doc


def ended_as(outcome: Outcome) -> str:
    """The status of an execution that ended with this outcome."""
    if isinstance(outcome, Success):
        return SUCCEEDED
    if outcome.code == CANCELLED:
        return ABORTED
    timed_out = isinstance(outcome.error, dict) and "Status" in outcome.error
    return TIMED_OUT if timed_out else FAILED


def error_and_cause(failure: Failure) -> dict[str, JSON]:
    """The error and cause of a failed execution; an error of another form gives its code."""
    error = failure.error
    if isinstance(error, dict) and error.keys() <= {"Error", "Cause", "Status"}:
        return {name.lower(): error[name] for name in ("Error", "Cause") if name in error}
    if failure.code == CANCELLED:
        return {}
    message = error.get("message") if isinstance(error, dict) else None
    return {"error": failure.code, "cause": message or json_text(error)}


def redriving(execution: NamedExecution, now_ms: int) -> dict[str, JSON]:
    """The redrive status of an execution."""
    why = not_redrivable(execution, now_ms)
    if why is None:
        return {"redriveStatus": "REDRIVABLE"}
    return {"redriveStatus": "NOT_REDRIVABLE", "redriveStatusReason": why}


def not_redrivable(execution: NamedExecution, now_ms: int) -> str | None:
    """The reason why an execution cannot be redriven; None if it can.

    https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
    """
    status = STATUSES[execution.status]
    if status in (RUNNING, SUCCEEDED):
        return f"Execution is {status} and cannot be redriven"
    if now_ms - execution.started_ms > OPEN_MS:
        return "Execution has exceeded the max execution time"
    if now_ms - (execution.ended_ms or now_ms) > REDRIVABLE_MS:
        return "Execution redrivable period exceeded"
    return None
