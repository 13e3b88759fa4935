"""Timestamps of the States Language: RFC 3339 with an upper case `T`, and `Z` or an offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|([+-])(\d\d):([0-5]\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_HOURS = 18  # the largest offset that Java's OffsetDateTime reads


def nanoseconds(text: str) -> int | None:
    """The instant as nanoseconds since 1970-01-01T00:00:00Z; None if the text is not a timestamp."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    local, fraction, _, sign, hours, minutes = found.groups()
    try:
        moment = datetime.fromisoformat(f"{local}+00:00")
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if sign:
        offset = int(hours) * 60 + int(minutes)
        if offset > _MAX_HOURS * 60:
            return None
        seconds -= offset * 60 if sign == "+" else -offset * 60
    return seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
