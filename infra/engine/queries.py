"""Queries of executions: they see everything that was acknowledged before they were asked, and change nothing.

An execution in memory may stand further than what is stored. So its answer is made at once, and given when all
that had gathered by then is durable; the wait is for a commit that happens anyway. When nothing gathers, there
is nothing to wait for. A dormant execution is read from the store and stays there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from ...actions import (
    BUILT_IN,
    FIBERS,
    INBOX,
    KEPT_BYTES,
    VARIABLES,
    InvalidQueryError,
    NoSuchQueryError,
    NotFoundError,
    UnavailableError,
    check_rejection,
    not_kept,
    refuse_ended,
)
from ...composer import Failure, Name, query_answer
from . import stored_values
from .message_rows import shown
from .records import standing_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...actions import ExecutionRow, Saved, Write
    from ...composer import JSON
    from .core import Core
    from .limits.limits import Limits
    from .live import LiveExecution
    from .restoring import Restoring
    from .stored_values import Stored

UNSURE = (
    "The server cannot store anything just now, and the execution stands further than what is stored. "
    "Ask again later."
)


class Answer(NamedTuple):
    """The answer to a query, and the execution that gave it: its status, its action and the action's owner."""

    value: JSON
    status: str
    action: str
    owner: str


class Queries:
    """Answers queries. No query adds an entry to a history, or a commit."""

    def __init__(self, core: Core, restoring: Restoring) -> None:
        self._parts, self._tick, self._store = core.parts, core.tick, core.parts.store
        self._restoring, self._limits = restoring, core.limits

    async def answer(self, namespace: str, id: str, name: str, *, reject: str = "") -> Answer:
        """Answers a query of an execution, open or ended.

        Args:
            namespace: the namespace of the execution.
            id: the id of the execution.
            name: the name of the query: one that its composition declares, or a built-in one.
            reject: `closed` to refuse if it has ended, `failed` to refuse if it has ended without success.

        Raises:
            NotFoundError: the namespace has no such execution.
            NoSuchQueryError: it has no such query.
            InvalidQueryError: the answer is too large.
            ClosedError: it has ended, and `reject` refuses that.
            NotKeptError: it has ended, and the answer was not kept.
            UnavailableError: the store does not commit just now.
        """
        check_rejection(reject)
        run = await self._in_memory(id)
        if run is None:
            saved = await self._saved(namespace, id)
            if saved.execution.ended_ms is not None:
                refuse_ended(reject, id, saved.execution.status)
                return await self._kept(saved.execution, name)
            run = self._parts.runs.get(id) or await self._restoring.restored(saved)
        limit = self._parts.settings.limits.value_bytes
        given = _answer(run, namespace, name, limit, self._limits)
        await self._durable()
        return given

    async def names(self, namespace: str, id: str) -> list[str]:
        """The names of the queries of an execution, those that its composition declares first.

        Raises:
            NotFoundError: the namespace has no such execution.
            UnavailableError: the store does not commit just now.
        """
        run = await self._in_memory(id)
        if run is not None and run.origin.namespace == namespace:
            declared = [*run.execution.program.queries]
            await self._durable()
        else:
            saved = await self._saved(namespace, id)
            if saved.execution.ended_ms is not None:
                kept = await self._last(saved.execution)
                declared = [*kept["declared"]]
            else:
                program = await self._restoring.program(orjson.loads(saved.execution.body))
                declared = [*program.queries]
        return [*declared, *BUILT_IN]

    async def _in_memory(self, id: str) -> LiveExecution | None:
        """The execution, if it is in memory; else the store knows how it stands."""
        self._tick.ensure()
        if id in self._parts.ended:  # the store does not know yet
            await self._durable()
        return self._parts.runs.get(id)

    async def _durable(self) -> None:
        """Waits until all that has gathered by now is durable; not at all when nothing gathers."""
        if self._tick.idle:
            return
        try:
            await self._tick.committed()
        except UnavailableError:
            raise UnavailableError(UNSURE) from None

    async def _saved(self, namespace: str, id: str) -> Saved:
        saved = await self._store.load(id)
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError
        return saved

    # --- executions that have ended -----------------------------------------------------------

    async def _kept(self, row: ExecutionRow, name: str) -> Answer:
        last = await self._last(row)
        if name not in last["declared"] and name not in BUILT_IN:
            raise NoSuchQueryError(row.id, name, last["declared"])
        if name not in last["answers"]:
            raise not_kept(row.id, name)
        body = orjson.loads(row.body)
        owner = body.get("owner") or Name.parse(body["action"]).namespace
        return Answer(last["answers"][name], row.status, body["action"], owner)

    async def _last(self, row: ExecutionRow) -> Stored:
        """The answers that an execution gave when it ended, and the names of its queries."""
        slot = orjson.loads(row.body).get("answers")
        last: Stored = {"declared": [], "answers": {}}
        if slot is not None:
            load = await stored_values.fetched(self._store, row.id, [slot])
            kept = load(slot)
            last = {**kept} if isinstance(kept, dict) else last
        return {**last, "answers": {FIBERS: [], INBOX: [], **last["answers"]}}


def kept_answers(run: LiveExecution, write: Write) -> Stored | None:
    """Writes the answers of an execution that ends. Returns how its row refers to them.

    None if its program has no queries. Together they take at most `KEPT_BYTES`; what is over is left out.
    """
    program, last = run.execution.program, run.execution.last
    if last is None:
        return None
    limit, left = KEPT_BYTES, KEPT_BYTES
    answers: Stored = {}
    given: Iterator[tuple[str, JSON | Failure]] = (
        (name, query_answer(program, name, last, limit)) for name in program.queries
    )
    for name, value in [*given, (VARIABLES, last.variables)]:
        if type(value) is Failure:
            continue
        text = orjson.dumps(value)
        if len(text) <= left:
            answers[name], left = orjson.Fragment(text), left - len(text)
    kept: Stored = {"declared": [*program.queries], "answers": answers}
    return run.keep(kept, write, orjson.dumps(kept)).doc


def _answer(run: LiveExecution, namespace: str, name: str, limit: int, limits: Limits) -> Answer:
    """The answer of an execution as it stands in memory."""
    if run.origin.namespace != namespace:
        raise NotFoundError
    value: JSON
    if name == FIBERS:
        value = [*standing_of(run, limits)]
    elif name == INBOX:
        value = [*shown(run.execution.inbox or ())]
    else:
        value = _declared(run, name, limit)
    action = run.origin.action
    return Answer(value, run.standing, action.listed_as.text, run.origin.owner)


def _declared(run: LiveExecution, name: str, limit: int) -> JSON:
    program, state = run.execution.program, run.execution.seen
    if state is None or (name != VARIABLES and name not in program.queries):
        raise NoSuchQueryError(run.id, name, program.queries)
    value = query_answer(program, name, state, limit)
    if type(value) is Failure:
        raise InvalidQueryError(f"Query '{name}' cannot be answered: {value.message}")
    return value
