"""The stored records of an entity: its row, its votes of yes, and tombstones of what ended here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ..composer import Failure, Success, frozen
from .protocol import Transaction

if TYPE_CHECKING:
    from ..composer import JSON, Outcome

Stored: TypeAlias = Any
"""JSON that a `to_json` of this module has written, read back from a store."""


@frozen
class Row:
    """An entity's state, None for none.

    `version` counts the writes, `schema` is the version of the entity type that wrote the state, and
    `flag` names the holder of a semantic lock, which outlasts one operation.
    """

    state: JSON = None
    version: int = 0
    schema: int = 1
    changed_ms: int = 0
    flag: str | None = None

    @property
    def empty(self) -> bool:
        """True if the row need not be stored."""
        return self.state is None and self.flag is None

    def changed(self, state: JSON, schema: int, now_ms: int) -> Row:
        """Returns the row with this state, written by this version of the entity type."""
        if state is None and self.flag is None:
            return Row()
        return Row(state, self.version + 1, schema, now_ms, self.flag)

    def to_json(self) -> JSON:
        return [self.state, self.version, self.schema, self.changed_ms, self.flag]

    @classmethod
    def from_json(cls, doc: Stored) -> Row:
        return cls(*doc)


@frozen
class Prepared:
    """A vote of yes: the state that a commit will write, and the transaction that decides.

    `heuristic` is an operator's decision, made `by` somebody and explained by `why`. `damaged`: the
    coordinator decided otherwise.
    """

    transaction: Transaction
    state: JSON
    schema: int
    results: tuple[JSON, ...]
    since_ms: int
    heuristic: str | None = None
    by: str = ""
    why: str = ""
    damaged: bool = False

    def applied(self, row: Row, now_ms: int) -> Row:
        """Returns the row after the commit."""
        return row.changed(self.state, self.schema, now_ms)

    def to_json(self) -> JSON:
        return {
            "transaction": self.transaction.to_json(),
            "state": self.state,
            "schema": self.schema,
            "results": list(self.results),
            "since": self.since_ms,
            "heuristic": self.heuristic,
            "by": self.by,
            "why": self.why,
            "damaged": self.damaged,
        }

    @classmethod
    def from_json(cls, doc: Stored) -> Prepared:
        return cls(
            Transaction.from_json(doc["transaction"]),
            doc["state"],
            doc["schema"],
            tuple(doc["results"]),
            doc["since"],
            doc["heuristic"],
            doc["by"],
            doc["why"],
            doc["damaged"],
        )


@frozen
class Tombstone:
    """A transaction or an operation that ended here and may be requested again.

    `answer` is the operation's outcome, to be given again; None forbids the operation from now on.
    """

    of: str
    until_ms: int
    answer: Outcome | None = None

    def to_json(self) -> JSON:
        """Returns [of, until_ms, answer]: the answer is [code or None, value] or None."""
        match self.answer:
            case Success(value):
                return [self.of, self.until_ms, [None, value]]
            case Failure(code, error):
                return [self.of, self.until_ms, [code, error]]
            case _:
                return [self.of, self.until_ms, None]

    @classmethod
    def from_json(cls, doc: Stored) -> Tombstone:
        of, until_ms, answer = doc
        if answer is None:
            return cls(of, until_ms)
        code, value = answer
        return cls(of, until_ms, Success(value) if code is None else Failure(code, value))


@frozen
class DeletePrepared:
    """Delete the vote of this transaction."""

    transaction: str


@frozen
class DeleteTombstone:
    """Delete the tombstone of this transaction or operation."""

    of: str


EntityWrite: TypeAlias = Row | Prepared | Tombstone | DeletePrepared | DeleteTombstone
"""A record of an entity that is stored or deleted."""
