"""The waits of a fiber: the kinds of events that it needs before it runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..freezing import frozen
from ..values import JSON, Failure, outcome_from_json, outcome_to_json
from .stored import Part
from .unwind_reasons import Interruption, reason_from_json, reason_to_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from .stored import Document


@frozen
class Invoking(Part):
    """Waits for an action. It has a `ticket` once the action is to answer later, or is `polled` for its answer.

    With an `unwind_reason` the action was asked to stop, and the fiber unwinds when it has ended.
    """

    ticket: JSON = None
    polled: bool = False
    unwind_reason: Interruption | None = None

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        doc: dict[str, JSON] = {"ticket": self.ticket, **({"polled": True} if self.polled else {})}
        if self.unwind_reason is not None:
            doc["cause"] = reason_to_json(self.unwind_reason)
        return doc

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003
        reason = reason_from_json(doc["cause"]) if "cause" in doc else None
        return cls(doc["ticket"], doc.get("polled", False), reason)


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


Wait: TypeAlias = Invoking | Sleeping | Hearing | Joining | Paused


def invoking(wait: Wait | None) -> bool:
    """True if it is a wait for an action that has not answered at all."""
    return type(wait) is Invoking and wait.ticket is None


def polling(wait: Wait | None) -> bool:
    """True if it is a wait for an action that is polled for its answer."""
    return type(wait) is Invoking and wait.polled
