"""The items of a distributed Map, read from the bytes of a file: JSON, JSON Lines, delimited text.

Formats and limits are AWS' (https://docs.aws.amazon.com/step-functions/latest/dg/input-output-itemreader.html).
Of the causes those of `NOT_ITERABLE`, `NO_SUCH_PLACE`, of headers that are there twice and of a negative
MaxItems are AWS' own, as seen there; for the others no recording is known.

The memory for a file is bounded before it is read, by counts of its bytes: some lines of
text can make items that are thousands of times their size.
"""

from __future__ import annotations

import json
import re
import zlib
from math import isfinite
from typing import TYPE_CHECKING, Final, NoReturn, final

from ....freezing import changed, frozen
from ....values import MAX_DEPTH, MAX_INT, MIN_INT
from ..state_errors import ITEM_READER_FAILED, StatesError
from .delimited import DELIMITERS, MAX_HEADER_BYTES, header, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ....values import JSON
    from ..documents import StatePart

MAX_ITEMS: Final = 100_000_000  # AWS' most: a larger MaxItems is this
NOT_ITERABLE: Final = "Attempting to map over non-iterable node."
NO_SUCH_PLACE: Final = (
    "The provided ReaderConfig.ItemsPointer does not match any valid path in the JSON structure."
)
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
LINES: Final = ("CSV", "JSONL")  # formats whose beginning can be read by itself
MEMBER_BYTES = 6  # of JSON around a name and a text
MAX_SAID = 500  # characters of a parser's message
MAX_MEMBERS = 100_000  # of a packed file
PIECE_BYTES = 1 << 16
_NOTHING, _SPACE = re.compile(rb"\0*"), re.compile(rb"\s*")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of what may be a surrogate pair
_WINDOW = zlib.MAX_WBITS | 16  # a gzip header is expected
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


@final
@frozen
class ReadingBounds:
    """The bounds on reading items.

    `bytes`: of files when they are unpacked, and of the items that they make as JSON.
    `values`: objects, arrays, and members of these.
    """

    bytes: int = 128 << 20
    values: int = 10_000_000


@final
@frozen
class Items:
    """The items of a file. `keyed` items were members of an object: each has its Key and its Value.

    `left` are the bounds on reading more.
    """

    values: list[JSON]
    left: ReadingBounds
    keyed: bool = False


def fail(cause: str) -> NoReturn:
    """Ends the reading.

    Raises:
        StatesError: always.
    """
    raise StatesError(ITEM_READER_FAILED, cause)


def most_items(max_items: int | None) -> int:
    """The bound of MaxItems or MaxItemsPath on the number of items; None and 0 are no bound.

    Raises:
        StatesError: States.ItemReaderFailed if it is negative.
    """
    if max_items is not None and max_items < 0:
        fail("field MaxItems must be positive")
    return min(max_items or MAX_ITEMS, MAX_ITEMS)


def read_items(
    body: bytes,
    config: StatePart,
    *,
    max_items: int | None = None,
    bounds: ReadingBounds | None = None,
    whole: bool = True,
) -> Items:
    """The items of a file, in its order.

    Args:
        body: the file; it may be packed with gzip.
        config: a ReaderConfig. Without InputType the file is JSON.
        max_items: see `most_items`.
        bounds: on the memory for them.
        whole: True if the body is the whole file. Else its format must be one of LINES: an incomplete last
            line is left out, and there may be fewer items than `max_items`.

    Raises:
        StatesError: States.ItemReaderFailed.
    """
    most, bounds = most_items(max_items), bounds or ReadingBounds()
    kind = config.get("InputType", "JSON")
    read = _FORMATS.get(kind) if isinstance(kind, str) else None
    if read is None:
        fail(f"This server does not read items of the InputType {kind!r}.")
    if not whole:
        body = body[: body.rfind(b"\n") + 1]
    return read(_Text(_unpacked(body, bounds), config, most, bounds, whole))


@final
@frozen
class _Text:
    """A file, its ReaderConfig, and the bounds on reading it."""

    body: bytes
    config: StatePart
    most: int
    bounds: ReadingBounds
    whole: bool


def _unpacked(body: bytes, bounds: ReadingBounds) -> bytes:
    if body.startswith(ZSTANDARD):
        fail("This server does not read what is compressed with Zstandard: use gzip.")
    if body.startswith(GZIP):
        body = _inflated(body, bounds.bytes)
    if len(body) > bounds.bytes:
        fail(f"The items are more than the {bounds.bytes} bytes that may be read.")
    return body


def _inflated(body: bytes, most: int) -> bytes:
    """The unpacked bytes, member after member; one byte more than `most` if there is more."""
    parts: list[bytes] = []
    at, left, members = 0, most + 1, 0
    try:
        while at < len(body) and left > 0:
            members += 1
            if members > MAX_MEMBERS:
                fail(
                    f"The input file has more than {MAX_MEMBERS} members that are packed with gzip."
                )
            member = zlib.decompressobj(_WINDOW)
            while left > 0 and not member.eof:
                piece = body[at : at + PIECE_BYTES]
                if not piece:
                    fail("The input file is compressed with gzip, and was cut off.")
                parts.append(member.decompress(piece, left))
                left -= len(parts[-1])
                at += len(piece) - len(member.unused_data) - len(member.unconsumed_tail)
            at = _end_of(_NOTHING, body, at)  # the padding of tapes
    except zlib.error as error:
        fail(f"The input file is not compressed with gzip as it says: {error}")
    return b"".join(parts)


def _end_of(pattern: re.Pattern[bytes], body: bytes, at: int) -> int:
    """The end of the match of a pattern that matches everywhere."""
    found = pattern.match(body, at)
    return at if found is None else found.end()


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(f"The input file is not UTF-8: {error.reason} at byte {error.start}.")


# --- JSON ----------------------------------------------------------------------------------------


def _json(file: _Text) -> Items:
    node = _at(file.config.get("ItemsPointer", ""), _parsed(file.body, file.bounds, "input file"))
    values = sum(map(file.body.count, (b"{", b"[", b",")))
    left = _less(file.bounds, len(file.body), values)
    if isinstance(node, dict):
        members: list[JSON] = [{"Key": key, "Value": value} for key, value in node.items()]
        return Items(members[: file.most], left, keyed=True)
    if not isinstance(node, list):
        fail(NOT_ITERABLE)
    return Items(node[: file.most], left)


def _parsed(body: bytes, bounds: ReadingBounds, what: str) -> JSON:
    if sum(map(body.count, (b"{", b"[", b","))) > bounds.values:
        fail(f"The {what} has more than the {bounds.values} values that may be read.")
    text = _decoded(body)
    try:
        value: JSON = json.loads(
            text, parse_constant=_refused, parse_int=_integer, parse_float=_fraction
        )
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        fail(f"The {what} has half of a surrogate pair, which is not a character.")
    except (ValueError, RecursionError) as error:
        fail(f"The {what} is not valid JSON: {error}"[:MAX_SAID])
    if _is_deep(value):
        fail(f"The {what} nests deeper than {MAX_DEPTH} levels.")
    return value


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text:.40} is not a number that can be read")


def _integer(text: str) -> int:
    value = int(text)
    return value if MIN_INT <= value <= MAX_INT else _refused(text)


def _fraction(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refused(text)


def _is_deep(value: JSON) -> bool:
    """True if a value has more levels than values may have; goes level by level, because a value may be wide."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH + 1):
        members = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for some in members for one in some if isinstance(one, (dict, list))]
        if not level:
            return False
    return True


def _at(pointer: JSON, node: JSON) -> JSON:
    """The value at a JSON Pointer (RFC 6901); "" is the whole."""
    if not isinstance(pointer, str) or not (pointer == "" or pointer.startswith("/")):
        fail(NO_SUCH_PLACE)
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and _INDEX.fullmatch(name) and int(name) < len(node):
            node = node[int(name)]
        else:
            fail(NO_SUCH_PLACE)
    return node


def _jsonl(file: _Text) -> Items:
    values: list[JSON] = []
    left = file.bounds
    for number, line in _lines(file.body):
        if len(values) == file.most:
            break
        values.append(_parsed(line, left, f"line {number} of the input file"))
        left = _less(left, len(line), 1 + sum(map(line.count, (b"{", b"[", b","))))
    return Items(values, left)


def _lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, and their numbers."""
    at, number = 0, 1
    while (begin := _end_of(_SPACE, body, at)) < len(body):
        number += body.count(b"\n", at, begin)
        end = body.find(b"\n", begin)
        at = len(body) if end < 0 else end
        yield number, body[begin:at]


# --- delimited text ------------------------------------------------------------------------------


def _csv(file: _Text) -> Items:
    named = file.config.get("CSVDelimiter", "COMMA")
    if named not in DELIMITERS:
        fail(f"This server does not know the CSVDelimiter {named!r}.")
    delimiter, text = DELIMITERS[named], _decoded(file.body)
    if file.config.get("CSVHeaderLocation", "FIRST_ROW") == "GIVEN":
        names, at = _given_names(file.config.get("CSVHeaders")), 0
    else:
        names, at = header(text, delimiter)
    size = sum(len(name.encode()) + MEMBER_BYTES for name in names)
    if size > MAX_HEADER_BYTES + MEMBER_BYTES * len(names):
        fail(f"CSV headers cannot have more than {MAX_HEADER_BYTES} bytes.")
    if len(set(names)) < len(names):
        fail("CSV headers cannot contain duplicates.")
    left = _less(file.bounds, len(file.body), 0)
    width = len(names)
    most = min(file.most, left.bytes // (size + 1), left.values // (width + 1))
    items: list[JSON] = []
    missing = [""] * width
    for row in rows(text, at, delimiter, width, whole=file.whole):
        if len(items) == most:
            break
        items.append(dict(zip(names, row + missing[len(row) :], strict=True)))
    else:
        most = file.most
    if len(items) == most < file.most:
        _too_many(left)
    return Items(items, _less(left, size * len(items), (width + 1) * len(items)))


def _given_names(headers: JSON) -> list[str]:
    if not isinstance(headers, list):
        fail("CSVHeaders must be a list of texts.")
    names = [name for name in headers if isinstance(name, str)]
    if len(names) < len(headers):
        fail("CSVHeaders must be a list of texts.")
    return names


def _less(bounds: ReadingBounds, size: int, values: int) -> ReadingBounds:
    if size > bounds.bytes or values > bounds.values:
        _too_many(bounds)
    left: ReadingBounds = changed(bounds, bytes=bounds.bytes - size, values=bounds.values - values)
    return left


def _too_many(left: ReadingBounds) -> NoReturn:
    what = f"{left.bytes} bytes and {left.values} values"
    fail(f"There are more items than may be read: there was room for {what} more.")


_FORMATS: dict[str, Callable[[_Text], Items]] = {"CSV": _csv, "JSON": _json, "JSONL": _jsonl}
