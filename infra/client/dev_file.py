"""The file `.xingqiao/dev.properties`: URL and credentials of the server of `xingqiao dev` in this folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..settings import write_secret
from . import wskprops

FOLDER = Path(".xingqiao")
FILE = FOLDER / "dev.properties"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write(url: str, auth: str) -> None:
    """Writes the file, which only its owner can read."""
    FOLDER.mkdir(exist_ok=True)
    write_secret(FILE, f"URL={url}\nAUTH={auth}")


def remove() -> None:
    """Removes the file: the server has stopped."""
    FILE.unlink(missing_ok=True)


def read() -> tuple[str, str] | None:
    """URL and credentials; None if there is no such file, or if another user can have written it.

    Raises:
        PropertiesError: the file cannot be read.
    """
    try:
        found = FILE.stat()
    except OSError:
        return None
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS:
        return None
    properties = wskprops.read(FILE)
    url, auth = properties.get("URL"), properties.get("AUTH")
    return (url, auth) if url and auth else None
