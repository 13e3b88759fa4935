"""The eighteen intrinsic functions.

Rules and limits are of AWS' documentation ("Intrinsic functions for JSONPath states"), rounding and the
cases of nothing as recorded on AWS.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from ....errors import Error
from ....freezing import frozen
from ....values import MAX_INT, MIN_INT, equal, flaw
from ..state_errors import DATA_LIMIT_EXCEEDED, StatesError
from .texts import MAX_TEXT, java_text, json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....values import JSON

MAX_CODED = 10_000  # characters of the argument of Base64Encode, Base64Decode and Hash
MAX_RANGE = 1_000  # elements that ArrayRange makes

_HASHES = {
    "MD5": hashlib.md5,
    "SHA-1": hashlib.sha1,
    "SHA-256": hashlib.sha256,
    "SHA-384": hashlib.sha384,
    "SHA-512": hashlib.sha512,
}
_PART = re.compile(r"\\([\\{}'])|(\{\})|\\|[^\\{]+|\{")


class FunctionError(Error):
    """A function refuses its arguments; the text has the reason."""


@frozen
class Chance:
    """The source of chance: `number` returns the next one, from 0 and below 1, `uuid` the next UUID."""

    number: Callable[[], float]
    uuid: Callable[[], str]


Arguments: TypeAlias = "list[JSON]"


# --- arguments -----------------------------------------------------------------------------------


def _refuse(why: str) -> NoReturn:
    raise FunctionError(why)


def _counted(arguments: Arguments, least: int, most: int | None = None) -> None:
    most = least if most is None else most
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        _refuse(f"{wanted} arguments are expected, not {len(arguments)}")


def _list(value: JSON, which: str = "first") -> list[JSON]:
    if type(value) is not list:
        _refuse(f"the {which} argument must be an array")
    return value


def _text(value: JSON, which: str = "first") -> str:
    if not isinstance(value, str):
        _refuse(f"the {which} argument must be a string")
    return value


def _rounded(value: JSON, which: str) -> int:
    """The nearest integer, a half up (recorded: -1.5 is -1)."""
    if type(value) is not int and type(value) is not float:
        _refuse(f"the {which} argument must be a number")
    below: int = math.floor(value)
    return below + int(value - below >= 0.5)  # noqa: PLR2004  a half


def _within(number: int) -> int:
    if not MIN_INT <= number <= MAX_INT:
        _refuse("the number takes more than 64 bits")
    return number


def _short(text: str) -> str:
    if len(text) > MAX_CODED:
        _refuse(f"the first argument has more than {MAX_CODED} characters")
    return text


# --- texts ---------------------------------------------------------------------------------------


def _format(arguments: Arguments, _: Chance) -> str:
    if not arguments:
        _refuse("a template is expected")
    template, values = _text(arguments[0]), iter(arguments[1:])
    parts: list[str] = []
    places = size = 0
    for found in _PART.finditer(template):
        escaped, place = found[1], found[2]
        if place:
            places += 1
            parts.append(java_text(next(values, None)))
        else:
            parts.append(escaped or found[0])
        size += len(parts[-1])
        if size > MAX_TEXT:
            raise StatesError(DATA_LIMIT_EXCEEDED, f"A text has at most {MAX_TEXT} characters.")
    if places != len(arguments) - 1:
        _refuse(f"the template has {places} places for {len(arguments) - 1} arguments")
    return "".join(parts)


def _string_to_json(arguments: Arguments, _: Chance) -> JSON:
    _counted(arguments, 1)
    text = _text(arguments[0])
    if not text.strip(" \t\r\n"):
        return None
    try:
        value: JSON = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FunctionError(f"the string is not valid JSON: {error}") from error
    if why := flaw(value):
        _refuse(f"the string is not valid JSON: {why}")
    return value


def _no_constant(name: str) -> NoReturn:
    _refuse(f"the string is not valid JSON: it has {name}")


def _json_to_string(arguments: Arguments, _: Chance) -> str:
    _counted(arguments, 1)
    return json_text(arguments[0])


def _string_split(arguments: Arguments, _: Chance) -> list[JSON]:
    _counted(arguments, 2)
    text, splitters = _text(arguments[0]), _text(arguments[1], "second")
    parts = re.split(f"[{re.escape(splitters)}]", text) if splitters else [text]
    return [part for part in parts if part]


def _base64_encode(arguments: Arguments, _: Chance) -> str:
    _counted(arguments, 1)
    return base64.b64encode(_short(_text(arguments[0])).encode(errors="replace")).decode()


def _base64_decode(arguments: Arguments, _: Chance) -> str:
    _counted(arguments, 1)
    text = _short(_text(arguments[0]))
    padded = text if "=" in text else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True).decode(errors="replace")
    except ValueError as error:
        raise FunctionError(f"the string is not Base64: {error}") from error


def _hash(arguments: Arguments, _: Chance) -> str:
    _counted(arguments, 2)
    data, name = arguments[0], _text(arguments[1], "second")
    if name not in _HASHES:
        _refuse(f"the second argument must be one of {', '.join(_HASHES)}")
    text = _short(data if type(data) is str else json_text(data))
    return _HASHES[name](text.encode(errors="replace"), usedforsecurity=False).hexdigest()


def _uuid(arguments: Arguments, chance: Chance) -> str:
    _counted(arguments, 0)
    return chance.uuid()


# --- arrays and objects --------------------------------------------------------------------------


def _array(arguments: Arguments, _: Chance) -> list[JSON]:
    return arguments


def _array_partition(arguments: Arguments, _: Chance) -> list[JSON]:
    _counted(arguments, 2)
    items, size = _list(arguments[0]), _rounded(arguments[1], "second")
    if size < 1:
        _refuse("the second argument must be a positive integer")
    return [items[at : at + size] for at in range(0, len(items), size)]


def _array_contains(arguments: Arguments, _: Chance) -> bool:
    _counted(arguments, 2)
    return any(equal(item, arguments[1]) for item in _list(arguments[0]))


def _array_range(arguments: Arguments, _: Chance) -> list[JSON]:
    _counted(arguments, 3)
    first, last, step = map(_within, map(_rounded, arguments, ("first", "second", "third")))
    if not step:
        _refuse("the third argument must not be zero")
    numbers = range(first, last + (1 if step > 0 else -1), step)
    if numbers[MAX_RANGE:]:
        _refuse(f"the array would have more than {MAX_RANGE} elements")
    return list(numbers)


def _array_get_item(arguments: Arguments, _: Chance) -> JSON:
    _counted(arguments, 2)
    items, index = _list(arguments[0]), arguments[1]
    if type(index) is not int or not 0 <= index < len(items):
        _refuse(
            f"the second argument must be an index of the array, which has {len(items)} elements"
        )
    return items[index]


def _array_length(arguments: Arguments, _: Chance) -> int:
    _counted(arguments, 1)
    return len(_list(arguments[0]))


def _array_unique(arguments: Arguments, _: Chance) -> list[JSON]:
    _counted(arguments, 1)
    items = _list(arguments[0])
    json_text(items)  # which ends with an error for what is too large to compare
    unique: dict[object, JSON] = {}
    for item in items:
        unique.setdefault(_key(item), item)
    return list(unique.values())


def _key(value: JSON) -> object:
    """A key that is equal for equal values: 1 is 1.0, but neither is true nor "1"."""
    if type(value) is dict:
        return "object", frozenset((name, _key(member)) for name, member in value.items())
    if type(value) is list:
        return "array", tuple(map(_key, value))
    return (type(value), value) if type(value) in (bool, str) else value


def _json_merge(arguments: Arguments, _: Chance) -> dict[str, JSON]:
    _counted(arguments, 3)
    first, second, deep = arguments
    if type(first) is not dict or type(second) is not dict:
        _refuse("the first and second arguments must be objects")
    if deep is not False:
        _refuse("the third argument must be false: only the shallow merge is supported")
    return {**first, **second}


# --- numbers -------------------------------------------------------------------------------------


def _math_add(arguments: Arguments, _: Chance) -> int:
    _counted(arguments, 2)
    return _within(_rounded(arguments[0], "first") + _rounded(arguments[1], "second"))


def _math_random(arguments: Arguments, chance: Chance) -> int:
    """A number from the first argument up to, but not including, the second; the third is a seed."""
    _counted(arguments, 2, 3)
    start, end = _rounded(arguments[0], "first"), _rounded(arguments[1], "second")
    if not 0 < end - start < 1 << 31:
        _refuse("the second argument must be above the first, by less than 2147483648")
    if len(arguments) == 2:  # noqa: PLR2004  no seed
        return start + math.floor(chance.number() * (end - start))
    return start + _seeded(_rounded(arguments[2], "third"), end - start)


def _seeded(seed: int, bound: int) -> int:
    """`new java.util.Random(seed).nextInt(bound)`, by its documentation: AWS runs on Java."""
    factor, mask = 0x5DEECE66D, (1 << 48) - 1
    state = (seed ^ factor) & mask
    while True:
        state = (state * factor + 11) & mask
        bits = state >> 17
        if not bound & (bound - 1):
            return bound * bits >> 31
        if bits - bits % bound + bound <= 1 << 31:
            return bits % bound


FUNCTIONS: dict[str, Callable[[Arguments, Chance], JSON]] = {
    "States.Array": _array,
    "States.ArrayContains": _array_contains,
    "States.ArrayGetItem": _array_get_item,
    "States.ArrayLength": _array_length,
    "States.ArrayPartition": _array_partition,
    "States.ArrayRange": _array_range,
    "States.ArrayUnique": _array_unique,
    "States.Base64Decode": _base64_decode,
    "States.Base64Encode": _base64_encode,
    "States.Format": _format,
    "States.Hash": _hash,
    "States.JsonMerge": _json_merge,
    "States.JsonToString": _json_to_string,
    "States.MathAdd": _math_add,
    "States.MathRandom": _math_random,
    "States.StringSplit": _string_split,
    "States.StringToJson": _string_to_json,
    "States.UUID": _uuid,
}
