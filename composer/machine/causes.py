"""Why frames are unwound, beside a failure. Handlers and retries see failures only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..freezing import frozen

if TYPE_CHECKING:
    from ..values import JSON


@frozen
class Cancellation:
    """The execution is being cancelled, or this fiber is no longer wanted."""


@frozen
class Exhaustion:
    """The execution takes more steps than it may: nothing runs any more but what undoes."""

    limit: int


@frozen
class Expiry:
    """The deadline frame at this depth has passed."""

    depth: int


def stronger(
    held: Cancellation | Expiry | None, new: Cancellation | Expiry
) -> Cancellation | Expiry:
    """Of two causes the one that unwinds further."""
    if isinstance(held, Cancellation) or held is None:
        return held or new
    return held if isinstance(new, Expiry) and held.depth < new.depth else new


def cause_to_json(cause: Cancellation | Expiry | Exhaustion | None) -> JSON:
    if isinstance(cause, Exhaustion):
        return [cause.limit]
    return cause.depth if isinstance(cause, Expiry) else "cancelled" if cause else None


def cause_from_json(doc: JSON) -> Any:
    if doc is None:
        return None
    if isinstance(doc, list):
        return Exhaustion(*doc)
    return Expiry(doc) if isinstance(doc, int) else Cancellation()
