"""Checks of `xingqiao doctor` of the store, which a server may be using."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..stores import glance
from .findings import Finding

if TYPE_CHECKING:
    from ..settings import Settings

LONG_LOG_BYTES = 256 << 20
MIB = 1 << 20


def store(settings: Settings) -> Finding:
    """Looks at the database: its pages, its schema, its size and its write-ahead log."""
    found = None if settings.data is None else glance(settings.data)
    if settings.dynamodb is not None:
        text = (
            f"The store is the DynamoDB table {settings.dynamodb}, which this check does not read."
        )
        return Finding(check="store", state="ok", text=text)
    if found is None:
        text = f"There is no store in {settings.data} yet: the first start creates it."
        return Finding(check="store", state="ok", text=text)
    if found.fault:
        fix = "stop the server, run `xingqiao check`, and restore a backup with `xingqiao restore`"
        text = f"The store in {settings.data} is damaged: {found.fault}."
        return Finding(check="store", state="fail", text=text, fix=fix)
    if found.schema > found.newest:
        text = f"The store has schema {found.schema}, and this program knows only {found.newest}."
        fix = "use the version of the program that wrote the store, or a newer one"
        return Finding(check="store", state="fail", text=text, fix=fix)
    sizes = f"{found.size / MIB:.1f} MiB, and its write-ahead log {found.log / MIB:.1f} MiB"
    pages = (
        "Its pages are sound" if found.checked else "It is too large for a quick check of its pages"
    )
    text = f"The store has schema {found.schema} of {found.newest} and {sizes}. {pages}."
    if found.log > LONG_LOG_BYTES:
        fix = "look for a backup or another program that keeps the database open, and restart the server"
        return Finding(check="store", state="warn", text=text, fix=fix)
    return Finding(check="store", state="ok", text=text)
