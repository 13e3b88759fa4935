"""Resets and forks: a new run that begins at an entry of an execution's history."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from ... import composer
from ...actions import ConflictError, NotFoundError
from ...composer import ResetError, changed, frozen, history
from . import stored_values
from .programs import program_document
from .redrives import compiled

if TYPE_CHECKING:
    from ...actions import ExecutionRow, StartOptions, Write
    from ...composer import JSON, Program
    from .core import Core
    from .endings import Endings
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .restoring import Restoring
    from .stored_values import Stored

LINES = 500  # entries in one row of a copied history
_OWN = ("root", "parent", "adopted", "held", "suspended", "stuck", "redriven", "unwaited", "trace", "options")


class ResetRefusedError(ConflictError):
    """An execution cannot be reset to an entry, or forked from it; the text gives the reason."""

    code = "ResetRefused"


@frozen
class Place:
    """An entry of a history, and how the new run differs from there on.

    Args:
        to: number of the entry, `first` (the start) or `last` (the last step that was asked for).
        step: path of a step in its composition, or name of its action, instead: its last run counts.
        composition: program for the new run; None for that of the execution.
        value: another input for the step that the entry asks for; `composer.NOTHING` for the same.
        reason: text for the history.
    """

    to: int | str = composer.LAST
    step: str | None = None
    composition: JSON = None
    value: JSON = history.NOTHING
    reason: str = ""


class Resets:
    """Begins runs at entries of histories."""

    def __init__(
        self,
        core: Core,
        inbox: Inbox,
        restoring: Restoring,
        endings: Endings,
        identities: Identities,
    ) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._inbox, self._restoring = inbox, restoring
        self._endings, self._identities = endings, identities

    async def reset(self, namespace: str, id: str, place: Place) -> str:
        """Ends an execution, if it is open, and begins it again at an entry. Returns the id of the new run.

        The end and the start are one commit, and the user's id means the new run from then on.

        Raises:
            NotFoundError: the namespace has no such execution.
            ResetRefusedError: the execution cannot be reset to this entry.
            ConflictError: it must not end now.
        """
        row = await self._found(namespace, id)
        if "parent" in orjson.loads(row.body):
            text = f"Execution {id} is a step of another: reset that one, or fork this one."
            raise ResetRefusedError(text)
        options = (await self._restoring.origin(row)).options
        async with self._identities.succeeding(namespace, options.id, id):
            run, prefix, program = await self._replayed(row, place, "reset")
            replaced = await self._endings.replaceable(namespace, id)
            await self._begin(run, prefix, program, changed(options), replaced)
        return run.id
