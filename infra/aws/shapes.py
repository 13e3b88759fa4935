"""Shapes of request parameters, read and checked as AWS does, with its texts.

A value of the wrong type is refused at once (SerializationException). Constraints are checked
afterwards, and one error lists all violations (ValidationException).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from .errors import AwsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...composer import JSON


@dataclass(frozen=True, slots=True)
class Text:
    """A text: its length, pattern or permitted values. Errors never show a secret text."""

    least: int = 0
    most: int | None = None
    pattern: str | None = None
    among: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number; a whole number loses its fraction, as on AWS."""

    least: int = 0
    most: int | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    member: Shape
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """An object with any keys: the shapes of its keys and of its values, and their number."""

    key: Text
    value: Shape
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """An object; `name` is the name that AWS' texts give it."""

    fields: dict[str, Shape]
    required: frozenset[str] = frozenset()
    name: str = ""


Shape: TypeAlias = Text | Number | Flag | Items | Entries | Members


@dataclass(frozen=True, slots=True)
class Required:
    """A field that must be there."""

    shape: Shape


Field: TypeAlias = Shape | Required

Parameters: TypeAlias = Mapping[str, Any]
"""A request's parameters after `read` has checked them against the shape of the operation."""


def members(name: str = "", /, **fields: Field) -> Members:
    """The shape of an object with these fields."""
    required = frozenset(key for key, shape in fields.items() if isinstance(shape, Required))
    shapes = {
        key: shape.shape if isinstance(shape, Required) else shape for key, shape in fields.items()
    }
    return Members(shapes, required, name)


def read(shape: Members, value: JSON) -> dict[str, Any]:
    """The known parameters of a request that are not null, checked: see `Parameters`.

    Raises:
        AwsError: SerializationException or ValidationException.
    """
    found = _members(shape, value)
    wrong = list(_violations(shape, found, ""))
    if wrong:
        count = "1 validation error" if len(wrong) == 1 else f"{len(wrong)} validation errors"
        raise AwsError("ValidationException", f"{count} detected: {'; '.join(wrong)}")
    return found


# --- types -------------------------------------------------------------------------------------


def _typed(shape: Shape, value: JSON) -> JSON:
    match shape:
        case Members():
            return _members(shape, value)
        case Items() if isinstance(value, list):
            return [None if item is None else _typed(shape.member, item) for item in value]
        case Entries() if isinstance(value, dict):
            return {
                name: None if item is None else _typed(shape.value, item)
                for name, item in value.items()
            }
        case Text() if isinstance(value, str):
            return value
        case Flag() if isinstance(value, bool):
            return value
        case Number() if isinstance(value, (int, float)) and not isinstance(value, bool):
            return int(value) if shape.whole else value
        case _:
            raise AwsError("SerializationException", _mismatch(shape, value))


def _members(shape: Members, value: JSON) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise AwsError("SerializationException", _mismatch(shape, value))
    return {
        name: _typed(inner, value[name])
        for name, inner in shape.fields.items()
        if value.get(name) is not None
    }


def _mismatch(shape: Shape, value: JSON) -> str:
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    if isinstance(value, list):
        return "Start of list found where not expected"
    if isinstance(shape, Members | Entries):
        return "Unexpected field type"
    if isinstance(shape, Items):
        return "Expected list or null"
    return f"{_token(value)} cannot be converted to {_kind(shape)}"


def _token(value: JSON) -> str:
    if isinstance(value, bool):
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    return "STRING_VALUE" if isinstance(value, str) else "NUMBER_VALUE"


def _kind(shape: Text | Number | Flag) -> str:
    match shape:
        case Text():
            return "String"
        case Flag():
            return "Boolean"
        case Number():
            return "Integer" if shape.whole else "Float"
        case _:
            assert_never(shape)


# --- constraints -------------------------------------------------------------------------------


def _violations(shape: Shape, value: Any, at: str) -> Iterator[str]:
    match shape:
        case Members():
            yield from _missing_or_broken(shape, value, at)
        case Items():
            yield from _sized(shape, len(value), value, at)
            for number, item in enumerate(value, 1):
                where = f"{at}.{number}.member"
                if item is None:
                    yield _told("null", where, "Member must not be null")
                else:
                    yield from _violations(shape.member, item, where)
        case Entries():
            yield from _wrong_entries(shape, value, at)
        case Text():
            yield from _sized(shape, len(value), value, at)
            yield from _misspelled(shape, value, at)
        case Number():
            yield from _out_of_range(shape, value, at)
        case Flag():
            return
        case _:
            assert_never(shape)


def _missing_or_broken(shape: Members, value: Parameters, at: str) -> Iterator[str]:
    for name, inner in shape.fields.items():
        where = f"{at}.{name}" if at else name
        if name in value:
            yield from _violations(inner, value[name], where)
        elif name in shape.required:
            yield _told("null", where, "Member must not be null")


def _wrong_entries(shape: Entries, value: Parameters, at: str) -> Iterator[str]:
    if shape.most is not None and len(value) > shape.most:
        told = f"Member must have length less than or equal to {shape.most}"
        yield _wrong(shape, value, at, told)
    for name, item in value.items():
        if wrong := [*_violations(shape.key, name, at)]:
            why = ", ".join(text.partition("failed to satisfy constraint: ")[2] for text in wrong)
            yield _wrong(shape, value, at, f"Map keys must satisfy constraint: [{why}]")
        if item is None:
            yield _told("null", f"{at}.{name}.member", "Member must not be null")
        else:
            yield from _violations(shape.value, item, f"{at}.{name}.member")


def _misspelled(shape: Text, value: str, at: str) -> Iterator[str]:
    if shape.among and value not in shape.among:
        among = f"[{', '.join(shape.among)}]"
        yield _wrong(shape, value, at, f"Member must satisfy enum value set: {among}")
    if shape.pattern and not re.fullmatch(shape.pattern.removesuffix("$"), value):
        told = f"Member must satisfy regular expression pattern: {shape.pattern}"
        yield _wrong(shape, value, at, told)


def _out_of_range(shape: Number, value: float, at: str) -> Iterator[str]:
    if value < shape.least:
        told = f"Member must have value greater than or equal to {shape.least}"
        yield _wrong(shape, value, at, told)
    if shape.most is not None and value > shape.most:
        yield _wrong(shape, value, at, f"Member must have value less than or equal to {shape.most}")


def _sized(shape: Text | Items, size: int, value: Any, at: str) -> Iterator[str]:
    if size < shape.least:
        yield _wrong(
            shape, value, at, f"Member must have length greater than or equal to {shape.least}"
        )
    if shape.most is not None and size > shape.most:
        yield _wrong(
            shape, value, at, f"Member must have length less than or equal to {shape.most}"
        )


def _wrong(shape: Shape, value: Any, at: str, why: str) -> str:
    if isinstance(shape, Text) and shape.secret:
        return f"Value at '{at}' failed to satisfy constraint: {why}"
    return _told(f"'{_shown(shape, value)}'", at, why)


def _told(value: str, at: str, why: str) -> str:
    return f"Value {value} at '{at}' failed to satisfy constraint: {why}"


def _shown(shape: Shape, value: Any) -> str:
    """A value in Java's format, as AWS' texts show it."""
    if value is None:
        return "null"
    match shape:
        case Items():
            return f"[{', '.join(_shown(shape.member, item) for item in value)}]"
        case Entries():
            pairs = (f"{name}={_shown(shape.value, item)}" for name, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case Members():
            fields = (f"{n}={_shown(inner, value.get(n))}" for n, inner in shape.fields.items())
            return f"{shape.name}({', '.join(fields)})"
        case Text() | Number() | Flag():
            return str(value)
        case _:
            assert_never(shape)
