"""How many values a JSON text has, counted before it is parsed: what is parsed is gone over, value by value."""

from __future__ import annotations

import asyncio

from ...actions import TooLargeError

MAX_MEMBERS = 200_000  # values of a definition: more than any has that compiles
SLICE_BYTES = 1 << 18  # that are counted in one go
_MARKS = (b",", b"[", b"{")  # of which each value has one before it, but for the first of an object
_BACKSLASH = b"\\"


async def check_members(content: bytearray) -> None:
    """Refuses what has too many values. It lets others have their turn.

    Raises:
        TooLargeError: naming the limit.
    """
    if len(content) <= MAX_MEMBERS:
        return
    marks = 0
    for start in range(0, len(content), SLICE_BYTES):
        marks += _marks(bytes(content[start : start + SLICE_BYTES]))
        await asyncio.sleep(0)  # noqa: TID251  others have their turn
    if marks > MAX_MEMBERS:
        await _check_outside(content)


async def _check_outside(content: bytearray) -> None:
    """Counts again, without what stands in strings: code has commas, too."""
    marks, at, inside = 0, 0, False
    while at < len(content):
        piece = bytes(content[at : at + SLICE_BYTES])
        escapes = len(piece) - len(piece.rstrip(_BACKSLASH))
        if escapes % 2 and len(piece) > 1:
            piece = piece[:-1]  # what it escapes is in the next
        at += len(piece)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        marks += _marks(b"".join(parts[inside::2]))
        inside ^= len(parts) % 2 == 0
        if marks > MAX_MEMBERS:
            raise TooLargeError(
                f"The request has more than {MAX_MEMBERS} JSON values, which is the limit of a definition."
            )
        await asyncio.sleep(0)  # noqa: TID251  others have their turn


def _marks(text: bytes) -> int:
    return sum(map(text.count, _MARKS))
