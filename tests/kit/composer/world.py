"""Whoever runs an execution, by hand: a store of JSON texts, a clock, and the steps under way.

It does what an engine does and decides nothing: the test says what happens next, and may crash it
between any two events. At every commit the laws of `Changes` are checked.
"""

from __future__ import annotations

import json

from xingqiao.composer import DIALECTS, compile
from xingqiao.composer.machine.commands import Abandon, Invoke
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.machine.events import Completed, Failed, TimerFired
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.machine.fiber import ROOT, Fiber
from xingqiao.composer.machine.redrive import redrive
from xingqiao.composer.names import activation_id
from xingqiao.composer.values import Failure

ID = activation_id("0" * 32, "world", 0)


def written(fiber):
    """A fiber as it is stored."""
    return json.dumps(fiber.to_json(lambda value: {"kept": value}))


def read(text):
    return Fiber.from_json(json.loads(text), lambda doc: doc["kept"], DIALECTS.frame)


class World:
    """One execution, begun."""

    def __init__(self, composition, params=None, *, limits=None, begin=True):
        self.program = compile(composition)
        self.limits = limits or Limits()
        self.now = 0
        self.rows = {}  # the store: fiber -> JSON text
        self.history = []  # the store: entries as JSON
        self.outcome = None
        self.under_way = {}  # (fiber, turn) -> Invoke
        self.invoked = []  # every Invoke ever, in order
        self.abandoned = []
        self.spawned = []
        self.execution = Execution(ID, self.program, self.limits)
        if begin:
            self.take(self.execution.begin({} if params is None else params, self.now))

    # --- what is committed, and carried out then -----------------------------------------------

    def take(self, changes):
        """Commits changes and carries them out, and what needs no event after them."""
        first = changes
        while True:
            self.commit(changes)
            self.carry_out(changes)
            if not changes.more:
                return first
            changes = self.execution.proceed(self.now)

    def commit(self, changes):
        if changes.stale:
            nothing = (changes.fibers, changes.dropped, changes.commands, changes.entries)
            assert nothing == ({}, [], [], []), "what is stale changes nothing"
            assert changes.outcome is None
        for name, fiber in changes.fibers.items():
            assert name == fiber.id
            self.rows[name] = text = written(fiber)
            assert read(text) == fiber, "a round trip changes nothing"
        for parent, turn in changes.dropped:
            for name in [name for name in self.rows if name.startswith(f"{parent}/{turn}.")]:
                del self.rows[name]
        for entry in changes.entries:
            self.history.append(json.loads(json.dumps(entry.to_json(lambda value: value))))
        if changes.outcome is not None:
            assert self.outcome is None, "an execution ends once"
            self.outcome = changes.outcome
            self.rows.clear()

    def carry_out(self, changes):
        for fiber, command in changes.commands:
            if isinstance(command, Invoke):
                self.invoke(fiber, command)
            elif isinstance(command, Abandon):
                self.abandoned.append(self.under_way.pop((fiber, command.turn)))
            else:
                self.spawned.append(command)

    def invoke(self, fiber, command):
        done = {
            (entry["fiber"], entry["turn"])
            for entry in self.history
            if entry["type"] in ("StepSucceeded", "StepFailed")
        }
        last = [e["type"] for e in self.history if (e["fiber"], e["turn"]) == (fiber, command.turn)]
        assert (fiber, command.turn) not in done or last[-1] == "StepScheduled", "it has been done"
        self.invoked.append(command)
        self.under_way[fiber, command.turn] = command

    # --- what happens --------------------------------------------------------------------------

    def deliver(self, fiber, event):
        return self.take(self.execution.deliver(fiber, event, self.now))

    def _asked(self, action):
        name = f"/_/{action}"
        found = [
            place for place, step in self.under_way.items() if name == (step.action or "/_/inline")
        ]
        assert found, f"{action} is not under way, but {self.steps}"
        return found[0]

    def complete(self, action, value=None, variables=None):
        """The step that runs `action` (the oldest of them; "inline" for a function) succeeds."""
        fiber, turn = place = self._asked(action)
        del self.under_way[place]
        value = {} if value is None else value
        return self.deliver(fiber, Completed(turn, value, variables))

    def fail(self, action, code="Broken", error=None):
        fiber, turn = place = self._asked(action)
        del self.under_way[place]
        return self.deliver(fiber, Failed(turn, Failure(code, error or f"{action} failed")))

    def pass_time(self, seconds):
        """Lets time pass: every timer fires when it is due, the earliest first."""
        until = self.now + round(seconds * 1000)
        while due := sorted(
            (fiber.due_ms, name)
            for name, fiber in self.execution.fibers.items()
            if fiber.due_ms is not None and fiber.due_ms <= until
        ):
            self.now = max(self.now, due[0][0])
            self.deliver(due[0][1], TimerFired())
        self.now = until

    def cancel(self):
        return self.take(self.execution.cancel(self.now))

    def terminate(self):
        return self.take(self.execution.terminate(self.now))

    def resume(self):
        return self.take(self.execution.resume(self.now))

    def crash(self):
        """Dies and starts again from what is stored; steps under way are sent again."""
        self.under_way.clear()
        fibers = [read(text) for text in self.rows.values()]
        self.execution = Execution.restore(
            ID, self.program, fibers, self.limits, self.execution.generation, self.history
        )
        self.execution.inbox = self.stored_inbox()
        for fiber, command in self.execution.pending(self.now):
            self.invoke(fiber, command)
        self.take(self.execution.proceed(self.now))

    def stored_inbox(self):
        """The undelivered messages; a world that keeps some overrides it."""

    def redrive(self, composition=None):
        """Takes the ended execution up again, from its history alone."""
        if composition is not None:
            self.program = compile(composition)
        self.under_way.clear()
        self.execution, changes = redrive(ID, self.program, self.history, self.limits, self.now)
        self.outcome = None
        self.take(changes)

    # --- how it stands -------------------------------------------------------------------------

    @property
    def steps(self):
        """The actions under way, in order of being asked for."""
        return [
            step.action.removeprefix("/_/") if step.action else "inline"
            for step in self.under_way.values()
        ]

    @property
    def calls(self):
        """The actions ever asked for, in order."""
        return [
            step.action.removeprefix("/_/") if step.action else "inline" for step in self.invoked
        ]

    @property
    def root(self):
        return self.execution.fibers[ROOT]

    def kinds(self, fiber=None):
        return [e["type"] for e in self.history if fiber in (None, e["fiber"])]
