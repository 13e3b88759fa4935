"""Resets and forks: a new run begins at an entry of an execution's history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ... import composer
from ...actions import (
    AlreadyStartedError,
    ConflictError,
    NotFoundError,
    StartOptions,
    check_options,
)
from ...composer import LAST, MESSAGE_RECEIVED, NOTHING, Message, ResetError, changed, frozen
from . import stored_values
from .names import key_of
from .origins import Source
from .programs import program_document
from .redrives import compiled
from .units import nothing

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from ...actions import ExecutionRow, Write
    from ...composer import JSON, Changes, Program
    from .endings import Endings
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .messages import Messages
    from .restoring import Restoring
    from .stored_values import Stored
    from .units import Also
    from .updates import Updates

LINES = 500  # entries in one row of a copied history
TRIES = 100  # each waits for a commit, for an execution that goes on meanwhile
_KEPT = ("program", "action", "version", "kind", "limits", "solo", "owner", "doubtful", "hops")
CHANGED = "Another caller has started a run with the id '{id}' at the same time. Try again."
OPEN = (
    "The execution '{id}' has another open run, {run}: reset that one, or wait until it has ended."
)


class ResetRefusedError(ConflictError):
    """An execution cannot be reset to an entry, or forked from it; the text gives the reason."""

    code = "ResetRefused"


@frozen
class Place:
    """The entry of a history at which a new run begins, and the differences from there on.

    Args:
        to: number of the entry, `first` (the start) or `last` (the last step that was asked for).
        step: path of a step in its composition, or name of its action, instead: its last run counts.
        composition: composition for the new run; None for that of the execution.
        value: another input for the step that the entry asks for; `NOTHING` for the recorded one.
        reason: text for the history.
        messages: `keep` to tell the new run the messages that came later, `drop` to forget them.
    """

    to: int | str = LAST
    step: str | None = None
    composition: JSON = None
    value: JSON = NOTHING
    reason: str = ""
    messages: str = "keep"


@dataclass(slots=True)
class _Begun:
    """A new run, not yet known to anybody: the changes that take it up, and the history that it begins with.

    `later` are the entries of the old history after those, with the messages to tell if it `keeps` them.
    """

    run: LiveExecution
    changes: Changes
    prefix: list[Stored]
    later: list[Stored]
    keeps: bool
    program: Program | None


class Resets:
    """Begins runs at entries of histories."""

    def __init__(
        self,
        inbox: Inbox,
        restoring: Restoring,
        endings: Endings,
        notes: tuple[Messages, Updates],
        identities: Identities,
    ) -> None:
        core = identities.core
        self._parts, self._tick, self._conditional = core.parts, core.tick, identities.conditional
        self._inbox, self._restoring, self._chains = inbox, restoring, core.chains
        self._endings, self._identities = endings, identities
        self._messages, self._updates = notes

    async def reset(self, namespace: str, id: str, place: Place, also: Also = nothing) -> str:
        """Begins an execution again at one of its entries. Returns the id of the new run.

        An open run ends in the same commit, without finalizers. The new run has the user's id, if there is one.
        `also` adds to that commit.

        Raises:
            NotFoundError: the namespace has no such execution.
            ResetRefusedError: the execution cannot be reset to this entry.
            ConflictError: the open run must not end now, or another run has its id.
        """
        row = await self._found(namespace, id)
        body = orjson.loads(row.body)
        if "parent" in body:
            raise ResetRefusedError(
                f"Execution {id} is a step of {body.get('root')}: reset that execution, or fork this one."
            )
        options = StartOptions.from_json(body.get("options", {}))
        if options.parent and row.ended_ms is None and await self._chains.is_open(options.parent):
            raise ResetRefusedError(
                f"Execution {id} is a child of {options.parent}, which is open: reset that one, or fork this one."
            )
        options = changed(options, parent="", close="")
        async with self._identities.turns.of(*_turns(namespace, options.id)):
            version = await self._version(namespace, options.id, id)
            begun = await self._replayed(row, place, "reset", options)
            replaced = await self._caught_up(begun, namespace, id)
            await self._begin(begun, version, replaced, also)
        return begun.run.id

    async def _caught_up(self, begun: _Begun, namespace: str, id: str) -> LiveExecution | None:
        """The open run, when no message that it was told is missing in the new run; None if it has ended.

        The caller must use it before it awaits anything.
        """
        for _ in range(TRIES):
            replaced = await self._endings.replaceable(namespace, id)
            known = len(begun.prefix) + len(begun.later)
            if replaced is not None and replaced.entries == known:
                return replaced
            await self._tick.committed()
            more = await stored_values.history(self._parts.store, id, known)
            begun.later += more
            if replaced is None and not more:
                await self._check_over(id)
                return None
        raise ConflictError(f"Execution {id} is too busy to be reset now: pause it, and try again.")

    async def _check_over(self, id: str) -> None:
        newest = await self._chains.newest(id)
        if newest != id and await self._chains.is_open(newest):
            raise ResetRefusedError(
                f"Execution {id} has continued as {newest}, which is open: reset that one, or fork this one."
            )

    async def fork(
        self, namespace: str, id: str, place: Place, options: StartOptions | None = None
    ) -> str:
        """Begins a new execution at an entry of another one's history, which goes on. Returns its id.

        Args:
            namespace: that both are in.
            id: of the execution.
            place: where the new one begins.
            options: of the new one; by default it has none.

        Raises:
            NotFoundError: the namespace has no such execution.
            ResetRefusedError: the execution cannot be forked at this entry.
            AlreadyStartedError: the new execution's id is in use.
        """
        options = options or StartOptions()
        check_options(options)
        row = await self._found(namespace, id)
        async with self._identities.turns.of(*_turns(namespace, options.id)):
            version = await self._version(namespace, options.id, "")
            await self._begin(begun := await self._replayed(row, place, "fork", options), version)
        return begun.run.id

    async def _version(self, namespace: str, id: str, run: str) -> int | None:
        """The version that the document of a user's id must have; None without an id."""
        if not id:
            return None
        known, version = await self._identities.look(namespace, id)
        if known is not None and known.open and known.run != run:
            raise AlreadyStartedError(OPEN.format(id=id, run=known.run), known.run)
        return version

    async def _found(self, namespace: str, id: str) -> ExecutionRow:
        await self._tick.committed()  # its history is read as far as it goes now
        saved = await self._parts.store.load(id)
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError
        return saved.execution

    async def _replayed(
        self, row: ExecutionRow, place: Place, how: str, options: StartOptions
    ) -> _Begun:
        body = orjson.loads(row.body)
        if body.get("solo"):
            text = f"Activation {row.id} is a single action and has no history: invoke it again."
            raise ResetRefusedError(text)
        given = None
        if place.composition is not None:
            work = partial(compiled, place.composition, row.namespace)
            given = await self._parts.threads.weigh(place.composition, work)
        program = given or await self._restoring.program(body)
        if program.dialect.introduces:
            text = f"Execution {row.id} is a state machine's: redrive it, or start another one."
            raise ResetRefusedError(text)
        entries = await stored_values.history(self._parts.store, row.id, 0)
        now_ms = self._parts.clock.now_ms()
        new, number = self._parts.ids.execution_id(now_ms), 0
        try:
            number = composer.entry_of(entries, place.to, place.step)
            prefix = entries[:number]
            about: dict[str, JSON] = {"how": how, "from": row.id, "entry": number}
            if place.reason:
                about["reason"] = place.reason
            replay = partial(
                composer.reset, new, program, prefix, self._parts.settings.limits, now_ms,
                about=about, value=place.value,
            )  # fmt: skip
            # The replay evaluates all expressions up to there again, which can take long.
            execution, changes = await self._parts.threads.run(replay)
        except ResetError as error:
            where = f"entry {number}" if number else "this entry"
            begun = "reset to" if how == "reset" else "forked at"
            text = f"Execution {row.id} cannot be {begun} {where}: {error}."
            raise ResetRefusedError(text) from error
        kept = {name: body[name] for name in _KEPT if name in body} | {"depth": 0}
        if told := options.to_json():
            kept["options"] = told
        kept["source"] = Source(how, row.id, number, execution.generation).to_json()
        begins = row._replace(id=new, started_ms=now_ms, ended_ms=None, body=orjson.dumps(kept))
        run = await self._restoring.run(begins, execution, number)
        run.paused = execution.paused
        return _Begun(run, changes, prefix, entries[number:], place.messages == "keep", given)

    async def _begin(
        self,
        begun: _Begun,
        version: int | None,
        replaced: LiveExecution | None = None,
        also: Also = nothing,
    ) -> None:
        """Begins the new run and ends the replaced one, in one commit."""
        run = begun.run
        quotas = self._parts.settings.quotas(run.origin.namespace)
        self._parts.used(run.origin.namespace).admit(quotas, self._parts.clock.now_ms())
        with self._tick.apart() as unit:
            accepted: asyncio.Future[bool] = self._tick.durable()
            unit.begun.append(run)
            self._copy(run, begun.prefix, unit.write)
            document = None if begun.program is None else program_document(begun.program)
            self._inbox.redrive([(run, begun.changes)], document)
            self._tell(begun)
            also(unit.write)
            if replaced is not None:
                self._endings.replace(replaced, unit)
            id = run.origin.options.id
            if version is not None:
                namespace = run.origin.namespace
                unit.write.documents += self._identities.documents(namespace, id, run.id, version)
                self._conditional(unit, run.id, accepted)
        if not await accepted:
            raise ConflictError(CHANGED.format(id=id))

    def _tell(self, begun: _Begun) -> None:
        """Tells the new run what came later, and has it know the messages and updates that came before."""
        self._updates.note(begun.run, begun.prefix)
        for entry in begun.prefix:
            if entry["type"] == MESSAGE_RECEIVED:
                self._messages.note_id(begun.run, entry.get("id", ""))
        for entry in begun.later if begun.keeps else ():
            if entry["type"] == MESSAGE_RECEIVED and begun.run.id in self._parts.runs:
                told = Message(0, entry["name"], entry.get("id", ""), entry["value"])
                self._messages.put(begun.run, told, bounded=False)

    @staticmethod
    def _copy(run: LiveExecution, entries: Sequence[Stored], write: Write) -> None:
        """Writes the history that a run begins with; large values are stored under the run again."""
        for start in range(0, len(entries), LINES):
            lines = [
                {
                    name: run.keep(value, write).doc if name in stored_values.IN_ENTRIES else value
                    for name, value in entry.items()
                }
                for entry in entries[start : start + LINES]
            ]
            write.history.append((run.id, start + 1, orjson.dumps(lines)))
        run.forget_memo()


def _turns(namespace: str, id: str) -> list[str]:
    return [key_of(namespace, id)] if id else []
