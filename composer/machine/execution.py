"""One run of a program: the fold of its events over its fibers.

The machine advances one fiber; an execution advances them all. An event for one fiber may end it, decide a
join, wake its parent, and start or cancel other fibers. All of this is one `Changes`, which the caller
commits as a whole and then carries out. There is no clock and no I/O: `testing`, the engine and a conductor
in a cloud function all run the same code.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from ..values import CANCELLED, Failure, Outcome, Success, failure
from . import history
from .changes import Changes
from .commands import Abandon, CancelMembers, CloseUpdates, Command, Fork, Invoke, Listen, Rebind
from .conductor import advance
from .cursor import Context, Cursor, Limits
from .dialect import AskedAgain, Ended, MemberFailed, Redriven, Started
from .endings import ending
from .events import Cancelled, Completed, Continued, Event, Joined, Resolved, Resumed
from .fiber import NOWHERE, ROOT, Fiber, member_id, parent_of
from .forks import Forks
from .growth import WARNED_AT, warn
from .handling import bottom_of, handlers
from .history import Entry
from .inbox import Inbox
from .joins import Room, unbounded
from .listening import arrives, closed, listens, listens_again, received, waiting, wanted
from .queries import last_state, remains
from .slots import acquire_again
from .steps import note_again
from .storage import has_only_begun, is_next, last_event, of_this_generation, told_by_history
from .timeouts import deadlines_told
from .updating import Updating
from .waits import Invoking, Joining, Paused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..values import JSON
    from .conductor import Transition
    from .dialect import Moment
    from .forks import Delivery
    from .frames import Frame, Handling
    from .history import StoredEntry
    from .inbox import Message
    from .program import Program
    from .queries import QueryState
    from .stretches import Stretch

    Frames: TypeAlias = tuple[Frame, ...]

NO_TURN = 0
_ENDED, _LEFT = "the execution ended", "its part of the composition ended"


class Execution(Updating):
    """A run under way. Make one with `begin` or `restore`."""

    __slots__ = (
        "_forks",
        "_held",
        "_long",
        "_most",
        "_overlong",
        "entries",
        "events",
        "fibers",
        "generation",
        "id",
        "inbox",
        "last",
        "limits",
        "program",
        "room",
        "updates",
    )

    def __init__(self, id: str, program: Program, limits: Limits, generation: int = 0) -> None:
        self.id = id
        self.generation = generation  # how often it was redriven
        self.program = program
        self.limits = limits
        self.inbox: Inbox | None = None  # until the first message comes
        self.events = 0  # so far, in a history that numbers them
        self.entries = 0  # in its history, as its host counts them
        self._most = inf if program.dialect.numbers else limits.entries
        self._long = self._most / WARNED_AT
        self._forks = Forks(program)
        self.fibers = self._forks.fibers  # under way, by id
        self._held: dict[str, list[Entry]] = {}  # of fibers not yet worth storing
        self._overlong: dict[str, int] = {}  # when each fiber before a `Stretch` stopped, in ms
        # Without a bound until it counts against one: a redrive replays steps that already had room.
        self.room: Room = unbounded
        self.last: QueryState | None = None  # what queries see once it has ended
        self.updates: dict[str, Handling] = {}  # under way

    @classmethod
    def restore(  # noqa: PLR0913, PLR0917  what was stored has as many parts
        cls,
        id: str,
        program: Program,
        fibers: Iterable[Fiber],
        limits: Limits,
        generation: int = 0,
        since: Iterable[StoredEntry] = (),
    ) -> Execution:
        """The run with these stored fibers, and with the history entries written `since` they were stored.

        A forked fiber that was never stored starts again: it had only asked for its first action, and it will
        ask for the same activation again. A fiber that has gone on from action to action since it was stored
        is advanced by the recorded results.
        """
        execution = cls(id, program, limits, generation)
        stored = {fiber.id: fiber for fiber in fibers}
        for entry in of_this_generation(since):
            fiber = stored.get(entry["fiber"])
            if fiber is not None and is_next(fiber, entry):
                event = Completed(entry["turn"], entry["value"], entry.get("variables"))
                context = execution._context(entry["at"])
                stored[fiber.id] = advance(program, fiber, event, context).fiber
        execution.fibers.update(
            {id: fiber for id, fiber in stored.items() if fiber.outcome is None}
        )
        execution.updates = handlers(execution.fibers.values())
        execution.events = last_event(program, stored.values())
        for fiber in list(execution.fibers.values()):
            if isinstance(fiber.wait, Joining):
                execution._forks.rejoin(fiber, stored, execution._context(0))
            elif fiber.wait is None:
                execution._forks.ready.append(fiber.id)
        return execution

    # --- events ------------------------------------------------------------------------------

    def begin(  # noqa: PLR0913  a start has as many sides
        self,
        value: JSON,
        now_ms: int,
        *,
        pc: int = 0,
        frames: Frames = (),
        told: tuple[Message, ...] = (),
        later: bool = False,
        continues: str = "",
    ) -> Changes:
        """Starts it, at `pc` with `frames` if it is a part of another execution.

        It has been `told` these messages before its first instruction. With `later` no instruction runs before the
        first `proceed`. `continues` is the run before it in its chain.
        """
        root = Fiber(id=ROOT, pc=pc, value=value, frames=(*bottom_of(self.program), *frames))
        self._forks.add(root)
        started = {**self._narrated(ROOT, Started(frames)), **deadlines_told(frames)}
        started |= {"continues": continues} if continues else {}
        for message in told:
            self.inbox = self.inbox or Inbox()
            self.inbox.put(message)
        changes = Changes() if later else self.proceed(now_ms)
        changes.fibers.setdefault(ROOT, root)
        changes.entries[:0] = [
            Entry(now_ms, ROOT, NO_TURN, history.EXECUTION_STARTED, started, value),
            *[received(message, now_ms, with_start=True) for message in told],
        ]
        return self._concluded(changes)

    def deliver(self, fiber: str, event: Event, now_ms: int) -> Changes:
        """Delivers `event` to `fiber`, and the events for other fibers that follow from it."""
        changes = Changes()
        self._deliver([(fiber, event)], changes, self._context(now_ms))
        return self._concluded(changes)

    def tell(self, message: Message, now_ms: int) -> Changes:
        """Takes a message into its inbox; the fiber that it satisfies, if it does, hears it at once.

        Stale if a message with its id has come before.
        """
        self.inbox = self.inbox or Inbox()
        if message.id in self.inbox.ids:
            return Changes(stale=True)
        self.inbox.put(message)
        changes = Changes(entries=[received(message, now_ms)])
        heard = arrives(self.inbox, self.fibers.values(), self.program, message)
        self._deliver(heard, changes, self._context(now_ms))
        return self._concluded(changes)

    def proceed(self, now_ms: int) -> Changes:
        """Runs the fibers that are ready, up to the share of instructions for one turn."""
        changes = Changes()
        context = self._context(now_ms)
        share = self.limits.instructions
        ready, ran = self._forks.ready, 0
        while ran < len(ready) and share > 0:
            fiber = ready[ran]
            ran += 1
            if fiber in self.fibers:  # it may have been cancelled meanwhile
                share -= self._deliver([(fiber, Continued())], changes, context)
        del ready[:ran]
        changes.stale = False
        return self._concluded(changes)

    def stretched(self, stretch: Stretch, transition: Transition) -> Changes:
        """Applies the transition of a stretch. Stale if the fiber, or a numbered history, has changed since."""
        before, context, changes = stretch.fiber, stretch.context, Changes()
        changes.stale = self.fibers.get(before.id) is not before or self.events != context.events
        if not changes.stale:
            self._keep(Continued(), before, transition, changes)
            self._deliver(self._follow(transition, changes, context.now_ms), changes, context)
        return self._concluded(changes)

    def cancel(self, now_ms: int) -> Changes:
        """Asks it to stop: actions under way are abandoned, finalizers and compensations run."""
        changes = self.deliver(ROOT, Cancelled(), now_ms)
        if not changes.stale:
            changes.entries.insert(0, Entry(now_ms, ROOT, NO_TURN, history.CANCEL_REQUESTED))
        return changes

    def terminate(self, now_ms: int, **about: JSON) -> Changes:
        """Ends it as cancelled, at once: no finalizer runs. `about` are the members of its error, if it has any."""
        changes = Changes(stale=not self.fibers)
        if changes.stale:
            return changes
        self._closed(0, _ENDED, changes, now_ms)
        for fiber in self.fibers.values():
            if isinstance(fiber.wait, Invoking):
                changes.commands.append((fiber.id, Abandon(fiber.turn, fiber.wait.ticket)))
        for parent in self._forks.joins:
            changes.entries += self._counted(parent, now_ms)
        ended = Failure(CANCELLED, about) if about else failure(CANCELLED, "terminated")
        left = remains(self.program, self.fibers.get(ROOT))
        self._end(Fiber(id=ROOT, pc=NOWHERE, value=None, frames=left), ended, changes, now_ms)
        return self._concluded(changes)

    def hand_over(self, next: str, now_ms: int) -> Changes:
        """Ends it: the run `next` of its chain goes on in its place. See `composer.machine.chains`.

        The caller waits until the updates that it has accepted are answered.
        """
        changes, before = Changes(), self.fibers[ROOT]
        root = Fiber(id=ROOT, pc=NOWHERE, value=None, frames=remains(self.program, before))
        detail: dict[str, JSON] = {"next": next}
        if self.inbox is not None and (numbers := self.inbox.drop_all()):
            detail["messages"] = numbers
        self._stop(root, Success({"executionId": next}), changes)
        kind = history.EXECUTION_CONTINUED
        changes.entries.append(Entry(now_ms, ROOT, before.turn, kind, detail))
        return self._concluded(changes)

    def redrive(
        self,
        now_ms: int,
        kind: str = history.EXECUTION_REDRIVEN,
        about: dict[str, JSON] | None = None,
        value: JSON = history.NOTHING,
        began: Mapping[tuple[str, int], int] | None = None,
    ) -> Changes:
        """Continues from where it stands, as another generation, which an entry of this kind begins.

        Fibers that wait for messages hear what is left; `began` are the entries after which they may have begun.
        See `composer.redrive` and `composer.reset`.
        """
        self.generation += 1
        self._held.clear()
        for join in self._forks.joins.values():
            join.reset_passed_over()
        narrated = self._narrated(ROOT, Redriven(self.generation))
        changes = Changes(
            entries=[Entry(now_ms, ROOT, NO_TURN, kind, {**narrated, **(about or {})}, value)]
        )
        for name, fiber in self.fibers.items():
            self.fibers[name] = fiber.refreshed(now_ms)
        self.fibers[ROOT] = replace(self.fibers[ROOT], event=self.events)
        for name, command in self.pending(now_ms):
            cursor = Cursor(self.fibers[name], self.program.instructions, self._context(now_ms))
            changes.commands.append((name, command))
            note_again(cursor, command, self.program.dialect.narrate(AskedAgain(cursor)).events)
            changes.entries += cursor.entries
            self.events = cursor.events
            self.fibers[name] = replace(self.fibers[name], event=cursor.event)
        changes.fibers = dict(self.fibers)
        changes.commands += acquire_again(self.program, self.fibers.values())
        if self.inbox is not None:
            self.inbox.put_again()
            for fiber in waiting(self.fibers.values()):
                if self.fibers.get(fiber.id) is fiber:
                    hear = wanted(fiber, self.program)
                    since = (began or {}).get((fiber.id, fiber.turn), 0)
                    heard = listens_again(self.inbox, fiber, hear, since, changes, now_ms)
                    self._deliver(heard, changes, self._context(now_ms))
        return self._concluded(changes)

    def pass_over(self, member: str, now_ms: int) -> Changes:
        """For a redrive, which keeps this failed member: the next one starts where it had ended.

        The failed members of a map that waits for all are continued at once, even if they are more than the
        map's concurrency; no other member starts until they are fewer.
        """
        self._forks.pass_over(member)
        return self.proceed(now_ms)

    def finish(self, outcome: Outcome, now_ms: int) -> Changes:
        """Ends it with the outcome that a redrive has found: no step is left to run."""
        self.generation += 1
        changes = Changes(entries=[Entry(now_ms, ROOT, NO_TURN, history.EXECUTION_REDRIVEN)])
        self._end(Fiber(id=ROOT, pc=NOWHERE, value=None), outcome, changes, now_ms)
        return self._concluded(changes)

    def resume(
        self, now_ms: int, event: Resumed | Resolved | None = None, fiber: str | None = None
    ) -> Changes:
        """Lets the paused fibers, or one of them, go on: to try again, or as the event says.

        Stale if no fiber is paused.
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
        return self._concluded(changes)

    def release(self, fiber: str) -> Changes:
        """Returns the changes that were held back of a fiber that had only begun, because more depends on it now."""
        if fiber not in self._held:
            return Changes()
        return Changes(fibers={fiber: self.fibers[fiber]}, entries=self._held.pop(fiber))

    # --- the fold ----------------------------------------------------------------------------

    def _context(self, now_ms: int) -> Context:
        room = self._most - self.entries
        return Context(self.id, now_ms, self.limits, self.generation, self.events, room)

    def _narrated(self, fiber: str, moment: Moment) -> dict[str, JSON]:
        """The detail that the program's language adds to the entry about a moment of this fiber."""
        narration = self.program.dialect.narrate(moment)
        detail = dict(narration.detail)
        numbered: list[JSON] = []
        standing = self.fibers.get(fiber)
        before = standing.event if standing is not None else 0
        for type, about in narration.events:
            self.events += 1
            numbered.append([self.events, before, type, about])
            before = self.events
        return {**detail, "events": numbered} if numbered else detail

    def _concluded(self, changes: Changes) -> Changes:
        if changes.outcome is not None:
            changes.fibers.clear()
            changes.dropped.clear()
            self._forks.clear()
            self._held.clear()
            self._overlong.clear()
        if self.inbox is not None:
            changes.messages = self.inbox.flush() or changes.messages
        if self.entries + len(changes.entries) >= self._long > self.entries:
            warn(changes, self.entries, self.limits.entries)
        changes.more = bool(self._forks.ready)
        changes.stretches = bool(self._overlong)
        return changes

    def _deliver(self, events: Iterable[Delivery], changes: Changes, context: Context) -> int:
        """Delivers events from fiber to fiber, in a loop because joins nest. Counts instructions and new fibers."""
        ran, ready, numbers = 0, len(self._forks.ready), self.program.dialect.numbers
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
        return ran + len(self._forks.ready) - ready

    def _follow(self, transition: Transition, changes: Changes, now_ms: int) -> list[Delivery]:
        """Applies a transition. Returns the events that it has for other fibers."""
        after = transition.fiber
        work: list[Delivery] = []
        self.fibers[after.id], self.events = after, transition.events
        for command in transition.commands:
            if type(command) is Invoke:
                changes.commands.append((after.id, command))
            else:
                work += self._obey(after, command, changes, now_ms)
        if not transition.stale:
            self._overlong.pop(after.id, None)
        if after.outcome is not None:
            work += self._ended(after, after.outcome, changes, now_ms)
        elif transition.overlong:
            self._overlong[after.id] = now_ms
        elif after.wait is None and not transition.stale:
            self._forks.ready.append(after.id)
        return work

    def _obey(
        self, fiber: Fiber, command: Command, changes: Changes, now_ms: int
    ) -> list[Delivery]:
        """Carries out a command that concerns this execution. Returns the events that follow from it."""
        match command:
            case Fork():
                return self._forks.fork(fiber, command.items, self.room)
            case CancelMembers():
                return self._forks.cancel(fiber)
            case Rebind():
                return self._forks.rebind(fiber)
            case Listen():
                hear = wanted(fiber, self.program)
                inbox = self.inbox
                return [] if inbox is None else listens(inbox, fiber, hear, changes, now_ms)
            case CloseUpdates():
                self._closed(command.depth, _LEFT, changes, now_ms)
            case _:
                changes.commands.append((fiber.id, command))
        return []

    def _keep(self, event: Event, before: Fiber, transition: Transition, changes: Changes) -> None:
        """Adds to `changes` what must be stored of a transition: nothing yet of a fiber that has only begun.

        Nothing is held back where events are numbered: no number is given twice.
        """
        after, numbered = transition.fiber, self.program.dialect.numbers
        begun = not isinstance(event, Cancelled) and has_only_begun(before, after)
        begun = begun and after.id not in self.updates  # no join starts a handler again
        if begun and not numbered:
            self._held[after.id] = transition.entries
            return
        held = self._held.pop(after.id, None)
        full = self.entries + len(transition.entries) >= self._most  # which a restart does not know
        if numbered or held is not None or full or not told_by_history(before, event, after):
            changes.fibers[after.id] = after
        changes.entries += held or ()
        changes.entries += transition.entries

    def _ended(
        self, fiber: Fiber, outcome: Outcome, changes: Changes, now_ms: int
    ) -> list[Delivery]:
        del self.fibers[fiber.id]
        if fiber.id == ROOT:
            self._end(fiber, outcome, changes, now_ms)
            return []
        if fiber.id in self.updates:
            return self._handled(fiber, outcome, changes, now_ms)
        parent_id, turn, index = parent_of(fiber.id)
        if isinstance(outcome, Failure) and outcome.code != CANCELLED:
            parent = self.fibers[parent_id]
            detail: dict[str, JSON] = {**outcome.detail, "origin": fiber.origin}
            failed = MemberFailed(self.program.instructions[parent.pc - 1], index, parent.frames)
            detail |= self._narrated(parent_id, failed)
            entry = Entry(
                now_ms, fiber.id, fiber.turn, history.BRANCH_FAILED, detail, outcome.error
            )
            changes.entries.append(entry)
        join, cancelled = self._forks.end(fiber, outcome)
        if not join.over:
            return cancelled
        changes.entries += self._counted(parent_id, now_ms)
        del self._forks.joins[parent_id]
        changes.dropped.append((parent_id, turn))
        members = member_id(parent_id, turn, 0)[:-1]
        for name in [name for name in changes.fibers if name.startswith(members)]:
            del changes.fibers[name]
        joined = Joined(turn, join.outcome(), join.steps, join.logs, join.members)
        return [(parent_id, joined)]

    def _counted(self, parent: str, now_ms: int) -> list[Entry]:
        join, turn = self._forks.joins[parent], self.fibers[parent].turn
        if not join.counted:
            return []
        return [Entry(now_ms, parent, turn, history.CHILDREN_ENDED, {**join.tally})]

    def _stop(self, root: Fiber, outcome: Outcome, changes: Changes) -> None:
        changes.outcome = outcome
        self.fibers[ROOT] = root
        self.last = last_state(root, outcome) or self.last

    def _end(self, root: Fiber, outcome: Outcome, changes: Changes, now_ms: int) -> None:
        self._closed(0, _ENDED, changes, now_ms)
        self._stop(root, outcome, changes)
        if self.inbox is not None:
            changes.entries += closed(self.inbox, now_ms)
        detail = self._narrated(ROOT, Ended(outcome))
        changes.entries.append(ending(root, outcome, detail, now_ms))
