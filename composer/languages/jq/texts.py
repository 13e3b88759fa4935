"""Functions of texts, and of regular expressions."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from .errors import EvaluationError
from .matching import Matcher
from .numbers import is_number, literal, whole
from .operators import add, split
from .paths import member_list
from .patterns import Pattern
from .values import (
    REPLACEMENT,
    concatenated,
    fromjson,
    kind,
    paired,
    tojson,
    tostring,
    wrong,
)

if TYPE_CHECKING:
    from .budget import Budget

LAST, SURROGATES = 0x10FFFF, range(0xD800, 0xE000)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r"[+-]?(?:nan|infinity)", re.ASCII | re.IGNORECASE)
_UP: Final = {low: low - 32 for low in range(ord("a"), ord("z") + 1)}
_DOWN: Final = {high: high + 32 for high in range(ord("A"), ord("Z") + 1)}
MATCH = 4  # steps in the time of which a match is told
SCANNED, AGAIN = 256, 256  # characters in the time of one step: stripped, prepared for a search
FLAGS: Final = frozenset("ginpslx")


def _text(value: Any, why: str) -> str:
    if not isinstance(value, str):
        raise EvaluationError(why)
    return value


def startswith(budget: Budget, text: Any, start: Any) -> bool:
    why = "startswith() requires string inputs"
    budget.compared(len(_text(text, why)), len(_text(start, why)))
    return bool(text.startswith(start))


def endswith(budget: Budget, text: Any, end: Any) -> bool:
    why = "endswith() requires string inputs"
    budget.compared(len(_text(text, why)), len(_text(end, why)))
    return bool(text.endswith(end))


def ltrimstr(budget: Budget, text: Any, start: Any) -> str:
    startswith(budget, text, start)
    budget.characters(len(text))
    return str(text).removeprefix(start)


def rtrimstr(budget: Budget, text: Any, end: Any) -> str:
    endswith(budget, text, end)
    budget.characters(len(text))
    return str(text).removesuffix(end)


def trimstr(budget: Budget, text: Any, part: Any) -> str:
    return rtrimstr(budget, ltrimstr(budget, text, part), part)


def _trimmed(budget: Budget, text: Any, method: Any) -> str:
    found = _text(text, "trim input must be a string")
    budget.characters(len(found))
    budget.spend(len(found) // SCANNED)  # all of it may be blank
    return str(method(found, " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + _SPACES))


_SPACES: Final = "".join(map(chr, range(0x2000, 0x200B)))


def translated(budget: Budget, text: Any, table: dict[int, int], name: str) -> str:
    found = _text(text, f"{name} input must be a string")
    budget.looped(len(found))
    return found.translate(table)


def explode(budget: Budget, text: Any) -> list[int]:
    found = _text(text, "explode input must be a string")
    budget.members(len(found))
    budget.looped(len(found))
    return list(map(ord, paired(found)))


def implode(budget: Budget, points: Any) -> str:
    if not isinstance(points, list):
        raise EvaluationError("implode input must be an array")
    budget.looped(len(points))
    return "".join(map(_character, points))


def _character(point: Any) -> str:
    if not is_number(point) or math.isnan(point):
        raise wrong(point, "can't be imploded, unicode codepoint needs to be numeric")
    code = whole(point)
    return chr(code) if 0 <= code <= LAST and code not in SURROGATES else REPLACEMENT


def splitted(budget: Budget, text: Any, separator: Any) -> list[str]:
    why = "split input and separator must be strings"
    return split(_text(text, why), _text(separator, why), budget)


def joined(budget: Budget, parts: Any, separator: Any) -> Any:
    found = member_list(parts)
    if not found:
        return ""
    budget.looped(len(found))
    texts = []
    for at, part in enumerate(found):
        if part is None:
            texts.append("")
        elif isinstance(part, str):
            texts.append(part)
        elif is_number(part) or isinstance(part, bool):
            texts.append(tojson(part, budget))
        else:
            before = ""
            if at and isinstance(separator, str):
                before = concatenated([*texts, ""], budget, separator)
            return add(before, part, budget)
    if not isinstance(separator, str):
        return texts[0] if len(texts) == 1 else add(texts[0], separator, budget)
    return concatenated(texts, budget, separator)


def tonumber(budget: Budget, value: Any) -> Any:
    if is_number(value):
        return value
    if not isinstance(value, str):
        raise wrong(value, "cannot be parsed as a number")
    budget.looped(len(value))
    if _NUMBER.fullmatch(value):
        return literal(value.removeprefix("+"))
    if _SPECIAL.fullmatch(value):
        return float(value)
    raise wrong(value, "cannot be parsed as a number")


def toboolean(_: Budget, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise wrong(value, "cannot be parsed as a boolean")


def parsed(budget: Budget, text: Any) -> Any:
    if not isinstance(text, str):
        raise wrong(text, "only strings can be parsed")
    return fromjson(text, budget)


def utf8bytelength(budget: Budget, text: Any) -> int:
    if not isinstance(text, str):
        raise wrong(text, "only strings have UTF-8 byte length")
    budget.characters(len(text))
    return len(text.encode("utf-8", "surrogatepass"))


def positions(budget: Budget, text: Any, part: Any) -> list[int] | None:
    """The positions at which `part` occurs in the text. Occurrences may overlap."""
    if not isinstance(text, str):
        raise wrong(text, "cannot be searched, as it is not a string")
    if not isinstance(part, str):
        raise wrong(part, "is not a string")
    if not part:
        return None
    budget.looped(len(text))
    budget.searched(len(text), len(part))
    found = []
    at = text.find(part)
    while at >= 0:
        budget.spend(1 + len(part) // AGAIN)
        found.append(at)
        at = text.find(part, at + 1)
    return found


# --- regular expressions -------------------------------------------------------------------------


def matches(budget: Budget, text: Any, pattern: Any, flags: Any, test: bool) -> Any:
    """The matches of a pattern: one, or all with the flag `g`; or only whether there is one."""
    if flags is None and isinstance(pattern, list) and pattern:
        pattern, flags = pattern[0], pattern[1] if len(pattern) > 1 else None
    elif flags is None and not isinstance(pattern, str):
        raise EvaluationError(f"{kind(pattern)} not a string or array")
    if not isinstance(text, str):
        raise wrong(text, "cannot be matched, as it is not a string")
    if not isinstance(pattern, str):
        raise wrong(pattern, "cannot be matched, as it is not a string")
    if flags is not None and not isinstance(flags, str):
        raise wrong(flags, "is not a string")
    budget.looped(len(flags or ""))
    signs = set(flags or "")
    if not signs <= FLAGS:
        raise EvaluationError(f"{flags} is not a valid modifier string")
    budget.looped(len(pattern) * 4)
    compiled = Pattern(pattern, fold="i" in signs, dotall="p" in signs, extended="x" in signs)
    budget.spend(compiled.written)  # a short pattern may write much
    found = _all(budget, text, compiled, signs, test)
    return bool(found) if test else found


def _all(budget: Budget, text: str, pattern: Pattern, signs: set[str], test: bool) -> list[Any]:
    matcher = Matcher(pattern, text, budget)
    found: list[Any] = []
    at = 0
    while at <= len(text):
        match = matcher.find(at, "l" in signs, "n" in signs)
        if match is None:
            break
        start, end, edges = match
        budget.spend(MATCH + len(pattern.names))
        found.append(_told(text, start, end, edges, pattern.names))
        if test or "g" not in signs:
            break
        at = end if end > start else end + 1
    return found


def _told(text: str, start: int, end: int, edges: Any, names: list[str | None]) -> dict[str, Any]:
    captures = []
    for at, name in enumerate(names):
        low, high = edges[2 * at], edges[2 * at + 1]
        if low is None or high is None:
            captures.append({"offset": -1, "length": 0, "string": None, "name": name})
        else:
            part = {"offset": low, "length": high - low, "string": text[low:high], "name": name}
            captures.append(part)
    return {"offset": start, "length": end - start, "string": text[start:end], "captures": captures}


def captured(_: Budget, match: Any) -> dict[str, Any]:
    """The named groups of a match."""
    return {part["name"]: part["string"] for part in match["captures"] if part["name"] is not None}


def cut(budget: Budget, text: Any, pattern: Any, flags: Any) -> list[str]:
    """The text between the matches of a pattern."""
    found, at = [], 0
    for match in matches(budget, text, pattern, flags, test=False):
        found.append(text[at : match["offset"]])
        at = match["offset"] + match["length"]
    budget.characters(len(text))
    return [*found, text[at:]]


def spliced(budget: Budget, text: Any, edits: list[Any]) -> list[Any]:
    """The text with each `[offset, length, replacements]` done; one result for each replacement."""
    made: list[Any] = []
    at = 0
    for offset, length, inserts in edits:
        gap = text[at:offset]
        for place, insert in enumerate(inserts):
            before = made[place] if place < len(made) else ""
            new = add(add(before, gap, budget), insert, budget)
            made[place : place + 1] = [new]
        at = offset + length
    return [add(part, text[at:], budget) for part in made] or [text]


FUNCTIONS: Final[dict[tuple[str, int], Any]] = {
    ("startswith", 1): startswith, ("endswith", 1): endswith, ("ltrimstr", 1): ltrimstr,
    ("rtrimstr", 1): rtrimstr, ("trimstr", 1): trimstr,
    ("trim", 0): lambda budget, text: _trimmed(budget, text, str.strip),
    ("ltrim", 0): lambda budget, text: _trimmed(budget, text, str.lstrip),
    ("rtrim", 0): lambda budget, text: _trimmed(budget, text, str.rstrip),
    ("ascii_upcase", 0): lambda budget, text: translated(budget, text, _UP, "ascii_upcase"),
    ("ascii_downcase", 0): lambda budget, text: translated(budget, text, _DOWN, "ascii_downcase"),
    ("explode", 0): explode, ("implode", 0): implode, ("split", 1): splitted, ("join", 1): joined,
    ("tonumber", 0): tonumber, ("toboolean", 0): toboolean, ("fromjson", 0): parsed,
    ("tojson", 0): lambda budget, value: tojson(value, budget),
    ("tostring", 0): lambda budget, value: tostring(value, budget),
    ("utf8bytelength", 0): utf8bytelength, ("_strindices", 1): positions, ("_match", 3): matches,
    ("_captured", 0): captured, ("_split", 2): cut, ("_spliced", 1): spliced,
}  # fmt: skip
