"""The newest records of the journal: committed, and not yet in the views.

Reads look here first. A commit only appends its records; they are indexed when something is read.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...actions import ActivationRow
    from .journal import Entries


class Lists(NamedTuple):
    """What the tail holds of an execution's history.

    Args:
        bodies: of the lists, by the number of their first entry.
        forgotten: True if the lists that were written before are deleted.
    """

    bodies: dict[int, bytes]
    forgotten: bool


class Tail:
    """The records of the commits after `base`, up to `number`."""

    def __init__(self, number: int) -> None:
        self.base = self.number = number
        self.size = self.bytes = 0  # records, and bytes of their bodies
        self._commits: deque[tuple[int, Entries, int]] = deque()
        self._unread = 0  # commits, the last ones, that are not indexed
        self._activations: dict[
            str, tuple[int, ActivationRow]
        ] = {}  # in the order of their writing
        self._history: dict[str, dict[int, tuple[int, bytes]]] = {}
        self._forgotten: dict[str, int] = {}

    def add(self, number: int, written: Entries, size: int) -> None:
        """Adds the records of a commit, whose bodies have `size` bytes."""
        self.number = number
        if records := written.size:
            self._commits.append((number, written, size))
            self._unread += 1
            self.size += records
            self.bytes += size

    def drop(self, number: int) -> None:
        """Drops the records of commits up to a number: the views have them."""
        self.base = max(self.base, number)
        while self._commits and self._commits[0][0] <= number:
            at, written, size = self._commits.popleft()
            self.size -= written.size
            self.bytes -= size
            if len(self._commits) < self._unread:
                self._unread -= 1
            else:
                self._forget(at, written)

    def _forget(self, number: int, written: Entries) -> None:
        """Removes a commit from the index, unless a later commit has replaced its records."""
        for row in written.activations:
            if self._activations.get(row.id, (0,))[0] == number:
                del self._activations[row.id]
        for execution, first, _ in written.history:
            lists = self._history.get(execution, {})
            if lists.get(first, (0,))[0] == number:
                del lists[first]
                if not lists:
                    del self._history[execution]
        for execution in written.forgotten:
            if self._forgotten.get(execution) == number:
                del self._forgotten[execution]

    def _index(self) -> None:
        for place in range(len(self._commits) - self._unread, len(self._commits)):
            number, written, _ = self._commits[place]
            for row in written.activations:
                self._activations.pop(row.id, None)  # it is the last now
                self._activations[row.id] = number, row
            for execution, first, body in written.history:
                self._history.setdefault(execution, {})[first] = number, body
            for execution in written.forgotten:
                self._history.pop(execution, None)
                self._forgotten[execution] = number
        self._unread = 0

    # --- reading -----------------------------------------------------------------------------

    def activation(self, id: str) -> ActivationRow | None:
        """Returns an activation, or None if the views decide."""
        self._index()
        found = self._activations.get(id)
        return found[1] if found else None

    def activations(self) -> list[ActivationRow]:
        """Returns all activations, in the order of their writing."""
        self._index()
        return [row for _, row in self._activations.values()]

    def lists(self, execution: str) -> Lists:
        """Returns what is here of an execution's history."""
        self._index()
        found = self._history.get(execution, {})
        bodies = {first: body for first, (_, body) in found.items()}
        return Lists(bodies, execution in self._forgotten)

    def executions(self) -> set[str]:
        """Returns the executions that have activations here."""
        rows = self.activations()
        return {row.cause for row in rows if row.cause is not None} | self._activations.keys()

    def replaces(self, execution: str, first: int) -> bool:
        """True if a list of a history is written again or deleted here."""
        self._index()
        return execution in self._forgotten or first in self._history.get(execution, {})
