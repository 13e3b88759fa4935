"""What is stored of an entity: its row, what it has prepared, and the transactions that ended here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .protocol import Transaction

if TYPE_CHECKING:
    from ..composer import JSON


@dataclass(frozen=True, slots=True)
class Row:
    """An entity's state, None for none.

    `version` counts what has been written, `schema` is the version of its type that has written it,
    `flag` is who has locked it for longer than one operation: a semantic lock.
    """

    state: JSON = None
    version: int = 0
    schema: int = 1
    changed_ms: int = 0
    flag: str | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing of it needs to be stored."""
        return self.state is None and self.flag is None

    def changed(self, state: JSON, schema: int, now_ms: int) -> Row:
        """The row with this state, of this version of the type."""
        if state is None and self.flag is None:
            return Row()
        return Row(state, self.version + 1, schema, now_ms, self.flag)

    def to_json(self) -> JSON:
        return [self.state, self.version, self.schema, self.changed_ms, self.flag]

    @classmethod
    def from_json(cls, doc: JSON) -> Row:
        return cls(*doc)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A vote of yes: the state after it, and who knows the decision.

    `heuristic` is what an operator has decided meanwhile, `by` whom and `why`; `damaged` when the
    decision was another.
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
        """The row after it, committed."""
        return row.changed(self.state, self.schema, now_ms)

    def to_json(self) -> JSON:
        owner = self.transaction
        return {
            "transaction": [
                owner.id, owner.started_ms, owner.deadline_ms, owner.order, owner.coordinator,
                owner.epoch,
            ],
            "state": self.state,
            "schema": self.schema,
            "results": list(self.results),
            "since": self.since_ms,
            "heuristic": self.heuristic,
            "by": self.by,
            "why": self.why,
            "damaged": self.damaged,
        }  # fmt: skip

    @classmethod
    def from_json(cls, doc: JSON) -> Prepared:
        return cls(
            Transaction(*doc["transaction"]),
            doc["state"],
            doc["schema"],
            tuple(doc["results"]),
            doc["since"],
            doc["heuristic"],
            doc["by"],
            doc["why"],
            doc["damaged"],
        )


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What has been done here and may come again: a transaction that has ended, or an operation.

    `answer` is the operation's, as [code or None, value]; None for what must not be done any more.
    """

    of: str
    until_ms: int
    answer: JSON = None

    def to_json(self) -> JSON:
        return [self.of, self.until_ms, self.answer]

    @classmethod
    def from_json(cls, doc: JSON) -> Tombstone:
        return cls(*doc)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A tombstone that is to be deleted."""

    of: str
