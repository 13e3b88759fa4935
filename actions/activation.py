"""The record of an invocation, in OpenWhisk's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from composer import TIMEOUT, Failure, record

from .outcome import STATUS_TEXT, status_of

if TYPE_CHECKING:
    from composer import JSON

    from .model import Action
    from .outcome import Completion


@record
class Opened:
    """An activation under way: what is known of it before it ends.

    `cause` is the composition's activation that it is a step of; `asked_ms` when it was asked for.
    """

    id: str
    action: Action
    namespace: str
    asked_ms: int
    cause: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducted:
    """What a composition's activation adds.

    `duration_ms` is the sum of its parts, `billed_ms` the conductor's own time. The ids of its steps,
    which OpenWhisk shows as its logs, are whatever activations name it as their cause.
    """

    duration_ms: int
    billed_ms: float


def closed(
    opened: Opened, completion: Completion, conducted: Conducted | None = None
) -> dict[str, JSON]:
    """The finished record.

    Returns:
        OpenWhisk's JSON, but for the result, which is left out of `response` with its size: it is
        large, and kept once.
    """
    outcome = completion.outcome
    status = status_of(outcome)
    timed_out = isinstance(outcome, Failure) and outcome.code == TIMEOUT
    annotations = [*opened.action.activation_annotations, {"key": "timeout", "value": timed_out}]
    note = annotations.append
    note({"key": "waitTime", "value": max(0, completion.started_ms - opened.asked_ms)})
    if completion.init_ms is not None:
        note({"key": "initTime", "value": completion.init_ms})
    if opened.cause is not None:
        note({"key": "causedBy", "value": "sequence"})
    duration = completion.ended_ms - completion.started_ms
    if conducted is not None:
        duration = conducted.duration_ms
        note({"key": "topmost", "value": opened.cause is None})
        note({"key": "conductor", "value": True})
        note({"key": "billedDuration", "value": round(conducted.billed_ms, 3)})
    record: dict[str, Any] = {
        "namespace": opened.namespace,
        "name": opened.name or opened.action.name.name,
        "version": opened.action.version,
        "subject": opened.namespace,
        "activationId": opened.id,
        "start": completion.started_ms,
        "end": completion.ended_ms,
        "duration": duration,
        "response": {
            "status": STATUS_TEXT[status],
            "statusCode": status,
            "success": status == 0,
        },
        "logs": completion.logs,
        "annotations": annotations,
        "publish": False,
    }
    if opened.cause is not None:
        record["cause"] = opened.cause
    return record


def summary(record: dict[str, JSON]) -> dict[str, JSON]:
    """The record as OpenWhisk lists it."""
    kept = ("activationId", "annotations", "cause", "duration", "end", "name", "namespace",
            "publish", "start", "version")  # fmt: skip
    doc = {key: record[key] for key in kept if key in record}
    doc["statusCode"] = record["response"]["statusCode"]
    return doc
