"""Parses JSON text, in pieces if it has giant strings such as the code of an action.

One call of the parser cannot be interrupted: 40 MB take 66 ms, and block all threads. Therefore a string
of more than `PIECE_BYTES` bytes is taken out, parsed piece by piece, and put back into the value.
"""

from __future__ import annotations

import re
import secrets
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import orjson

from ...composer import overflow

if TYPE_CHECKING:
    from ...composer import JSON

PIECE_BYTES: Final = 1 << 18  # parsed in one call: 1 ms, or 10 ms if all of it is escaped
# Whole characters and escape sequences of a string, as many as there are before its end.
_PIECE = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_CONTINUATIONS = range(0x80, 0xC0)  # bytes inside a character of UTF-8
_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")  # the first half of a pair of surrogates


class WideIntegerError(ValueError):
    """An integer of more than 64 bits, which cannot be stored exactly. The text says where it is."""


def parse(text: bytes | bytearray) -> JSON:
    """The value of JSON text.

    Raises:
        WideIntegerError: an integer takes more than 64 bits.
        ValueError: the text is not valid JSON.
    """
    giants = _giants(text) if len(text) > PIECE_BYTES else []
    if not giants:
        return _whole(text)
    mark, rest, at = secrets.token_hex(16), bytearray(), 0
    for number, cuts in enumerate(giants):
        rest += text[at : cuts[0]] + f"{mark}{number}".encode()
        at = cuts[-1]
    rest += text[at:]
    return _restored(_whole(rest), mark, [_string(text, cuts) for cuts in giants])


def _whole(text: bytes | bytearray) -> JSON:
    value: JSON = orjson.loads(text)
    if why := overflow(text):
        raise WideIntegerError(why)
    return value


def _giants(text: bytes | bytearray) -> list[list[int]]:
    """The giant strings: where each begins, may be cut, and ends. None in malformed text."""
    found, at = [], text.find(b'"')
    while at >= 0:
        cuts = [at + 1]
        while (end := _cut(text, cuts[-1])) < len(text) and text[end : end + 1] != b'"':
            if end == cuts[-1]:
                return []
            cuts.append(end)
        if len(cuts) > 1:
            found.append([*cuts, end])
        at = text.find(b'"', end + 1)
    return found


def _cut(text: bytes | bytearray, start: int) -> int:
    """The end of a string or of its next piece, never inside a character or a surrogate pair."""
    match = _PIECE.match(text, start, min(start + PIECE_BYTES, len(text)))
    end = match.end() if match else start
    if text[end : end + 1] != b'"':
        if _HALF.fullmatch(text, end - 6, end):
            end -= 6
        while end > start and text[end : end + 1] and text[end] in _CONTINUATIONS:
            end -= 1
    return end


def _string(text: bytes | bytearray, cuts: list[int]) -> str:
    return "".join(orjson.loads(b'"' + text[start:end] + b'"') for start, end in pairwise(cuts))


def _restored(value: JSON, mark: str, strings: list[str]) -> JSON:
    """The value with the strings put back where their marks stand."""

    def text(marked: str) -> str:
        return strings[int(marked[len(mark) :])] if marked.startswith(mark) else marked

    def original(member: JSON) -> JSON:
        return text(member) if type(member) is str else member

    top = [value]
    left: list[JSON] = [top]
    while left:
        container = left.pop()
        if type(container) is list:
            container[:] = map(original, container)
            left += container
        elif type(container) is dict:
            members = [(text(key), original(member)) for key, member in container.items()]
            container.clear()
            container.update(members)
            left += container.values()
    return top[0]
