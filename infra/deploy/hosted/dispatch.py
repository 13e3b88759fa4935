"""The messages that follow a commit: planned before it and stored with it, sent after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from .changes import timers
from .messages import (
    begun_part,
    begun_step,
    carried,
    invocation_of,
    timer_note,
)
from .ports import Invocation, Note
from .records import About, Answered, Cancel, GoOn, Message, TimerDue

if TYPE_CHECKING:
    from ....composer import JSON, Invoke
    from .execution_state import ExecutionState
    from .ports import Clock, Deployed, Outbox, Record

Place: TypeAlias = "tuple[str, int]"
"""A fiber and its turn."""


class Dispatch:
    """Plans and sends the messages of executions.

    Args:
        deployed: the bundle.
        outbox: takes the messages.
        clock: the time.
        longest_s: the longest delay of a message.
    """

    def __init__(self, deployed: Deployed, outbox: Outbox, clock: Clock, longest_s: int) -> None:
        self._deployed, self._outbox, self._clock = deployed, outbox, clock
        self._longest_s = longest_s

    def planned(self, state: ExecutionState, now_ms: int) -> list[JSON]:
        """The messages to send after this commit, in short: they do not repeat the state."""
        record, outcome = state.record, state.gathered.outcome
        notes: list[Message] = [begun_part(record, command) for command in state.spawned]
        notes += [
            Cancel(execution=command.activation)
            for command in state.abandoned
            if command.action in self._deployed.programs
        ]
        if outcome is None and state.more:
            notes.append(GoOn(execution=record.id))
        sends: list[JSON] = [{"note": note.to_json()} for note in notes]
        if outcome is not None:
            if About.from_json(record.about).reply is not None:
                sends.append({"reply": True})
            return sends
        sends += [{"invoke": fiber, "turn": command.turn} for fiber, command in state.issued()]
        sends += [
            {"timer": fiber, "at": at}
            for fiber, at in timers(state)
            if at - now_ms <= self._longest_s * 1000  # the sweep finds the others
        ]
        return sends

    def send(
        self, record: Record, version: int, sends: list[JSON], commands: dict[Place, Invoke]
    ) -> None:
        """Sends a version's messages as `planned` gave them; invocations that `commands` lacks are left out."""
        now_ms = self._clock.now_ms()
        made: list[Invocation | Note] = []
        for at_send, send in enumerate(sends):
            key = f"{record.id}/{version}/{at_send}"
            match send:
                case {"note": dict(message)}:
                    made.append(Note(message=message, key=key))
                case {"reply": True} if token := About.from_json(record.about).reply:
                    answer = Answered(token=token, outcome=record.outcome)
                    made.append(Note(message=answer.to_json(), key=key))
                case {"timer": str(fiber), "at": int(at)}:
                    timer = TimerDue(execution=record.id, fiber=fiber, at_ms=at)
                    made.append(replace(timer_note(timer, now_ms, self._longest_s), key=key))
                case {"invoke": str(fiber), "turn": int(turn)} if (fiber, turn) in commands:
                    step = self._invocation(record, fiber, commands[fiber, turn], now_ms)
                    made.append(replace(step, key=key))
        if len(made) == 1 and isinstance(invocation := made[0], Invocation):
            # It can take the state along: the table knows of nothing else that is under way.
            state = carried(record, invocation)
            if state is not None:
                invocation.message["carried"] = state
        self._outbox.send(made)

    def _invocation(
        self, record: Record, fiber: str, command: Invoke, now_ms: int
    ) -> Invocation | Note:
        """The message of a step: it invokes an action, or begins a nested execution."""
        name = command.action or ""
        if name not in self._deployed.programs:
            settings = self._deployed.actions[name]
            return invocation_of(record, fiber, command, settings, now_ms)
        return Note(message=begun_step(record, fiber, command).to_json())
