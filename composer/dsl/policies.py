"""Retry policies of sagas, after the retry controllers of OpenStack's TaskFlow.

A saga with a failed part is undone first. Then its policy decides: the saga runs again, or its failure
propagates to the saga around it, which is undone in turn and applies its own policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..expressions import Selector, Template
from ..values import copied, flaw
from .arguments import DELAY, FIELD, POSITIVE, TEMPLATE, Kind

if TYPE_CHECKING:
    from ..values import JSON


@dataclass(frozen=True, slots=True)
class AlwaysRevert:
    """The saga is undone, and its failure propagates: the policy of a saga without a policy."""


@dataclass(frozen=True, slots=True)
class AlwaysRevertAll:
    """The saga is undone, and so is every saga around it, despite their own policies."""


@dataclass(frozen=True, slots=True)
class Times:
    """The saga runs at most `attempts` times in all, with `delay` seconds between two attempts."""

    attempts: int
    delay: float = 0


@dataclass(frozen=True, slots=True)
class ForEach:
    """The saga runs with one of these values after the other in the field `into` of its input."""

    values: tuple[Any, ...]
    into: str


@dataclass(frozen=True, slots=True)
class ParameterizedForEach:
    """Like ForEach, with the values of a list in the input; `values` is a path to the list."""

    values: Any
    into: str


Policy: TypeAlias = AlwaysRevert | AlwaysRevertAll | Times | ForEach | ParameterizedForEach


def take(value: Any) -> Policy | None:
    """Checks a policy. Returns it with its values copied.

    Raises:
        ValueError: the policy is wrong; the text says what it must be.
    """
    match value:
        case None | AlwaysRevert() | AlwaysRevertAll():
            return value
        case Times(attempts, delay):
            if type(attempts) is not int or attempts < 1:
                raise ValueError(f"has {attempts!r} attempts: it must be an int >= 1")
            if type(delay) not in (int, float) or not 0 <= delay <= 366 * 24 * 3600:
                raise ValueError(f"has a delay of {delay!r}: it must be seconds, up to a year")
            return value
        case ForEach(values, into):
            if not isinstance(values, (list, tuple)):
                raise ValueError(f"must have a list of values, not {values!r:.100}")
            given = list(values)
            if not given or (why := flaw(given)):
                raise ValueError(f"must have JSON values, at least one: {why if given else given}")
            return ForEach(tuple(copied(value) for value in given), _field(into))
        case ParameterizedForEach(values, into):
            if not isinstance(values, (Selector, Template)):
                raise ValueError(f"must have a path() to a list of values, not {values!r}")
            made = values if isinstance(values, Template) else Template.of(values)
            return ParameterizedForEach(made, _field(into))
        case _:
            raise ValueError(
                "must be AlwaysRevert(), AlwaysRevertAll(), Times(...), ForEach(...) or "
                f"ParameterizedForEach(...), not {value!r}"
            )


def _field(into: Any) -> str:
    if not isinstance(into, str) or not into or into == "error":
        raise ValueError(f"must have the name of a field in 'into', not {into!r}")
    return into


def write(policy: Policy | None) -> JSON:
    """A policy as JSON; None for the default."""
    match policy:
        case None | AlwaysRevert():
            return None
        case Times(attempts, delay):
            return {"policy": "Times", "attempts": attempts, "delay": delay}
        case ForEach(values, into):
            return {"policy": "ForEach", "values": list(values), "into": into}
        case ParameterizedForEach(values, into):
            return {"policy": "ParameterizedForEach", "values": values.to_json(), "into": into}
        case _:
            return {"policy": "AlwaysRevertAll"}


def read(doc: Any) -> Policy | None:
    """Reads a policy that `write` wrote; `take` checks it.

    Raises:
        ValueError: it is not a policy.
    """
    match doc:
        case None | {"policy": "AlwaysRevert"}:
            return None
        case {"policy": "AlwaysRevertAll"}:
            return AlwaysRevertAll()
        case {"policy": "Times", "attempts": attempts}:
            return Times(attempts, doc.get("delay", 0))
        case {"policy": "ForEach", "values": list(values), "into": into}:
            return ForEach(tuple(values), into)
        case {"policy": "ParameterizedForEach", "values": values, "into": into}:
            return ParameterizedForEach(Template.from_json(values), into)
        case _:
            raise ValueError(f"is not a policy: {doc!r:.100}")


def _case(policy: str, required: list[JSON], **members: JSON) -> JSON:
    return {
        "if": {"properties": {"policy": {"const": policy}}, "required": ["policy"]},
        "then": {"properties": members, "required": required},
    }


_POLICIES: Final[list[JSON]] = [
    _case("Times", ["attempts"], attempts=POSITIVE.schema, delay=DELAY.schema),
    _case("ForEach", ["values", "into"], values={"type": "array"}, into=FIELD.schema),
    _case("ParameterizedForEach", ["values", "into"], values=TEMPLATE.schema, into=FIELD.schema),
]
_NAMES: Final[list[JSON]] = [
    each.__name__ for each in (AlwaysRevert, AlwaysRevertAll, Times, ForEach, ParameterizedForEach)
]
POLICY: Final = Kind(
    take,
    write,
    read,
    schema={
        "if": {"not": {"type": "null"}},
        "then": {
            "type": "object",
            "properties": {"policy": {"enum": _NAMES}},
            "required": ["policy"],
            "allOf": _POLICIES,
        },
    },
)
