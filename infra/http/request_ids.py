"""Random ids of requests."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGITS = 32  # of an id, in hexadecimal
AT_ONCE = 256  # ids drawn: asking the system for each takes longer than all else about an id


class RequestIds:
    """Ids of requests that their clients have not named."""

    def __init__(self) -> None:
        self._drawn: Iterator[str] = iter(())

    def new(self) -> str:
        """An id of 32 hexadecimal digits."""
        id = next(self._drawn, None)
        if id is None:
            text = secrets.token_hex(DIGITS // 2 * AT_ONCE)
            self._drawn = iter([text[at : at + DIGITS] for at in range(0, len(text), DIGITS)])
            id = next(self._drawn)
        return id

    def uuid(self) -> str:
        """An id as a UUID of version 4."""
        id = self.new()
        variant = "89ab"[int(id[16], 16) & 3]
        return f"{id[:8]}-{id[8:12]}-4{id[13:16]}-{variant}{id[17:20]}-{id[20:]}"
