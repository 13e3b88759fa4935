"""How programs are stored: by hash, for executions that come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document

if TYPE_CHECKING:
    from ...composer import Program

PROGRAM = "program"  # documents of programs, by hash


def program_document(program: Program) -> Document:
    """The program as it is stored, for executions that come back."""
    return Document(kind=PROGRAM, key=program.hash, body=orjson.dumps(program.to_json()))
