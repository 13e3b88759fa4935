"""The size of a value as JSON, estimated before the value is written."""

from __future__ import annotations

from typing import Any

MAX_LEVELS = 240  # orjson writes 254, and a value is wrapped


def json_size(value: Any, limit: int) -> int:
    """The size of a value in bytes, roughly; counting stops above `limit`.

    A part counts as often as it occurs in the value, so that a small value which prints as a huge one
    (a reference that is doubled at every level) is found out. A value of more than MAX_LEVELS levels
    counts as one above every limit.
    """
    size, level = 0, [value]
    for _ in range(MAX_LEVELS + 1):
        below: list[Any] = []
        for member in level:
            if type(member) is str:
                size += len(member) + 2
            elif type(member) is dict:
                size += 2 + sum(map(len, member)) + 4 * len(member)
                below.extend(member.values())
            elif type(member) is list:
                size += 2 + len(member)
                below.extend(member)
            else:
                size += 5
            if size > limit:
                return size
        if not below:
            return size
        level = below
    return limit + 1
