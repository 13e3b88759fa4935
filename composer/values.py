"""JSON values, OpenWhisk's `error` convention, and the bounds on both.

A value is what `json.loads` gives: None, bool, int, float, str, list, dict with string keys. Values
are shared and never changed: whoever wants another value builds one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

JSON: TypeAlias = Any

MAX_DEPTH = 200  # levels; orjson writes 254, and a composition may still wrap what it was given

# What can go wrong, by name. Retry and handlers match on these; `actions` adds where they come from.
APPLICATION_ERROR = "ApplicationError"
CANCELLED = "Cancelled"
EXPRESSION_ERROR = "ExpressionError"
LIMIT_EXCEEDED = "LimitExceeded"
NO_CHOICE = "NoChoice"
NOT_MET = "ConditionNotMet"
TIMEOUT = "Timeout"


@final
@dataclass(frozen=True, slots=True)
class Success:
    """What came back when all went well: always an object."""

    value: dict[str, JSON]


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """What came back when it did not: `error` is what stands in the object's `error` field."""

    code: str
    error: JSON

    @property
    def value(self) -> dict[str, JSON]:
        """The failure as the object that handlers and callers see."""
        return {"error": self.error}

    def named(self, name: str) -> bool:
        """Whether a handler or retry that asks for `name` means this failure.

        `*` means every one; otherwise the code, or what the error calls itself: a string, or an
        object's `code`, `name` or `type`.
        """
        if name in ("*", self.code) or name == self.error:
            return True
        return isinstance(self.error, dict) and any(
            self.error.get(key) == name for key in ("code", "name", "type")
        )


Outcome: TypeAlias = Success | Failure


def failure(code: str, message: str, **detail: JSON) -> Failure:
    """A failure of the machine's own: its error is an object with `code` and `message`."""
    return Failure(code, {"code": code, "message": message, **detail})


def boxed(value: JSON) -> dict[str, JSON]:
    """`value` as an object: anything else stands in its field `value`, as Composer has it."""
    return value if type(value) is dict else {"value": value}


def truthy(value: JSON) -> bool:
    """JavaScript's truth, which Composer's conditions have: an empty list or object is true."""
    return not (value is None or value is False or value in (0, ""))


def copied(value: JSON) -> JSON:
    """A copy that shares nothing mutable with `value`."""
    if type(value) is dict:
        return {key: copied(member) for key, member in value.items()}
    if type(value) is list:
        return [copied(member) for member in value]
    return value


def equal(left: JSON, right: JSON) -> bool:
    """JSON's equality: 1 is 1.0 but not true, at any depth (RFC 9535, section 2.3.5.2.2)."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return (type(left) is type(right) and left == right) or _numeric(left, right)


def _numeric(left: JSON, right: JSON) -> bool:
    numbers = (int, float)
    return isinstance(left, numbers) and isinstance(right, numbers) and left == right


def measured(value: JSON, limit: int) -> int:
    """About how many bytes `value` takes as JSON; stops counting above `limit`.

    The same object inside a value counts as often as it stands there, so a small value that would
    print as a huge one (a reference doubled at every level) is seen for what it is.
    """
    size = 0
    left = [value]
    while left and size <= limit:
        member = left.pop()
        if type(member) is str:
            size += len(member) + 2
        elif type(member) is dict:
            size += 2
            for key, inner in member.items():
                size += len(key) + 4
                left.append(inner)
        elif type(member) is list:
            size += 2 + len(member)
            left.extend(member)
        else:
            size += 5
    return size


def flaw(value: JSON) -> str | None:
    """Why `value` is no JSON value, in a few words that name the place; None when it is one."""
    left: list[tuple[JSON, str, int]] = [(value, "$", 0)]
    while left:
        member, where, depth = left.pop()
        if depth > MAX_DEPTH:
            return f"it nests deeper than {MAX_DEPTH} levels"
        if member is None or type(member) in (bool, int, str):
            continue
        if type(member) is float:
            if member != member or member in (float("inf"), float("-inf")):  # noqa: PLR0124  NaN
                return f"{member} at {where} is no JSON number"
        elif type(member) is dict:
            for key, inner in member.items():
                if type(key) is not str:
                    return f"the key {key!r} at {where} is no string"
                left.append((inner, f"{where}.{key}", depth + 1))
        elif type(member) in (list, tuple):
            left.extend((inner, f"{where}[{i}]", depth + 1) for i, inner in enumerate(member))
        else:
            return f"{type(member).__name__} at {where} is no JSON type"
    return None
