"""The stored form of updates: a document for each, kept as long as its execution.

Its body begins as that of a name does, so that the sweep of names drops it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document, NotFoundError, UpdateRecord
from ...composer import Failure, Settled, Success
from . import stored_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...actions import Store, Write
    from ...composer import JSON, Outcome
    from .live import LiveExecution
    from .stored_values import Stored

UPDATE = "update"
GONE = (
    "The answer of update {id!r} is not kept any more: execution {run}, which gave it, has been deleted. "
    "The update has been handled, and is not handled again. Read its effect from the execution. An update with "
    "another id repeats the effect."
)


def opened(run: LiveExecution, id: str, name: str, now_ms: int) -> Document:
    """The document of an update that was accepted. It is known by the first run of the chain."""
    chain = run.origin.chain_of(run.id)
    return _document(chain, id, [chain, now_ms, name])


def settled(
    run: LiveExecution, ended: Iterable[Settled], now_ms: int, write: Write
) -> list[Document]:
    """The documents of updates that have ended. Large values of them are written apart, as values of the run."""
    chain, keep = run.origin.chain_of(run.id), run.keeper(write)
    return [
        _document(chain, each.id, [chain, now_ms, each.name, run.id, *_written(each.outcome, keep)])
        for each in ended
    ]


async def read(store: Store, chain: str, id: str) -> UpdateRecord | None:
    """An update of a chain, known by its first run, as it is stored; None if there is none.

    Raises:
        NotFoundError: its answer is not kept any more.
    """
    document = await stored_values.the_document(store, UPDATE, _key(chain, id))
    if document is None:
        return None
    _, _, name, *outcome = orjson.loads(document.body or b"")
    if not outcome:
        return UpdateRecord(chain, name, id)
    run, slot, code, raised = outcome
    try:
        value = (await stored_values.fetched(store, run, [slot]))(slot)
    except KeyError:
        raise NotFoundError(GONE.format(id=id, run=run)) from None
    made: Outcome = Success(value) if code is None else Failure(code, value, tuple(raised))
    return UpdateRecord(run, name, id, made)


def _written(outcome: Outcome, keep: Callable[[JSON], Stored]) -> list[JSON]:
    if isinstance(outcome, Success):
        return [keep(outcome.value), None, []]
    return [keep(outcome.error), outcome.code, [*outcome.raised]]


def _document(execution: str, id: str, body: list[JSON]) -> Document:
    return Document(kind=UPDATE, key=_key(execution, id), body=orjson.dumps(body))


def _key(execution: str, id: str) -> str:
    return f"/{execution}/{id}"
