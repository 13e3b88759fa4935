"""Delimited text, as AWS reads it for a distributed Map.

A field may stand in double quotes, and then hold delimiters and ends of lines; a quote in it is written
twice. A backslash takes the meaning from another backslash, a quote or the delimiter, and is dropped
before anything else. https://docs.aws.amazon.com/step-functions/latest/dg/example-csv-parse-dist-map.html
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..state_errors import ITEM_READER_FAILED, StatesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
MAX_HEADER_BYTES: Final = 10 << 10  # AWS' most
_QUOTED = re.compile(r'[^"\\]+')
_BLANK = re.compile(r"[\r\n]*")


def header(text: str, delimiter: str) -> tuple[list[str], int]:
    """The names in the first row that is not blank, and where the second begins.

    Raises:
        StatesError: States.ItemReaderFailed when it is too long.
    """
    begin = _past_blank(text, 0)
    first = text[: begin + MAX_HEADER_BYTES + 3]  # and the end of the line
    found = _row(first, begin, delimiter, len(first))
    if len(text) > len(first) and (found is None or found[1] > len(first)):
        _fail(f"CSV headers cannot have more than {MAX_HEADER_BYTES} bytes.")
    if found is None:
        _fail("The header of the input file has a quotation mark that is not closed.")
    return found


def rows(text: str, at: int, delimiter: str, width: int, *, whole: bool) -> Iterator[list[str]]:
    """The rows from a place on, each with its first `width` fields at most; blank lines are none.

    Raises:
        StatesError: States.ItemReaderFailed when the text ends in quotes, if it is the whole text.
    """
    while (at := _past_blank(text, at)) < len(text):
        found = _row(text, at, delimiter, width)
        if found is None:
            if whole:
                _fail("The input file has a quotation mark that is not closed.")
            return
        row, at = found
        yield row


def _past_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _row(text: str, at: int, delimiter: str, width: int) -> tuple[list[str], int] | None:
    """The row that begins at a place, and where the next does; None when it ends in quotes."""
    end = text.find("\n", at)
    line = text[at:] if end < 0 else text[at:end]
    after = at + len(line) + 1
    if '"' in line or "\\" in line:
        return _quoted_row(text, at, delimiter, width)
    line = line.removesuffix("\r")
    return line.split(delimiter, width)[:width] if line else [], after


def _quoted_row(text: str, at: int, delimiter: str, width: int) -> tuple[list[str], int] | None:
    fields: list[str] = []
    while True:
        found = _field(text, at, delimiter)
        if found is None:
            return None
        field, at = found
        if len(fields) < width:
            fields.append(field)
        if not text.startswith(delimiter, at):
            return fields, at + 1
        at += 1


def _field(text: str, at: int, delimiter: str) -> tuple[str, int] | None:
    """The field that begins at a place, and where it ends: at a delimiter, a line's end, the text's."""
    parts: list[str] = []
    quoted, closed, plain = False, False, _unquoted(delimiter)
    while at < len(text):
        run = (_QUOTED if quoted else plain).match(text, at)
        if run is not None:
            at = run.end()
            parts.append(run[0].removesuffix("\r") if not quoted and _ends(text, at) else run[0])
            continue
        mark, then = text[at], text[at + 1 : at + 2]
        if mark == "\\":
            escaped = then in ("\\", '"', delimiter)
            parts.append(then if escaped else "")
            at += 2 if escaped else 1
        elif mark != '"':
            break
        elif (quoted or parts or closed) and then == '"':
            parts.append('"')
            at += 2
        else:
            if not quoted and (parts or closed):
                parts.append('"')  # in the midst of a field it is one like others
            else:
                closed, quoted = quoted, not quoted
            at += 1
    return None if quoted else ("".join(parts), at)


def _ends(text: str, at: int) -> bool:
    return at == len(text) or text[at] == "\n"


@lru_cache(maxsize=len(DELIMITERS))
def _unquoted(delimiter: str) -> re.Pattern[str]:
    return re.compile(rf'[^"\\\n{re.escape(delimiter)}]+')


def _fail(cause: str) -> NoReturn:
    raise StatesError(ITEM_READER_FAILED, cause)
