"""Batch operations: executions that do one thing to each of the executions that a filter finds.

A batch is an execution of a composition that the engine brings along: a loop, whose step deals with one page. So a
batch survives crashes, waits durably, and is listed, paused and cancelled as others are. The engine invokes the step.
It notes the progress in the commit of each operation, so that no execution is dealt with twice.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ... import composer
from ...actions import (
    CHANGED,
    COMPOSITION,
    DELETE,
    DONE,
    FAILED,
    GONE,
    INSTANT,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REDRIVE,
    RESET,
    TEXT,
    Action,
    And,
    Call,
    Completion,
    Composed,
    ExecutionRow,
    Field,
    InvalidError,
    Not,
    NotFoundError,
    Or,
    Query,
    RefusedError,
    StartOptions,
    Term,
    ThrottledError,
    TooManyMessagesError,
    UnavailableError,
    batch_of,
)
from ...composer import CANCELLED, Failure, Name, Success, changed, path
from .batch_items import Item
from .batch_records import BATCH, BatchRecord, BatchRecords
from .calls import Beside
from .cancellable import Cancellable
from .live import CONTINUED
from .programs import program_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...actions import BatchDefinition, BatchProgress, Filter, Invocation, Predicate, Write
    from ...composer import JSON
    from .batch_items import Items
    from .calls import Calls
    from .identities import Identities
    from .records import Records
    from .stored_values import Stored

log = logging.getLogger(__name__)

BATCH_NAME = "xingqiao.batch"  # the name of the executions
PAGE_ACTION = Name("whisk.system", "batches", "page")
AGAIN_S = 0.25  # until a page goes on, when the store does not commit or a quota is used up
NO_BATCH = (
    "This execution is not a batch. Create one with POST batches, or `xingqiao batch create`."
)
_WITH_STEPS = (REDRIVE, RESET)  # operations that go for the steps of an execution, too
_OVER = Term(Field("status", TEXT), "=", (CONTINUED,))  # runs that others have gone on for
_COUNTS = {name: path(f"$.{name}", default=0) for name in ("matched", DONE, FAILED, CHANGED, GONE)}

PAGES = composer.queries(
    composer.loop(
        path("$.more").is_true(),
        composer.sequence(
            str(PAGE_ACTION),
            composer.when(path("$.until").is_a("number"), composer.wait(until=path("$.until"))),
        ),
    ),
    composer.select(_COUNTS),
    progress=_COUNTS,
)
PROGRAM = composer.compile(PAGES)


@dataclass(slots=True)
class _Page:
    """A step that deals with a page of a batch."""

    number: int
    namespace: str
    run: str
    done: Callable[[Completion], None]
    began_ms: int
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class _Work:
    """A page, and the batch that it belongs to."""

    page: _Page
    record: BatchRecord
    where: Filter

    @property
    def size(self) -> int:
        return self.record.definition.page

    @property
    def chained(self) -> bool:
        """True if all runs of a chain are one execution to it; a deletion deals with each run."""
        return self.record.definition.do != DELETE

    @property
    def listed(self) -> Filter:
        """The filter, which also finds the runs that have continued since the batch began.

        Each chain under way has had one run then, and that run stands for the chain.
        """
        if not self.chained or self.where.predicate is None:
            return self.where
        since = Term(Field("ended", INSTANT), ">=", (self.record.began_ms,))
        return changed(self.where, predicate=Or((self.where.predicate, And((_OVER, since)))))

    def place(self, row: ExecutionRow) -> tuple[int, str]:
        return self.where.place(row.started_ms, row.ended_ms, row.id)


class Batches:
    """Creates and describes batches. The `Invoker` of their steps."""

    kinds = frozenset({BATCH})

    def __init__(
        self, calls: Calls, records: Records, identities: Identities, items: Items
    ) -> None:
        core = identities.core
        self._parts, self._tick = core.parts, core.tick
        self._store, self._clock = core.parts.store, core.parts.clock
        self._chains = core.chains
        self._calls, self._executions, self._identities = calls, records, identities
        self._records, self._items = BatchRecords(core), items
        self._pages: dict[str, _Page] = {}  # by activation
        self._resting = False
        self.tasks = Cancellable(core.tasks)

    # --- what users ask for ------------------------------------------------------------------

    async def count(self, namespace: str, document: JSON) -> Stored:
        """Counts the executions that a batch would deal with, as `{"matched"}`. Nothing is created.

        Raises:
            InvalidError: the document is malformed, or the filter finds more than a batch may deal with.
        """
        definition, where = self._checked(namespace, document)
        return {"matched": await self._matched(namespace, definition, where)}

    async def create(
        self, namespace: str, document: JSON, *, key: str = "", trace: str = ""
    ) -> str:
        """Starts a batch. Returns the id of its execution once the start is durable.

        Args:
            namespace: that its executions are in.
            document: see `actions.batches.batch_of`.
            key: an idempotency key: batches with the same key are one.
            trace: the id of the trace that it belongs to.

        Raises:
            InvalidError: the document is malformed, or the filter finds more than a batch may deal with.
            TakenIdError: an execution has its id already.
            RefusedError: it may not start now.
        """
        definition, where = self._checked(namespace, document)
        now_ms = self._clock.now_ms()
        last = Query(namespace=namespace, since_ms=now_ms, limit=1 << 30)
        rows = await self._store.find(ExecutionRow, last)
        edge = frozenset(row.id for row in rows)
        upto_ms = max((row.started_ms for row in rows), default=now_ms)
        matched = await self._matched(namespace, definition, where)
        most = definition.most(self._parts.settings.limits.entries)
        if matched > most:
            raise InvalidError(
                f"the filter finds {matched} executions, and a batch at this rate deals with at most {most}: narrow "
                "the field 'where', or raise 'per_second'"
            )
        self._parts.used(namespace).admit(self._parts.settings.quotas(namespace), now_ms)
        run = self._parts.ids.execution_id(now_ms)
        record = BatchRecord(run, definition, now_ms, edge, matched, upto_ms)
        name = Name(namespace, None, BATCH_NAME)
        call = Call(
            name=name,
            params={"batch": definition.to_json(), "page": 1, "more": True},
            namespace=namespace,
            trace=trace,
            idempotency_key=key,
            options=StartOptions(id=definition.id),
        )
        action = Action(name, Composed(COMPOSITION, PAGES.to_json(), PROGRAM))
        documents = [program_document(PROGRAM), record.document()]
        beside = Beside(documents, run=run, action=action)
        return (await self._calls.invoke(call, beside=beside)).activation

    def _checked(self, namespace: str, document: JSON) -> tuple[BatchDefinition, Filter]:
        definition = batch_of(document)
        where = definition.filter(self._parts.attributes.get(namespace, {}))
        self._items.check(namespace, definition)
        return definition, where

    async def _matched(self, namespace: str, definition: BatchDefinition, where: Filter) -> int:
        tests: list[Predicate] = [] if where.predicate is None else [where.predicate]
        tests.append(Not(Term(Field("action", TEXT), "=", (BATCH_NAME,))))
        if definition.do != DELETE:
            tests.append(Not(_OVER))
        asked = Query(namespace=namespace, where=changed(where, predicate=And(tuple(tests))))
        return await self._store.count(ExecutionRow, asked)

    async def get(self, namespace: str, id: str) -> Stored:
        """Describes a batch: its definition, its status and its progress.

        Raises:
            NotFoundError: the namespace has no such batch.
        """
        run = await self._identities.run_of(namespace, id)
        row = await self._executions.row(namespace, run)
        found = await self._records.read(run)
        if found is None:
            raise NotFoundError(f"Execution {id} is not a batch.")
        record, progress = found
        return {**_described(row, record), **progress.shown()}

    async def list(self, query: Query) -> list[Stored]:
        """Describes the batches of a namespace without their errors, the newest first."""
        described: list[Stored] = []
        for row in await self._store.find(ExecutionRow, replace(query, name=BATCH_NAME)):
            found = await self._records.read(row.id)
            if found is not None:
                described.append({**_described(row, found[0]), **found[1].counts})
        return described

    async def forget(self, after: str, count: int, before_ms: int) -> str:
        """Drops documents of batches that are not kept any more, of `count` after one, begun before an instant.

        Returns:
            The last that it has looked at, to go on from; "" when it has looked at all.
        """
        _, last = await self._records.sweep.forget(after, count, before_ms)
        return last

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Deals with a page."""
        number = composer.boxed(invocation.params).get("page")
        page = _Page(
            number if isinstance(number, int) else 1, invocation.namespace, invocation.transaction,
            done, self._clock.now_ms(),
        )  # fmt: skip
        self._pages[invocation.activation] = page
        self.tasks.run(self._work(invocation.activation, page))

    def cancel(self, activation: str) -> None:
        """Stops a page behind the execution that it deals with now."""
        page = self._pages.get(activation)
        if page is not None:
            page.stopping = True

    def rest(self) -> None:
        """Stops all pages behind the executions that they deal with now: the server stops."""
        self._resting = True

    # --- a page ------------------------------------------------------------------------------

    async def _work(self, activation: str, page: _Page) -> None:
        """Deals with a page and reports it: no exception crosses this boundary."""
        try:
            outcome = await self._outcome(page)
        except RefusedError as error:  # such as an attribute of the filter that was deleted
            outcome = Failure(error.code or INVALID_REQUEST, str(error))
        except Exception:
            log.exception("batch %s cannot deal with a page", page.run)
            text = "The page could not be dealt with; the log of the server says why."
            outcome = Failure(INTERNAL_ERROR, text)
        self._pages.pop(activation, None)
        page.done(Completion(outcome, page.began_ms, self._clock.now_ms()))

    async def _outcome(self, page: _Page) -> Success | Failure:
        while not page.stopping:
            try:
                found = await self._records.read(page.run)
                if found is None:
                    return Failure(INVALID_REQUEST, NO_BATCH)
                return await self._dealt(page, *found)
            except (UnavailableError, ThrottledError) as error:
                log.warning("batch %s waits: %s", page.run, error)
                await self._works_again(page)
        return Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})

    async def _works_again(self, page: _Page) -> None:
        """Waits until all that was in doubt is durable: then the stored progress tells what has been done."""
        while not page.stopping:
            await asyncio.sleep(AGAIN_S)  # noqa: TID251  the store may work by then
            try:
                await self._tick.committed()
            except UnavailableError:
                continue
            return

    async def _dealt(
        self, page: _Page, record: BatchRecord, progress: BatchProgress
    ) -> Success | Failure:
        declared = self._parts.attributes.get(page.namespace, {})
        work = _Work(page, record, record.definition.filter(declared))
        progress = progress.on_page(page.number, self._clock.now_ms())
        while self._goes_on(work, progress):
            query = Query(
                namespace=page.namespace, upto_ms=record.upto_ms,
                where=work.listed, after=progress.place, limit=work.size,
            )  # fmt: skip
            rows = await self._store.find(ExecutionRow, query)
            progress = await self._all_of(work, rows, progress)
        self._tick.gathering.write.documents.append(record.noted(progress))
        self._tick.wake()
        due_ms = progress.due_ms(record.definition.per_second)
        return Success(
            {
                "page": page.number + 1,
                "more": not progress.over,
                "until": None if due_ms is None else due_ms / 1000,
                "matched": record.matched,
                **progress.counts,
            }
        )

    def _goes_on(self, work: _Work, progress: BatchProgress) -> bool:
        run = self._parts.runs.get(work.page.run)
        stops = work.page.stopping or self._resting or run is None or run.suspended
        return not (stops or progress.over or progress.handled >= work.size)

    async def _all_of(
        self, work: _Work, rows: Sequence[ExecutionRow], progress: BatchProgress
    ) -> BatchProgress:
        """Deals with the next executions, until the page ends."""
        for row in rows:
            if not self._goes_on(work, progress):
                return progress
            if await self._included(work, row):
                progress = await self._turn(work, row, progress)
            else:
                progress = progress.passed(work.place(row))
        return progress if len(rows) == work.size else changed(progress, over=True)

    async def _included(self, work: _Work, row: ExecutionRow) -> bool:
        """True if an execution had started when the batch began, and is not a batch itself.

        Of a chain, this is the run that was under way then, or the last one. A step of another execution is left
        out of a redrive and a reset: it is redriven and reset with that one.
        """
        record = work.record
        if not record.includes(row.id, row.started_ms):
            return False
        if work.chained and row.status == CONTINUED and not _stands(record, row):
            return False
        if row.name == BATCH_NAME and await self._records.read(row.id) is not None:
            return False
        return record.definition.do not in _WITH_STEPS or "parent" not in orjson.loads(row.body)

    async def _turn(self, work: _Work, row: ExecutionRow, progress: BatchProgress) -> BatchProgress:
        """Carries the operation out, unless the execution does not fit the filter any more.

        Raises:
            UnavailableError, ThrottledError: it cannot be carried out now.
        """
        place, record, namespace = work.place(row), work.record, work.page.namespace
        run = await self._fitting(work, row.id)
        if run is None:
            if work.chained and row.status == CONTINUED:  # perhaps it has never fitted
                return progress.passed(place)
            is_there = await self._store.load(row.id) is not None
            return progress.counted(place, CHANGED if is_there else GONE)
        done = progress.counted(place, DONE)
        try:
            # The others find the newest run themselves, and the id of a message is made of the run that is listed.
            id = run if record.definition.do in _WITH_STEPS else row.id
            await self._items.operate(Item(namespace, id, record, partial(_note, record, done)))
        except NotFoundError:
            return progress.counted(place, GONE)
        except RefusedError as error:
            passing = isinstance(error, UnavailableError | ThrottledError)
            if passing and not isinstance(error, TooManyMessagesError):
                raise
            return progress.counted(place, FAILED, str(error))
        except Exception:
            log.exception("batch %s cannot deal with execution %s", record.run, row.id)
            return progress.counted(place, FAILED, "internal error; the log of the server says why")
        return done

    async def _fitting(self, work: _Work, id: str) -> str | None:
        """The newest run of an execution's chain, if it fits the filter; it may have started since the batch began."""
        while True:
            found = await self._store.find(ExecutionRow, _only(work.page.namespace, id, work.where))
            if not work.chained:
                return id if found else None
            if found and found[0].status != CONTINUED:
                return id
            newest = await self._chains.newest(id)
            if newest == id:
                return None
            await self._tick.committed()  # its start may be on the way to the store
            id = newest


def _stands(record: BatchRecord, row: ExecutionRow) -> bool:
    """True if a run that has continued was the newest one of its chain when a batch began."""
    ended_ms = row.ended_ms
    since = ended_ms is not None and ended_ms >= record.began_ms
    return since and orjson.loads(row.body)["next"] not in record.edge


def _note(record: BatchRecord, progress: BatchProgress, write: Write) -> None:
    write.documents.append(record.noted(progress))


def _only(namespace: str, id: str, where: Filter) -> Query:
    """A query for one execution, if it fits a filter.

    The filter is behind two `Not`s so that no store counts what its indexed tests find.
    """
    fits: And | Term = Term(Field("run", TEXT), "=", (id,))
    if where.predicate is not None:
        fits = And((fits, Not(Not(where.predicate))))
    return Query(namespace=namespace, id=id, where=changed(where, predicate=fits), limit=1)


def _described(row: ExecutionRow, record: BatchRecord) -> Stored:
    doc: Stored = {"executionId": row.id, "status": row.status, "start": row.started_ms}
    if row.ended_ms is not None:
        doc["end"] = row.ended_ms
    return {**doc, **record.definition.to_json(), "matched": record.matched}
