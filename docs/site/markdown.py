"""Text of the code as Markdown: docstrings, help texts, cells of tables."""

from __future__ import annotations

import inspect
import re

_SECTIONS = {"Args:": "Arguments", "Raises:": "Errors", "Returns:": "Result"}
_ENTRY = re.compile(r"^ {4}(\w[\w.]*(?:, \w+)*): (.*)$")
_NAMED = re.compile(r"^(\w+): (.*)$")


def cell(text: str) -> str:
    """A text as one cell of a table."""
    return " ".join(plain(text).replace("|", "\\|").split())


def plain(text: str) -> str:
    """A text in which nothing is markup except code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<*_\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def code(text: str) -> str:
    """A text as code inside a line or a cell."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def docstring(of: object) -> str:
    """A docstring: its sections become lists, and its indented lines code."""
    shown: list[str] = []
    section = listed = False
    for line in (inspect.getdoc(of) or "").splitlines():
        if line in _SECTIONS:
            shown += ["", f"**{_SECTIONS[line]}**", ""]
            section = True
        elif section and (entry := _ENTRY.match(line)):
            shown.append(f"- `{entry[1]}`: {plain(entry[2])}")
        elif section:
            shown.append(f"  {plain(line.strip())}" if line else "")
        elif not line.startswith(" ") and (named := _NAMED.match(line)):
            shown += [*([] if listed else [""]), f"- `{named[1]}`: {plain(named[2])}"]
            listed = True
        elif listed and line.startswith("    "):
            shown.append(f"  {plain(line.strip())}")
        else:
            shown.append(line if line.startswith("    ") else plain(line))
            listed = False
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip() + "\n"
