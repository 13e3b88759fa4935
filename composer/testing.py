"""Run a composition in a test: in this process, in virtual time, with its actions faked.

    run = simulate(pipeline, {"build": 7}, actions={
        "fetch": {"status": "failed"},                      # always this answer
        "post": [Fail("Throttled"), {"ok": True}],          # one answer after the other
        "slow": Slow(3600, {"done": True}),                 # an hour that takes no time
        "check": lambda params: {"value": params["n"] > 3}, # computed
    })
    assert run.value == {"ok": True} and run.elapsed == 3601

A week's wait takes a millisecond. `crash="every"` kills the conductor at every commit, before it and
after it; your assertions must hold all the same. The machine is the one that runs in production; only the
store (a dict of JSON texts) and the actions are replaced.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import replace
from itertools import count
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .dsl.compiler import compile
from .dsl.composition import Composition
from .dsl.functions import ActionFunction
from .fakes import (
    Beats,
    Fail,
    Fake,
    Left,
    Never,
    SimulationError,
    Slow,
    Waits,
    computed,
    context_object,
    event_of,
    held_up,
    timed,
)
from .freezing import changed
from .machine.chains import handover, take_over
from .machine.children import child_answered, child_stopped
from .machine.commands import Abandon, Acquire, Annotate, Emit, Invoke, Spawn
from .machine.cursor import Limits
from .machine.dialect import Dialects
from .machine.events import Accepted, Completed, Failed, TimerFired
from .machine.execution import Execution
from .machine.fiber import ROOT, Fiber
from .machine.plain import PLAIN
from .machine.queries import VARIABLES, query_answer
from .machine.timeouts import told_again
from .machine.waits import Invoking
from .names import Name, activation_id
from .simulated_lines import Lines
from .simulated_messages import Mail, Told, Updated
from .simulated_runs import Emitted, Invocation, Run, emitted
from .values import Failure, classes_of, copied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .machine.changes import Changes
    from .machine.events import Event
    from .machine.frames import Frame
    from .machine.program import Program
    from .simulated_messages import Telling
    from .values import JSON

__all__ = [
    "Beats",
    "Crash",
    "Emitted",
    "Fail",
    "Fake",
    "Invocation",
    "Never",
    "Run",
    "Simulation",
    "SimulationError",
    "Slow",
    "Told",
    "Updated",
    "Waits",
    "simulate",
]


Crash: TypeAlias = "Literal['every'] | Iterable[tuple[int, Literal['before', 'after']]]"


def simulate(  # noqa: PLR0913  the sides of a simulated world
    composition: Composition | Program,
    params: JSON = None,
    *,
    actions: Mapping[str, Fake] | None = None,
    crash: Crash = (),
    messages: Iterable[Telling] = (),
    updates: Iterable[Telling] = (),
    cancel_at: float | None = None,
    limits: Limits | None = None,
    run_timeout: float | None = None,
    queries: Iterable[tuple[float, str]] = (),
) -> Run:
    """Runs a composition to its end, or until it waits for an event that no fake will make.

    Args:
        composition: what to run; or the program of a state machine, as `asl.lower` makes it.
        params: its input, `{}` when None.
        actions: fakes by name; functions marked `@composer.action` need none.
        crash: commits, counted from 0, to crash `before` or `after`; or at `every` one, both.
        messages: told to it: (virtual seconds, name, payload).
        updates: asked of it: (virtual seconds, name, payload); see `Run.updates`.
        cancel_at: virtual seconds after which the execution is cancelled.
        limits: the machine's.
        run_timeout: virtual seconds for the whole run.
        queries: the virtual second and the name of each query, also after the end; see `Run.answers`.

    Raises:
        SimulationError: when an action has no fake, or the composition has no such query.
    """
    fakes = {str(Name.parse(name)): fake for name, fake in (actions or {}).items()}
    given = {} if params is None else params
    mail = Mail(messages, updates)
    if not isinstance(composition, Composition):
        machine = Simulation(composition, fakes, crash, limits or Limits(), mail)
        frames = composition.dialect.begun(context_object(given))
        return machine.run(given, cancel_at, frames=(*timed(run_timeout), *frames), queries=queries)
    for name, function in composition.definitions():
        if isinstance(function, ActionFunction) and "entity" not in (function.annotations or ()):
            fakes.setdefault(name, function.function)
    machine = Simulation(compile(composition), fakes, crash, limits or Limits(), mail)
    return machine.run(given, cancel_at, frames=timed(run_timeout), queries=queries)


class Simulation:
    """One execution and the world around it."""

    def __init__(
        self,
        program: Program,
        fakes: dict[str, Fake],
        crash: Crash,
        limits: Limits,
        mail: Mail | None = None,
    ) -> None:
        self._mail, self._lines = mail or Mail(()), Lines()
        self._program, self._fakes, self._limits = program, fakes, limits
        self._frame = Dialects(PLAIN, {"": lambda: program.dialect}, {}).frame
        self._crash: Any = crash if crash == "every" else set(crash)
        self._queue: list[tuple[int, int, str, Event | None]] = []
        self._order = count()
        self._died: set[tuple[int, int, str]] = set()
        self._turns: dict[str, dict[str, int]] = {}
        self._stored: dict[str, str] = {}
        self._id = activation_id("0" * 32, "simulation", 0)
        self._now_ms = 0
        self._asked: list[tuple[float, str]] = []
        self._execution = self._fresh()
        self.result = Run(updates=self._mail.updates)

    def run(
        self,
        params: JSON,
        cancel_at: float | None = None,
        *,
        pc: int = 0,
        frames: tuple[Frame, ...] = (),
        queries: Iterable[tuple[float, str]] = (),
    ) -> Run:
        """Starts it and follows it through virtual time."""
        self._asked = sorted(((at * 1000, name) for at, name in queries), key=itemgetter(0))
        while not self._apply(self._execution.begin(copied(params), 0, pc=pc, frames=frames)):
            self._execution = self._fresh()  # the caller had no answer, and asks again
        return self._follow(None if cancel_at is None else round(cancel_at * 1000))

    def resume(self) -> Run:
        """Resumes the paused fibers, as an operator would, and follows the execution further."""
        while not self._apply(self._execution.resume(self._now_ms)):
            pass
        return self._follow(None)

    def _fresh(self) -> Execution:
        return Execution(self._id, self._program, self._limits)

    def _follow(self, cancel_ms: int | None) -> Run:
        result = self.result
        while result.outcome is None:
            if self._execution.restarting and not self._execution.updates:
                self._continue()
                continue
            due_ms = self._queue[0][0] if self._queue else None
            mail_ms = self._mail.due_ms(self._execution)
            next_ms = min(
                (ms for ms in (due_ms, mail_ms, cancel_ms) if ms is not None), default=None
            )
            if next_ms is None:
                break
            self._ask(next_ms)
            self._now_ms = max(self._now_ms, next_ms)
            if next_ms == cancel_ms:
                if self._apply(self._execution.cancel(self._now_ms)):
                    cancel_ms = None
            elif next_ms == mail_ms:
                self._tell()
            else:
                _, _, fiber, event = heapq.heappop(self._queue)
                if event is None:
                    self._look()
                else:
                    self._apply(self._execution.deliver(fiber, event, self._now_ms))
        self._ask(inf)
        result.elapsed = self._now_ms / 1000
        result.paused = self._execution.paused
        return result

    def _ask(self, before_ms: float) -> None:
        """Answers the queries that are asked before an instant."""
        while self._asked and self._asked[0][0] < before_ms:
            _, name = self._asked.pop(0)
            try:
                state = self._execution.seen
                assert state is not None  # noqa: S101  it has begun
                answer = query_answer(self._program, name, state, self._limits.value_bytes)
            except KeyError:
                known = ", ".join((*self._program.queries, VARIABLES))
                raise SimulationError(f"there is no query {name!r}: there are {known}") from None
            self.result.answers.append(answer.value if isinstance(answer, Failure) else answer)

    def _tell(self) -> None:
        number = len(self.result.history) + 1
        if self._apply(self._mail.tell(self._execution, number, self._now_ms)):
            self._mail.accepted()

    def _continue(self) -> None:
        """The next run of the chain begins in the commit that ends this one."""
        command = self._execution.next_run(self._now_ms)
        if isinstance(command, Failure):
            refused = Failed(self._execution.fibers[ROOT].turn, command, may_have_run="no")
            self._apply(self._execution.deliver(ROOT, refused, self._now_ms))
            return
        program = self._program if command.action is None else self._successor(command.action)
        given, execution = handover(self._execution), self._execution
        ended = execution.hand_over(command.activation, self._now_ms)
        begun = Execution(command.activation, program, self._limits)
        changes = take_over(begun, given, copied(command.params), self._now_ms)

        def turn_over() -> None:
            self._commit(replace(ended, outcome=None))
            self._id, self._program, self._execution = command.activation, program, begun
            self._stored.clear()
            self._queue.clear()
            self._lines.turn_over()
            self.result.history = []
            self.result.continued.append(copied(command.params))

        self._apply(changes, turn_over)

    def _successor(self, action: str) -> Program:
        name = self._faked(action)
        if not isinstance(composition := self._fakes.get(name), Composition):
            raise SimulationError(
                f"the execution continues as {name}: give actions={{{name!r}: a composition}}"
            )
        return compile(composition)

    # --- the store, and what a crash leaves of it --------------------------------------------

    def _apply(self, changes: Changes, first: Callable[[], None] | None = None) -> bool:
        """Commits the changes and carries them out; False if the conductor crashed before the commit.

        `first` is done in the same commit.
        """
        while True:
            if (
                changes.fibers or changes.entries
            ):  # else there are only commands, which a restart makes again
                commit = self.result.commits
                self.result.commits += 1
                if self._dies(commit, "before"):
                    self._recover()
                    return False
                if first is not None:
                    first()
                    first = None
                self._commit(changes)
                if self._dies(commit, "after"):
                    self._recover()
                    return True
            self._dispatch(changes)
            if changes.more:
                changes = self._execution.proceed(self._now_ms)
            elif (stretch := self._execution.stretch) is not None:
                changes = self._execution.stretched(stretch, stretch.make())
            else:
                return True

    def _dies(self, commit: int, when: Literal["before", "after"]) -> bool:
        if self._crash != "every":
            return (commit, when) in self._crash
        # One crash at each boundary, or the run would never end.
        boundary = (len(self.result.continued), len(self.result.history), when)
        first = boundary not in self._died
        self._died.add(boundary)
        return first

    def _commit(self, changes: Changes) -> None:
        self.result.history += changes.entries
        self._execution.entries = len(self.result.history)
        self.result.spawned += [
            self._spawned(command) for _, command in changes.commands if isinstance(command, Spawn)
        ]
        self._mail.commit(changes)
        for _, command in changes.commands:
            if isinstance(command, Annotate):
                given = self.result.attributes | command.attributes
                self.result.attributes = {k: v for k, v in given.items() if v is not None}
            elif isinstance(command, Emit):
                self.result.emitted.append(emitted(command, self._now_ms / 1000))
        for name, fiber in changes.fibers.items():
            self._stored[name] = json.dumps(fiber.to_json(lambda value: {"v": value}))
        for parent, turn in changes.dropped:
            gone = f"{parent}/{turn}."
            self._stored = {k: v for k, v in self._stored.items() if not k.startswith(gone)}
        if changes.outcome is not None:
            self._stored.clear()
            self.result.outcome = changes.outcome

    def _recover(self) -> None:
        self._queue.clear()
        if self.result.outcome is not None or not self._stored:
            return
        fibers = [
            Fiber.from_json(json.loads(text), lambda doc: doc["v"], self._frame)
            for text in self._stored.values()
        ]
        since = [entry.to_json(lambda value: value) for entry in self.result.history]
        self._execution = Execution.restore(
            self._id, self._program, fibers, self._limits, since=since
        )
        self._execution.inbox = self._mail.inbox()
        self._execution.entries = len(since)
        for fiber, command in self._execution.pending(self._now_ms):
            self._invoke(fiber, command)
        for stored in fibers:
            self._arm(stored)
        for fiber, answer in self._lines.again(self._execution, self._now_ms):
            self._push(self._now_ms, fiber, answer)
        self._apply(self._execution.proceed(self._now_ms))

    # --- the world ---------------------------------------------------------------------------

    def _dispatch(self, changes: Changes) -> None:
        for fiber, command in changes.commands:
            match command:
                case Invoke():
                    self._invoke(fiber, command)
                case Abandon(turn):
                    self._queue = [
                        item
                        for item in self._queue
                        if not (item[2] == fiber and getattr(item[3], "turn", None) == turn)
                    ]
                    heapq.heapify(self._queue)
                    if command.asks:  # a child that is asked to stop does so at once
                        self._push(self._now_ms, fiber, child_stopped(turn))
                case Acquire():
                    answer = self._lines.ask(fiber, command, self._now_ms)
                    self._push(self._now_ms, fiber, answer)
        for stored in changes.fibers.values():
            self._arm(stored)
        self._look()

    def _look(self) -> None:
        """Gives slots of limits to those who can have them now, or looks again when time gives the next one."""
        for fiber, event in self._lines.look(self._execution, self._now_ms):
            self._push(self._now_ms, fiber, event)
        due_ms = self._lines.due_ms(self._now_ms)
        if due_ms is not None:
            self._push(due_ms, "", None)

    def _spawned(self, command: Spawn) -> Run:
        part = Simulation(self._program, self._fakes, (), self._limits)
        return part.run(command.value, pc=command.pc, frames=command.frames)

    def _arm(self, fiber: Fiber) -> None:
        if fiber.due_ms is not None:
            self._push(fiber.due_ms, fiber.id, TimerFired())

    def _push(self, at_ms: int, fiber: str, event: Event | None) -> None:
        heapq.heappush(self._queue, (at_ms, next(self._order), fiber, event))

    def _invoke(self, fiber: str, command: Invoke) -> None:
        if command.restart:
            return  # `_follow` continues when the updates of this run are answered
        if command.tell is not None:
            told, done = self._mail.told(command, self._now_ms / 1000)
            self.result.told += [told] if told else []
            self._push(self._now_ms, fiber, done)
            return
        if command.function is not None:
            name, answer = f"function:{command.function[:12]}", self._call(command)
        else:
            name = self._faked(str(command.action))
            if name not in self._fakes:
                raise SimulationError(
                    f"the action {name} has no fake: give actions={{{name!r}: ...}}"
                )
            answer = self._fakes[name]
        command = changed(command, params=told_again(command.params, command.again))
        self.result.invocations.append(
            Invocation(
                name, copied(command.params), self._now_ms / 1000, command.activation, command.again
            )
        )
        if command.later:
            self._push(self._now_ms, fiber, Accepted(command.turn, {}))
        delay_ms, event = self._answer(name, answer, command, fiber)
        delay_ms, event = child_answered(command, delay_ms, event)
        if command.child is not None and self._execution.fibers[fiber].wait != Invoking():
            delay_ms, event = 0, child_stopped(command.turn)  # it was asked to before a crash
        if event is not None:
            self._push(self._now_ms + delay_ms, fiber, event)

    def _faked(self, name: str) -> str:
        """The name of the fake of an action. That of a function stands for its versions and aliases, `NAME@prod`."""
        bare = name.rpartition("@")[0]
        return bare if name not in self._fakes and bare in self._fakes else name

    def _call(self, command: Invoke) -> Any:
        runtime = self._program.functions[str(command.function)]
        scope: dict[str, Any] = {}
        exec(runtime["code"], scope)  # noqa: S102  the user's own function, in the user's own test
        main = scope[runtime["main"]]
        params: Any = copied(command.params)
        variables: Any = copied(command.variables)
        given = [params, variables][: main.__code__.co_argcount]

        def answer(_: JSON) -> Any:
            try:
                result = main(*given)
            except (AssertionError, Fail):
                raise
            except Exception as error:  # noqa: BLE001  a worker would report it, too
                told: JSON = {"error": f"{type(error).__name__}: {error}"}
                return Left(told, variables, classes_of(error))
            return Left(params if result is None else result, variables)

        return answer

    def _answer(
        self, name: str, answer: Any, command: Invoke, fiber: str
    ) -> tuple[int, Completed | Failed | None]:
        """The duration of the answer in ms, and its event."""
        delay_ms = 0
        if isinstance(answer, list):
            answer = self._next(name, answer, command.activation)
        for _ in range(10):  # an answer may be a function that returns a Slow of ...
            match answer:
                case Slow(seconds, inner):
                    delay_ms, answer = delay_ms + round(seconds * 1000), inner
                case Beats() | Waits():
                    delay_ms, answer, events = held_up(answer, command.turn, delay_ms)
                    for at_ms, event in events:
                        self._push(self._now_ms + at_ms, fiber, event)
                case Composition():
                    inner = Simulation(compile(answer), self._fakes, (), self._limits)
                    run = inner.run(copied(command.params))
                    delay_ms, answer = delay_ms + round(run.elapsed * 1000), run.outcome
                case _ if callable(answer):
                    answer = computed(answer, command.params)
                case _:
                    break
        return delay_ms, event_of(name, answer, command.turn)

    def _next(self, name: str, answers: list[Any], activation: str) -> Any:
        """Each activation has its own answer, which it keeps when it runs again after a crash."""
        turns = self._turns.setdefault(name, {})
        turn = turns.setdefault(activation, len(turns))
        if turn >= len(answers):
            raise SimulationError(f"{name} has {len(answers)} answers and is asked for one more")
        return answers[turn]
