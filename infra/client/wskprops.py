"""The file `.wskprops`, in which OpenWhisk's clients keep server and credentials."""

from __future__ import annotations

import os
from pathlib import Path

from ...composer import Error


class PropertiesError(Error):
    """The properties cannot be read or written; the text says why."""


def path() -> Path:
    """Path of the properties file."""
    return Path(os.environ.get("WSK_CONFIG_FILE", Path.home() / ".wskprops"))


def read(file: Path | None = None) -> dict[str, str]:
    """The properties of a file (default: `path()`) by name; an empty dict if the file does not exist.

    Raises:
        PropertiesError: the file cannot be read.
    """
    file = file or path()
    if not file.is_file():
        return {}
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PropertiesError(f"the properties file {file} cannot be read: {error}") from error
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def write(properties: dict[str, str]) -> None:
    """Writes the properties into a file that only its owner can read."""
    text = "".join(f"{name}={value}\n" for name, value in properties.items())
    new = path().with_name(f"{path().name}.new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(path())
    except OSError as error:
        raise PropertiesError(
            f"the properties file {path()} cannot be written: {error.strerror}"
        ) from error
