"""Kinds of code: what a client may call them, and what they are here."""

from __future__ import annotations

import re

PYTHON = "python:3"
NODE = "nodejs:20"
RUNTIMES = (NODE, PYTHON)

COMPOSITION = "composition"
SEQUENCE = "sequence"
MACHINE = "states"
INLINE = "inline"

# OpenWhisk's clients say `nodejs:default`, and deployments that are years old say `nodejs:10`.
_NAMES = (
    (re.compile(r"python(:default|:3(\.\d{1,2})?)?"), PYTHON),
    (re.compile(r"nodejs(:default|:\d{1,2})?"), NODE),
)


def resolved(kind: str) -> str | None:
    """The kind of code that a client means; None when it is no kind of ours."""
    return next((ours for names, ours in _NAMES if names.fullmatch(kind)), None)
