"""JSON values, OpenWhisk's `error` convention, and the bounds on both.

A value has the types that `json.loads` makes: None, bool, int, float, str, list, dict with string keys.
Values are shared and never changed: code that needs another value builds one.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias, final

from .freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

MAX_DEPTH = 200  # levels of a value that is given
MADE_DEPTH = (
    240  # levels of one that the machine makes of those; orjson writes 254, and it is wrapped
)
MAX_STEP = 100  # characters of a key that are shown in a place: each member's repeats all above it
MAX_CLASSES = 16  # names of an exception's classes that are kept, the most derived first
MAX_CLASS = 100  # characters of each; both are bounds on what a worker may claim
WIDE_DIGITS = 19  # that an integer of more than 64 bits has at least
MIN_INT, MAX_INT = -(1 << 63), (1 << 64) - 1  # what fits 64 bits: orjson writes no other integer

_DIGITS, _WIDE = bytes.maketrans(b"123456789", b"0" * 9), b"0" * WIDE_DIGITS

# What can go wrong, by name. Retry and handlers match on these; `actions` adds where they come from.
APPLICATION_ERROR = "ApplicationError"
CANCELLED = "Cancelled"
EXPRESSION_ERROR = "ExpressionError"
LIMIT_EXCEEDED = "LimitExceeded"
NO_CHOICE = "NoChoice"
NOT_MET = "ConditionNotMet"
TIMEOUT = "Timeout"


@final
@frozen
class Success:
    """The outcome of an invocation that succeeded.

    Args:
        value: the result: an object; any JSON from a state machine and from a handler in Lambda's style.
    """

    value: JSON


@final
@frozen
class Failure:
    """The outcome of an invocation that failed: `error` is the `error` field of the result.

    Args:
        code: the kind of failure; `ApplicationError` for an exception of user code.
        error: the error, of any JSON type.
        raised: the names of the exception's class and of its bases, the most derived first, if user code
            raised an exception.
    """

    code: str
    error: JSON
    raised: tuple[str, ...] = ()

    @property
    def value(self) -> dict[str, JSON]:
        """The failure as the object that handlers and callers see."""
        return {"error": self.error}

    @property
    def name(self) -> str:
        """The code that users see: the class of the exception if user code raised one."""
        return self.raised[0] if self.raised else self.code

    @property
    def message(self) -> str:
        """The failure in one line, such as `KeyError: 'oder'`."""
        error = self.error
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            error = error["message"]
        text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
        if text == self.name or text.startswith(f"{self.name}: "):
            return text
        return f"{self.name}: {text}"

    @property
    def detail(self) -> dict[str, JSON]:
        """The code, and the classes if there are any, as histories store them."""
        doc: dict[str, JSON] = {"code": self.code}
        return {**doc, "raised": list(self.raised)} if self.raised else doc

    def named(self, name: str) -> bool:
        """True if a handler or a retry for `name` covers this failure.

        `*` covers every failure. Any other name is compared with the code, with the classes of the exception
        and with the error's own name: a string, or an object's `code`, `name`, `type` or (Lambda's)
        `errorType`. `ApplicationError` covers every exception of user code.
        """
        if name in ("*", self.code) or name == self.error or name in self.raised:
            return True
        if self.raised and name == APPLICATION_ERROR:
            return True
        return isinstance(self.error, dict) and any(
            self.error.get(key) == name for key in ("code", "name", "type", "errorType")
        )


Outcome: TypeAlias = Success | Failure


def outcome_to_json(outcome: Outcome, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
    """The outcome as JSON; `keep` writes its value or its error, or a reference to where that is stored."""
    if isinstance(outcome, Success):
        return {"value": keep(outcome.value)}
    return {**outcome.detail, "error": keep(outcome.error)}


def outcome_from_json(doc: Mapping[str, Any], load: Callable[[JSON], Any]) -> Outcome:
    """Reads an outcome that `outcome_to_json` wrote; `load` reads what `keep` wrote."""
    if "code" in doc:
        return Failure(doc["code"], load(doc["error"]), classes_told(doc.get("raised")))
    return Success(load(doc["value"]))


def classes_of(error: BaseException) -> tuple[str, ...]:
    """The names of an exception's class and of its bases, as `Failure.raised` has them."""
    names = [kind.__name__ for kind in type(error).__mro__ if kind not in (BaseException, object)]
    return classes_told(names)


def classes_told(names: Any) -> tuple[str, ...]:
    """The names of classes that a worker, a history or a record told; what is not a usable name is dropped."""
    if not isinstance(names, (list, tuple)):
        return ()
    told = (name[:MAX_CLASS] for name in names[:MAX_CLASSES] if _is_text(name) and name)
    return tuple(dict.fromkeys(told))


def failure(code: str, message: str, **detail: JSON) -> Failure:
    """A failure of the machine's own: its error is an object with `code` and `message`."""
    return Failure(code, {"code": code, "message": message, **detail})


def boxed(value: JSON) -> dict[str, JSON]:
    """`value` as an object: anything else stands in its field `value`, as Composer has it."""
    return value if type(value) is dict else {"value": value}


def truthy(value: JSON) -> bool:
    """JavaScript's truth, which Composer's conditions have: an empty list or object is true."""
    return not (value is None or value is False or value in (0, ""))


_SCALARS = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> JSON:
    """A copy of a JSON value that shares nothing mutable with it; a tuple becomes a list."""
    if type(value) is dict:
        return {
            key: member if type(member) in _SCALARS else copied(member)
            for key, member in value.items()
        }
    if type(value) in (list, tuple):
        return [copied(member) for member in value]
    scalar: JSON = value
    return scalar


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
    print as a huge one (a reference doubled at every level) is seen for what it is. A value of more
    than MADE_DEPTH levels cannot be written, so it counts as one above every limit.
    """
    size, level = 0, [value]
    for _ in range(MADE_DEPTH + 1):
        below: list[JSON] = []
        for member in level:
            if type(member) is str:
                size += len(member) + 2
            elif type(member) is dict:
                size += 2 + sum(map(len, member)) + 4 * len(member)
            elif type(member) is list:
                size += 2 + len(member)
            else:
                size += 5
            if size > limit:
                return size
            if type(member) is dict:
                below.extend(member.values())
            elif type(member) is list:
                below.extend(member)
        if not below:
            return size
        level = below
    return limit + 1


def flaw(value: object, *, leaf: type[Any] | None = None, depth: int = MAX_DEPTH) -> str | None:
    """Returns why `value` is not a JSON value, in a few words that name the place; None if it is one.

    The value may nest `depth` levels. An instance of `leaf` counts as a scalar.
    """
    if _is_sound(value, depth):
        return None
    left: list[tuple[Any, str, int]] = [(value, "$", 0)]
    while left:
        member, where, level = left.pop()
        if level > depth:
            return f"it nests deeper than {depth} levels"
        if type(member) is dict:
            for key, inner in member.items():
                if not _is_text(key):
                    return f"the key {key!r:.100} at {where} is not a string of Unicode text"
                left.append((inner, f"{where}.{key[:MAX_STEP]}", level + 1))
        elif type(member) in (list, tuple):
            left.extend((inner, f"{where}[{i}]", level + 1) for i, inner in enumerate(member))
        elif type(member) is not leaf and (why := _scalar_flaw(member, where)):
            return why
    return None


def nests_deeper(value: dict[str, JSON] | list[JSON], depth: int = MAX_DEPTH) -> bool:
    """True if a parsed JSON value nests deeper than `depth` levels, as `flaw` counts them."""
    level: list[JSON] = [value]
    for _ in range(depth):
        level = [
            member
            for container in level
            for member in _members(container)
            if (type(member) is dict or type(member) is list) and member
        ]
        if not level:
            return False
    return True


def _members(container: Any) -> Iterable[JSON]:
    members: Iterable[JSON] = container.values() if type(container) is dict else container
    return members


def _is_sound(value: object, depth: int) -> bool:
    """True if it is certainly a JSON value. This is quicker to decide than the reason and the place."""
    left: list[tuple[Any, int]] = [([value], -1)]
    while left:
        container, level = left.pop()
        if container and level >= depth:
            return False
        members = container
        if type(container) is dict:
            if not all(map(_is_text, container)):
                return False
            members = container.values()
        for member in members:
            kind = type(member)
            if kind is dict or kind is list or kind is tuple:
                left.append((member, level + 1))
            elif kind is str:
                if not _is_text(member):
                    return False
            elif _scalar_flaw(member, "") is not None:
                return False
    return True


def _scalar_flaw(value: object, where: str) -> str | None:
    if type(value) is str:
        return None if _is_text(value) else f"the string at {where} is not Unicode text"
    if type(value) is int:
        fits = MIN_INT <= value <= MAX_INT
        return None if fits else f"the integer at {where} takes more than 64 bits"
    if type(value) is float:
        return None if isfinite(value) else f"{value} at {where} is not a JSON number"
    fits = value is None or type(value) is bool
    return None if fits else f"{type(value).__name__} at {where} is not a JSON type"


def overflow(text: bytes | bytearray) -> str | None:
    """Returns which integer of a JSON text has more than 64 bits, and where; None if all integers fit.

    A fast parser makes a float of such an integer and drops its last digits. A text without that many digits
    in a row, as nearly all texts are, costs one scan. A text that is not JSON has no overflow.
    """
    if len(text) < WIDE_DIGITS or _WIDE not in text.translate(_DIGITS):
        return None
    try:
        value = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return flaw(value, depth=len(text))


def _integer(text: str) -> int:
    return int(text) if len(text) <= WIDE_DIGITS + 2 else MAX_INT + 1


def _is_text(value: object) -> bool:
    """True if UTF-8 can write it: JSON can spell half of a surrogate pair, which is not a character."""
    try:
        return type(value) is str and (value.isascii() or bool(value.encode()))
    except UnicodeEncodeError:
        return False
