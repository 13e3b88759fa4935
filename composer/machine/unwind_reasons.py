"""The reasons for which frames are unwound, beside a failure. Handlers and retries see failures only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ..freezing import frozen
from ..values import Failure

if TYPE_CHECKING:
    from ..values import JSON


@frozen
class Cancellation:
    """The execution is being cancelled, or this fiber is no longer wanted."""


@frozen
class Exhaustion:
    """The execution exceeds the limit of its steps, or of its history's entries: only undos, decisions and finalizers still run."""

    limit: int
    what: str = "steps"


@frozen
class Expiry:
    """The deadline frame at this depth has passed."""

    depth: int


Interruption: TypeAlias = Cancellation | Expiry
"""A reason that comes from outside the fiber, and may have to wait until a finalizer or an undo has ended."""

UnwindReason: TypeAlias = Failure | Cancellation | Expiry | Exhaustion


def stronger(held: Interruption | None, new: Interruption) -> Interruption:
    """The one of two reasons that unwinds further."""
    if isinstance(held, Cancellation) or held is None:
        return held or new
    return held if isinstance(new, Expiry) and held.depth < new.depth else new


def reason_to_json(reason: Interruption | Exhaustion | None) -> JSON:
    if isinstance(reason, Exhaustion):
        return [reason.limit] if reason.what == "steps" else [reason.limit, reason.what]
    return reason.depth if isinstance(reason, Expiry) else "cancelled" if reason else None


def reason_from_json(doc: Any) -> Any:
    """Reads what `reason_to_json` wrote: only a finalizer or an undo of a saga can hold an Exhaustion."""
    if doc is None:
        return None
    if isinstance(doc, list):
        return Exhaustion(*doc)
    return Expiry(doc) if isinstance(doc, int) else Cancellation()
