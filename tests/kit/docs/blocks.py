"""The fenced blocks of a document, and what the document says of them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")],
)
_FENCE = re.compile(r"^( *)```(\w*)$")
_MARK = re.compile(r"^ *<!-- fragment: (.+) -->$")
_FILE = re.compile(r"`([\w./-]+)`[^`]*:$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block.

    `line` is the number of its first line of text; `fragment` says what a block needs that no test can run;
    `file` is the name that the line before the block gives to it (as in "Write `pay.py`:").
    """

    language: str
    text: str
    line: int
    fragment: str | None
    file: str | None
    heading: str


def blocks(document):
    """All fenced blocks of a document, in order."""
    return list(parsed(document.read_text("utf-8")))


def parsed(text):
    """All fenced blocks of a text; a fence that is never closed is an error."""
    lines = text.splitlines()
    number, heading = 0, ""
    while number < len(lines):
        line = lines[number]
        heading = line.lstrip("# ") if re.match(r"^#+ ", line) else heading
        number += 1
        opened = _FENCE.match(line)
        if opened is None:
            continue
        end = next((at for at in range(number, len(lines)) if lines[at].strip() == "```"), None)
        assert end is not None, f"the block that begins in line {number} has no end"
        before = [shown for shown in lines[: number - 1] if shown.strip()]
        mark = _MARK.match(lines[number - 2]) if number > 1 else None
        named = _FILE.search(before[-1]) if before else None
        yield Block(
            language=opened[2],
            text="".join(f"{shown[len(opened[1]) :]}\n" for shown in lines[number:end]),
            line=number + 1,
            fragment=mark and mark[1],
            file=named and named[1],
            heading=heading,
        )
        number = end + 1


def commands(script):
    """The commands of a shell block as lists of words, each with whether a comment says that it fails.

    A line that ends in a backslash goes on. Only simple commands are read.
    """
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words, "# fails" in line
