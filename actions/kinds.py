"""Kinds of actions: their names, and the row that tells what there is to know of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..composer import JSON

PYTHON = "python:3"
NODE = "nodejs:20"
RUNTIMES = (NODE, PYTHON)

COMPOSITION = "composition"
SEQUENCE = "sequence"
MACHINE = "states"
INLINE = "inline"
CONDUCTED = (COMPOSITION, MACHINE, SEQUENCE)

# OpenWhisk's clients say `nodejs:default`, and deployments that are years old say `nodejs:10`.
_NAMES = (
    (re.compile(r"python(:default|:3(\.\d{1,2})?)?"), PYTHON),
    (re.compile(r"nodejs(:default|:\d{1,2})?"), NODE),
)


def resolved(kind: str) -> str | None:
    """The kind of code that a client means; None when it is no kind of ours."""
    return next((ours for names, ours in _NAMES if names.fullmatch(kind)), None)


def _no_check(_exec: Any, _known: Callable[[str], bool]) -> None:
    """For kinds that ask for no integration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A kind of actions: each family of kinds has rows, and `executables` has the table of all of them.

    Args:
        parse: reads the `exec` of a document; names in it are within the namespace, `kinds` are those of
            code that runs here.
        show: an `exec` as JSON; without the code when the flag is False.
        check: raises for an integration that is not known here.
        components: the full names of the components, for a kind that is made of them only.
        express: whether executions are in memory only, for a kind that says so by itself.
    """

    parse: Callable[[dict[str, JSON], str, Collection[str]], Any]
    show: Callable[[Any, bool], dict[str, JSON]]
    check: Callable[[Any, Callable[[str], bool]], None] = _no_check
    components: Callable[[Any], list[str]] | None = None
    express: Callable[[Any], bool] | None = None
