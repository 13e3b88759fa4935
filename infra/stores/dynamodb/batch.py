"""Computes the changes that a commit makes to a DynamoDB table, from the items it read. Pure.

Only one server writes a table, so items do not change between its reads and its writes. Therefore the
expected versions of documents are checked here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from .items import (
    EXECUTION,
    Changes,
    Item,
    Key,
    Row,
    activation_key,
    activation_row,
    document_key,
    document_row,
    entries,
    execution_key,
    execution_row,
    fiber_key,
    fiber_row,
    history_key,
    history_row,
    indexed_key,
    indexed_row,
    int_of,
    items_of,
    key_of,
    piece_keys,
    status_row,
    value_key,
    value_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....actions import Document, Write


def replaced_keys(writes: Iterable[Write]) -> list[Key]:
    """Returns the keys of the items that writes replace."""
    return list(dict.fromkeys(key for write in writes for key in _replaced_keys(write)))


def _replaced_keys(write: Write) -> list[Key]:
    return [
        *(document_key(document.kind, document.key) for document in write.documents),
        *(execution_key(row.id) for row in write.executions),
        *(fiber_key(row.execution, row.fiber) for row in write.fibers),
        *(history_key(id, first) for id, first, _ in write.history),
        *(activation_key(row.id) for row in write.activations),
        *(value_key(id, key) for id, key, _ in write.values),
        *(indexed_key(indexed.execution) for indexed in write.indexed),
    ]


def deleted_prefixes(writes: Iterable[Write]) -> list[Key]:
    """Returns partitions with the prefix of the sort keys of the items that are deleted there."""
    found: list[Key] = []
    for write in writes:
        found += [fiber_key(id, prefix) for id, prefix in write.dropped]
        found += [(execution_key(id)[0], "") for id in write.forgotten]
    return list(dict.fromkeys(found))


class Batch:
    """Items before and after a commit.

    Args:
        number: of the last activation that was written.
        statuses: of executions, those in the table.
    """

    def __init__(self, number: int, statuses: Iterable[str]) -> None:
        self.number = number
        self.statuses = set(statuses)
        self._old: dict[Key, Item] = {}
        self._now: dict[Key, Row | None] = {}
        self._places: defaultdict[str, set[str]] = defaultdict(set)

    # --- items before ------------------------------------------------------------------------

    def read(self, items: Iterable[Item]) -> None:
        """Takes stored items; their bodies are not needed."""
        for item in items:
            key = key_of(item)
            self._old[key] = item
            self._places[key[0]].add(key[1])

    def item(self, key: Key) -> Item | None:
        """Returns the item under a key, with the changes made so far."""
        if key in self._now:
            row = self._now[key]
            return row.item if row is not None else None
        return self._old.get(key)

    def items(self, pk: str) -> list[Item]:
        """Returns the items of a partition that were read or written, with the changes made so far."""
        found = [self.item((pk, sk)) for sk in sorted(self._places[pk])]
        return [item for item in found if item is not None]

    def executions(self) -> list[Item]:
        """Returns the executions that were read or written."""
        found = [self.item((pk, sk)) for pk in self._places for sk in self._places[pk]
                 if sk == EXECUTION]  # fmt: skip
        return [item for item in found if item is not None]

    # --- changes -----------------------------------------------------------------------------

    def write(self, writes: Sequence[Write]) -> list[int]:
        """Makes all changes but expiry. Returns the indexes of refused writes."""
        refused = []
        for index, write in enumerate(writes):
            if all(map(self._fits, write.documents)):
                self._put(write)
            else:
                refused.append(index)
        for index, write in enumerate(writes):
            if index not in refused:
                for id, prefix in write.dropped:
                    self._sweep(*fiber_key(id, prefix))
                for id in write.forgotten:
                    self.forget(id)
        return refused

    def erase(self, item: Item) -> None:
        self._now[key_of(item)] = None

    def forget(self, execution: str) -> None:
        """Deletes an execution, and those of its fibers and history items that were read."""
        self._sweep(execution_key(execution)[0], "")

    def _fits(self, document: Document) -> bool:
        return document.expected is None or document.expected == self._version(document)

    def _version(self, document: Document) -> int:
        item = self.item(document_key(document.kind, document.key))
        return int_of(item, "version") or 0 if item is not None else 0

    def _put(self, write: Write) -> None:
        for document in write.documents:
            key = document_key(document.kind, document.key)
            if document.body is None:
                self._now[key] = None
            else:
                self._place(document_row(document, self._version(document) + 1))
        for execution in write.executions:
            self._place(execution_row(execution))
            if execution.status not in self.statuses:
                self.statuses.add(execution.status)
                self._place(status_row(execution.status))
        for fiber in write.fibers:
            self._place(fiber_row(fiber))
        for id, first, body in write.history:
            self._place(history_row(id, first, body))
        for activation in write.activations:
            self.number += 1
            self._place(activation_row(activation, self.number))
        for id, name, body in write.values:
            self._place(value_row(id, name, body))
        for indexed in write.indexed:
            self._place(indexed_row(indexed))

    def _place(self, row: Row) -> None:
        key = key_of(row.item)
        self._now[key] = row
        self._places[key[0]].add(key[1])

    def _sweep(self, pk: str, prefix: str) -> None:
        for sk in self._places[pk]:
            if sk.startswith(prefix):
                self._now[pk, sk] = None

    # --- the difference ----------------------------------------------------------------------

    def changes(self) -> Changes:
        """Returns everything to write and to delete: items, their pieces, their entries."""
        changes: Changes = {}
        for key in self._now:
            if key in self._old:
                old = self._old[key]
                changes |= dict.fromkeys([key, *piece_keys(old), *map(key_of, entries(old))])
        for key, row in self._now.items():
            if row is None:
                continue
            changes |= {key_of(item): item for item in items_of(row)}
            was = (
                {key_of(entry): entry for entry in entries(self._old[key])}
                if key in self._old
                else {}
            )
            for entry in entries(row.item):
                place = key_of(entry)
                if was.get(place) == entry:
                    changes.pop(place, None)
                else:
                    changes[place] = entry
        return changes
