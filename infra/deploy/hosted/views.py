"""The readable view of an execution, and the change that closes it for the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....composer import CANCELLED, DIALECTS, Fiber, Invoking, Joining, Sleeping
from .action_message import completion_token
from .execution_state import plain
from .ports import Change
from .records import About, Row

if TYPE_CHECKING:
    from ....composer import JSON
    from .ports import Record


def look(record: Record, asked: dict[str, str]) -> dict[str, JSON]:
    """The body of `GET /executions/{id}`; `asked` are the actions under way, by fiber."""
    outcome, about = record.outcome, About.from_json(record.about)
    seen: dict[str, JSON] = {
        "executionId": record.id,
        "composition": about.composition.removeprefix("/_/"),
        "status": _status(outcome),
        "started": about.started_ms,
        "transitions": record.version,
    }
    if outcome is None:
        waits = [
            _standing(record.id, Row.from_json(row), asked)
            for _, row in sorted(record.fibers.items())
        ]
        return {**seen, "waits": [wait for wait in waits if wait is not None]}
    result = outcome["value"] if "value" in outcome else {"error": outcome["error"]}
    return {**seen, "ended": record.ended_ms, "result": result}


def _status(outcome: dict[str, JSON] | None) -> str:
    if outcome is None:
        return "running"
    if "code" not in outcome:
        return "succeeded"
    return "cancelled" if outcome["code"] == CANCELLED else "failed"


def _standing(id: str, row: Row, asked: dict[str, str]) -> dict[str, JSON] | None:
    """The wait of a fiber; None if it has ended."""
    fiber = Fiber.from_json(row.fiber, plain, DIALECTS.frame)
    if fiber.outcome is not None:
        return None
    match fiber.wait:
        case Invoking():
            waits = asked.get(fiber.id, "conductor")
        case Sleeping():
            waits = "timer"
        case Joining():
            waits = "branches"
        case _:
            waits = "conductor"
    due = {} if fiber.due_ms is None else {"due": fiber.due_ms}
    token = completion_token({"execution": id, "fiber": fiber.id, "turn": fiber.turn})
    named = {"token": token} if fiber.id in asked else {}
    return {
        "fiber": fiber.id,
        "for": waits,
        "step": fiber.turn,
        "since": row.asked_ms,
        **named,
        **due,
    }


def closing(record: Record, now_ms: int) -> Change:
    """One more version of an execution that has ended: never due again, if all messages were sent."""
    return Change(
        id=record.id,
        version=record.version + 1,
        at_ms=now_ms,
        due_ms=now_ms if record.unsent else None,
        outcome=record.outcome,
        ended_ms=record.ended_ms,
    )
