"""Batch operations: one operation for each of the executions that a filter finds. Their documents and their counts.

A batch goes through the executions in the order of their start, a page at a time. Its progress holds the place of the
execution that it has dealt with last, so that it goes on behind that place after a crash.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..composer import changed, frozen
from .errors import InvalidError
from .filters import ENDED, Filter, InvalidFilterError, parse
from .messages import check_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..composer import JSON

CANCEL, TERMINATE, PAUSE, RESUME, REDRIVE, DELETE = (
    "cancel", "terminate", "pause", "resume", "redrive", "delete",
)  # fmt: skip
TELL, RESET, ANNOTATE = "tell", "reset", "annotate"
DONE, FAILED, CHANGED, GONE = "done", "failed", "changed", "gone"  # counts

PAGE = 100  # executions
BURST_S = 10  # a page has no more executions than so many seconds allow
MAX_ERRORS = 100  # that are kept of a batch
MAX_ERROR = 200  # characters of each
MAX_REASON = 1_000  # characters
MIN_RATE, MAX_RATE = 0.01, 1_000  # executions a second
ENTRIES_OF_PAGE = 8  # of the history of a batch, at most
_FIELDS = ("where", "do", "with", "per_second", "reason", "id")
_MESSAGES = ("keep", "drop")


@frozen
class BatchDefinition:
    """A batch as its user has written it.

    Args:
        where: the text of the filter.
        do: the operation, one of `BATCH_VERBS`.
        given: the details of the operation, the document's `with`.
        per_second: the number of executions that it deals with in a second; None for no limit.
        reason: the user's own words.
        id: the user's id for the batch; "" if it has none.
    """

    where: str
    do: str
    given: dict[str, JSON]
    per_second: float | None = None
    reason: str = ""
    id: str = ""

    @property
    def page(self) -> int:
        """The number of executions in a page."""
        if self.per_second is None:
            return PAGE
        return min(PAGE, math.ceil(self.per_second * BURST_S))

    def most(self, entries: int) -> int:
        """The number of executions that it can deal with, if its history may have so many entries."""
        return max(1, entries // ENTRIES_OF_PAGE - 1) * self.page

    def filter(self, declared: Mapping[str, str]) -> Filter:
        """The filter, for a namespace with these attributes.

        Raises:
            InvalidFilterError: the filter is malformed, or has an order that the batch itself changes.
        """
        found = parse(self.where, declared)
        if found.order == ENDED:
            at = self.where.lower().rindex("order")
            raise InvalidFilterError(
                f"InvalidFilter: at {at}: a batch goes through executions in the order of their start: write "
                "'order by started', or leave the order out"
            )
        return found

    def to_json(self) -> dict[str, JSON]:
        """The document, without the fields that are left out."""
        optional: dict[str, JSON] = {
            "with": self.given, "per_second": self.per_second, "reason": self.reason, "id": self.id,
        }  # fmt: skip
        given = {name: value for name, value in optional.items() if value}
        return {"where": self.where, "do": self.do, **given}


def batch_of(doc: JSON) -> BatchDefinition:
    """Reads the document of a batch, `{"where", "do", "with"?, "per_second"?, "reason"?, "id"?}`.

    Raises:
        InvalidError: the document is malformed; the text names the field.
    """
    if not isinstance(doc, dict):
        raise InvalidError("a batch is an object with 'where' and 'do'")
    _check_known("", doc, _FIELDS)
    where, do, given = doc.get("where"), doc.get("do"), doc.get("with")
    if not isinstance(where, str) or not where.strip():
        raise InvalidError(
            "the field 'where' must be a filter, such as \"status = 'failed'\"; write \"started > '2000-01-01'\" for "
            "all executions"
        )
    check = BATCH_VERBS.get(do) if isinstance(do, str) else None
    if check is None:
        raise InvalidError(
            f"the field 'do' must be one of {', '.join(BATCH_VERBS)}, not {do!r:.80}"
        )
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise InvalidError(f"the field 'with' must be an object, not {given!r:.80}")
    check(given)
    return BatchDefinition(
        where, str(do), given, _rate(doc.get("per_second")), _text("reason", doc, MAX_REASON), _text("id", doc),
    )  # fmt: skip


def _check_known(place: str, doc: Mapping[str, JSON], known: tuple[str, ...]) -> None:
    if unknown := doc.keys() - set(known):
        raise InvalidError(
            f"the field '{place}{min(unknown)}' does not exist: {', '.join(known)} do"
        )


def _text(name: str, doc: Mapping[str, JSON], most: int | None = None) -> str:
    value = doc.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidError(f"the field '{name}' must be a text, not {value!r:.80}")
    if most is not None and len(value) > most:
        raise InvalidError(
            f"the field '{name}' has {len(value)} characters; at most {most} are allowed"
        )
    return value


def _rate(value: JSON) -> float | None:
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not MIN_RATE <= value <= MAX_RATE
    ):
        raise InvalidError(
            f"the field 'per_second' must be a number from {MIN_RATE} to {MAX_RATE}, not {value!r:.80}"
        )
    return float(value)


# --- details of each operation -----------------------------------------------------------------


def _nothing(do: str) -> Callable[[dict[str, Any]], None]:
    def check(given: dict[str, Any]) -> None:
        if given:
            raise InvalidError(
                f"the field 'with.{min(given)}' does not exist: '{do}' needs no 'with'"
            )

    return check


def _check_tell(given: dict[str, Any]) -> None:
    _check_known("with.", given, ("name", "payload"))
    if not isinstance(given.get("name"), str):
        raise InvalidError("the field 'with.name' is missing: 'tell' needs the name of the message")
    try:
        check_message(given["name"], "")
    except InvalidError as error:
        raise InvalidError(f"the field 'with.name' cannot be used: {error}") from None


def _check_reset(given: dict[str, Any]) -> None:
    _check_known("with.", given, ("to", "messages"))
    to = given.get("to")
    step = isinstance(to, dict) and to.keys() == {"step"} and isinstance(to["step"], str)
    if not step and type(to) is not int and to not in ("first", "last"):
        raise InvalidError(
            "the field 'with.to' must be the number of an entry, 'first', 'last', or an object with the 'step', not "
            f"{to!r:.80}"
        )
    if given.get("messages", "keep") not in _MESSAGES:
        raise InvalidError(
            f"the field 'with.messages' must be 'keep' or 'drop', not {given['messages']!r:.80}"
        )


def _check_annotate(given: dict[str, Any]) -> None:
    _check_known("with.", given, ("attributes", "memo"))
    if not given:
        raise InvalidError(
            "the field 'with' is missing: 'annotate' needs 'attributes', or a 'memo', or both"
        )
    if not isinstance(given.get("attributes", {}), dict):
        raise InvalidError(
            f"the field 'with.attributes' must be an object, not {given['attributes']!r:.80}"
        )


BATCH_VERBS: dict[str, Callable[[dict[str, Any]], None]] = {  # operation: checks its details
    ANNOTATE: _check_annotate,
    RESET: _check_reset,
    TELL: _check_tell,
    **{do: _nothing(do) for do in (CANCEL, DELETE, PAUSE, REDRIVE, RESUME, TERMINATE)},
}


# --- progress ----------------------------------------------------------------------------------


@frozen
class BatchProgress:
    """The progress of a batch.

    Args:
        page: the number of the page that it deals with; 0 before the first.
        handled: the executions of this page that it has dealt with.
        since_ms: the instant at which it began the page.
        place: the place of the last execution that it has dealt with, in the filter's order; None before the first.
        over: True if no executions are left.
        counts: the executions by what became of them: `done`, `failed`, `changed`, `gone`.
        errors: the first executions that failed, with the error of each.
    """

    page: int = 0
    handled: int = 0
    since_ms: int = 0
    place: tuple[int, str] | None = None
    over: bool = False
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((DONE, FAILED, CHANGED, GONE), 0)
    )
    errors: tuple[tuple[str, str], ...] = ()

    def on_page(self, page: int, now_ms: int) -> BatchProgress:
        """The progress on a page: a new one begins now, one that was begun before a crash goes on."""
        if page <= self.page:
            return self
        return changed(self, page=page, handled=0, since_ms=now_ms)

    def passed(self, place: tuple[int, str]) -> BatchProgress:
        """The progress behind an execution that the batch leaves out."""
        return changed(self, place=place)

    def counted(self, place: tuple[int, str], count: str, error: str = "") -> BatchProgress:
        """The progress behind an execution, which counts as done, failed, changed or gone."""
        counts = {**self.counts, count: self.counts[count] + 1}
        errors = self.errors
        if count == FAILED and len(errors) < MAX_ERRORS:
            errors = (*errors, (place[1], error[:MAX_ERROR]))
        return changed(self, place=place, handled=self.handled + 1, counts=counts, errors=errors)

    def due_ms(self, per_second: float | None) -> int | None:
        """The instant at which the next page may begin; None for now."""
        if per_second is None or self.over:
            return None
        return self.since_ms + math.ceil(self.handled * 1000 / per_second)

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> BatchProgress:
        """Reads what `to_json` wrote."""
        place = doc["place"]
        return cls(
            page=doc["page"], handled=doc["handled"], since_ms=doc["since"], over=doc["over"],
            place=None if place is None else (place[0], place[1]), counts=doc["counts"],
            errors=tuple((id, error) for id, error in doc["errors"]),
        )  # fmt: skip

    def to_json(self) -> dict[str, JSON]:
        return {
            "page": self.page, "handled": self.handled, "since": self.since_ms, "over": self.over,
            "place": None if self.place is None else [*self.place], "counts": {**self.counts},
            "errors": [[id, error] for id, error in self.errors],
        }  # fmt: skip

    def shown(self) -> dict[str, JSON]:
        """The counts and the errors as users see them."""
        errors: list[JSON] = [{"executionId": id, "error": error} for id, error in self.errors]
        return {**self.counts, "errors": errors}
