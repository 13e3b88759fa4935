"""Executions begin: called from outside, as a step of another, or beside another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ....actions import PLAIN
from ....composer import CONDUCTING, Changes, Execution, Failure, changed, take_over
from ..indexing import found_by, indexes_start
from ..live import RUNNING, LiveExecution
from ..offspring import note_child
from ..origins import Account, Chain, Origin
from ..outcomes import broken
from ..programs import definition_document, program_document
from ..targets import given, program_of
from ..time_limits import deadlines_of, run_deadline_of

if TYPE_CHECKING:
    from ....actions import Action
    from ....composer import JSON, Handover, Invoke, Message, Program, Spawn
    from ..bounds import Bounds
    from ..origins import Parent
    from ..shared import Parts
    from ..tick import Tick
    from .pending import Beginning

Work: TypeAlias = tuple[LiveExecution, Changes]

EXPRESS_STEPS = 10_000  # of an execution that is in memory only, until its end


class Starts:
    """Makes executions, and gathers their rows."""

    def __init__(self, parts: Parts, tick: Tick, bounds: Bounds) -> None:
        self._parts, self._tick, self._bounds = parts, tick, bounds
        self._clock, self._hooks = parts.clock, parts.hooks
        self._defined: set[tuple[str, str]] = set()  # hashes of stored programs and definitions

    def called(self, id: str, beginning: Beginning) -> Work:
        """Begins a call of a namespace."""
        action, value = beginning.action, beginning.input
        program = program_of(action, value)
        about = dict(beginning.about)
        if beginning.name is not None:
            about["name"] = beginning.name
        origin = Origin(
            action=action,
            owner=action.name.namespace,
            namespace=beginning.namespace,
            started_ms=self._clock.now_ms(),
            root=id,
            solo=action.program is None,
            express=action.express and not (program.spans or program.restarts),
            account=Account() if program is CONDUCTING else None,
            trace=beginning.trace or id,
            about=about or None,
            unwaited=beginning.unwaited,
            options=beginning.options,
            depth=beginning.options.depth,
            hops=beginning.options.hops,
        )
        run = self._made(id, program, origin, introduced=True)
        if origin.solo and origin.unwaited is not None:
            run.given = value
        if (parent := beginning.options.parent) != "":
            note_child(self._parts.offspring, parent, id, beginning.options.close)
        self._bounds.begun(run)
        return run, self._begun(run, value, beginning.told)

    def nested(self, run: LiveExecution, parent: Parent, action: Action, command: Invoke) -> Work:
        """Begins a step of another execution, which waits for it."""
        value = given(action, command.params)
        program = program_of(action, value)
        origin = Origin(
            action=action,
            owner=action.name.namespace,
            namespace=run.origin.namespace,
            started_ms=self._clock.now_ms(),
            root=run.origin.root,
            parent=parent,
            depth=run.origin.depth + 1,
            hops=run.origin.hops,
            express=(action.express or run.origin.express)
            and not (program.spans or program.restarts),
            account=(run.origin.account or Account()) if program is CONDUCTING else None,
            trace=run.origin.trace,
        )
        child = self._made(command.activation, program, origin, introduced=True)
        self._bounds.begun(child)
        return child, self._begun(child, value)

    def continued(self, run: LiveExecution, action: Action, value: JSON, given: Handover) -> Work:
        """Begins the next run of the chain of a run that ends.

        It has the namespace, the root, the parent, the trace and the options (id, attributes, memo, ...) of the run.
        """
        before, id = run.origin, run.next
        program = program_of(action, value)
        origin = changed(
            before,
            action=action,
            owner=action.name.namespace,
            started_ms=self._clock.now_ms(),
            account=Account() if program is CONDUCTING else None,
            source=None,
            chain=Chain(before.chain_of(run.id), run.id),
        )
        next = self._made(id, program, origin, introduced=False)
        self._bounds.begun(next)
        frames = run_deadline_of(origin)
        return next, take_over(next.execution, given, value, origin.started_ms, frames)

    def begin_detached(self, run: LiveExecution, command: Spawn, *, later: bool) -> Work:
        """Begins a part of another execution, which does not wait for it.

        With `later` it is stored, and runs when the others have had their turn. When there is too much
        already it fails at once: its record says why.
        """
        origin = changed(
            run.origin, started_ms=self._clock.now_ms(), parent=None, options=PLAIN, chain=None
        )
        refused = self._bounds.refused(run)
        child = self._made(command.activation, run.execution.program, origin, introduced=False)
        self._bounds.begun(child)
        now_ms = origin.started_ms
        if isinstance(refused, Failure):
            return child, broken(now_ms, refused)
        return child, child.execution.begin(
            command.value, now_ms, pc=command.pc, frames=command.frames, later=later
        )

    def _made(
        self, id: str, program: Program, origin: Origin, *, introduced: bool
    ) -> LiveExecution:
        limits = self._parts.settings.limits
        if origin.express:
            events = self._parts.settings.express_events
            limits = replace(limits, steps=min(limits.steps, EXPRESS_STEPS), events=events)
        if program.dialect.introduces and introduced:
            origin = self._hooks.introduced(id, origin)
            self._define(program, origin)
        execution = Execution(id, program, limits)
        run = self._parts.runs[id] = LiveExecution(execution, origin, origin.started_ms)
        run.offset_ms = origin.started_ms - int(self._clock.elapsed_us() // 1000)
        self._parts.counters.started += 1
        self._tick.gathering.begun.append(run)
        if not origin.express:
            self._tick.gathering.write.executions.append(run.row(RUNNING, None))
            if indexes_start(origin.options):
                self._tick.gathering.write.indexed.append(found_by(run, self._parts))
        return run

    def _begun(self, run: LiveExecution, value: JSON, told: tuple[Message, ...] = ()) -> Changes:
        now_ms = run.origin.started_ms
        dialect, limits = run.execution.program.dialect, deadlines_of(run.origin)
        if not dialect.introduces:
            return run.execution.begin(value, now_ms, frames=limits, told=told)
        context = self._hooks.context(run.id, run.origin, value)
        return run.execution.begin(value, now_ms, frames=(*limits, *dialect.begun(context)))

    def _define(self, program: Program, origin: Origin) -> None:
        """Stores the program and the definition that an execution is pinned to; its action may change."""
        revision = self._hooks.revision(origin.about or {})
        text = self._hooks.definition(origin.action)
        if revision is None or text is None:
            return
        place = program.hash, revision
        if place not in self._defined:
            if len(self._defined) == self._parts.settings.definitions:
                self._defined.clear()
            self._defined.add(place)
            documents = self._tick.gathering.write.documents
            documents += (program_document(program), definition_document(revision, text))
