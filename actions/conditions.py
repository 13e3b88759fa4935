"""Conditions of rules: which of a trigger's fires invoke the rule's action.

Paths and predicates read `$.event`, the CloudEvent, and `$.context`, which is kept for the rule from one fire to
the next. A fire without a CloudEvent is judged as `{"data": payload}`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..composer import (
    ExpressionError,
    check_bounds,
    flaw,
    malformed,
    read_event_path,
    read_event_predicate,
    read_event_template,
)
from .clouds import YEAR_MS
from .errors import InvalidError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..composer import JSON, EventPredicate, Path, Template

EVENT, CONTEXT = "event", "context"
KNOWN = ("where", "count", "join", "throttle_ms", "by")
KINDS = KNOWN[1:4]  # a condition has one of them at most
MAX_COUNT = 1_000_000_000
MAX_MEMBERS = 10_000  # of a join
MAX_MEMBER = 1_024  # characters of a member of a join, and of a value that separates contexts
MAX_NUMBER = 1 << 63
MAX_CONTEXT_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Join:
    """Waits for all members of a set.

    Args:
        of: the members by `key_of`; None if any will do.
        size: the number of members.
        member: the place of the member that a CloudEvent stands for.
    """

    of: dict[str, JSON] | None
    size: int
    member: Path


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition. Make it with `read_condition`.

    Args:
        doc: its JSON form.
        where: must hold, or the fire leaves everything as it is; None if there is none.
        count: the fires from one invocation to the next; None if it does not count.
        join: the set that must be complete; None if it joins nothing.
        throttle_ms: the least time from one invocation to the next; None if it may be none.
        by: the place of the value that separates contexts; None if there is one context for all.
    """

    doc: dict[str, JSON]
    where: EventPredicate | None = field(default=None, compare=False)
    count: int | None = field(default=None, compare=False)
    join: Join | None = field(default=None, compare=False)
    throttle_ms: int | None = field(default=None, compare=False)
    by: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The template that makes the context after a fire. Make it with `read_assignment`."""

    doc: dict[str, JSON]
    template: Template = field(compare=False)


@contextmanager
def refusing() -> Iterator[None]:
    """Refuses a request for a malformed part of a definition.

    Raises:
        InvalidError: something raised an `ExpressionError`.
    """
    try:
        yield
    except ExpressionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from None


@refusing()
def read_condition(doc: Any) -> Condition | None:
    """Reads a condition: None for true, which always holds.

    Raises:
        InvalidError: it is not a condition. The text names the member.
    """
    if doc is True:
        return None
    check_bounds(doc, "condition")
    if not isinstance(doc, dict) or not doc:
        raise malformed("condition", f"must be true, or an object with {_list()}, not {doc!r:.200}")
    if "op" in doc:
        return Condition(doc, where=_where(doc, "condition"))
    for name in doc:
        if name not in KNOWN:
            raise malformed("condition", f"has the member {name!r:.100}: it may have {_list()}")
    kinds = [name for name in KINDS if name in doc]
    if len(kinds) > 1:
        raise malformed(
            "condition", f"has {' and '.join(kinds)}: make a rule for each, since it may have one"
        )
    if not kinds and "where" not in doc:
        raise malformed("condition", f"needs one of where, {', '.join(KINDS)} besides 'by'")
    return Condition(
        doc,
        where=_where(doc["where"], "condition.where") if "where" in doc else None,
        count=_whole(doc["count"], "condition.count", MAX_COUNT) if "count" in doc else None,
        join=_join(doc["join"]) if "join" in doc else None,
        throttle_ms=(
            _whole(doc["throttle_ms"], "condition.throttle_ms", YEAR_MS)
            if "throttle_ms" in doc
            else None
        ),
        by=read_event_path(doc["by"], "condition.by", (EVENT,)) if "by" in doc else None,
    )


@refusing()
def read_assignment(doc: Any) -> Assignment:
    """Reads an object of templates.

    Raises:
        InvalidError: it is not one. The text names the member.
    """
    check_bounds(doc, "assign")
    if not isinstance(doc, dict):
        raise malformed("assign", f"must be an object of templates, not {doc!r:.200}")
    return Assignment(doc, read_event_template(doc, "assign", (EVENT, CONTEXT)))


@refusing()
def read_context(doc: Any) -> dict[str, JSON]:
    """Reads the context that a rule begins with.

    Raises:
        InvalidError: it is not an object.
        TooLargeError: it is too large.
    """
    if not isinstance(doc, dict):
        raise malformed("context", f"must be an object, not {doc!r:.200}")
    if why := flaw(doc):
        raise malformed("context", f"is not a JSON value: {why}")
    size = len(json.dumps(doc, ensure_ascii=False).encode())
    if size > MAX_CONTEXT_BYTES:
        raise TooLargeError(f"Context larger than allowed: {size} > {MAX_CONTEXT_BYTES} bytes.")
    return doc


def key_of(value: object) -> str | None:
    """32 hexadecimal digits that name a string, number or boolean; None for anything else, or one too long.

    Equal numbers have one key; the string "1" and the number 1 have two.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = (
        len(value) <= MAX_MEMBER if isinstance(value, str)
        else abs(value) <= MAX_NUMBER if isinstance(value, (int, float)) else False
    )  # fmt: skip
    if not fits:
        return None
    return sha256(json.dumps(value).encode()).hexdigest()[:32]


def _list() -> str:
    return ", ".join(KNOWN)


def _where(doc: Any, place: str) -> EventPredicate:
    return read_event_predicate(doc, place, (EVENT, CONTEXT))


def _whole(value: Any, place: str, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise malformed(place, f"must be an integer from 1 to {most}, not {value!r:.100}")
    return value


def _join(doc: Any) -> Join:
    if not isinstance(doc, dict) or doc.keys() != {"of", "member"}:
        raise malformed(
            "condition.join", f"must be an object with 'of' and 'member', not {doc!r:.200}"
        )
    member = read_event_path(doc["member"], "condition.join.member", (EVENT,))
    if not isinstance(doc["of"], list):
        return Join(None, _whole(doc["of"], "condition.join.of", MAX_MEMBERS), member)
    keys = {key: value for value in doc["of"] if (key := key_of(value)) is not None}
    if not keys or len(keys) != len(doc["of"]):
        raise malformed(
            "condition.join.of",
            "must be a number, or a list of different strings, numbers and booleans "
            f"of at most {MAX_MEMBER} characters, not {doc['of']!r:.200}",
        )
    return Join(keys, len(keys), member)
