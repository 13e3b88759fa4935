"""Programs and definitions as they are stored: by hash, for executions that are pinned to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document

if TYPE_CHECKING:
    from ...composer import Program

PROGRAM = "program"  # documents of programs, by hash
DEFINITION = "definition"  # documents of the texts that programs were compiled from, by hash


def program_document(program: Program) -> Document:
    """The document of a program, for executions that come back."""
    return Document(kind=PROGRAM, key=program.hash, body=orjson.dumps(program.to_json()))


def definition_document(hash: str, text: str) -> Document:
    """The document of a definition, for clients that ask what an execution was begun with."""
    return Document(kind=DEFINITION, key=hash, body=orjson.dumps(text))
