"""JSONata's functions of strings (docs.jsonata.org, "String functions")."""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import math
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, Final

from .bounds import WRITTEN
from .library import sequence
from .messages import fault
from .numbers import is_number, short, shown
from .values import is_function, numeric

PLAIN: Final = "~()*!.'"  # what encodeURIComponent leaves, beside letters, digits, - and _
RESERVED: Final = ";/?:@&=+$,#"  # what encodeURI leaves beside
COPIED: Final = 512  # characters that are copied in the time of one step
PADDING: Final = " "


# --- writing values ------------------------------------------------------------------------------


def string(evaluator: Any, value: Any, pretty: Any = None) -> Any:
    """A value as a text: JSON, with numbers of at most fifteen digits; a string stays as it is."""
    if value is None or isinstance(value, str):
        return value
    if is_function(value):
        return ""
    if is_number(value) and not math.isfinite(value):
        raise fault("D3001")
    evaluator.budget.spend(evaluator.budget.written(value) // WRITTEN)
    return write(value, "\n" if pretty is True else "")


def write(value: Any, line: str) -> str:
    """JSON as JavaScript writes it; `line` begins each line, or is empty for none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        value = short(value) if numeric(value) else math.nan
        return shown(value) if math.isfinite(value) else "null"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if is_function(value):
        return '""'
    if isinstance(value, list):
        return _around("[]", [write(item, line and line + "  ") for item in value], line)
    if isinstance(value, dict):
        colon = ": " if line else ":"
        members = [
            f"{json.dumps(key, ensure_ascii=False)}{colon}{write(item, line and line + '  ')}"
            for key, item in value.items()
        ]
        return _around("{}", members, line)
    return "null"


def _around(signs: str, parts: list[str], line: str) -> str:
    if not parts or not line:
        return f"{signs[0]}{','.join(parts)}{signs[1]}"
    inner = line + "  "
    return f"{signs[0]}{inner}{f',{inner}'.join(parts)}{line}{signs[1]}"


# --- parts of texts ------------------------------------------------------------------------------


def substring(_evaluator: Any, text: str, start: Any, length: Any = None) -> str:
    size = len(text)
    start = 0 if start is None or size + start < 0 else start
    if length is None:
        return text[int(start) :]
    if length <= 0:
        return ""
    end = start + length if start >= 0 else size + start + length
    return text[int(start) : int(end)]


def substring_before(_evaluator: Any, text: str, chars: Any) -> str:
    return text if chars is None else text.partition(chars)[0] if chars else ""


def substring_after(_evaluator: Any, text: str, chars: Any) -> str:
    head, found, tail = text.partition(chars) if chars else ("", "", text)
    return tail if found or not chars else head


def pad(evaluator: Any, text: str, width: Any, char: Any = None) -> str:
    if width is None:
        return text
    missing = int(abs(width)) - len(text)
    if missing <= 0:
        return text
    evaluator.budget.characters(missing)
    char = char or PADDING
    padding: str = (char * (missing // len(char) + 1))[:missing]
    return text + padding if width > 0 else padding + text


def trim(_evaluator: Any, text: str) -> str:
    return re.sub("[ \t\n\r]+", " ", text).strip(" ")


def join(evaluator: Any, texts: list[str], separator: str | None = None) -> str:
    separator = separator or ""
    evaluator.budget.characters(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


# --- matching ------------------------------------------------------------------------------------


def matches(evaluator: Any, matcher: Any, text: str) -> Iterator[dict[str, Any]]:
    """The matches of a regular expression, or of a function in place of one, in a text.

    Raises:
        QueryError: T1010, if the function returns something else.
    """
    found = evaluator.call(matcher, [text])
    while found is not None:
        if not isinstance(found, dict) or not _is_match(found):
            raise fault("T1010", "match")
        yield found
        found = evaluator.call(found["next"], [])


def _is_match(found: dict[str, Any]) -> bool:
    start, end, groups = (found.get(key) for key in ("start", "end", "groups"))
    return (
        (is_number(start) or is_number(end))
        and isinstance(groups, list)
        and is_function(found.get("next"))
    )


def limited(found: Iterator[Any], limit: Any) -> Iterator[Any]:
    return found if limit is None else itertools.islice(found, math.ceil(limit))


def contains(evaluator: Any, text: str, token: Any) -> bool:
    if isinstance(token, str):
        return token in text
    return next(matches(evaluator, _function(token), text), None) is not None


def _function(value: Any) -> Any:
    if value is None:
        raise fault("T1006")
    return value


def match(evaluator: Any, text: str, regex: Any, limit: Any = None) -> Any:
    if limit is not None and limit < 0:
        raise fault("D3040")
    result = sequence()
    for found in limited(matches(evaluator, regex, text), limit):
        result.append({"match": found["match"], "index": found["start"], "groups": found["groups"]})
    return result


def split(evaluator: Any, text: str, separator: Any, limit: Any = None) -> list[str]:
    if limit is not None and limit < 0:
        raise fault("D3020")
    if isinstance(separator, str):
        parts = text.split(separator) if separator else list(text)
        evaluator.budget.members(len(parts))
        return parts if limit is None else parts[: int(limit)]
    parts, start = [], 0
    for found in limited(matches(evaluator, _function(separator), text), limit):
        parts.append(text[start : found["start"]])
        start = found["end"]
    return parts if limit is not None and len(parts) >= limit else [*parts, text[start:]]


def replace(evaluator: Any, text: str, pattern: Any, replacement: Any, limit: Any = None) -> str:
    if pattern == "":
        raise fault("D3010")
    if limit is not None and limit < 0:
        raise fault("D3011")
    if isinstance(pattern, str):
        return _replace_text(evaluator, text, pattern, replacement, limit)
    parts, start, size = [], 0, len(text)
    for found in limited(matches(evaluator, _function(pattern), text), limit):
        put = _put(evaluator, replacement, found)
        size += len(put)
        evaluator.budget.held(size)
        evaluator.budget.spend(len(put) // COPIED)
        parts += [text[start : found["start"]], put]
        start = found["start"] + len(found["match"])
    return "".join([*parts, text[start:]])


def _replace_text(evaluator: Any, text: str, pattern: str, replacement: Any, limit: Any) -> str:
    if not isinstance(replacement, str):
        raise fault("D3012")
    count = text.count(pattern) if limit is None else min(text.count(pattern), math.ceil(limit))
    evaluator.budget.characters(len(text) + count * len(replacement))
    return text.replace(pattern, replacement, count)


def _put(evaluator: Any, replacement: Any, found: dict[str, Any]) -> str:
    if not isinstance(replacement, str):
        put = evaluator.call(_function(replacement), [found])
        if not isinstance(put, str):
            raise fault("D3012")
        return put
    groups = ["" if group is None else group for group in found["groups"]]
    digits = len(str(len(groups)))
    parts = replacement.split("$")
    made, rest = [parts[0]], iter(parts[1:])
    for part in rest:
        if not part:
            made += ["$", next(rest, "")]
        elif part[0] == "0":
            made += [found["match"], part[1:]]
        else:
            made.append(_group(groups, part, digits))
    return "".join(made)


def _group(groups: list[str], part: str, digits: int) -> str:
    """The replacement for `$` and `part`: the group of the longest number that exists."""
    figures = re.match(r"\d*", part[:digits])[0]  # type: ignore[index]  # it always matches
    if len(figures) > 1 and int(figures) > len(groups):
        figures = figures[:-1]
    if not figures:
        return f"${part}"
    number = int(figures)
    rest = part[len(str(number)) :]
    return (groups[number - 1] if 0 < number <= len(groups) else "") + rest


# --- codes ---------------------------------------------------------------------------------------


def base64encode(_evaluator: Any, text: str) -> str:
    """Encodes like 2.0.6 on a server: a character is its low byte."""
    return base64.b64encode(text.encode("utf-16-le", "surrogatepass")[::2]).decode()


def base64decode(_evaluator: Any, text: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0].translate({45: 43, 95: 47}))
    kept = kept[: len(kept) - (len(kept) % 4 == 1)]
    return binascii.a2b_base64(kept + "=" * (-len(kept) % 4)).decode("latin-1")


def encode_component(_evaluator: Any, text: str) -> str:
    return _encoded("encodeUrlComponent", text, PLAIN)


def encode_url(_evaluator: Any, text: str) -> str:
    return _encoded("encodeUrl", text, PLAIN + RESERVED)


def _encoded(name: str, text: str, safe: str) -> str:
    try:
        return urllib.parse.quote(text, safe=safe)
    except UnicodeEncodeError:
        raise fault("D3140", name, text) from None


def decode_component(_evaluator: Any, text: str) -> str:
    return _decoded("decodeUrlComponent", text, "")


def decode_url(_evaluator: Any, text: str) -> str:
    return _decoded("decodeUrl", text, RESERVED)


def _decoded(name: str, text: str, kept: str) -> str:
    """Decodes percent signs and their digits as UTF-8; `kept` stays as it is."""
    if re.search(r"%(?![0-9a-fA-F]{2})", text):
        raise fault("D3140", name, text)
    guarded = re.sub(
        r"%([2-4][0-9a-fA-F])",
        lambda found: f"%25{found[1]}" if chr(int(found[1], 16)) in kept else found[0],
        text,
    )
    try:
        return urllib.parse.unquote(guarded, errors="strict")
    except UnicodeDecodeError:
        raise fault("D3140", name, text) from None


def failed(_evaluator: Any, message: Any = None) -> Any:
    raise fault("D3137", "$error() function evaluated" if message is None else message)


def asserted(_evaluator: Any, condition: Any, message: Any = None) -> None:
    if not condition:
        raise fault("D3141", "$assert() statement failed" if message is None else message)


Row = tuple[str, Callable[..., Any]]

# Functions that are undefined if their first argument is; the others check it themselves.
STRICT: Final[dict[str, Row]] = {
    "substring": ("<s-nn?:s>", substring),
    "substringBefore": ("<s-s:s>", substring_before),
    "substringAfter": ("<s-s:s>", substring_after),
    "lowercase": ("<s-:s>", lambda _evaluator, text: text.lower()),
    "uppercase": ("<s-:s>", lambda _evaluator, text: text.upper()),
    "length": ("<s-:n>", lambda _evaluator, text: len(text)),
    "trim": ("<s-:s>", trim),
    "pad": ("<s-ns?:s>", pad),
    "match": ("<s-f<s:o>n?:a<o>>", match),
    "contains": ("<s-(sf):b>", contains),
    "replace": ("<s-(sf)(sf)n?:s>", replace),
    "split": ("<s-(sf)n?:a<s>>", split),
    "join": ("<a<s>s?:s>", join),
    "base64encode": ("<s-:s>", base64encode),
    "base64decode": ("<s-:s>", base64decode),
    "encodeUrlComponent": ("<s-:s>", encode_component),
    "encodeUrl": ("<s-:s>", encode_url),
    "decodeUrlComponent": ("<s-:s>", decode_component),
    "decodeUrl": ("<s-:s>", decode_url),
}
LOOSE: Final[dict[str, Row]] = {
    "string": ("<x-b?:s>", string),
    "error": ("<s?:x>", failed),
    "assert": ("<bs?:x>", asserted),
}
