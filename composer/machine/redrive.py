"""Redrive: continues a failed or cancelled execution from the steps that failed.

Its history is replayed: a fresh execution receives the recorded events in order, without the failures that
ended it. The machine is a pure function, so the execution then stands where the failed steps were asked
for, and everything that was done stays done. A message is heard by the fiber that heard it; what is left is heard
afterwards, by fibers that wait again. Another program can take its place if it asks for the same
steps up to there; otherwise the redrive is refused, so that no step runs twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Error
from ..freezing import changed
from ..values import Success
from . import history
from .dialect import Started
from .emitting import Emissions
from .events import Acquired, Completed, Event, Failed, Heard
from .execution import Execution
from .fiber import ROOT, Fiber
from .frames import Attempts
from .instructions import Invoke as InvokeInstruction
from .listening import wanted
from .recorded import MESSAGES, TIMERS, UPDATES, Post, as_timed
from .serving import Update
from .timeouts import deadlines_of
from .waits import Acquiring, Hearing, Invoking, Paused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..values import JSON, Outcome
    from .changes import Changes
    from .cursor import Limits
    from .history import StoredEntry
    from .program import Program

_ENDED = (history.EXECUTION_SUCCEEDED, history.EXECUTION_FAILED, history.EXECUTION_CANCELLED)


class Replayed(NamedTuple):
    """A replayed execution, its outcome if it has one, and the ended members of joins that are not over.

    `began` are, by fiber and turn, the numbers of the entries after which a wait for messages may have begun.
    """

    execution: Execution
    outcome: Outcome | None
    ended: dict[str, Fiber]
    began: dict[tuple[str, int], int]
    emissions: Emissions


class RedriveError(Error):
    """An execution that cannot be redriven; the text gives the reason."""


def redrive(
    id: str, program: Program, entries: Sequence[StoredEntry], limits: Limits, now_ms: int
) -> tuple[Execution, Changes]:
    """The execution, standing at the steps that failed, and the changes that take it up again.

    Args:
        id: of the execution.
        program: the program that it ran, or another that agrees with the recorded steps.
        entries: its whole history, in order, as `Entry.to_json` wrote it, with values in place.
        limits: the machine's.
        now_ms: deadlines and attempts count from here.

    Raises:
        RedriveError: when it has not ended, has succeeded, or does not agree with the program.
    """
    last = entries[-1]["type"]
    if last not in _ENDED or last == history.EXECUTION_SUCCEEDED:
        state = "has succeeded" if last in _ENDED else "is still under way"
        raise RedriveError(
            f"execution {id} {state}: only a failed or cancelled one can be redriven"
        )
    *_, latest = _generations(entries)
    if any(entry["type"] == history.COMPENSATION_STARTED for entry in latest):
        raise RedriveError(
            f"execution {id} is a saga that has been undone, so no step is left to continue: invoke it again"
        )
    execution, outcome, ended, began, emissions = replayed(id, program, entries, limits)
    if isinstance(outcome, Success):
        changes = execution.finish(outcome, now_ms)
        emissions.add_to(changes, now_ms)
        return execution, changes
    if not execution.fibers:
        raise RedriveError(
            f"execution {id} failed by its program, not in a step, so it would fail again. "
            "Redrive it with a program that decides otherwise"
        )
    changes = with_ended(execution.redrive(now_ms, began=began), ended)
    emissions.add_to(changes, now_ms)
    return execution, changes


def replayed(id: str, program: Program, entries: Sequence[StoredEntry], limits: Limits) -> Replayed:
    """The execution after the recorded events, but for the failures that have ended it.

    Raises:
        RedriveError: when the program does not agree with the recorded steps.
    """
    execution = Execution(id, program, replace(limits, at_once=None))
    parts = [*_generations(entries)]
    replay = _Replay(execution, Emissions(parts))
    started = program.dialect.replayed(entries[0])
    frames = started.frames if isinstance(started, Started) else ()
    frames = (*deadlines_of(entries[0]), *frames)
    begun = execution.begin(entries[0]["value"], entries[0]["at"], frames=frames)
    outcome = replay.proceed(begun, entries[0]["at"])
    first = 1
    before: Sequence[StoredEntry] = ()
    for replay.emissions.part, generation in enumerate(parts):
        if before:
            execution.events = _events(before)
            exchange(execution, generation[0])
            execution.redrive(generation[0]["at"])
        outcome = replay.generation(generation, first) or outcome
        first, before = first + len(generation), generation
    execution.events, execution.limits = _events(entries), limits
    execution.inbox = replay.post.inbox()
    return Replayed(execution, outcome, replay.ended, replay.began, replay.emissions)


def with_ended(changes: Changes, ended: dict[str, Fiber]) -> Changes:
    """The changes that take an execution up, with the ended members of joins that are not over: a restart needs them."""
    _keep(ended, changes)
    if changes.outcome is None:
        changes.fibers |= ended
    return changes


def exchange(execution: Execution, entry: StoredEntry) -> None:
    """Gives the step that a fork names its other input, which the attempts that follow start from as well."""
    if "value" not in entry:
        return
    fiber, value = execution.fibers[entry["step"]], entry["value"]
    frames = fiber.frames
    if frames and type(frames[-1]) is Attempts:
        frames = (*frames[:-1], changed(frames[-1], value=value))
    execution.fibers[fiber.id] = changed(fiber, value=value, frames=frames)


def _events(entries: Sequence[StoredEntry]) -> int:
    """The number of the last event, in a history that numbers them."""
    return max((event[0] for entry in entries for event in entry.get("events", ())), default=0)


def _generations(entries: Sequence[StoredEntry]) -> Iterator[Sequence[StoredEntry]]:
    """The history, cut before each redrive."""
    start = 0
    for at, entry in enumerate(entries):
        if entry["type"] in history.TAKEN_UP and at:
            yield entries[start:at]
            start = at
    yield entries[start:]


class _Replay:
    """The execution that is replayed, its messages, and the ended branches of joins that are not over."""

    __slots__ = ("began", "emissions", "ended", "execution", "number", "post", "settled")

    def __init__(self, execution: Execution, emissions: Emissions) -> None:
        self.execution, self.emissions = execution, emissions
        self.number = 1  # of the entry that is replayed
        self.began: dict[tuple[str, int], int] = {}
        self.post = Post()
        self.ended: dict[str, Fiber] = {}
        self.settled: dict[str, Outcome] = {}  # of updates, by id

    def generation(self, entries: Sequence[StoredEntry], first: int) -> Outcome | None:
        """Delivers the recorded events; `first` is the number of the first entry. Returns the outcome, if the execution ends."""
        outcome: Outcome | None = None
        culprits = _culprits(entries)
        targets: dict[tuple[str, int], JSON] = {}
        broken = (
            False  # entries after the failure may belong to a finalizer, which does not run now
        )
        for self.number, entry in enumerate(entries, first):
            place = (entry["fiber"], entry["turn"])
            if entry["type"] == history.EMITTED:
                continue  # see `Emissions`; its turn may be one of an earlier generation
            if entry["type"] == history.STEP_SCHEDULED:
                targets[place] = entry.get("action")
            elif entry["type"] in UPDATES:
                outcome = self._update(entry, broken=broken) or outcome
            elif entry["type"] in MESSAGES:
                outcome = self._message(entry, broken=broken) or outcome
            elif entry["type"] == history.BRANCH_FAILED:
                if (entry["fiber"], entry["origin"]) in culprits:
                    outcome = self._pass_over(entry) or outcome
            elif place in culprits or entry["type"] == history.CANCEL_REQUESTED:
                broken = True
            else:
                event = self.execution.program.dialect.replayed(entry)
                if event is not None and not isinstance(event, Started):
                    made = self._event(event, entry, targets.get(place), broken=broken)
                    outcome = made or outcome
        return outcome

    def _pass_over(self, entry: StoredEntry) -> Outcome | None:
        if entry["fiber"] not in self.execution.fibers:
            return None
        return self.proceed(self.execution.pass_over(entry["fiber"], entry["at"]), entry["at"])

    def _message(self, entry: StoredEntry, *, broken: bool) -> Outcome | None:
        """A message came, was dropped or was heard."""
        fiber = self.execution.fibers.get(entry["fiber"])
        hears = fiber is not None and _hears(fiber, entry)
        if entry["type"] == history.MESSAGE_RECEIVED:
            self.post.put(self.number, entry)
        elif entry["type"] == history.MESSAGE_DROPPED:
            if entry["why"] == "early" and (hears or not broken):
                self.post.drop(entry["messages"])
        elif fiber is not None and hears:
            want = wanted(fiber, self.execution.program).want
            messages = self.post.take(entry["messages"], want)
            if messages is None:
                raise RedriveError(_divergence(entry, "waits for other messages"))
            return self._deliver(Heard(entry["turn"], messages), entry)
        elif not broken:
            raise RedriveError(_divergence(entry, "does not wait for it"))
        return None

    def _update(self, entry: StoredEntry, *, broken: bool) -> Outcome | None:
        """An update was accepted, or ended: then it has ended in the replay, too, or is given up now."""
        machine, id = self.execution, entry["update"]
        root = machine.fibers.get(ROOT)
        if entry["type"] == history.UPDATE_ACCEPTED:
            changes = machine.update(Update(id, entry["name"], entry["value"]), entry["at"])
            moved = root is None or root.turn != entry["turn"]
            if not broken and (changes.stale or moved):
                raise RedriveError(_divergence(entry, "stands elsewhere"))
            return None if changes.stale else self.proceed(changes, entry["at"])
        settled = self.settled.get(id)
        fiber = next((f for f, asked in machine.updates.items() if asked.update == id), None)
        if entry["type"] == history.UPDATE_COMPLETED:
            if not broken and settled != Success(entry["value"]):
                raise RedriveError(_divergence(entry, "gives another answer"))
            return None
        if isinstance(settled, Success) and not broken:
            raise RedriveError(_divergence(entry, "answers it"))
        if fiber is not None:
            return self.proceed(machine.withdraw(fiber, entry["at"]), entry["at"])
        return None

    def _event(
        self, event: Event, entry: StoredEntry, target: JSON, *, broken: bool
    ) -> Outcome | None:
        fiber = self.execution.fibers.get(entry["fiber"])
        if fiber is not None:
            fiber = _waiting_for(fiber, event, entry)
        if fiber is None:
            if not broken:
                raise RedriveError(_divergence(entry, "does not wait for it"))
            return None
        _check_target(self.execution.program, (fiber, event), entry, target)
        self.execution.fibers[fiber.id] = fiber
        return self._deliver(event, entry)

    def _deliver(self, event: Event, entry: StoredEntry) -> Outcome | None:
        changes = self.execution.deliver(entry["fiber"], event, entry["at"])
        return self.proceed(changes, entry["at"])

    def proceed(self, changes: Changes, at_ms: int) -> Outcome | None:
        """Runs as far as possible."""
        self._keep(changes)
        while changes.more:
            changes = self.execution.proceed(at_ms)
            self._keep(changes)
        return changes.outcome

    def _keep(self, changes: Changes) -> None:
        _keep(self.ended, changes)
        self.emissions.keep(changes)
        self.settled |= {each.id: each.outcome for each in changes.updates}
        for name, fiber in changes.fibers.items():
            if isinstance(fiber.wait, Hearing):
                self.began.setdefault((name, fiber.turn), self.number)


def _keep(ended: dict[str, Fiber], changes: Changes) -> None:
    ended |= {name: fiber for name, fiber in changes.fibers.items() if fiber.outcome is not None}
    for parent, turn in changes.dropped:
        for name in [name for name in ended if name.startswith(f"{parent}/{turn}.")]:
            del ended[name]


def _culprits(entries: Sequence[StoredEntry]) -> set[tuple[str, int]]:
    """The waits whose failure ended the execution: the root's, and those of branches behind a join."""
    ended = entries[-1]
    found: set[tuple[str, int]] = set()
    if ended["type"] != history.EXECUTION_FAILED or ended["origin"] is None:
        return found
    branches = {e["fiber"]: e["origin"] for e in entries if e["type"] == history.BRANCH_FAILED}
    left = [(ROOT, ended["origin"])]
    while left:
        fiber, turn = left.pop()
        found.add((fiber, turn))
        members = f"{fiber}/{turn}."
        left += [
            (name, origin)
            for name, origin in branches.items()
            if name.startswith(members) and "/" not in name[len(members) :] and origin is not None
        ]
    return found


def _waiting_for(fiber: Fiber, event: Event, entry: StoredEntry) -> Fiber | None:
    """The fiber, if it waits for the recorded event: as it was when it came."""
    if entry["type"] in TIMERS:
        return as_timed(fiber, entry)
    match event:
        case Completed(turn=turn) | Failed(turn=turn):
            waits = isinstance(fiber.wait, Invoking) and fiber.turn == turn
        case Acquired(turn=turn):
            waits = isinstance(fiber.wait, Acquiring) and fiber.turn == turn
        case _:
            waits = isinstance(fiber.wait, Paused)
    return fiber if waits else None


def _hears(fiber: Fiber, entry: StoredEntry) -> bool:
    return isinstance(fiber.wait, Hearing) and fiber.turn == entry["turn"]


def _check_target(
    program: Program, delivery: tuple[Fiber, Event], entry: StoredEntry, recorded: JSON
) -> None:
    """Raises RedriveError if the event is the result of another action than the program asks for there."""
    fiber, event = delivery
    if not isinstance(event, Completed | Failed):
        return
    instruction = program.instructions[fiber.pc - 1]
    wanted = instruction.action if isinstance(instruction, InvokeInstruction) else None
    if wanted is not None and recorded is not None and wanted != recorded:
        raise RedriveError(_divergence(entry, f"asks for {wanted} where {recorded} is done"))


def _divergence(entry: StoredEntry, why: str) -> str:
    return (
        f"the program does not agree with the recorded steps: at {entry['type']} of fiber "
        f"{entry['fiber']}, turn {entry['turn']}, it {why}. Start a new execution instead"
    )
