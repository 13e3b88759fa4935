"""Failed executions are redriven, with those of their steps that are executions themselves."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ... import composer
from ...actions import ConflictError, InvalidError, NotFoundError, Opened
from ...composer import CompositionError, Invoke, RedriveError, activation_id, changed
from . import stored_values
from .live import CONTINUED, ActiveInvocation
from .programs import program_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...actions import ExecutionRow
    from ...composer import JSON, Program
    from .core import Core
    from .inbox.beginning import Work
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .restoring import Restoring


class Redrives:
    """See `composer.redrive` for what one execution does; this finds its parts and its past."""

    def __init__(self, core: Core, inbox: Inbox, restoring: Restoring) -> None:
        self._parts, self._tick, self._chains = core.parts, core.tick, core.chains
        self._inbox, self._restoring = inbox, restoring
        self._under_way: set[str] = set()  # until the store knows that they go on

    @contextmanager
    def held(self, id: str) -> Iterator[None]:
        """In the block nobody redrives an execution.

        Raises:
            ConflictError: it is being redriven.
        """
        self._take(id)
        try:
            yield
        finally:
            self._under_way.discard(id)

    def _take(self, id: str) -> None:
        if id in self._under_way:
            raise ConflictError(f"Execution {id} is being redriven.")
        self._under_way.add(id)

    async def redrive(self, namespace: str, id: str, composition: JSON) -> None:
        """See `Engine.redrive`. What comes of it gathers in the unit of the moment in which this returns."""
        self._take(id)
        taken = {id}
        try:
            redriven, program = await self._selected(namespace, id, composition, taken)
            self._tick.ensure()  # reading may have taken long
            self._check_alone(redriven)
        except BaseException:
            self._under_way -= taken
            raise
        known = partial(self._under_way.difference_update, taken)
        self._tick.gathering.effects.append(known)
        self._inbox.redrive(redriven, None if program is None else program_document(program))

    async def _selected(
        self, namespace: str, id: str, composition: JSON, taken: set[str]
    ) -> tuple[list[Work], Program | None]:
        """The executions that are to be redriven together, and the new program, if there is one."""
        saved = await self._parts.store.load(id)
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError
        program = None
        if composition is not None:
            work = partial(compiled, composition, namespace)
            program = await self._parts.threads.weigh(composition, work)
        try:
            redriven = await self._redriven(saved.execution, program, taken)
        except RedriveError as error:
            raise ConflictError(str(error)) from error
        await self._leave_parent(redriven[0][0])
        return redriven, program

    async def _leave_parent(self, run: LiveExecution) -> None:
        """A child whose parent has ended goes on by itself: nobody closes it when the server starts again."""
        options = run.origin.options
        if not options.parent:
            return
        await self._tick.committed()  # its end may be on the way to the store
        if not await self._chains.is_open(options.parent):
            alone = changed(options, parent="", close="")
            run.origin = changed(run.origin, options=alone)

    def _check_alone(self, redriven: list[Work]) -> None:
        """Raises if an execution that was read as ended goes on again: the store may not know it yet."""
        for run, _ in redriven:
            if run.id in self._parts.runs:
                raise ConflictError(f"Execution {run.id} is under way again.")

    async def _redriven(
        self, row: ExecutionRow, program: Program | None, taken: set[str]
    ) -> list[Work]:
        """The execution, and after it the executions that are its failed steps."""
        if row.ended_ms is None:
            raise RedriveError(f"execution {row.id} is still under way")
        body = orjson.loads(row.body)
        if row.status == CONTINUED:
            text = f"execution {row.id} has continued as {body['next']}: redrive the last run of the chain"
            raise RedriveError(text)
        pinned = program or await self._restoring.program(body)
        replay = partial(
            composer.redrive, row.id, pinned, await stored_values.history(self._parts.store, row.id, 0),
            self._parts.settings.limits, self._parts.clock.now_ms(),
        )  # fmt: skip
        # The replay evaluates all expressions of the execution again, which can take long.
        execution, changes = await self._parts.threads.run(replay)
        run = await self._restoring.run(row, execution)
        run.redriven_ms = self._parts.clock.now_ms()
        work = [(run, changes)]
        commands, changes.commands = changes.commands, []
        for fiber, command in commands:
            child = None
            if isinstance(command, Invoke) and command.child is None:
                child = await self._failed_child(run, fiber, command.turn, taken)
            if child is None:
                changes.commands.append((fiber, command))
                continue
            work += child
            first = child[0][0]
            run.adopted[f"{fiber}:{command.turn}"] = first.id  # type: ignore[union-attr]
            opened = Opened(
                id=first.id,
                action=first.origin.action,
                namespace=row.namespace,
                asked_ms=first.origin.started_ms,
                cause=row.id,
            )
            kind, later = first.origin.action.kind, command.later  # type: ignore[union-attr]
            active = ActiveInvocation(opened, kind, first.id, later=later)
            run.invocations[fiber, command.turn] = active  # type: ignore[union-attr]
        return work

    async def _failed_child(
        self, run: LiveExecution, fiber: str, turn: int, taken: set[str]
    ) -> list[Work] | None:
        """The execution that a failed step was, redriven as well; None if it was not one.

        It is taken before it is read: nobody else can redrive it meanwhile.
        """
        for generation in range(run.execution.generation - 1, -1, -1):
            id = run.adopted.get(f"{fiber}:{turn}") or activation_id(
                run.id, fiber, turn, generation
            )
            if id in self._under_way:
                raise ConflictError(f"Execution {id} is being redriven.")
            taken.add(id)
            self._under_way.add(id)
            saved = await self._parts.store.load(id)
            if saved is not None:
                try:
                    return await self._redriven(saved.execution, None, taken)
                except RedriveError:
                    return None  # its own program decided the failure: it begins anew
        return None


def compiled(composition: JSON, namespace: str) -> Program:
    """A composition, compiled.

    Raises:
        InvalidError: it is malformed.
    """
    try:
        return composer.compile(composer.parse(composition), namespace=namespace)
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
