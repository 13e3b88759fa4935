"""Redrive: continues a failed or cancelled execution from the steps that failed.

Its history is replayed: a fresh execution receives the recorded events in order, without the failures that
ended it. The machine is a pure function, so the execution then stands where the failed steps were asked
for, and everything that was done stays done. Another program can take its place if it asks for the same
steps up to there; otherwise the redrive is refused, so that no step runs twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import Error
from ..values import Success
from . import history
from .dialect import Started
from .events import Completed, Event, Failed, Resolved, Resumed
from .execution import Execution
from .fiber import ROOT, Fiber
from .inbox import Message
from .instructions import Invoke as InvokeInstruction
from .waits import Invoking, Paused, Sleeping

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..values import JSON, Outcome
    from .changes import Changes
    from .cursor import Limits
    from .history import StoredEntry
    from .program import Program

_ENDED = (history.EXECUTION_SUCCEEDED, history.EXECUTION_FAILED, history.EXECUTION_CANCELLED)


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
    execution = Execution(id, program, replace(limits, at_once=None))
    ended: dict[str, Fiber] = {}
    started = program.dialect.replayed(entries[0])
    frames = started.frames if isinstance(started, Started) else ()
    told = tuple(
        _message(number, entry) for number, entry in enumerate(entries, 1) if "start" in entry
    )
    begun = execution.begin(entries[0]["value"], entries[0]["at"], frames=frames, told=told)
    outcome = _proceed(execution, begun, entries[0]["at"], ended)
    generations = list(_generations(entries))
    last = generations[-1][-1]["type"]
    if last not in _ENDED or last == history.EXECUTION_SUCCEEDED:
        state = "has succeeded" if last in _ENDED else "is still under way"
        raise RedriveError(
            f"execution {id} {state}: only a failed or cancelled one can be redriven"
        )
    if any(entry["type"] == history.COMPENSATION_STARTED for entry in generations[-1]):
        raise RedriveError(
            f"execution {id} is a saga that has been undone, so no step is left to continue: invoke it again"
        )
    first = 1
    for number, generation in enumerate(generations):
        if number:
            execution.events = _events(generations[number - 1])
            execution.redrive(generation[0]["at"])
        outcome = _replay(execution, generation, program, ended, first) or outcome
        first += len(generation)
    execution.events, execution.limits = _events(entries), limits
    if isinstance(outcome, Success):
        return execution, execution.finish(outcome, now_ms)
    if not execution.fibers:
        raise RedriveError(
            f"execution {id} failed by its program, not in a step, so it would fail again. "
            "Redrive it with a program that decides otherwise"
        )
    changes = execution.redrive(now_ms)
    changes.fibers |= ended  # their joins are not over: a restart needs their outcomes
    return execution, changes


def _events(entries: Sequence[StoredEntry]) -> int:
    """The number of the last event, in a history that numbers them."""
    return max((event[0] for entry in entries for event in entry.get("events", ())), default=0)


def _generations(entries: Sequence[StoredEntry]) -> Iterator[Sequence[StoredEntry]]:
    """The history, cut before each redrive."""
    start = 0
    for at, entry in enumerate(entries):
        if entry["type"] == history.EXECUTION_REDRIVEN:
            yield entries[start:at]
            start = at
    yield entries[start:]


def _replay(
    execution: Execution,
    entries: Sequence[StoredEntry],
    program: Program,
    ended: dict[str, Fiber],
    first: int,
) -> Outcome | None:
    """Delivers the recorded events; `first` is the number of the first entry. Returns the outcome, if the execution ends."""
    outcome: Outcome | None = None
    culprits = _culprits(entries)
    targets: dict[tuple[str, int], JSON] = {}
    broken = False  # entries after the failure may belong to a finalizer, which does not run now
    for number, entry in enumerate(entries, first):
        place = (entry["fiber"], entry["turn"])
        if entry["type"] == history.STEP_SCHEDULED:
            targets[place] = entry.get("action")
        elif entry["type"] == history.MESSAGE_RECEIVED:
            outcome = _tell(execution, _message(number, entry), entry, ended)
        elif entry["type"] == history.BRANCH_FAILED:
            if (entry["fiber"], entry["origin"]) in culprits and entry["fiber"] in execution.fibers:
                changes = execution.pass_over(entry["fiber"], entry["at"])
                outcome = _proceed(execution, changes, entry["at"], ended)
        elif place in culprits or entry["type"] == history.CANCEL_REQUESTED:
            broken = True
        elif (event := program.dialect.replayed(entry)) is not None and not isinstance(
            event, Started
        ):
            fiber = execution.fibers.get(entry["fiber"])
            if fiber is None or not _waits_for(fiber, event):
                if not broken:
                    raise RedriveError(_divergence(entry, "does not wait for it"))
                continue
            _check_target(program, (fiber, event), entry, targets.get(place))
            changes = execution.deliver(entry["fiber"], event, entry["at"])
            outcome = _proceed(execution, changes, entry["at"], ended)
    return outcome


def _message(number: int, entry: StoredEntry) -> Message:
    return Message(number, entry["name"], entry.get("id", ""), entry["value"])


def _tell(
    execution: Execution, message: Message, entry: StoredEntry, ended: dict[str, Fiber]
) -> Outcome | None:
    """Tells the execution a message again, unless it has come with the start."""
    if "start" in entry:
        return None
    return _proceed(execution, execution.tell(message, entry["at"]), entry["at"], ended)


def _proceed(
    execution: Execution, changes: Changes, at_ms: int, ended: dict[str, Fiber]
) -> Outcome | None:
    """Runs as far as possible; `ended` keeps the ended branches of joins that are not over."""
    _keep(ended, changes)
    while changes.more:
        changes = execution.proceed(at_ms)
        _keep(ended, changes)
    return changes.outcome


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


def _waits_for(fiber: Fiber, event: Event) -> bool:
    match event:
        case Completed(turn=turn) | Failed(turn=turn):
            return isinstance(fiber.wait, Invoking) and fiber.turn == turn
        case Resumed() | Resolved():
            return isinstance(fiber.wait, Paused)
        case _:
            return isinstance(fiber.wait, Sleeping) or fiber.due_ms is not None


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
