"""The conductor inside a cloud function: `composer.Execution` between a table and an outbox.

A conductor lives for one message. A message is something that has happened to an execution:

    {"is": "begin", "execution", "composition", "program" & "fiber" | "params", "reply"?, "depth"}
    {"is": "completed", "token", "outcome", "carried"?}      from an action's wrapper, see `wrapper`
    {"is": "timer", "execution", "fiber", "at"}
    {"is": "again", "execution"}                             there was more to do than fits one life
    {"is": "cancel", "execution"}                            nobody waits for the execution any more
    {"is": "relay", "message"}                               an action polls: it is invoked with this message

The conductor advances the execution, writes its next version on the condition that the version before is
still the last, and then sends the messages of the commit. A token names a wait: execution, fiber and
turn. Messages may therefore come twice, late or in any order, and a conductor may die at any point:

- *before the write*: nothing has happened; the message comes again and finds the wait as it was.
- *between the write and the sends*: the version holds the messages to send, `unsent`. The message comes
  again, finds its token used up, and sends them, with the same activation ids and keys. While the
  conductor that wrote the version may still be alive, the message is delayed instead.
- *after the sends*: `unsent` is removed, and a message whose token is used up changes nothing.
- *two at once*: one write succeeds; the other conductor reads the new version and begins again.

While there is one fiber, its state goes to the action with the token and comes back with the answer: a
step reads nothing; it makes one conditional write, and one that removes `unsent`. If there are more fibers,
or the state is large, the answer brings the token alone and the table is read: one row for each fiber.

An execution keeps the program that it began with: the table stores programs by their hash.

The sweep finds by its due time whatever no message brings: timers beyond the longest delay of a message,
messages that were never sent, and steps whose answer never came. Such a step is invoked once more with the
same key, and then fails with a timeout. An action is invoked at least once, so it may see a key twice.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias, assert_never

from ....composer import DIALECTS, TIMEOUT, Completed, Failed, Fiber, Invoke, TimerFired, failure
from .action_message import ActionMessage
from .changes import change_of, excess, give_up
from .dispatch import Dispatch
from .execution_state import MARGIN_MS, PATIENCE_MS, ExecutionState, plain
from .messages import LONGEST_S, event_of, record_of, timer_note
from .ports import Invocation, Note, Record, TooLargeError
from .programs import Programs, is_program
from .records import (
    About,
    Answered,
    Begin,
    Cancel,
    GoOn,
    Part,
    Relay,
    TimerDue,
    Token,
    Unsent,
    message_of,
)
from .views import closing, look

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON
    from .dispatch import Place
    from .ports import Change, Clock, Deployed, Outbox, Table

Received: TypeAlias = tuple[Answered, "dict[str, JSON]"]
"""An answer, and the message that it came in."""

log = logging.getLogger(__name__)

ATTEMPTS = 20  # writes of a change while other conductors write theirs
SHARE = 100  # inline functions that run in the life of a conductor, and
LIFE_MS = 10_000  # the time they may take
TRIES = 2  # invocations of an action before it has timed out
SOON_S = 5  # until other conductors have written, or begun
DELAYS = 50  # times that a conductor delays a message before it leaves that to the queue


def _nothing(_: ExecutionState) -> bool:
    return False


class LaterError(Exception):
    """The request must be repeated later: another conductor may be doing its work now."""

    def __init__(self, text: str, delay_s: int) -> None:
        super().__init__(text)
        self.delay_s = delay_s


class OtherParametersError(Exception):
    """An execution of this id has begun with other parameters."""


class Conductor:
    """Conducts the executions of a bundle.

    Args:
        deployed: the programs and actions of the bundle.
        table: stores executions.
        outbox: sends messages.
        clock: the time.
        longest_s: the longest delay of a message; the sweep fires timers that are further off.
    """

    def __init__(
        self,
        deployed: Deployed,
        table: Table,
        outbox: Outbox,
        clock: Clock,
        longest_s: int = LONGEST_S,
    ) -> None:
        self._deployed, self._table, self._outbox, self._clock = deployed, table, outbox, clock
        self._longest_s = longest_s
        self._programs = Programs(deployed, table, clock)
        self._dispatch = Dispatch(deployed, outbox, clock, longest_s)

    # --- requests and messages ---------------------------------------------------------------

    def begin(self, id: str, composition: str, params: dict[str, JSON]) -> None:
        """Begins an execution of a composition (`/_/name`)."""
        self._begin(Begin(execution=id, composition=composition, begins=params, depth=0))

    def join(self, id: str, composition: str, params: dict[str, JSON]) -> None:
        """Begins an execution, unless there is one of this id, which may have ended.

        Raises:
            OtherParametersError: that execution was given other parameters.
        """
        digest = sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:32]
        if not self._joined(id, digest):
            begin = Begin(
                execution=id, composition=composition, begins=params, depth=0, given=digest
            )
            self._begin(begin)

    def _joined(self, id: str, digest: str) -> bool:
        """True if there is an execution of this id. Its unsent messages are sent, now or a little later."""
        record = self._table.load(id)
        if record is None:
            return False
        if record.about.get("given", digest) != digest:
            raise OtherParametersError(id)
        try:
            self._mend(record)
        except LaterError as later:  # the conductor that began it may be sending its first step now
            message = GoOn(execution=id).to_json()
            self._outbox.send([Note(message=message, delay_s=later.delay_s)])
        return True

    def receive(self, *messages: dict[str, JSON]) -> None:
        """Handles messages; the queue may delete them when this returns.

        Answers to one execution are one transition: a wide fork gets many at once.

        Raises:
            LaterError: the messages must come again, as after any error of the table or the outbox.
        """
        answers: dict[str, list[Received]] = {}
        for doc in messages:
            message = message_of(doc)
            if isinstance(message, Answered):
                answers.setdefault(message.token.execution, []).append((message, doc))
            elif message is None:
                log.error("a message is of the unknown kind %r and is dropped", doc["is"])
            else:
                self._try([doc], partial(self._do, message))
        for id, several in answers.items():
            self._try([doc for _, doc in several], partial(self._complete, id, several))

    def _try(self, messages: list[dict[str, JSON]], act: Callable[[], object]) -> None:
        """Runs `act`. If the messages must come again, they come soon; after DELAYS times, the queue decides."""
        try:
            act()
        except LaterError as later:
            again = 1 + max(_again(message) for message in messages)
            if again > DELAYS:
                raise
            log.info("%s: the message comes again in %d s", later, later.delay_s)
            self._outbox.send(
                [Note(message={**m, "again": again}, delay_s=later.delay_s) for m in messages]
            )

    def _do(self, message: Begin | TimerDue | GoOn | Cancel | Relay) -> None:
        match message:
            case Begin():
                self._begin(message)
            case TimerDue():
                self._ring(message)
            case GoOn():
                self._happen(message.execution, lambda state: state.more)
            case Cancel():
                if not self.cancel(message.execution):
                    text = (
                        f"execution {message.execution} cannot be cancelled yet: it has not begun"
                    )
                    raise LaterError(text, SOON_S)
            case Relay():
                self._relay(message.message)
            case _:
                assert_never(message)

    def cancel(self, id: str) -> bool:
        """Cancels an execution: finalizers run. Returns False if there is none.

        Raises:
            LaterError: as `receive`.
        """
        return self._happen(id, lambda state: state.cancel(self._clock.now_ms()))

    def answer(self, token: Token, outcome: dict[str, JSON]) -> bool:
        """Answers a step whose action answers later. Returns False if no such step waits.

        Raises:
            LaterError: as `receive`.
        """
        delivered = False

        def act(state: ExecutionState) -> bool:
            nonlocal delivered
            event = event_of(token.turn, outcome)
            waits = self._answers_later(state, token)
            delivered = waits and state.deliver(token.fiber, event, self._clock.now_ms())
            return delivered

        self._happen(token.execution, act)
        return delivered

    def sweep(self) -> None:
        """Does the work that is due and that no message brings."""
        for id in self._table.due(self._clock.now_ms()):
            try:
                self._look_after(id)
            except Exception:
                log.exception("the sweep of execution %s failed; the next sweep tries again", id)

    def look(self, id: str) -> dict[str, JSON] | None:
        """The state of an execution in readable form; None if no execution has this id."""
        record = self._table.load(id)
        if record is None or is_program(record):
            return None
        asked = self._restored(record).pending() if record.outcome is None else []
        return look(record, {fiber: str(command.action) for fiber, command in asked})

    # --- messages ----------------------------------------------------------------------------

    def _begin(self, begin: Begin) -> None:
        id, now_ms = begin.execution, self._clock.now_ms()
        about = About(
            composition=begin.composition,
            program=self._programs.pinned(begin),
            started_ms=now_ms,
            reply=begin.reply,
            depth=begin.depth,
            given=begin.given,
        )
        is_local = partial(self._programs.answers, about)
        state = ExecutionState.begun(id, self._programs.of(about), about, is_local)
        if isinstance(begin.begins, Part):
            part = Fiber.from_json(begin.begins.fiber, plain, DIALECTS.frame)
            changes = state.execution.begin(part.value, now_ms, pc=part.pc, frames=part.frames)
        else:
            changes = state.execution.begin(begin.begins, now_ms)
        state.take(changes)
        if self._follow(state):
            return  # else it has begun before: see that all was sent
        if begin.given is not None:
            self._joined(id, begin.given)
        else:
            self._happen(id, _nothing)

    def _complete(self, id: str, answers: list[Received]) -> None:
        """Delivers answers to an execution. Stale ones are only known once the execution has changed."""
        stale: list[dict[str, JSON]] = []

        def act(state: ExecutionState) -> bool:
            stale.clear()
            for answer, doc in answers:
                token, now_ms = answer.token, self._clock.now_ms()
                event = event_of(token.turn, answer.outcome)
                # An action that answers later has only run, unless it has failed.
                ran = isinstance(event, Completed) and self._answers_later(state, token)
                if ran or not state.deliver(token.fiber, event, now_ms):
                    stale.append(doc)
            return len(stale) < len(answers)

        self._happen(id, act, record_of(answers[0][0]) if len(answers) == 1 else None)
        if stale and len(stale) < len(answers):
            self._try(stale, partial(self._happen, id, _nothing))

    def _ring(self, timer: TimerDue) -> None:
        now_ms = self._clock.now_ms()
        if timer.at_ms > now_ms:  # queues' clocks are not ours
            self._outbox.send([timer_note(timer, now_ms, self._longest_s)])
            return
        self._happen(
            timer.execution, lambda state: state.deliver(timer.fiber, TimerFired(), now_ms)
        )

    def _happen(
        self, id: str, act: Callable[[ExecutionState], bool], record: Record | None = None
    ) -> bool:
        """Applies `act` to an execution, again if another conductor writes first. `act` returns False if stale.

        `record` is the state that a message carried: it is used until the table refuses its version.
        Returns False if there is no such execution.
        """
        for _ in range(ATTEMPTS):
            record = record or self._table.load(id)
            if record is None or is_program(record):
                log.warning("execution %s does not exist; its message is dropped", id)
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
        text = f"execution {id}: other conductors wrote first {ATTEMPTS} times"
        raise LaterError(text, 1 + self._clock.now_ms() % SOON_S)

    def _relay(self, message: dict[str, JSON]) -> None:
        """Invokes an action that polls once more; to stop the run if its execution has ended."""
        asked = ActionMessage.from_json(message)
        record = self._table.load(str(asked.token["execution"]))
        if record is None or record.outcome is not None:
            message = {**message, "stop": True}
        self._outbox.send([Invocation(action=asked.action, message=message)])

    # --- a transition ------------------------------------------------------------------------

    def _follow(self, state: ExecutionState) -> bool:
        """Runs local steps, commits, sends. Returns False if another conductor has written this version."""
        self._run(state)
        commands = {(fiber, step.turn): step for fiber, step in state.issued()}
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
            self._dispatch.send(state.record, change.version, change.unsent, commands)
            self._table.sent(change.id, change.version)
        return True

    def _change(self, state: ExecutionState) -> Change:
        """The next version. An execution that is too large to write fails in it."""
        now_ms = self._clock.now_ms()
        sends = self._dispatch.planned(state, now_ms)
        if (why := excess(state, sends)) is not None:
            give_up(state, why)
            sends = self._dispatch.planned(state, now_ms)
        return change_of(state, now_ms, sends, self._patience_ms)

    def _run(self, state: ExecutionState) -> None:
        """Runs inline functions and all fibers that are ready."""
        until_ms = self._clock.now_ms() + LIFE_MS
        for _ in range(SHARE):
            now_ms = self._clock.now_ms()
            if state.gathered.outcome is not None or state.wide or now_ms > until_ms:
                return
            step = state.next_local()
            if step is not None:
                fiber, command = step
                answer = self._programs.answer(state.execution.program, command)
                state.deliver(fiber, answer, now_ms)
            elif state.execution.ready:
                state.take(state.execution.proceed(now_ms))
            else:
                return

    def _mend(self, record: Record, *, sweeping: bool = False) -> None:
        """Sends the messages that a conductor left unsent when it died."""
        now_ms = self._clock.now_ms()
        for version, doc in sorted(record.unsent.items()):
            left = Unsent.from_json(doc)
            if now_ms - left.at_ms < PATIENCE_MS:
                if sweeping:
                    continue
                text = (
                    f"execution {record.id}: another conductor may be sending version {version} now"
                )
                raise LaterError(text, PATIENCE_MS // 1000 + 1)
            commands: dict[Place, Invoke] = {}
            if record.outcome is None:
                asked = self._restored(record).pending()
                commands = {
                    (fiber, command.turn): command
                    for fiber, command in asked
                    if not self._is_lost_on_crash(command)
                }
            self._dispatch.send(record, version, left.sends, commands)
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

    def _overdue(self, state: ExecutionState) -> bool:
        """Fires timers, and handles steps whose answer has not come. Always commits."""
        now_ms = self._clock.now_ms()
        for name, standing in list(state.execution.fibers.items()):
            if standing.due_ms is not None and standing.due_ms <= now_ms:
                state.deliver(name, TimerFired(), now_ms)
        for fiber, command in state.pending():
            row, patience = state.row(fiber), self._patience_ms(command.action or "")
            if row is None or row.turn != command.turn:  # it is only just invoked
                continue
            if patience is None or row.asked_ms + patience > now_ms:
                continue
            if row.tries < TRIES and not self._is_lost_on_crash(command):
                state.invoke_again(fiber, command)
            else:
                text = f"no answer of {command.action} came within its limit"
                state.deliver(fiber, Failed(command.turn, failure(TIMEOUT, text)), now_ms)
        return True

    def _answers_later(self, state: ExecutionState, token: Token) -> bool:
        """True if a token names the wait for an action that answers later."""
        later = {name for name, one in self._deployed.actions.items() if one.answers_later}
        return bool(later) and any(
            (fiber, command.turn) == (token.fiber, token.turn) and command.action in later
            for fiber, command in state.pending()
        )

    def _is_lost_on_crash(self, command: Invoke) -> bool:
        settings = self._deployed.actions.get(command.action or "")
        return settings is not None and settings.at_most_once

    def _patience_ms(self, action: str) -> int | None:
        """The time to wait for the answer of an action; None for a composition, and for an action that answers later."""
        settings = self._deployed.actions.get(action)
        if settings is None or settings.answers_later:
            return None
        return settings.timeout_ms + MARGIN_MS

    def _restored(self, record: Record) -> ExecutionState:
        about = About.from_json(record.about)
        is_local = partial(self._programs.answers, about)
        program = self._programs.of(about)
        return ExecutionState.restored(record, program, is_local, self._clock.now_ms())


def _again(message: dict[str, JSON]) -> int:
    """The number of times that a message was delayed."""
    again = message.get("again", 0)
    return again if isinstance(again, int) else 0
