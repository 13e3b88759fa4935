"""Attributes, by which executions are found: their types, and the values under which a store indexes them.

A namespace declares its attributes. A value is indexed under the key of its attribute, which holds the type,
too: after an attribute was deleted and declared with another type, no old value is taken for a new one.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..composer import JSON

Scalar: TypeAlias = str | int | float

TEXT, NUMBER, BOOLEAN, INSTANT, KEYWORDS = "text", "number", "boolean", "instant", "keywords"
ATTRIBUTE_TYPES = (TEXT, NUMBER, BOOLEAN, INSTANT, KEYWORDS)
MAX_ATTRIBUTES = 40  # that a namespace declares
MAX_VALUE_BYTES = 2 << 10
MAX_MEMO_BYTES = 64 << 10
LARGEST = (1 << 63) - 1  # a whole number that every store can compare
ID_KEY = "id"  # under which the user's id of an execution is indexed; other keys have two words
FIELDS = {  # of every execution: their types
    "action": TEXT, "duration": NUMBER, "ended": INSTANT, "id": TEXT, "run": TEXT, "started": INSTANT,
    "status": TEXT,
}  # fmt: skip
WORDS = frozenset(
    ("and", "or", "not", "in", "between", "is", "null", "true", "false", "order", "by", "asc", "desc",
     "starts_with")
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class Indexed(NamedTuple):
    """The values under which an execution is found. They replace those that the store has of it.

    Args:
        execution: its id.
        namespace: that it is in.
        started_ms: when it began, as its row says.
        values: keys of attributes with values; a key has several values if it is of keywords.
    """

    execution: str
    namespace: str
    started_ms: int
    values: tuple[tuple[str, Scalar], ...]


def check_name(name: str) -> None:
    """Checks the name of an attribute.

    Raises:
        InvalidError: the name is malformed, or has a meaning in filters.
    """
    if not _NAME.fullmatch(name):
        raise InvalidError(
            f"The attribute's name {name[:80]!r} is not valid: use letters, digits and '_', at most 64 "
            "characters, not a digit first."
        )
    if name.lower() in WORDS or name.lower() in FIELDS:
        raise InvalidError(
            f"The name '{name}' has a meaning in filters: choose another name for the attribute."
        )


def check_type(type: JSON) -> str:
    """Returns the type of an attribute.

    Raises:
        InvalidError: there is no such type.
    """
    if not isinstance(type, str) or type not in ATTRIBUTE_TYPES:
        raise InvalidError(
            f"'type' must be one of {', '.join(ATTRIBUTE_TYPES)}, not {type!r:.100}."
        )
    return type


def key_of(name: str, type: str) -> str:
    """Returns the key under which values of an attribute are indexed."""
    return f"{type} {name}"


def indexed(
    attributes: Mapping[str, JSON], declared: Mapping[str, str], id: str = ""
) -> tuple[tuple[str, Scalar], ...]:
    """Returns the values under which an execution with these attributes, and this id of the user's, is found.

    `declared` are the types of the namespace's attributes.

    Raises:
        InvalidError: an attribute is not declared, or its value does not fit its type or is too large.
    """
    values: list[tuple[str, Scalar]] = [(ID_KEY, id)] if id else []
    for name, value in attributes.items():
        if name not in declared:
            raise InvalidError(undeclared(name, declared) + ". Declare it, or correct its name.")
        type = declared[name]
        try:
            found = _READERS[type](value)
        except ValueError as error:
            raise InvalidError(f"The attribute '{name}' must be {error}.") from None
        values += [(key_of(name, type), each) for each in found]
    return tuple(values)


def undeclared(name: str, declared: Iterable[str]) -> str:
    """Returns the text that says that an attribute is not declared, with those that are."""
    there = ", ".join(sorted(declared))
    return f"no attribute '{name[:80]}'; there {'are ' + there if there else 'is none'}"


def instant_ms(text: str) -> int:
    """Returns an instant in ISO 8601 in milliseconds since the epoch. Without an offset it is UTC.

    Raises:
        ValueError: the text is not an instant.
    """
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return math.floor(found.timestamp() * 1000 + 0.5)


def _text(value: JSON) -> list[Scalar]:
    if not isinstance(value, str):
        raise ValueError(f"text, not {value!r:.100}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError("text of valid Unicode characters") from None
    if size > MAX_VALUE_BYTES:
        raise ValueError(f"of at most {MAX_VALUE_BYTES} bytes, not {size}")
    return [value]


def number(value: JSON) -> int | float:
    """Returns a number that every store can compare.

    Raises:
        ValueError: the value is not a number, or too large.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number, not {value!r:.100}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a finite number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(
            "a number of at most 63 bits; send a larger number as a float such as 1e30"
        )
    return value


def _boolean(value: JSON) -> list[Scalar]:
    if not isinstance(value, bool):
        raise ValueError(f"true or false, not {value!r:.100}")
    return [int(value)]


def _instant(value: JSON) -> list[Scalar]:
    if isinstance(value, str):
        try:
            return [instant_ms(value)]
        except ValueError:
            pass
    elif isinstance(value, int) and not isinstance(value, bool):
        return [number(value)]
    raise ValueError(
        f"an instant such as '2026-11-01T09:30:00Z', or milliseconds since 1970, not {value!r:.100}"
    )


def _keywords(value: JSON) -> list[Scalar]:
    if not isinstance(value, list):
        raise ValueError(f"a list of text, not {value!r:.100}")
    words = [word for each in value for word in _text(each)]
    size = sum(len(str(word).encode()) for word in words)
    if size > MAX_VALUE_BYTES or len(words) > MAX_VALUE_BYTES:
        raise ValueError(f"a list of at most {MAX_VALUE_BYTES} bytes, not {max(size, len(words))}")
    return list(dict.fromkeys(words))


_READERS: dict[str, Callable[[JSON], list[Scalar]]] = {
    TEXT: _text,
    NUMBER: lambda value: [number(value)],
    BOOLEAN: _boolean,
    INSTANT: _instant,
    KEYWORDS: _keywords,
}
