"""The conductor's table in Azure's Table storage.

A partition an execution, which one batch changes as a whole:

    !000000000007   its version, by name alone: the next one takes its place, or nothing is written; so
                    a write is under a condition, and nothing needs to be read for it
    execution       what never changes, the minute in which it is due, and the outcome
    f:0             a fiber; slashes of its id are colons
    u:000000000007  what version 7 may not have sent yet; as much as is too large for one row of it goes on
                    in u:000000000007:1 and so on, and the first row says how many there are

The version comes first in its partition: a reader that goes page by page reads no version that is newer than
its fibers, so the write of the next version is refused if they do not belong together.

Table storage has no second index. So a second table, `due`, has the minute as its partition: written
before the batch, and removed once the execution itself says otherwise.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import RequestTooLargeError, TableTransactionError

from .azure_account import KEPT_MS, Account, keyed, minute_of, pieces_of, value_in, value_of
from .ports import Change, Record, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .azure_account import Row

EXECUTIONS, DUE = "executions", "due"
HEAD, GONE = "execution", "gone-"

BATCH = 100  # rows, that Table storage writes at once
ROW_PIECES = 12  # of text, in one row: it has at most 1 MiB of UTF-16
_TOO_LARGE = ("EntityTooLarge", "PropertyValueTooLarge", "RequestBodyTooLarge")
WRITING_MS = 15 * 60_000  # longer than a function lives that writes two tables


class AzureTable:
    """A `Table`: see the module's text."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._beside: dict[
            tuple[str, int], int
        ] = {}  # rows beside the first of what versions have to send

    @cached_property
    def _executions(self) -> Any:
        return self._account.table(EXECUTIONS)

    @cached_property
    def _due(self) -> Any:
        return self._account.table(DUE)

    def load(self, id: str) -> Record | None:
        """An execution; None when there is none."""
        record, unsent = Record(id=id, version=0, about={}), {}
        for row in self._partition(id):
            kind, _, name = row["RowKey"].partition(":")
            match kind:
                case "execution":
                    record.about = value_of(row, "about")
                    record.outcome = value_of(row, "outcome")
                    record.ended_ms = value_of(row, "ended")
                case "f":
                    record.fibers[name.replace(":", "/")] = value_of(row)
                case "u":
                    unsent[name] = row
                case _:
                    record.version = int(kind[1:])
        for name in [name for name in unsent if name.isdigit()]:
            rows = [unsent.get(row) for row in _rows(name, unsent[name].get("rows", 1))]
            if all(rows):  # else they are removed once all was sent, while this was read
                self._beside[id, int(name)] = len(rows) - 1
                record.unsent[int(name)] = value_in(row for row in rows if row)
        if record.outcome is not None:
            record.fibers.clear()  # what ends an execution writes no row that it does not change
        return record if record.version else None

    def save(self, change: Change) -> bool:
        """Writes all of it, or answers False and writes nothing."""
        if change.due_ms is not None:
            self._due.upsert_entity(keyed(minute_of(change.due_ms), change.id))
        if change.ended_ms is not None:
            gone = f"{GONE}{minute_of(change.ended_ms + KEPT_MS)}"
            self._due.upsert_entity(keyed(gone, change.id))
        try:
            self._executions.submit_transaction(list(_operations(change)))
        except TableTransactionError as error:
            if error.error_code in ("EntityAlreadyExists", "ResourceNotFound"):
                return False
            if isinstance(error, RequestTooLargeError) or error.error_code in _TOO_LARGE:
                text = "the change is too large for Table storage: a row has at most 1 MB, a batch 4 MB"
                raise TooLargeError(text) from error
            raise
        if change.unsent:
            self._beside[change.id, change.version] = len(_unsent_rows(change)) - 1
        for start in range(0, len(change.dropped), BATCH):
            names = change.dropped[start : start + BATCH]
            with suppress(TableTransactionError):  # one was removed before; then `expire` takes all
                self._executions.submit_transaction(
                    [("delete", keyed(change.id, _fiber(name))) for name in names]
                )
        return True

    def sent(self, id: str, version: int) -> None:
        """Forgets what was unsent under this version."""
        names = _rows(f"{version:012}", 1 + self._beside.pop((id, version), 0))
        for name in names:
            self._executions.delete_entity(id, f"u:{name}")

    def due(self, now_ms: int) -> Iterator[str]:
        """The executions whose time has come."""
        now = minute_of(now_ms)
        for row in self._due.query_entities("PartitionKey le @now", parameters={"now": now}):
            id = row["RowKey"]
            if (due := self._due_of(id)) is not None and due <= now:
                yield id
                due = self._due_of(id)
            if due is None or due > row["PartitionKey"]:
                self._forget(row, now_ms)

    def expire(self, now_ms: int) -> None:
        """Removes executions that ended long ago."""
        query = "PartitionKey ge @first and PartitionKey le @last"
        bounds = {"first": GONE, "last": f"{GONE}{minute_of(now_ms)}"}
        for row in self._due.query_entities(query, parameters=bounds):
            for part in self._partition(row["RowKey"]):
                self._executions.delete_entity(part["PartitionKey"], part["RowKey"])
            self._due.delete_entity(row["PartitionKey"], row["RowKey"])

    def _partition(self, id: str) -> Iterable[Row]:
        rows: Iterable[Row] = self._executions.query_entities(
            "PartitionKey eq @id", parameters={"id": id}
        )
        return rows

    def _due_of(self, id: str) -> str | None:
        """The minute in which an execution is due; None when it never is, or is not there."""
        try:
            row: Row = self._executions.get_entity(id, HEAD, select=["due"])
        except ResourceNotFoundError:
            return None
        return row["due"] or None

    def _forget(self, row: Any, now_ms: int) -> None:
        """Removes a row of `due`, unless who has written it may still be about to write the execution."""
        if now_ms - row.metadata["timestamp"].timestamp() * 1000 < WRITING_MS:
            return
        try:
            self._due.delete_entity(
                row["PartitionKey"],
                row["RowKey"],
                etag=row.metadata["etag"],
                match_condition=MatchConditions.IfNotModified,
            )
        except ResourceModifiedError:
            return  # it has been written again


def _operations(change: Change) -> Iterator[tuple[Any, ...]]:
    """A batch: a version takes the place of the one before, which must be there; the first one's head must not."""
    id, first = change.id, change.version == 1
    if not first:
        yield "delete", keyed(id, _version(change.version - 1))
    yield "create", keyed(id, _version(change.version))
    due = "" if change.due_ms is None else minute_of(change.due_ms)
    head = {**keyed(id, HEAD), "due": due}
    for name, value in (
        ("about", change.about),
        ("outcome", change.outcome),
        ("ended", change.ended_ms),
    ):
        if value is not None:
            head |= pieces_of(value, name)
    yield ("create", head) if first else ("upsert", head, {"mode": "merge"})
    for name, fiber in change.fibers.items():
        yield "upsert", {**keyed(id, _fiber(name)), **pieces_of(fiber)}, {"mode": "replace"}
    for row in _unsent_rows(change):
        yield "create", row


def _version(version: int) -> str:
    return f"!{version:012}"


def _unsent_rows(change: Change) -> list[Row]:
    """The rows of the messages to send."""
    if not change.unsent:
        return []
    pieces = [*pieces_of({"at": change.at_ms, "sends": change.unsent}).values()]
    parts = [pieces[at : at + ROW_PIECES] for at in range(0, len(pieces), ROW_PIECES)]
    names = _rows(f"{change.version:012}", len(parts))
    rows = [
        {**keyed(change.id, f"u:{name}"), **{f"text{at}": piece for at, piece in enumerate(part)}}
        for name, part in zip(names, parts, strict=True)
    ]
    if len(rows) > 1:
        rows[0]["rows"] = len(rows)
    return rows


def _rows(name: str, count: int) -> list[str]:
    return [name, *(f"{name}:{at}" for at in range(1, count))]


def _fiber(name: str) -> str:
    return f"f:{name.replace('/', ':')}"  # no key may have a slash
