"""Counts the values of a JSON text before it is parsed, because later checks visit each value."""

from __future__ import annotations

import asyncio

from ...actions import TooLargeError

MAX_MEMBERS = 200_000  # values of a definition: more than any compilable one has
SLICE_BYTES = 1 << 18  # bytes that are counted in one go
_MARKS = (b",", b"[", b"{")  # one of them precedes each value, except the first value of an object
_BACKSLASH = b"\\"


async def check_members(content: bytearray) -> None:
    """Refuses a text with too many values. Yields to other tasks meanwhile.

    Raises:
        TooLargeError: the text has too many values.
    """
    if len(content) <= MAX_MEMBERS:
        return
    marks = 0
    for start in range(0, len(content), SLICE_BYTES):
        marks += _marks(bytes(content[start : start + SLICE_BYTES]))
        await asyncio.sleep(0)  # noqa: TID251  yields to other tasks
    if marks > MAX_MEMBERS:
        await _check_outside(content)


async def _check_outside(content: bytearray) -> None:
    """Counts again without strings, because code has commas, too."""
    marks, at, inside = 0, 0, False
    while at < len(content):
        piece = bytes(content[at : at + SLICE_BYTES])
        escapes = len(piece) - len(piece.rstrip(_BACKSLASH))
        if escapes % 2 and len(piece) > 1:
            piece = piece[:-1]  # the escaped character is in the next piece
        at += len(piece)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        marks += _marks(b"".join(parts[inside::2]))
        inside ^= len(parts) % 2 == 0
        if marks > MAX_MEMBERS:
            raise TooLargeError(
                f"The request has more than {MAX_MEMBERS} JSON values, which is the limit of a definition."
            )
        await asyncio.sleep(0)  # noqa: TID251  yields to other tasks


def _marks(text: bytes) -> int:
    return sum(map(text.count, _MARKS))
