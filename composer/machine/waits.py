"""The waits of a fiber: the kinds of events that it needs before it runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..freezing import frozen
from ..values import JSON, Failure, outcome_from_json, outcome_to_json
from .stored import Part
from .unwind_reasons import Interruption, reason_from_json, reason_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from .stored import Document


@frozen
class Invoking(Part):
    """Waits for an action. It has a `ticket` once the action is to answer later, or is `polled` for its answer.

    `details` came with its last heartbeat. With an `unwind_reason` the action was asked to stop, and the fiber
    unwinds when it has ended.
    """

    ticket: JSON = None
    polled: bool = False
    details: JSON = None
    unwind_reason: Interruption | None = None

    def values(self) -> Iterable[JSON]:
        return () if self.details is None else (self.details,)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"ticket": self.ticket}
        if self.polled:
            doc["polled"] = True
        if self.details is not None:
            doc["details"] = keep(self.details)
        if self.unwind_reason is not None:
            doc["cause"] = reason_to_json(self.unwind_reason)
        return doc

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        details = load(doc["details"]) if "details" in doc else None
        reason = reason_from_json(doc["cause"]) if "cause" in doc else None
        return cls(doc["ticket"], doc.get("polled", False), details, reason)


@frozen
class Sleeping(Part):
    """Waits for an instant: a reading of the machine's clock (`by_clock`), or the end of a duration."""

    until_ms: int
    by_clock: bool = False

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        return {"until_ms": self.until_ms, **({"by_clock": True} if self.by_clock else {})}


@frozen
class Hearing(Part):
    """Waits for messages from outside, since an instant; its instruction says for which."""

    since_ms: int


@frozen
class Watching(Part):
    """Waits until its instruction's predicate over variables holds, since an instant."""

    since_ms: int


@frozen
class Acquiring(Part):
    """Waits for a slot of a limit, at a place in its line, since an instant; see `acquiring`.

    `limit` is "" and `place` 0 until whoever keeps the line has answered.
    """

    key: str
    limit: str = ""
    place: int = 0
    since_ms: int = 0


@frozen
class Joining(Part):
    """Waits for the fibers that it forked; with an `unwind_reason`, unwinds when the last of them has ended."""

    unwind_reason: Interruption | None = None

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        return {"cause": reason_to_json(self.unwind_reason)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003
        return cls(reason_from_json(doc["cause"]))


@frozen
class Paused(Part):
    """Waits for an operator after this failure; `stuck` if a saga needs the operator to go on."""

    failure: Failure
    stuck: bool = False

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"failure": outcome_to_json(self.failure, keep), "stuck": self.stuck}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls(**{**doc, "failure": outcome_from_json(doc["failure"], load)})


Wait: TypeAlias = Invoking | Sleeping | Hearing | Watching | Acquiring | Joining | Paused


def invoking(wait: Wait | None) -> bool:
    """True if it is a wait for an action that has not answered at all."""
    return type(wait) is Invoking and wait.ticket is None


def polling(wait: Wait | None) -> bool:
    """True if it is a wait for an action that is polled for its answer."""
    return type(wait) is Invoking and wait.polled
