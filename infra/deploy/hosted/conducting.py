"""The conductor inside a cloud function: `composer.Execution` between a table and an outbox.

It lives for one message. A message is something that has happened to an execution:

    {"is": "begin", "execution", "composition", "program" & "fiber" | "params", "reply"?, "depth"}
    {"is": "completed", "token", "outcome", "carried"?}      from an action's wrapper, see `wrapping`
    {"is": "timer", "execution", "fiber", "at"}
    {"is": "again", "execution"}                             there was more to do than fits one life
    {"is": "cancel", "execution"}                            nobody waits for it any more

It advances the execution, writes the next version of it under the condition that the version before is
still the last, and then sends what the fibers have asked for. A token names a wait: execution, fiber and
turn. So whatever comes twice, late or in any order:

- *before the write*: nothing has happened; the message comes again and finds the wait as it was.
- *between the write and the sends*: the version holds what it has to send, `unsent`. The message comes
  again, finds its token used up, and sends what is unsent, with the same activation ids and keys. While the
  one who wrote it may still be alive it is sent on to come later instead.
- *after the sends*: `unsent` is forgotten, and a message whose token is used up changes nothing.
- *two at once*: one write succeeds; the other reads what is there now and begins anew.

While there is one fiber, its state goes to the action with the token and comes back with the answer: a
step reads nothing and is one conditional write and one that forgets `unsent`. When there are more fibers,
or the state is large, the answer brings the token alone and the table is read: a row a fiber.

An execution goes on by the program that it began with: programs are kept in the table, by their hash.

What no message brings the sweep finds by its due time: timers beyond the longest delay of a message, what
was never sent, and steps whose answer never came. Those are asked once more with the same key, then they
have failed as timed out. An action is invoked at least once, so it may see a key twice.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from ....composer import DIALECTS, TIMEOUT, Failed, Fiber, Invoke, TimerFired, failure
from .messages import (
    LONGEST_S,
    begun_part,
    begun_step,
    carried,
    event_of,
    invocation_of,
    record_of,
    replied,
    timer_note,
)
from .ports import Invocation, Note, Record, TooLargeError
from .programs import Programs, is_program
from .states import MARGIN_MS, PATIENCE_MS, State, plain
from .views import closing, look
from .writing import change_of, excess, give_up, timers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON
    from .ports import Change, Clock, Deployed, Outbox, Table

Place: TypeAlias = "tuple[str, int]"

log = logging.getLogger(__name__)

ATTEMPTS = 20  # to write a change while others write theirs
SHARE = 100  # inline functions that run in one life, and
LIFE_MS = 10_000  # so long at most, if each is quick
TRIES = 2  # times that an action is asked before it has timed out
SOON_S = 5  # in which others have written, or begun
DELAYS = 50  # of a message by us, before it is left to its queue


def _nothing(_: State) -> bool:
    return False


class LaterError(Exception):
    """What is asked must be asked again: another conductor may be about to do what it is about."""

    def __init__(self, text: str, delay_s: int) -> None:
        super().__init__(text)
        self.delay_s = delay_s


class OtherParametersError(Exception):
    """An execution of this id has begun with other parameters."""


class Conductor:
    """Conducts the executions of a bundle.

    Args:
        deployed: what the bundle holds.
        table: where executions are kept.
        outbox: where messages go.
        clock: the time.
    """

    def __init__(self, deployed: Deployed, table: Table, outbox: Outbox, clock: Clock) -> None:
        self._deployed, self._table, self._outbox, self._clock = deployed, table, outbox, clock
        self._programs = Programs(deployed, table, clock)

    # --- what comes in -----------------------------------------------------------------------

    def begin(self, id: str, composition: str, params: dict[str, JSON]) -> None:
        """Begins an execution of a composition (`/_/name`)."""
        self._begin({"execution": id, "composition": composition, "params": params, "depth": 0})

    def join(self, id: str, composition: str, params: dict[str, JSON]) -> None:
        """Begins an execution; if there is one of this id, it is meant, however far it has come.

        Raises:
            OtherParametersError: when that one was given other parameters.
        """
        digest = sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:32]
        if not self._joined(id, digest):
            message = {"execution": id, "composition": composition, "params": params, "depth": 0}
            self._begin({**message, "given": digest})

    def _joined(self, id: str, digest: str) -> bool:
        """Whether there is an execution of this id. What it may not have sent is sent, now or a little later."""
        record = self._table.load(id)
        if record is None:
            return False
        if record.about.get("given", digest) != digest:
            raise OtherParametersError(id)
        try:
            self._mend(record)
        except (
            LaterError
        ) as later:  # whoever has begun it may be about to send its first step, or has died
            message = {"is": "again", "execution": id}
            self._outbox.send([Note(message=message, delay_s=later.delay_s)])
        return True

    def receive(self, *messages: dict[str, JSON]) -> None:
        """Does what messages say; they may be forgotten when this returns.

        Answers for one execution are one transition: of a wide fork many come at once.

        Raises:
            LaterError: they must come again; and whatever the table and the outbox raise, likewise.
        """
        answers: dict[str, list[dict[str, JSON]]] = {}
        for message in messages:
            if message["is"] == "completed":
                answers.setdefault(message["token"]["execution"], []).append(message)
            else:
                self._try([message], partial(self._do, message))
        for id, several in answers.items():
            self._try(several, partial(self._complete, id, several))

    def _try(self, messages: list[dict[str, JSON]], act: Callable[[], object]) -> None:
        """Has messages that must come again come soon, for some time; then when their queue says."""
        try:
            act()
        except LaterError as later:
            again = 1 + max(message.get("again", 0) for message in messages)
            if again > DELAYS:
                raise
            log.info("%s: it comes again in %d s", later, later.delay_s)
            self._outbox.send(
                [Note(message={**m, "again": again}, delay_s=later.delay_s) for m in messages]
            )

    def _do(self, message: dict[str, JSON]) -> None:
        match message["is"]:
            case "begin":
                self._begin(message)
            case "timer":
                self._ring(message)
            case "again":
                self._happen(message["execution"], lambda state: state.more)
            case "cancel":
                if not self.cancel(message["execution"]):
                    text = f"execution {message['execution']} is to stop, and has not begun"
                    raise LaterError(text, SOON_S)
            case unknown:
                log.error("a message is %r, which this does not know", unknown)

    def cancel(self, id: str) -> bool:
        """Asks an execution to stop: finalizers run. False when there is none.

        Raises:
            LaterError: as `receive`.
        """
        return self._happen(id, lambda state: state.cancel(self._clock.now_ms()))

    def sweep(self) -> None:
        """Does what is due and what no message will bring."""
        for id in self._table.due(self._clock.now_ms()):
            try:
                self._look_after(id)
            except Exception:
                log.exception("execution %s is not swept; the next sweep will", id)

    def look(self, id: str) -> dict[str, JSON] | None:
        """Where an execution stands, for people; None when there is none."""
        record = self._table.load(id)
        if record is None or is_program(record):
            return None
        asked = self._restored(record).asked() if record.outcome is None else []
        return look(record, {fiber: str(command.action) for fiber, command in asked})

    # --- messages ----------------------------------------------------------------------------

    def _begin(self, message: dict[str, JSON]) -> None:
        id, now_ms = message["execution"], self._clock.now_ms()
        about = {
            "composition": message["composition"],
            "program": self._programs.pinned(message),
            "started_ms": now_ms,
            "reply": message.get("reply"),
            "depth": message["depth"],
            **({"given": message["given"]} if "given" in message else {}),
        }
        is_here = partial(self._programs.answers, about)
        state = State.begun(id, self._programs.of(about), about, is_here)
        if "fiber" in message:
            part = Fiber.from_json(message["fiber"], plain, DIALECTS.frame)
            changes = state.execution.begin(part.value, now_ms, pc=part.pc, frames=part.frames)
        else:
            changes = state.execution.begin(message["params"], now_ms)
        state.take(changes)
        if self._follow(state):
            return  # else it has begun before: see that all was sent
        if "given" in message:
            self._joined(id, message["given"])
        else:
            self._happen(id, _nothing)

    def _complete(self, id: str, messages: list[dict[str, JSON]]) -> None:
        """Hands answers to an execution. Which of them are stale is only known when it has changed."""
        stale: list[dict[str, JSON]] = []

        def act(state: State) -> bool:
            stale.clear()
            for message in messages:
                token, now_ms = message["token"], self._clock.now_ms()
                event = event_of(token["turn"], message["outcome"])
                if not state.deliver(token["fiber"], event, now_ms):
                    stale.append(message)
            return len(stale) < len(messages)

        self._happen(id, act, record_of(messages[0]) if len(messages) == 1 else None)
        if stale and len(stale) < len(messages):
            self._try(stale, partial(self._happen, id, _nothing))

    def _ring(self, message: dict[str, JSON]) -> None:
        now_ms = self._clock.now_ms()
        if message["at"] > now_ms:  # queues' clocks are not ours
            note = timer_note(message["execution"], message["fiber"], message["at"], now_ms)
            self._outbox.send([note])
            return
        self._happen(
            message["execution"],
            lambda state: state.deliver(message["fiber"], TimerFired(), now_ms),
        )

    def _happen(self, id: str, act: Callable[[State], bool], record: Record | None = None) -> bool:
        """Has `act` happen to an execution, whoever else writes to it; it says False when it is stale.

        `record` is what the execution was when it was carried away: it is believed until it is refused.
        False when there is no such execution.
        """
        for _ in range(ATTEMPTS):
            record = record or self._table.load(id)
            if record is None or is_program(record):
                log.warning("execution %s is not there; what came for it is dropped", id)
                return False
            if record.outcome is not None:
                self._mend(record)
                return True
            state = self._restored(record)
            if not act(state):
                self._mend(record)
                return True
            if self._follow(state):
                return True
            record = None
        text = f"execution {id}: others were quicker {ATTEMPTS} times"
        raise LaterError(text, 1 + self._clock.now_ms() % SOON_S)

    # --- one life ----------------------------------------------------------------------------

    def _follow(self, state: State) -> bool:
        """Runs what runs here, commits, sends. False when another has written this version."""
        self._run(state)
        commands = {(fiber, step.turn): step for fiber, step in state.invokes()}
        change = self._change(state)
        try:
            saved = self._table.save(change)
        except TooLargeError as error:
            give_up(state, str(error))
            change = self._change(state)
            saved = self._table.save(change)
        if not saved:
            return False
        state.committed(change)
        if change.unsent:
            self._send(state.record, change.unsent, commands)
            self._table.sent(change.id, change.version)
        return True

    def _change(self, state: State) -> Change:
        """The next version. An execution that takes more than can be written has failed in it."""
        now_ms = self._clock.now_ms()
        sends = self._sends(state, now_ms)
        if (why := excess(state, sends)) is not None:
            give_up(state, why)
            sends = self._sends(state, now_ms)
        return change_of(state, now_ms, sends, self._patience_ms)

    def _run(self, state: State) -> None:
        """Runs what needs nobody else: inline functions, and whatever is ready."""
        until_ms = self._clock.now_ms() + LIFE_MS
        for _ in range(SHARE):
            now_ms = self._clock.now_ms()
            if state.gathered.outcome is not None or state.wide or now_ms > until_ms:
                return
            step = state.next_here()
            if step is not None:
                fiber, command = step
                answer = self._programs.answer(state.execution.program, command)
                state.deliver(fiber, answer, now_ms)
            elif state.execution.ready:
                state.take(state.execution.proceed(now_ms))
            else:
                return

    # --- sending -----------------------------------------------------------------------------

    def _sends(self, state: State, now_ms: int) -> list[JSON]:
        """What is to be sent after this commit, briefly: what the state tells is not repeated."""
        record, outcome = state.record, state.gathered.outcome
        notes = [begun_part(record, command) for command in state.spawned]
        notes += [
            {"is": "cancel", "execution": command.activation}
            for command in state.abandoned
            if command.action in self._deployed.programs
        ]
        if outcome is not None:
            reply = [{"reply": True}] if record.about["reply"] is not None else []
            return [*({"note": note} for note in notes), *reply]
        if state.more:
            notes.append({"is": "again", "execution": record.id})
        return [
            *({"note": note} for note in notes),
            *({"invoke": fiber, "turn": command.turn} for fiber, command in state.invokes()),
            *(
                {"timer": fiber, "at": at}
                for fiber, at in timers(state)
                if at - now_ms <= LONGEST_S * 1000  # the sweep finds the others
            ),
        ]

    def _send(self, record: Record, sends: list[JSON], commands: dict[Place, Invoke]) -> None:
        now_ms = self._clock.now_ms()
        made: list[Invocation | Note] = []
        for send in sends:
            match send:
                case {"note": message}:
                    made.append(Note(message=message))
                case {"reply": True}:
                    made.append(Note(message=replied(record.about["reply"], record.outcome)))
                case {"timer": fiber, "at": at}:
                    made.append(timer_note(record.id, fiber, at, now_ms))
                case {"invoke": fiber, "turn": turn} if (fiber, turn) in commands:
                    made.append(self._asking(record, fiber, commands[fiber, turn], now_ms))
        if len(made) == 1 and isinstance(invocation := made[0], Invocation):
            state = carried(
                record, invocation
            )  # nothing else is under way that only the table knows
            if state is not None:
                invocation.message["carried"] = state
        self._outbox.send(made)

    def _asking(
        self, record: Record, fiber: str, command: Invoke, now_ms: int
    ) -> Invocation | Note:
        """A step on its way: to an action, or to the beginning of another execution."""
        name = command.action or ""
        if name not in self._deployed.programs:
            settings = self._deployed.actions[name]
            return invocation_of(record, fiber, command, settings, now_ms)
        return Note(message=begun_step(record, fiber, command))

    def _mend(self, record: Record, *, sweeping: bool = False) -> None:
        """Sends what a conductor that died has left unsent."""
        now_ms = self._clock.now_ms()
        for version, left in sorted(record.unsent.items()):
            if now_ms - left["at"] < PATIENCE_MS:
                if sweeping:
                    continue
                text = f"execution {record.id}: version {version} may be about to be sent"
                raise LaterError(text, PATIENCE_MS // 1000 + 1)
            commands: dict[Place, Invoke] = {}
            if record.outcome is None:
                asked = self._restored(record).asked()
                commands = {
                    (fiber, command.turn): command
                    for fiber, command in asked
                    if not self._is_asked_once(command)
                }
            self._send(record, left["sends"], commands)
            self._table.sent(record.id, version)

    # --- the sweep ---------------------------------------------------------------------------

    def _look_after(self, id: str) -> None:
        record = self._table.load(id)
        if record is None:
            return
        self._mend(record, sweeping=True)
        if record.outcome is None:
            self._happen(id, self._overdue)
        elif (record := self._table.load(id)) is not None:
            self._table.save(closing(record, self._clock.now_ms()))

    def _overdue(self, state: State) -> bool:
        """Fires timers, and deals with steps whose answer has not come. It is written down always."""
        now_ms = self._clock.now_ms()
        for name, standing in list(state.execution.fibers.items()):
            if standing.due_ms is not None and standing.due_ms <= now_ms:
                state.deliver(name, TimerFired(), now_ms)
        for fiber, command in state.asked():
            row, patience = state.row(fiber), self._patience_ms(command.action or "")
            known = bool(row) and row["fiber"]["turn"] == command.turn  # else it is only just asked
            if not known or patience is None or row["asked"] + patience > now_ms:
                continue
            if row["tries"] < TRIES and not self._is_asked_once(command):
                state.ask_again(fiber, command)
            else:
                text = f"no answer of {command.action} came within its limit"
                state.deliver(fiber, Failed(command.turn, failure(TIMEOUT, text)), now_ms)
        return True

    def _is_asked_once(self, command: Invoke) -> bool:
        settings = self._deployed.actions.get(command.action or "")
        return settings is not None and settings.at_most_once

    def _patience_ms(self, action: str) -> int | None:
        """How long the answer of an action is waited for; that of a composition comes for sure."""
        settings = self._deployed.actions.get(action)
        return None if settings is None else settings.timeout_ms + MARGIN_MS

    def _restored(self, record: Record) -> State:
        program = self._programs.of(record.about)
        is_here = partial(self._programs.answers, record.about)
        return State.restored(record, program, is_here, self._clock.now_ms())
