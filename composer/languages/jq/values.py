"""JSON values as jq sees them: their kinds, order, text and errors."""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from typing import Any, Final

from .budget import COMPARED, LOOPED, MAX_LEVELS, NATIVE, TOO_NESTED, Budget
from .errors import BudgetError, EvaluationError
from .numbers import LARGEST, is_number, literal, shown

KINDS: Final = {
    type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array",
    dict: "object",
}  # fmt: skip
CUT, LONGEST = 25, 29  # characters of a value in an error, and up to when it is whole
ESCAPED, WRITTEN = 6, 256  # times as long; characters in the time of one step
TOLD = 8  # steps in the time of which a double becomes text
SCALARS: Final = frozenset({type(None), bool, int, float, str})
END, NULL, FALSE, TRUE, NAN, NUMBER, STRING, ARRAY, OBJECT = range(9)
_SIMPLE: Final = {None: (NULL,), False: (FALSE,), True: (TRUE,)}
REPLACEMENT: Final = "\ufffd"
_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF: Final = re.compile(
    r"\\u(?:d[89ab]..\\ud[c-f]..|(?P<half>d[89a-f]..))|\\.", re.DOTALL | re.IGNORECASE
)
_WORD: Final = re.compile(r"-?nan$", re.IGNORECASE)
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[A-Za-z]+', re.DOTALL)  # linear: an end may lack


def kind(value: Any) -> str:
    return KINDS[type(value)]


def truthy(value: Any) -> bool:
    return value is not None and value is not False


def quoted(value: Any) -> str:
    """A value in the text of an error: its beginning, if it is long."""
    if type(value) is str:
        value = value[: LONGEST + 1]  # a quoted text is longer than the text
    text = tojson(value, Budget()) if type(value) in SCALARS else _beginning(value)
    data = paired(text).encode()
    if len(data) <= LONGEST:
        return data.decode()
    end = {'"': '"', "[": "]", "{": "}"}.get(text[0], "")
    room = CUT + (not end)
    return data[:room].decode("utf-8", "ignore") + "..." + end


def paired(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, for which UTF-8 has no bytes."""
    return text if text.isascii() else _HALF.sub(REPLACEMENT, text)


def _beginning(value: Any) -> str:
    """Enough of an array or object as JSON to be cut, without walking all of it."""
    parts: list[str] = []
    room = LONGEST + 1
    stack: list[Any] = [value]
    while stack and room > 0:
        top = stack.pop()
        if type(top) is tuple:
            text = top[0]
        elif type(top) is list:
            text = "["
            stack.append(("]",))
            stack.extend(_separated(top[: LONGEST + 1]))
        elif type(top) is dict:
            text = "{"
            stack.append(("}",))
            pairs = list(islice(top.items(), LONGEST + 1))
            for at, (key, member) in enumerate(reversed(pairs)):
                stack.append(member)
                stack.append(("," * (at < len(pairs) - 1) + _string(key[:LONGEST]) + ":",))
        else:
            text = tojson(top[:LONGEST] if type(top) is str else top, Budget())
        parts.append(text)
        room -= len(text)
    return "".join(parts)


def _separated(members: list[Any]) -> list[Any]:
    found: list[Any] = []
    for at, member in enumerate(reversed(members)):
        found.append(member)
        if at < len(members) - 1:
            found.append((",",))
    return found


def wrong(value: Any, why: str) -> EvaluationError:
    """`number (1) has no keys`."""
    return EvaluationError(f"{kind(value)} ({quoted(value)}) {why}")


def both_wrong(one: Any, other: Any, why: str) -> EvaluationError:
    """`string ("a") and number (1) cannot be subtracted`."""
    return EvaluationError(f"{kind(one)} ({quoted(one)}) and {kind(other)} ({quoted(other)}) {why}")


def order(value: Any, budget: Budget, comparisons: int = 1) -> tuple[Any, ...]:
    """A key that sorts values as jq does: null, false, true, numbers, texts, arrays, objects.

    It counts as many comparisons as the key will be used for.
    """
    if type(value) is str:
        budget.spend((len(value) >> COMPARED) * comparisons)
    elif type(value) not in SCALARS:
        budget.spend(budget.walked(value) // NATIVE * (comparisons - 1))
        parts: list[Any] = []
        _flat(value, parts)
        return tuple(parts)
    return _order(value)


def _order(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (STRING, value)
    if value is None or isinstance(value, bool):
        return _SIMPLE[value]
    return (NAN, value) if math.isnan(value) else (NUMBER, value)


def _flat(value: Any, parts: list[Any]) -> None:
    """Adds the key of a value. It has no levels: Python compares nested keys twice at each level."""
    if isinstance(value, list):
        parts.append(ARRAY)
        for member in value:
            _flat(member, parts)
        parts.append(END)
    elif isinstance(value, dict):
        keys = sorted(value)
        parts += (OBJECT, keys)
        for key in keys:
            _flat(value[key], parts)
    else:
        parts += _order(value)


def equal(one: Any, other: Any, budget: Budget) -> bool:
    if type(one) in SCALARS or type(other) in SCALARS:
        if type(one) is str and type(other) is str and len(one) == len(other):
            budget.compared(len(one), len(other))
        return bool(one == other and KINDS[type(one)] == KINDS[type(other)])
    return one is other or order(one, budget) == order(other, budget)


def less(one: Any, other: Any, budget: Budget) -> bool:
    if is_number(one) and is_number(other):
        return bool(one < other) or one != one  # noqa: PLR0124 - NaN is less than any number
    if type(one) is str and type(other) is str:
        budget.compared(len(one), len(other))
        return one < other
    return order(one, budget) < order(other, budget)


def finite(value: Any) -> Any:
    """The value with null for NaN and the largest doubles for infinite numbers, as jq prints them."""
    if type(value) is float:
        if math.isnan(value):
            return None
        return math.copysign(LARGEST, value) if math.isinf(value) else value
    if type(value) is list:
        return [finite(member) for member in value]
    if type(value) is dict:
        return {key: finite(member) for key, member in value.items()}
    return value


# --- JSON ----------------------------------------------------------------------------------------


def tojson(value: Any, budget: Budget) -> str:
    """A value as JSON, with jq's numbers, keys as they stand, and no blanks."""
    if isinstance(value, str):
        _written(value, budget)
        return _string(value)
    if type(value) in SCALARS:
        told(value, budget)
        return _scalar(value)
    budget.walked(value)
    parts: list[str] = []
    room = budget.size

    def write(text: str) -> None:
        nonlocal room
        room -= len(text)
        if room < 0:
            budget.held(budget.size - room)
        parts.append(text)

    _write(value, write, budget)
    text = "".join(parts)
    budget.looped(len(parts))
    budget.characters(len(text))
    return text


def _written(text: str, budget: Budget) -> None:
    """Counts a text as JSON before it is written: a control character becomes six characters."""
    size = len(text) + 2
    if size * ESCAPED > budget.size:
        size += sum(text.count(sign) * more for sign, more in _ESCAPES.items())
    budget.characters(size)
    budget.spend(size // WRITTEN)


def told(value: Any, budget: Budget) -> None:
    """Counts a number that is not text yet: the digits of a double are found by calculation."""
    if type(value) is float:
        budget.spend(TOLD)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    return shown(value)


_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode


def _string(text: str) -> str:
    return _encoded(text).replace("\x7f", "\\u007f")


_SIGNS: Final = '"\\\x7f' + "".join(map(chr, range(32)))
_ESCAPES: Final = {sign: len(_string(sign)) - 3 for sign in _SIGNS}  # characters more than one


def _write(value: Any, write: Any, budget: Budget) -> None:
    if isinstance(value, str):
        _written(value, budget)
        write(_string(value))
    elif isinstance(value, list):
        write("[")
        for at, member in enumerate(value):
            if at:
                write(",")
            _write(member, write, budget)
        write("]")
    elif isinstance(value, dict):
        sign = "{"
        for key, member in value.items():
            _written(key, budget)
            write(f"{sign}{_string(key)}:")
            _write(member, write, budget)
            sign = ","
        write("}" if value else "{}")
    else:
        told(value, budget)
        write(_scalar(value))


def concatenated(texts: list[str], budget: Budget, separator: str = "") -> str:
    """The texts as one, counted before it is made."""
    budget.characters(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def tostring(value: Any, budget: Budget) -> str:
    return value if isinstance(value, str) else tojson(value, budget)


_DECODER: Final = json.JSONDecoder(
    parse_int=literal, parse_float=literal, parse_constant=lambda text: literal(_constant(text))
)


def _nan(text: str) -> str:
    """The text with NaN for nan: jq reads `nan` where a value may stand; Python reads `NaN` only."""
    if "nan" not in text:
        return text
    return _TOKENS.sub(lambda found: "NaN" if found[0] == "nan" else found[0], text)


def _halves(text: str) -> str:
    """JSON with the escape of U+FFFD for that of a half of a surrogate pair."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPED_HALF.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def _constant(text: str) -> str:
    return "nan" if text == "NaN" else text.replace("Infinity", "1e999")


def fromjson(text: str, budget: Budget) -> Any:
    """The value that a text of JSON says.

    Raises:
        EvaluationError: the text is not JSON.
        BudgetError: it is nested too deeply.
    """
    budget.spend(1 + len(text) // LOOPED)
    stripped = _halves(_nan(text.strip(" \t\r\n\ufeff")))
    if _WORD.match(stripped):
        return math.nan
    if not stripped:
        return None
    level = most = 0
    for sign in text if "[" in text or "{" in text else "":
        level += (sign in "[{") - (sign in "]}")
        most = max(most, level)
    if most > MAX_LEVELS:
        raise BudgetError(TOO_NESTED.format(MAX_LEVELS))
    try:
        return _DECODER.decode(stripped)
    except ValueError as error:
        why = str(error).split(":")[0]
        at = getattr(error, "pos", 0)
        raise EvaluationError(
            f"{why} at line 1, column {at + 1} (while parsing '{text}')"
        ) from None
