"""Executions are made again from their rows: an execution under way, its action and its program."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import (
    PLAIN,
    SEQUENCE,
    Action,
    Code,
    Composed,
    RefusedError,
    StartOptions,
    named_limits,
)
from ...actions import Limits as ActionLimits
from ...composer import CONDUCTING, DIALECTS, Execution, Inbox, Name, Program
from . import stored_values
from .live import HELD, LiveExecution
from .message_rows import stored
from .origins import Account, Chain, Origin, Parent, Source
from .programs import PROGRAM
from .targets import solo
from .unwaited import Unwaited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...actions import ExecutionRow, Saved
    from ...composer import JSON
    from .lineage import Lineage
    from .shared import Parts
    from .stored_values import Stored

MISSING = "missing"  # the kind of an action that has been deleted meanwhile
ACTIONS = 10_000  # that are remembered
LAST = 1 << 62  # after every entry of any history


class Restoring:
    """Makes executions from their rows. It changes nothing.

    `lineages` holds the executions that were under way at the start, until all are recovered.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._programs: dict[str, Program] = {}
        self._actions: dict[tuple[str, ...], Action] = {}  # one for all executions of it
        self.lineages: dict[str, Lineage] = {}

    async def restored(self, saved: Saved) -> LiveExecution:
        """An execution under way, from all that is stored of it."""
        store, execution = self._parts.store, saved.execution.id
        body = orjson.loads(saved.execution.body)
        limits = self._parts.settings.limits
        fibers, seen = await stored_values.fibers(store, execution, saved.fibers)
        since = []
        if seen is not None:
            since = await stored_values.history(store, execution, seen, saved.tail)
        restored = Execution.restore(
            execution, await self.program(body), fibers, limits, body.get("generation", 0), since
        )
        entries = None if saved.tail is None else _last_entry(saved.tail)
        if seen is not None:
            entries = seen + len(since)
        run = await self.run(saved.execution, restored, entries)
        if run.has_messages:
            restored.inbox = Inbox(await stored(store, execution))
        run.paused = saved.execution.status in HELD and restored.paused
        return run

    async def run(
        self, row: ExecutionRow, execution: Execution, entries: int | None = None
    ) -> LiveExecution:
        """An execution in memory, from its row; its history has so many entries, if that is known."""
        body = orjson.loads(row.body)
        parent = body.get("parent")
        action = await self.action(row)
        origin = Origin(
            action=action,
            owner=body.get("owner", action.listed_as.namespace),
            namespace=intern(row.namespace),
            started_ms=row.started_ms,
            root=body.get("root") or self._root(row.id),
            parent=Parent.from_json(parent) if parent else None,
            depth=body.get("depth", 0),
            hops=body.get("hops", 0),
            solo=body.get("solo", False),
            account=_account(execution),
            trace=body.get("trace", row.id),
            about=body.get("machine"),
            unwaited=Unwaited.from_json(body["unwaited"]) if "unwaited" in body else None,
            chain=Chain.from_json(body["chain"]) if "chain" in body else None,
            source=Source.from_json(body["source"]) if "source" in body else None,
            options=StartOptions.from_json(body["options"]) if "options" in body else PLAIN,
        )
        if entries is None:
            entries = _last_entry(await self._parts.store.history(row.id, LAST, 1))
        run = LiveExecution(execution, origin, self._parts.clock.now_ms(), entries)
        if origin.solo and origin.unwaited is not None:
            run.given = next((fiber.value for fiber in execution.fibers.values()), None)
        run.adopted = body.get("adopted", {})
        run.doubtful = body.get("doubtful", False)
        run.suspended = body.get("suspended", False)
        if "held" in body:
            run.held = set(body["held"])
        run.has_messages = body.get("messages", False)
        run.redriven_ms = body.get("redriven", 0)
        return run

    def _root(self, execution: str) -> str:
        """The root of an execution whose row does not name it: an earlier version stored it, or it is the root."""
        while (live := self.lineages.get(execution)) is not None and live.root != execution:
            execution = live.root
        return execution

    async def action(self, row: ExecutionRow) -> Action:
        """The action as it was, as far as its execution needs it."""
        body = orjson.loads(row.body)
        name = Name.parse(body["action"])
        if body.get("solo") or body["program"] == CONDUCTING.hash:
            try:
                return self._parts.catalog.resolve(name, row.namespace)
            except RefusedError:
                return Action(
                    name, Code(MISSING), annotations={"conductor": not body.get("solo", False)}
                )
        key = (body["action"], body["kind"], body["program"], body["version"], str(body["limits"]))
        action = self._actions.get(key)
        if action is None:
            program = await self.program(body)
            document: JSON = [*program.actions] if body["kind"] == SEQUENCE else None
            action = self._actions[key] = Action(
                name,
                Composed(body["kind"], document, program),
                limits=_limits(body["limits"]),
                version=body["version"],
            )
            if len(self._actions) > ACTIONS:
                del self._actions[next(iter(self._actions))]
        return action

    async def program(self, body: Stored) -> Program:
        """The program that an execution is pinned to, from its row's body."""
        if body.get("solo"):
            return solo(body["action"])
        hash = body["program"]
        if hash == CONDUCTING.hash:
            return CONDUCTING
        if hash not in self._programs:
            async for document in self._parts.store.documents(PROGRAM, hash):
                self._programs[hash] = Program.from_json(
                    orjson.loads(document.body or b""), DIALECTS
                )
        return self._programs[hash]


def _last_entry(lists: Sequence[tuple[int, bytes]]) -> int:
    """The number of the last entry of a history, from its last list of entries."""
    return lists[-1][0] + len(orjson.loads(lists[-1][1])) - 1 if lists else 0


def _limits(stored: Any) -> ActionLimits:
    """The limits of an action; an earlier version stored them with their names."""
    named = stored if isinstance(stored, dict) else named_limits(stored)
    return ActionLimits.from_json(named)


def _account(execution: Execution) -> Account | None:
    """The steps it has used, by those it has done: it consults, invokes, and goes back."""
    if execution.program is not CONDUCTING:
        return None
    steps = max((fiber.steps for fiber in execution.fibers.values()), default=0)
    return Account(steps // 3, steps // 3)
