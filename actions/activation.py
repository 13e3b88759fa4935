"""The record of an invocation, in OpenWhisk's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..composer import RUN_TIMED_OUT, TIMEOUT, Failure, frozen
from .limits import named_limits
from .outcome import STATUS_TEXT, WAITING
from .parameters import listed, parsed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..composer import JSON
    from .documents import Stored
    from .model import Action
    from .outcome import Completion
    from .ports import ActivationRow


@frozen
class Opened:
    """An activation that has not ended.

    `cause` is the activation of the composition that it is a step of; `asked_ms` is the time of the request;
    `name` and `kind` are the action's, unless it is an inline function or a conductor action's.
    A `silent` one runs no code (an entity is told a decision) and leaves no record. With `tail` the caller
    wants the end of the log with the result.
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


@frozen
class Conducted:
    """The fields that only the activation of a composition has.

    `duration_ms` is the sum of its parts, `billed_ms` the conductor's own time, `memory_mb` that of the
    largest of its parts. OpenWhisk shows the ids of its steps as its logs: those are the activations that
    name it as their cause.
    """

    duration_ms: int
    billed_ms: float
    memory_mb: int


class Closed(NamedTuple):
    """The fields of a finished activation that its row and its action do not have: few, for there are many.

    Only a composition has `billed_ms` and `memory_mb`, only a cold start `init_ms`, only a run elsewhere
    `remote`, only a raised exception `raised`: its class and bases. A trigger's activation has neither end
    nor duration.
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
    raised: Sequence[str] = ()


def closed(opened: Opened, completion: Completion, conducted: Conducted | None = None) -> Closed:
    """The fields to keep of an activation that has ended."""
    outcome, started_ms, ended_ms = completion.outcome, completion.started_ms, completion.ended_ms
    return Closed(
        ended_ms,
        ended_ms - started_ms if conducted is None else conducted.duration_ms,
        max(0, started_ms - opened.asked_ms),
        type(outcome) is Failure and outcome.code in (TIMEOUT, RUN_TIMED_OUT),
        completion.init_ms,
        None if conducted is None else round(conducted.billed_ms, 3),
        completion.logs,
        None if conducted is None else conducted.memory_mb,
        completion.elsewhere,
        outcome.raised if type(outcome) is Failure else (),
    )


def record(row: ActivationRow, about: Stored | Sequence[JSON], closed: Closed) -> dict[str, JSON]:
    """Makes the record of an activation from its row and its kept fields; for `about` see `Action.about`.

    What an earlier version or a trigger wrote about itself is an object with `version` and `annotations`.

    Returns:
        OpenWhisk's JSON without the result and its size in `response`: the result may be large, and is
        stored elsewhere. An activation that waits for its callback has a `state` and no `response`.
    """
    about = about if isinstance(about, dict) else _described(*about)
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
    if closed.raised:
        made["raised"] = list(closed.raised)
    return made


def _described(  # noqa: PLR0913, PLR0917  as `Action.about` has them
    version: JSON,
    path: JSON,
    kind: JSON,
    limits: Sequence[JSON],
    binding: JSON = None,
    sequence: JSON = False,
) -> Stored:
    notes = {"path": path, "kind": kind, "limits": named_limits(limits)}
    if binding is not None:
        notes["binding"] = binding
    about: Stored = {"version": version, "annotations": listed(notes)}
    return {**about, "conducts": False} if sequence else about


def _response(status: int) -> dict[str, JSON]:
    return {"status": STATUS_TEXT[status], "statusCode": status, "success": status == 0}


def _annotations(row: ActivationRow, about: Stored, closed: Closed) -> dict[str, JSON]:
    notes: dict[str, Any] = parsed("annotations", about["annotations"])
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


def summary(record: Stored) -> dict[str, JSON]:
    """The record as OpenWhisk lists it."""
    kept = ("activationId", "annotations", "cause", "duration", "end", "name", "namespace",
            "publish", "start", "state", "version")  # fmt: skip
    doc: dict[str, JSON] = {key: record[key] for key in kept if key in record}
    if "response" in record:
        doc["statusCode"] = record["response"]["statusCode"]
    return doc
