"""One run of a program: its fibers, the joins between them, and nothing else.

The machine advances one fiber; this keeps the family together. An event for one fiber may end it,
decide a join, wake its parent, start or cancel others: all of it is one `Changes`, which whoever runs
the execution commits as a whole and then carries out. Still no clock and no I/O; `testing` and the
engine, and a conductor inside a cloud function, all run the same code.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ..values import CANCELLED, Failure, Outcome, Success, failure
from . import history
from .changes import Changes
from .commands import Abandon, CancelMembers, Fork, Invoke, Rebind
from .conductor import advance, reissue
from .cursor import Context, Cursor, Limits
from .dialect import AskedAgain, Ended, Iterations, MemberFailed, Redriven, Started
from .events import Cancelled, Completed, Continued, Event, Joined, Resolved, Resumed
from .fiber import (
    NOWHERE,
    ROOT,
    Fiber,
    Invoking,
    Joining,
    Paused,
    member_id,
    parent_of,
    polling,
)
from .history import Entry
from .instructions import Each
from .instructions import Fork as ForkInstruction
from .joins import Join, Room, unbounded, width_of
from .operations import inherited, items_of, note_again
from .sagas.operations import branch_frames
from .storing import has_only_begun, is_next, last_event, of_this_generation, told_by_history
from .stretches import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values import JSON
    from .conductor import Transition
    from .dialect import Moment
    from .fiber import Frame
    from .program import Program

    Frames: TypeAlias = tuple[Frame, ...]

NO_TURN = 0


class Execution:
    """A run under way. Make one with `begin` or `restore`."""

    __slots__ = (
        "_held",
        "_joins",
        "_overlong",
        "_ready",
        "events",
        "fibers",
        "generation",
        "id",
        "limits",
        "program",
        "room",
    )

    def __init__(self, id: str, program: Program, limits: Limits, generation: int = 0) -> None:
        self.id = id
        self.generation = generation  # how often it was redriven
        self.program = program
        self.limits = limits
        self.events = 0  # so far, in a history that numbers them
        self.fibers: dict[str, Fiber] = {}
        self._joins: dict[str, Join] = {}
        self._ready: deque[str] = deque()
        self._held: dict[str, list[Entry]] = {}  # of fibers not yet worth storing
        self._overlong: dict[str, int] = {}  # when each fiber before a `Stretch` stopped, in ms
        self.room: Room = unbounded

    @classmethod
    def restore(  # noqa: PLR0913, PLR0917  what was stored has as many parts
        cls,
        id: str,
        program: Program,
        fibers: Iterable[Fiber],
        limits: Limits,
        generation: int = 0,
        since: Iterable[dict[str, JSON]] = (),
    ) -> Execution:
        """The run whose stored fibers these are, with what its history says `since`.

        A forked fiber that was never stored starts again: it had done nothing but to ask for its
        first action, and it will ask for the same activation again. One that has gone on from action
        to action since it was stored is advanced by the results that were recorded.
        """
        execution = cls(id, program, limits, generation)
        stored = {fiber.id: fiber for fiber in fibers}
        for entry in of_this_generation(since):
            fiber = stored.get(entry["fiber"])
            if fiber is not None and is_next(fiber, entry):
                event = Completed(entry["turn"], entry["value"], entry.get("variables"))
                context = execution._context(entry["at"])
                stored[fiber.id] = advance(program, fiber, event, context).fiber
        execution.fibers = {id: fiber for id, fiber in stored.items() if fiber.outcome is None}
        execution.events = last_event(program, stored.values())
        for fiber in list(execution.fibers.values()):
            if isinstance(fiber.wait, Joining):
                execution._rejoin(fiber, stored, execution._context(0))
            elif fiber.wait is None:
                execution._ready.append(fiber.id)
        return execution

    # --- what happens ------------------------------------------------------------------------

    def begin(
        self, value: JSON, now_ms: int, *, pc: int = 0, frames: Frames = (), later: bool = False
    ) -> Changes:
        """Starts it, at `pc` with `frames` if it is a part of another execution.

        With `later` no instruction runs before the first `proceed`.
        """
        root = Fiber(id=ROOT, pc=pc, value=value, frames=frames)
        self._add(root)
        started = self._told(ROOT, Started(frames))
        changes = Changes() if later else self.proceed(now_ms)
        changes.fibers.setdefault(ROOT, root)
        changes.entries.insert(
            0, Entry(now_ms, ROOT, NO_TURN, history.EXECUTION_STARTED, started, value)
        )
        return self._settled(changes)

    def deliver(self, fiber: str, event: Event, now_ms: int) -> Changes:
        """Hands `event` to `fiber` and follows what comes of it."""
        changes = Changes()
        self._deliver([(fiber, event)], changes, self._context(now_ms))
        return self._settled(changes)

    def proceed(self, now_ms: int) -> Changes:
        """Runs what can run without an event, up to the share of instructions for one turn."""
        changes = Changes()
        context = self._context(now_ms)
        share = self.limits.instructions
        while self._ready and share > 0:
            fiber = self._ready.popleft()
            if fiber in self.fibers:  # it may have been cancelled meanwhile
                share -= self._deliver([(fiber, Continued())], changes, context)
        changes.stale = False
        return self._settled(changes)

    def stretched(self, stretch: Stretch, transition: Transition) -> Changes:
        """Follows the transition of a stretch. Stale if the fiber, or a numbered history, has changed since."""
        before, context, changes = stretch.fiber, stretch.context, Changes()
        changes.stale = self.fibers.get(before.id) is not before or self.events != context.events
        if not changes.stale:
            self._keep(Continued(), before, transition, changes)
            self._deliver(self._follow(transition, changes, context.now_ms), changes, context)
        return self._settled(changes)

    def cancel(self, now_ms: int) -> Changes:
        """Asks it to stop: what is under way is abandoned, finalizers run."""
        changes = self.deliver(ROOT, Cancelled(), now_ms)
        if not changes.stale:
            changes.entries.insert(0, Entry(now_ms, ROOT, NO_TURN, history.CANCEL_REQUESTED))
        return changes

    def terminate(self, now_ms: int, **about: JSON) -> Changes:
        """Ends it as cancelled, at once: no finalizer runs. `about` are members of its error, if any is to be told."""
        changes = Changes(stale=not self.fibers)
        if changes.stale:
            return changes
        for fiber in self.fibers.values():
            if isinstance(fiber.wait, Invoking):
                changes.commands.append((fiber.id, Abandon(fiber.turn, fiber.wait.ticket)))
        for parent in self._joins:
            changes.entries += self._counted(parent, now_ms)
        ended = Failure(CANCELLED, about) if about else failure(CANCELLED, "terminated")
        self._finish(Fiber(id=ROOT, pc=NOWHERE, value=None), ended, changes, now_ms)
        return self._settled(changes)

    def redrive(self, now_ms: int) -> Changes:
        """Takes up again what it stands at, as another generation. See `composer.redrive`."""
        self.generation += 1
        self._held.clear()
        for join in self._joins.values():
            join.take_up()
        told = self._told(ROOT, Redriven(self.generation))
        changes = Changes(entries=[Entry(now_ms, ROOT, NO_TURN, history.EXECUTION_REDRIVEN, told)])
        self.fibers = {name: fiber.refreshed(now_ms) for name, fiber in self.fibers.items()}
        self.fibers[ROOT] = replace(self.fibers[ROOT], event=self.events)
        for name, command in self.pending(now_ms):
            cursor = Cursor(self.fibers[name], self.program.instructions, self._context(now_ms))
            changes.commands.append((name, command))
            note_again(cursor, command, self.program.dialect.told(AskedAgain(cursor)).events)
            changes.entries += cursor.entries
            self.events = cursor.events
            self.fibers[name] = replace(self.fibers[name], event=cursor.event)
        changes.fibers = dict(self.fibers)
        return self._settled(changes)

    def pass_over(self, member: str, now_ms: int) -> Changes:
        """For a redrive, which keeps this failed member: the next one starts where it had ended.

        What has failed in a map that waits for all is taken up again at once, all of it, even if
        it is more than the map's concurrency; nothing else starts until it is less.
        """
        parent, _, _ = parent_of(member)
        self._start(self.fibers[parent], self._joins[parent], self._joins[parent].pass_over())
        return self.proceed(now_ms)

    def settle(self, outcome: Outcome, now_ms: int) -> Changes:
        """Ends it with what a redrive found to be its outcome: nothing is left to be done."""
        self.generation += 1
        changes = Changes(entries=[Entry(now_ms, ROOT, NO_TURN, history.EXECUTION_REDRIVEN)])
        self._finish(Fiber(id=ROOT, pc=NOWHERE, value=None), outcome, changes, now_ms)
        return self._settled(changes)

    def resume(
        self, now_ms: int, event: Resumed | Resolved | None = None, fiber: str | None = None
    ) -> Changes:
        """Lets what is paused go on, all of it or one fiber: to try again, or as the event says.

        Stale when nothing is.
        """
        changes = Changes()
        context = self._context(now_ms)
        paused = [
            standing.id
            for standing in self.fibers.values()
            if isinstance(standing.wait, Paused) and fiber in (None, standing.id)
        ]
        for id in paused:
            self._deliver([(id, event or Resumed())], changes, context)
        changes.stale = changes.stale or not paused
        return self._settled(changes)

    def release(self, fiber: str) -> Changes:
        """What is held back of a fiber that has only just begun, for more depends on it by now."""
        if fiber not in self._held:
            return Changes()
        return Changes(fibers={fiber: self.fibers[fiber]}, entries=self._held.pop(fiber))

    # --- how it stands -----------------------------------------------------------------------

    def pending(self, now_ms: int) -> list[tuple[str, Invoke]]:
        """The invocations under way, to be sent again after a crash."""
        context = self._context(now_ms)
        commands = (
            (fiber.id, reissue(self.program, fiber, context)) for fiber in self.fibers.values()
        )
        return [(fiber, command) for fiber, command in commands if command is not None]

    @property
    def polled(self) -> list[tuple[str, int, JSON]]:
        """The actions to be asked after, again after a crash: fiber, turn and ticket."""
        polled = (fiber for fiber in self.fibers.values() if polling(fiber.wait))
        return [(fiber.id, fiber.turn, fiber.wait.ticket) for fiber in polled]  # type: ignore[union-attr]

    @property
    def paused(self) -> bool:
        """Whether a fiber waits for an operator."""
        return any(isinstance(fiber.wait, Paused) for fiber in self.fibers.values())

    @property
    def stuck(self) -> bool:
        """Whether a saga waits for an operator."""
        return bool(self.stuck_fibers)

    @property
    def stuck_fibers(self) -> list[str]:
        """Those in which a saga waits for an operator."""
        paused = (fiber for fiber in self.fibers.values() if isinstance(fiber.wait, Paused))
        return [fiber.id for fiber in paused if fiber.wait.stuck]  # type: ignore[union-attr]

    @property
    def stretch(self) -> Stretch | None:
        """The evaluation to make next; it needs nothing of the execution, whatever happens meanwhile."""
        for fiber, since_ms in self._overlong.items():
            return Stretch(self.program, self.fibers[fiber], self._context(since_ms))
        return None

    @property
    def ready(self) -> bool:
        """Whether there is work that needs no event."""
        return bool(self._ready or self._overlong)

    # --- inside ------------------------------------------------------------------------------

    def _context(self, now_ms: int) -> Context:
        return Context(self.id, now_ms, self.limits, self.generation, self.events)

    def _told(self, fiber: str, moment: Moment) -> dict[str, JSON]:
        """What the program's language adds to the entry about a moment of this fiber."""
        narration = self.program.dialect.told(moment)
        detail, numbered = dict(narration.detail), []
        standing = self.fibers.get(fiber)
        before = standing.event if standing is not None else 0
        for type, about in narration.events:
            self.events += 1
            numbered.append([self.events, before, type, about])
            before = self.events
        return {**detail, "events": numbered} if numbered else detail

    def _add(self, fiber: Fiber) -> None:
        self.fibers[fiber.id] = fiber
        self._ready.append(fiber.id)

    def _settled(self, changes: Changes) -> Changes:
        if changes.outcome is not None:
            changes.fibers.clear()
            changes.dropped.clear()
            self.fibers.clear()
            self._joins.clear()
            self._ready.clear()
            self._held.clear()
            self._overlong.clear()
        changes.more = bool(self._ready)
        return changes

    def _deliver(self, events: list[tuple[str, Event]], changes: Changes, context: Context) -> int:
        """Follows events from fiber to fiber: a loop, for joins may nest. Counts instructions and new fibers."""
        ran, ready, numbers = 0, len(self._ready), self.program.dialect.numbers
        work = deque(events)
        while work:
            name, event = work.popleft()
            if (before := self.fibers.get(name)) is None:
                changes.stale = True
                continue
            if numbers:
                context = self._context(context.now_ms)
            transition = advance(self.program, before, event, context)
            changes.stale = changes.stale or transition.stale
            ran += transition.ran
            self._keep(event, before, transition, changes)
            work += self._follow(transition, changes, context.now_ms)
        return ran + len(self._ready) - ready

    def _follow(
        self, transition: Transition, changes: Changes, now_ms: int
    ) -> list[tuple[str, Event]]:
        """Takes a transition over. Returns the events that it has for other fibers."""
        after, work = transition.fiber, []
        self.fibers[after.id], self.events = after, transition.events
        for command in transition.commands:
            match command:
                case Fork():
                    work += self._fork(after, command.items)
                case CancelMembers():
                    work += self._cancelled(after, self._joins[after.id].cancel())
                case Rebind():
                    work += self._rebound(after)
                case _:
                    changes.commands.append((after.id, command))
        if not transition.stale:
            self._overlong.pop(after.id, None)
        if after.outcome is not None:
            work += self._ended(after, after.outcome, changes, now_ms)
        elif transition.overlong:
            self._overlong[after.id] = now_ms
        elif after.wait is None and not transition.stale:
            self._ready.append(after.id)
        return work

    def _keep(self, event: Event, before: Fiber, transition: Transition, changes: Changes) -> None:
        """What is to be stored of a transition: nothing yet of a fiber that has only begun.

        Nothing is held back where events are numbered: no number is given twice.
        """
        after, numbered = transition.fiber, self.program.dialect.numbers
        begun = not isinstance(event, Cancelled) and has_only_begun(before, after)
        if begun and not numbered:
            self._held[after.id] = transition.entries
            return
        held = self._held.pop(after.id, None)
        if numbered or held is not None or not told_by_history(before, event, after):
            changes.fibers[after.id] = after
        changes.entries += held or ()
        changes.entries += transition.entries

    def _fork(self, parent: Fiber, items: list[JSON] | None) -> list[tuple[str, Event]]:
        spec = self._spec(parent)
        width = width_of(spec, items)
        join = Join(spec, width, items)
        members = join.begin()
        refused = self.room(len(self.fibers), len(members))
        if refused is not None or not width:
            return [(parent.id, Joined(parent.turn, refused or join.outcome(), 0))]
        self._joins[parent.id] = join
        self._start(parent, join, members)
        return []

    def _spec(self, parent: Fiber) -> ForkInstruction | Each | Iterations:
        spec = self.program.instructions[parent.pc - 1]
        forking = self.program.dialect.forks.get(type(spec))
        return spec if forking is None else forking(spec, parent.value)  # type: ignore[return-value]

    def _start(self, parent: Fiber, join: Join, members: Iterable[int]) -> None:
        spec = self._spec(parent)
        frames = inherited(parent.frames)
        key = None
        if parent.frames:
            key = Cursor(parent, self.program.instructions, self._context(0)).key_of(parent.turn)
        for index in members:
            log = branch_frames(parent.frames, f"{key}/{index}" if key else None)
            self._add(
                Fiber(
                    id=member_id(parent.id, parent.turn, index),
                    pc=spec.branches[index] if isinstance(spec, ForkInstruction) else parent.pc,
                    value=join.input(index, parent.value),
                    frames=(*log, *frames),
                    steps=parent.steps,
                    event=parent.event,
                )
            )

    @staticmethod
    def _cancelled(parent: Fiber, members: Iterable[int]) -> list[tuple[str, Event]]:
        return [(member_id(parent.id, parent.turn, index), Cancelled()) for index in members]

    def _ended(
        self, fiber: Fiber, outcome: Outcome, changes: Changes, now_ms: int
    ) -> list[tuple[str, Event]]:
        del self.fibers[fiber.id]
        if fiber.id == ROOT:
            self._finish(fiber, outcome, changes, now_ms)
            return []
        parent_id, turn, index = parent_of(fiber.id)
        parent, join = self.fibers[parent_id], self._joins[parent_id]
        if isinstance(outcome, Failure) and outcome.code != CANCELLED:
            detail = {"code": outcome.code, "origin": fiber.origin}
            failed = MemberFailed(self.program.instructions[parent.pc - 1], index, parent.frames)
            detail |= self._told(parent_id, failed)
            entry = Entry(
                now_ms, fiber.id, fiber.turn, history.BRANCH_FAILED, detail, outcome.error
            )
            changes.entries.append(entry)
        to_start, to_cancel = join.end(index, outcome, fiber.steps - parent.steps, fiber.log)
        self._start(parent, join, to_start)
        if not join.over:
            return self._cancelled(parent, to_cancel)
        changes.entries += self._counted(parent_id, now_ms)
        del self._joins[parent_id]
        changes.dropped.append((parent_id, turn))
        members = member_id(parent_id, turn, 0)[:-1]
        for name in [name for name in changes.fibers if name.startswith(members)]:
            del changes.fibers[name]
        return [(parent_id, Joined(turn, join.outcome(), join.steps, join.logs))]

    def _counted(self, parent: str, now_ms: int) -> list[Entry]:
        join, turn = self._joins[parent], self.fibers[parent].turn
        detail: dict[str, JSON] = join.tally
        return [Entry(now_ms, parent, turn, history.CHILDREN_ENDED, detail)] if join.counted else []

    def _rebound(self, parent: Fiber) -> list[tuple[str, Event]]:
        to_start, to_cancel = self._joins[parent.id].rebound(self._spec(parent))  # type: ignore[arg-type]
        self._start(parent, self._joins[parent.id], to_start)
        return self._cancelled(parent, to_cancel)

    def _finish(self, root: Fiber, outcome: Outcome, changes: Changes, now_ms: int) -> None:
        changes.outcome = outcome
        self.fibers[ROOT] = root
        detail = self._told(ROOT, Ended(outcome))
        if isinstance(outcome, Success):
            kind, value = history.EXECUTION_SUCCEEDED, outcome.value
        elif outcome.code == CANCELLED:
            kind, value = history.EXECUTION_CANCELLED, outcome.error
        else:
            kind, value = history.EXECUTION_FAILED, outcome.error
            detail |= {"code": outcome.code, "origin": root.origin}
        changes.entries.append(Entry(now_ms, ROOT, root.turn, kind, detail, value))

    def _rejoin(self, parent: Fiber, stored: dict[str, Fiber], context: Context) -> None:
        """Takes a join up again, and starts the members that were never stored."""
        spec = self._spec(parent)
        items = parent.value["items"] if isinstance(spec, Iterations) else None
        if isinstance(spec, Each):
            found = items_of(Cursor(parent, self.program.instructions, context), spec)
            items = [] if isinstance(found, Failure) else found
        width = width_of(spec, items)
        names = {member_id(parent.id, parent.turn, index): index for index in range(width)}
        traces = {names[name]: fiber for name, fiber in stored.items() if name in names}
        ended = {
            index: (fiber.outcome, fiber.steps - parent.steps, fiber.log)
            for index, fiber in traces.items()
            if fiber.outcome is not None
        }
        cancelled = isinstance(parent.wait, Joining) and parent.wait.cause is not None
        join = self._joins[parent.id] = Join(spec, width, items)
        join.restore(ended, set(traces), cancelled=cancelled)
        self._start(parent, join, sorted(set(join.live) - set(traces)))
