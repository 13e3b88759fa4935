"""Views of executions, activations and entities: read from the store, or from memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import (
    QUEUE,
    STATUS_TEXT,
    WAITING,
    ActivationRow,
    Closed,
    ExecutionRow,
    NotFoundError,
    Query,
    record,
)
from ...composer import (
    APPLICATION_ERROR,
    Acquiring,
    Compensating,
    Failure,
    Fiber,
    Hearing,
    Invoking,
    Joining,
    Paused,
    SagaStep,
    Sleeping,
    Success,
    Undo,
    Watching,
    classes_told,
)
from ...transactions import Row
from . import costs, stored_values
from .chains import chain_in
from .entities.documents import STATE, name_of, parts_of
from .packing import unpacked_activation
from .tick import caught_up
from .tickets import read_ticket

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from ...actions import Document
    from ...composer import Outcome, Program
    from .core import Core
    from .limits.limits import Limits
    from .live import LiveExecution
    from .restoring import Restoring
    from .stored_values import Stored

PARTS_SHOWN = 10_000  # ids of steps in a composition's activation
PAST = "\U0010ffff"  # after whatever is kept of one entity
PAGE_LISTS = 200  # lists of entries read at once
MESSAGE_CHARS = 1000  # of a failure's one line; its error is beside it in full


class Records:
    """Reads executions, activations and entities. It changes nothing."""

    def __init__(self, core: Core, restoring: Restoring) -> None:
        self._parts, self._store, self._restoring = core.parts, core.parts.store, restoring
        self._tick, self._chains, self._limits = core.tick, core.chains, core.limits

    async def activation(self, namespace: str, id: str) -> Stored:
        """An activation's record, whole; that of the last run, for a run that has continued as another one.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        row = await self._closed(namespace, id)
        if row is None:
            raise NotFoundError
        return await self._whole(row)

    async def _closed(self, namespace: str, id: str) -> ActivationRow | None:
        """The row of an activation. A chain of runs is one call: it has that of its last run."""
        while True:
            rows = await self._store.find(ActivationRow, Query(namespace=namespace, id=id, limit=1))
            if rows:
                return rows[0]
            newest = await self._chains.newest(id)
            if newest == id:
                return None
            id = newest

    async def outcome(self, namespace: str, id: str) -> Outcome:
        """The outcome of an activation that has ended; that of the last run of a chain.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        row = await self._closed(namespace, id)
        if row is None or row.status == WAITING:
            raise NotFoundError
        body = unpacked_activation(row)
        result: Any = await stored_values.result(self._store, body)
        if row.status == 0:
            return Success(result)
        error = result.get("error") if isinstance(result, dict) else result
        raised = classes_told(Closed(*body["closed"]).raised)
        return Failure(body.get("code", APPLICATION_ERROR), error, raised)

    async def activations(self, query: Query, *, whole: bool) -> list[Stored]:
        """Records that fit, the newest first; without results and logs unless they are to be whole."""
        rows = await self._store.find(ActivationRow, query)
        if whole:
            return [await self._whole(row) for row in rows]
        return [self.without_result(row) for row in rows]

    @staticmethod
    def without_result(row: ActivationRow) -> Stored:
        """An activation's record without its result."""
        return _record(row, unpacked_activation(row))

    async def _whole(self, row: ActivationRow) -> Stored:
        body = unpacked_activation(row)
        made = _record(row, body)
        if row.status == WAITING:
            return made
        result = await stored_values.result(self._store, body)
        made["response"] |= {"result": result, "size": body["size"]}
        if "code" in body:
            made["code"] = body["code"]
        if Closed(*body["closed"]).billed_ms is not None:
            components = await self._components(row)
            made["logs"] = [component.id for component in components]
            if row.status and (failed := _to_blame(components, row.status)) is not None:
                made["annotations"].append({"key": "failed", "value": failed})
        return made

    async def count_activations(self, query: Query) -> int:
        """The number of records that fit."""
        return await self._store.count(ActivationRow, query)

    async def _components(self, row: ActivationRow) -> list[ActivationRow]:
        """The activations of a composition's steps, in order of their start."""
        query = Query(namespace=row.namespace, cause=row.id, limit=PARTS_SHOWN)
        return (await self._store.find(ActivationRow, query))[::-1]

    async def executions(self, query: Query, of: Iterable[str] | None = None) -> list[Stored]:
        """Executions that fit, the newest first; only those with the ids in `of`, in their order, if given."""
        if of is None:
            return [_execution(row) for row in await self._store.find(ExecutionRow, query)]
        found: list[ExecutionRow] = []
        for id in of:
            if len(found) == query.skip + query.limit:
                break
            one = replace(query, id=id, skip=0, limit=1)
            found += await self._store.find(ExecutionRow, one)
        return [_execution(row) for row in found[query.skip :]]

    async def execution(self, namespace: str, id: str) -> Stored:
        """An execution, and where each of its fibers stands.

        What it tells is durable, unless the store does not commit just now.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        row = await self.row(namespace, id)
        fibers = await self._standing(row)
        if await caught_up(self._tick):
            row = await self.row(namespace, id)
        doc = _execution(row)
        doc["fibers"] = fibers if row.ended_ms is None else []
        return doc

    async def cost(self, namespace: str, id: str) -> Stored:
        """The cost of an execution so far: see `costs`.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        row = await self.row(namespace, id)
        return await costs.cost(self._store, row, self._parts.clock.now_ms())

    async def entity(self, action: str, key: str) -> Stored:
        """An entity as it was last committed.

        Raises:
            NotFoundError: when there is none.
        """
        async for document in self._store.documents(STATE, name_of(action, key), limit=1):
            if document.key == name_of(action, key):
                return _entity(document)
        raise NotFoundError

    async def entities(self, action: str, prefix: str, *, after: str, limit: int) -> list[Stored]:
        """At most `limit` entities of a type whose keys begin with `prefix`, by key, after one key."""
        found: list[Stored] = []
        last = name_of(action, after) + PAST if after else None
        while len(found) < limit:
            page = [
                document
                async for document in self._store.documents(
                    STATE, f"{action}:{prefix}", after=last, limit=limit
                )
            ]
            rows = [document for document in page if document.key.endswith("\n")]
            found += [_entity(document) for document in rows]
            if len(page) < limit:
                break
            last = page[-1].key
        return found[:limit]

    async def row(self, namespace: str, id: str) -> ExecutionRow:
        """An execution's row.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        saved = await self._store.load(id)
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError
        return saved.execution

    async def _standing(self, row: ExecutionRow) -> list[Stored]:
        if row.ended_ms is not None:
            return []
        run = self._parts.runs.get(row.id)
        if run is not None:
            return standing_of(run, self._limits)
        saved = await self._store.load(row.id)
        program = await self._restoring.program(orjson.loads(row.body))
        fibers, _ = await stored_values.fibers(self._store, row.id, saved.fibers if saved else [])
        under_way = [fiber for fiber in fibers if fiber.outcome is None]
        stands = [_stand(program, fiber, ()) for fiber in under_way]
        return [_in_line(row.id, stand, self._limits) for stand in stands]

    async def history(self, namespace: str, id: str, *, after: int, limit: int) -> list[Stored]:
        """At most `limit` entries after number `after`, each with its number as `seq`.

        Raises:
            NotFoundError: when there is no such execution in this namespace.
        """
        await self.row(namespace, id)
        return await self.entries(id, after=after, limit=limit)

    async def entries(self, id: str, *, after: int, limit: int) -> list[Stored]:
        """Like `history`, for an execution that is known to be in the namespace."""
        found: list[Stored] = []
        while len(found) < limit:
            lists = await self._store.history(id, after, PAGE_LISTS)
            for first, body in lists:
                for seq, entry in enumerate(
                    await stored_values.entries(self._store, id, body), first
                ):
                    if seq > after and len(found) < limit:
                        found.append({"seq": seq, **_named(entry)})
                        after = seq
            if len(lists) < PAGE_LISTS:
                break
        return found


def standing_of(run: LiveExecution, limits: Limits) -> list[Stored]:
    """The waits of the fibers of an execution in memory, as `Records.execution` tells them."""
    parked = {
        place for place, active in run.invocations.items() if active.opened.action.is_unregistered
    }
    program, fibers = run.execution.program, list(run.execution.fibers.values())
    stands = [_stand(program, fiber, parked) for fiber in fibers if fiber.outcome is None]
    return [_in_line(run.id, stand, limits) for stand in stands]


def _in_line(id: str, stand: Stored, limits: Limits) -> Stored:
    """The state of a fiber, with the number of those before it if it waits for a limit."""
    if stand["waits"] != "limit":
        return stand
    return {**stand, "before": limits.before(id, stand["fiber"], stand["turn"])}


def _named(entry: Stored) -> Stored:
    """A history entry, with the class of the exception as its code if user code raised one."""
    raised = classes_told(entry.get("raised"))
    if not raised:
        return entry
    failed = Failure(entry["code"], entry.get("value"), raised)
    told: Stored = {**entry, "code": failed.name}
    if "value" in entry:
        told["message"] = failed.message[:MESSAGE_CHARS]
    return told


def _record(row: ActivationRow, body: Stored) -> Stored:
    made = record(row, body["about"], Closed(*body["closed"]))
    if row.status == WAITING:
        return {
            **made,
            "annotations": [*_notes(made), {"key": "waiting", "value": body["waiting"]}],
        }
    return made


def _notes(made: Stored) -> list[Stored]:
    notes: list[Stored] = made["annotations"]
    return notes


def _to_blame(components: list[ActivationRow], status: int) -> Stored | None:
    """The component that a composition failed by: the last that failed in the same way."""
    for row in reversed(components):
        if row.status == status:
            return {
                "name": row.name,
                "activationId": row.id,
                "status": STATUS_TEXT[row.status],
            }
    return None


def _execution(row: ExecutionRow) -> Stored:
    body = orjson.loads(row.body)
    doc: Stored = {
        "executionId": row.id,
        **({"id": body["options"]["id"]} if "id" in body.get("options", ()) else {}),
        "namespace": row.namespace,
        "name": row.name,
        "action": body["action"],
        "version": body["version"],
        "kind": body["kind"],
        "status": row.status,
        "start": row.started_ms,
        "program": body["program"],
    }
    if row.ended_ms is not None:
        doc["end"] = row.ended_ms
    generation = body.get("generation", 0)
    if "source" in body:
        how, run, entry, began = body["source"]
        doc[how] = {"executionId": run, "entry": entry}
        generation -= began
    if generation:
        doc["redriven"] = generation
    if "next" in body:
        doc["next"] = {"executionId": body["next"]}
    if "chain" in body:
        first, previous = body["chain"]
        doc["continues"] = {"executionId": previous, "first": first}
    if "parent" in body:
        execution, fiber, turn = body["parent"]
        doc["parent"] = {"executionId": execution, "fiber": fiber, "turn": turn}
    elif "parent" in (options := body.get("options", {})):
        doc["parent"] = {"executionId": options["parent"], "close": options["close"]}
    doc["startedBy"] = _starter(row.id, body)
    options = body.get("options", {})
    doc |= {name: options[name] for name in ("attributes", "memo") if name in options}
    return doc


def _starter(id: str, body: Stored) -> Stored:
    """How an execution was started: `api`, `execution`, or a call that nobody waits for, with its rule."""
    if "unwaited" in body:
        how, rule, _ = body["unwaited"]
        return {"how": how, "rule": rule} if rule else {"how": how}
    child = "parent" in body or "parent" in body.get("options", ())
    return {"how": "execution" if child or body.get("root", id) != chain_in(id, body) else "api"}


def _entity(document: Document) -> Stored:
    action, key = parts_of(document.key)
    row = Row.from_json(orjson.loads(document.body or b""))
    doc: Stored = {
        "entity": action,
        "key": key,
        "state": row.state,
        "version": row.version,
        "schema": row.schema,
        "updated": row.changed_ms,
    }
    if row.flag is not None:
        doc["flag"] = row.flag
    return doc


def _stuck_at(fiber: Fiber) -> Stored:
    """The step that a stuck saga must undo, and those left after it; or the step that it must do."""
    for frame in reversed(fiber.frames):
        if isinstance(frame, Compensating) and frame.undoing is not None:
            left = [entry.path for entry in reversed(frame.left) if isinstance(entry, Undo)]
            return {"undoing": frame.undoing.path, "input": frame.undoing.value, "left": left}
        if isinstance(frame, SagaStep):
            return {"doing": frame.path, "input": frame.value}
    return {}


def _step(instruction: Any, wait: Invoking, *, parked: bool) -> Stored:
    """The wait for a step: its action, and since when it waits for an answer."""
    doc: Stored = {
        "waits": "action" if wait.ticket is None else "cloud" if wait.polled else "answer"
    }
    if parked:
        doc["waits"] = "registration"
    if (accepted := read_ticket(wait.ticket)) is not None:
        doc |= {"activation": accepted.activation, "since": accepted.started_ms}
        if wait.polled:
            doc["kind"] = accepted.kind
        if accepted.kind == QUEUE:
            poll = accepted.poll
            doc |= {"waits": "worker", "queue": poll["queue"], "attempt": poll.get("attempt", 0)}
            doc |= {name: poll[name] for name in ("worker",) if poll.get(name)}
    if wait.details is not None:
        doc["heartbeat"] = wait.details
    for name in ("action", "function", "path"):
        if hasattr(instruction, name):
            doc[name] = getattr(instruction, name)
    return doc


def _stand(program: Program, fiber: Fiber, parked: Container[tuple[str, int]]) -> Stored:
    """The wait of a fiber, and the part of the composition that waits."""
    doc: Stored = {"fiber": fiber.id, "turn": fiber.turn}
    instruction = program.instructions[max(0, fiber.pc - 1)]
    match fiber.wait:
        case Invoking() as wait:
            doc |= _step(instruction, wait, parked=(fiber.id, fiber.turn) in parked)
        case Sleeping(until_ms=until_ms):
            doc |= {"waits": "timer", "until": until_ms}
        case Hearing(since_ms=since_ms):
            doc |= {"waits": "message", "want": instruction.want, "path": instruction.path}  # type: ignore[union-attr]
            doc["since"] = since_ms
        case Watching(since_ms=since_ms):
            doc |= {"waits": "condition", "path": getattr(instruction, "path", "")}
            doc["since"] = since_ms
        case Acquiring(limit=limit, key=key, since_ms=since_ms):
            doc |= {"waits": "limit", "limit": limit, "key": key, "since": since_ms}
            doc["path"] = instruction.path  # type: ignore[union-attr]
        case Joining():
            doc |= {"waits": "branches", "path": getattr(instruction, "path", "")}
        case Paused(failure=failure):
            doc |= {"waits": "operator", "code": failure.name, "error": failure.error}
            doc["message"] = failure.message[:MESSAGE_CHARS]
            doc |= _stuck_at(fiber)
        case _:
            doc["waits"] = "conductor"
    if fiber.due_ms is not None:
        doc["due"] = fiber.due_ms
    return doc
