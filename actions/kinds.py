"""Kinds of actions: their names, and the row that describes a kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..composer import JSON

    # An `exec` as a client sent it: an object whose `kind` is a string. The kind's row checks the rest.
    ExecDocument: TypeAlias = Mapping[str, Any]

PYTHON = "python:3"
NODE = "nodejs:20"
RUNTIMES = (NODE, PYTHON)

COMPOSITION = "composition"
SEQUENCE = "sequence"
MACHINE = "states"
INLINE = "inline"
QUEUE = "queue"

# OpenWhisk's clients say `nodejs:default`, and deployments that are years old say `nodejs:10`.
_NAMES = (
    (re.compile(r"python(:default|:3(\.\d{1,2})?)?"), PYTHON),
    (re.compile(r"nodejs(:default|:\d{1,2})?"), NODE),
)


def resolved(kind: str) -> str | None:
    """The kind of code that a client means; None if there is no such kind."""
    return next((ours for names, ours in _NAMES if names.fullmatch(kind)), None)


def _no_check(_exec: Any, _known: Callable[[str], bool]) -> None:
    """For kinds that use no integrations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A kind of actions. Each family of kinds has rows, and `executables` has the table of all rows.

    Args:
        parse: reads the `exec` of a document. Relative names in it belong to the given namespace; the
            collection holds the kinds that can run here.
        show: an `exec` as JSON; without the code when the flag is False.
        check: raises for an integration that this server does not have.
        conducted: True if the conductor runs it: such a kind can run on every server.
        components: the full names of the components, for a kind that consists of them only.
        express: True if executions are kept in memory only; None for kinds that an annotation decides about.
        longest_ms: the longest timeout; None for that of code.
    """

    parse: Callable[[ExecDocument, str, Collection[str]], Any]
    show: Callable[[Any, bool], dict[str, JSON]]
    check: Callable[[Any, Callable[[str], bool]], None] = _no_check
    conducted: bool = False
    components: Callable[[Any], list[str]] | None = None
    express: Callable[[Any], bool] | None = None
    longest_ms: int | None = None
