"""Batches as they are stored: what each is to do, and how far it has come.

Both documents begin with the id of the batch's execution and the instant of its start, as those of names do, so that
the same sweep drops them. The progress is a document of its own because each execution that is dealt with changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ...actions import BatchDefinition, BatchProgress, Document, batch_of
from ...composer import frozen
from .names import Sweep

if TYPE_CHECKING:
    from .core import Core

BATCH = "batch"  # kind of the documents, and of the action that deals with a page
_PROGRESS = "\nprogress"  # after the id: the key of the second document


@frozen
class BatchRecord:
    """A batch that was accepted.

    Args:
        run: the id of its execution.
        definition: what it is to do.
        began_ms: the instant at which it began: it leaves executions that started later alone.
        edge: the executions that had started before it in that very millisecond, or at a later instant:
            the clock had been set back.
        matched: the number of executions that the filter found then.
        upto_ms: the latest start of one of them.
    """

    run: str
    definition: BatchDefinition
    began_ms: int
    edge: frozenset[str]
    matched: int
    upto_ms: int

    def document(self) -> Document:
        body: list[Any] = [
            self.run, self.began_ms, self.definition.to_json(), sorted(self.edge), self.matched,
            self.upto_ms,
        ]  # fmt: skip
        return Document(kind=BATCH, key=self.run, body=orjson.dumps(body))

    def includes(self, id: str, started_ms: int) -> bool:
        """True if an execution had started when the batch began."""
        return started_ms < self.began_ms or id in self.edge

    def noted(self, progress: BatchProgress) -> Document:
        """The document of its progress."""
        body: list[Any] = [self.run, self.began_ms, progress.to_json()]
        return Document(kind=BATCH, key=self.run + _PROGRESS, body=orjson.dumps(body))


class BatchRecords:
    """Reads the documents of batches, and drops those of batches that are not kept any more."""

    def __init__(self, core: Core) -> None:
        self._store = core.parts.store
        self.sweep = Sweep(core.parts, core.tick, BATCH)

    async def read(self, run: str) -> tuple[BatchRecord, BatchProgress] | None:
        """A batch and its progress; None if the execution is no batch."""
        found = [doc async for doc in self._store.documents(BATCH, run, limit=2)]
        bodies = {doc.key: orjson.loads(doc.body or b"") for doc in found}
        if run not in bodies:
            return None
        _, began_ms, definition, edge, matched, upto_ms = bodies[run]
        record = BatchRecord(run, batch_of(definition), began_ms, frozenset(edge), matched, upto_ms)
        progress = bodies.get(run + _PROGRESS)
        if progress is None:
            return record, BatchProgress()
        return record, BatchProgress.from_json(progress[2])
