"""The `exec` of an action, which says how it runs, and the table of all kinds.

Each family of kinds has a module. JSON shapes are OpenWhisk's. The kinds are:

    python:3, nodejs:20   code, run in a worker                  {"kind", "code", "main"?, "binary"?, "requirements"?}
    composition           a composition, run by the conductor    {"kind", "composition"}
    sequence              actions one after the other            {"kind", "components"}
    states                a state machine, as AWS' text          {"kind", "definition", "type"?}
    inline                a function of the embedding program    not in JSON
    queue                 code of a worker outside that polls    {"kind", "queue", <options>}
    aws:lambda, http, ... a function elsewhere, see `remotes`    {"kind", "function", ...}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .coded import CODE, CODED, Code, Inline
from .composed import COMPOSED, Composed
from .errors import InvalidError
from .kinds import RUNTIMES
from .machines import MACHINES
from .queued import QUEUED, Queued
from .remotes import REMOTE, REMOTES, Remote

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..composer import JSON
    from .kinds import ExecDocument, Row

KINDS = (*RUNTIMES, *REMOTES)
Exec: TypeAlias = Code | Inline | Composed | Queued | Remote

_ROWS: Mapping[str, Row] = {**CODED, **COMPOSED, **MACHINES, **QUEUED, **REMOTE}
_CONDUCTED = frozenset(kind for kind, row in _ROWS.items() if row.conducted)


def row_of(kind: str) -> Row:
    """The row of a kind. A kind that has no row is checked as code for a worker."""
    return _ROWS.get(kind, CODE)


def parsed_exec(doc: JSON, namespace: str, kinds: Collection[str] = KINDS) -> Exec:
    """Reads the `exec` of a document. Relative names in it belong to `namespace`.

    Raises:
        InvalidError: a field is malformed, or the kind of code is not among `kinds`. The message names the field.
        TooLargeError: the code is larger than allowed.
    """
    if not isinstance(doc, dict) or not isinstance(doc.get("kind"), str):
        raise InvalidError("The request content was malformed:\n'exec' must have a 'kind'")
    document: ExecDocument = doc
    kind = document["kind"]
    known = _CONDUCTED.union(kinds)
    row = row_of(kind) if kind in known else CODE  # CODE knows other names, and refuses the rest
    execution: Exec = row.parse(document, namespace, known)
    return execution


def exec_to_json(execution: Exec, *, code: bool) -> dict[str, JSON]:
    """Returns an `exec` as OpenWhisk shows it; without the code when `code` is False."""
    return row_of(execution.kind).show(execution, code)
