"""The record of an invocation, in OpenWhisk's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..composer import TIMEOUT, Failure, frozen
from .outcome import STATUS_TEXT, WAITING
from .parameters import listed, parsed

if TYPE_CHECKING:
    from ..composer import JSON
    from .model import Action
    from .outcome import Completion
    from .ports import ActivationRow


@frozen
class Opened:
    """An activation under way: what is known of it before it ends.

    `cause` is the composition's activation that it is a step of; `asked_ms` when it was asked for;
    `name` and `kind` are the action's, unless it is an inline function or a conductor action's.
    A `silent` one runs no code (an entity is told a decision) and leaves no record. With `tail` whoever
    asked wants the end of the log with the result.
    """

    id: str
    action: Action
    namespace: str
    asked_ms: int
    cause: str | None = None
    name: str | None = None
    kind: str | None = None
    silent: bool = False
    tail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducted:
    """What a composition's activation adds.

    `duration_ms` is the sum of its parts, `billed_ms` the conductor's own time, `memory_mb` that of the
    largest of its parts. The ids of its steps,
    which OpenWhisk shows as its logs, are whatever activations name it as their cause.
    """

    duration_ms: int
    billed_ms: float
    memory_mb: int


class Closed(NamedTuple):
    """A finished activation, but for what its row and its action say: short, for there are many.

    `billed_ms` and `memory_mb` only of a composition, `init_ms` only of a cold start, `remote` only of
    what ran elsewhere. A trigger's has neither end nor duration.
    """

    ended_ms: int | None
    duration_ms: int | None
    waited_ms: int
    timed_out: bool
    init_ms: int | None
    billed_ms: float | None
    logs: list[str]
    memory_mb: int | None = None
    remote: dict[str, JSON] | None = None


def closed(opened: Opened, completion: Completion, conducted: Conducted | None = None) -> Closed:
    """What is to be kept of an activation that has ended."""
    outcome, started_ms, ended_ms = completion.outcome, completion.started_ms, completion.ended_ms
    return Closed(
        ended_ms,
        ended_ms - started_ms if conducted is None else conducted.duration_ms,
        max(0, started_ms - opened.asked_ms),
        type(outcome) is Failure and outcome.code == TIMEOUT,
        completion.init_ms,
        None if conducted is None else round(conducted.billed_ms, 3),
        completion.logs,
        None if conducted is None else conducted.memory_mb,
        completion.elsewhere,
    )


def record(row: ActivationRow, about: dict[str, JSON], closed: Closed) -> dict[str, JSON]:
    """The record, from its row and what was kept beside; `about` its action, see `Action.about`.

    Returns:
        OpenWhisk's JSON, but for the result, which is left out of `response` with its size: it may
        be large, and is kept elsewhere. One that waits for its callback has a `state` and no `response`.
    """
    made: dict[str, Any] = {
        "namespace": row.namespace,
        "name": row.name.rpartition("/")[2],
        "version": about["version"],
        "subject": row.namespace,
        "activationId": row.id,
        "start": row.started_ms,
        "logs": closed.logs,
        "annotations": listed(_annotations(row, about, closed)),
        "publish": False,
    }
    if row.status == WAITING:
        made["state"] = "waiting"
    else:
        made["response"] = _response(row.status)
    if closed.ended_ms is not None:
        made |= {"end": closed.ended_ms, "duration": closed.duration_ms}
    if row.cause is not None:
        made["cause"] = row.cause
    return made


def _response(status: int) -> dict[str, JSON]:
    return {"status": STATUS_TEXT[status], "statusCode": status, "success": status == 0}


def _annotations(row: ActivationRow, about: dict[str, JSON], closed: Closed) -> dict[str, JSON]:
    notes = parsed("annotations", about["annotations"])
    if closed.ended_ms is None:
        return notes
    if row.kind:
        notes["kind"] = row.kind
    notes |= {"timeout": closed.timed_out, "waitTime": closed.waited_ms}
    if closed.init_ms is not None:
        notes["initTime"] = closed.init_ms
    if closed.remote is not None:
        notes["remote"] = closed.remote
    if row.cause is not None:
        notes["causedBy"] = "sequence"
    if closed.billed_ms is not None:
        memory_mb = closed.memory_mb or notes["limits"]["memory"]
        notes["limits"] = {**notes["limits"], "memory": memory_mb}
        notes |= {"topmost": row.cause is None, "billedDuration": closed.billed_ms}
        if about.get("conducts", True):
            notes["conductor"] = True
    return notes


def summary(record: dict[str, JSON]) -> dict[str, JSON]:
    """The record as OpenWhisk lists it."""
    kept = ("activationId", "annotations", "cause", "duration", "end", "name", "namespace",
            "publish", "start", "state", "version")  # fmt: skip
    doc = {key: record[key] for key in kept if key in record}
    if "response" in record:
        doc["statusCode"] = record["response"]["statusCode"]
    return doc
