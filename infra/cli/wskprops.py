"""The file `.wskprops`: where OpenWhisk's clients find their server and credentials."""

from __future__ import annotations

import os
from pathlib import Path

from ...composer import Error


class PropertiesError(Error):
    """The properties cannot be read or written; the text says why."""


def path() -> Path:
    """Where the properties are."""
    return Path(os.environ.get("WSK_CONFIG_FILE", Path.home() / ".wskprops"))


def read() -> dict[str, str]:
    """The properties by name; none when there is no file.

    Raises:
        PropertiesError: when it cannot be read.
    """
    if not path().is_file():
        return {}
    try:
        text = path().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PropertiesError(f"{path()}: {error}") from error
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def write(properties: dict[str, str]) -> None:
    """Writes them into a file that nobody but its owner can read."""
    text = "".join(f"{name}={value}\n" for name, value in properties.items())
    new = path().with_name(f"{path().name}.new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(path())
    except OSError as error:
        raise PropertiesError(f"{path()}: {error.strerror}") from error
