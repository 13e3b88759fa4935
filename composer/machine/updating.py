"""Updates of an execution: each is accepted, handled by a fiber beside the main line, and answered.

A handler is a fiber of its own. When it ends, its templates set variables of the main line and make the answer,
in one transition: so no two handlers lose each other's change. A handler that fails fails its update only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..freezing import changed
from ..values import Failure, Outcome, Success, boxed, failure
from . import history
from .changes import Changes
from .commands import Abandon
from .cursor import Cursor
from .events import Continued
from .fiber import ROOT, Fiber, parent_of
from .frames import Handling, inherited
from .handling import declared, handler_id, main_line, serving
from .history import Entry
from .instructions import Restart
from .serving import Settled, Update, assigned, served_by
from .standing import Standing
from .waits import Invoking, Watching

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values import JSON
    from .commands import Invoke
    from .cursor import Context, Limits
    from .forks import Delivery, Forks

CLOSED: Final = "Closed"  # the code of an update whose part of the composition has ended
MAX_UPDATES: Final = 2_000  # of one execution
MAX_OPEN_UPDATES: Final = 10


class Updating(Standing):
    """The rules for the updates of an execution. `updates` are those under way, by the fibers that handle them."""

    __slots__ = ()
    if TYPE_CHECKING:
        updates: dict[str, Handling]
        limits: Limits
        _forks: Forks
        _held: dict[str, list[Entry]]
        _overlong: dict[str, int]

        def _deliver(
            self, events: Iterable[Delivery], changes: Changes, context: Context
        ) -> int: ...

        def _concluded(self, changes: Changes) -> Changes: ...

    @property
    def accepted(self) -> int:
        """The number of updates that it has accepted so far."""
        root = self.fibers.get(ROOT)
        served = None if root is None else served_by(root.frames)
        return 0 if served is None else served.accepted

    @property
    def restarting(self) -> bool:
        """True if the next run of its chain begins in its place, as soon as its updates are answered."""
        root = self.fibers.get(ROOT) if self.program.restarts else None
        if root is None or not isinstance(root.wait, Invoking):
            return False
        return type(self.program.instructions[root.pc - 1]) is Restart

    def next_run(self, now_ms: int) -> Invoke | Failure:
        """The command that has the next run of its chain begin; a Failure if its input cannot be made.

        The caller waits until the execution is `restarting` and its updates are answered. The input is made anew:
        of the variables as these updates have left them.
        """
        root, instructions = self.fibers[ROOT], self.program.instructions
        cursor = Cursor(root, instructions, self._context(now_ms))
        return self.program.dialect.commands[Restart](cursor, instructions[root.pc - 1], root.turn)

    def serves(self, name: str) -> bool:
        """True if an update of this name would be handled now."""
        root = self.fibers.get(ROOT)
        if root is None or self.restarting:
            return False
        return serving(self.program, root, name) is not None

    def valid(self, update: Update) -> bool | Failure:
        """True if the validator of an update that it serves holds; a Failure if the validator cannot be evaluated."""
        root = self.fibers[ROOT]
        depth = serving(self.program, root, update.name)
        assert depth is not None  # noqa: S101  the caller has asked `serves`
        validator = declared(self.program, _at(root, depth)).validators.get(update.name)
        if validator is None:
            return True
        main = main_line(self.program, root, depth, self.limits, boxed(update.payload))
        return validator.holds(main.scope())

    def update(self, update: Update, now_ms: int) -> Changes:
        """Accepts an update, and runs its handler as far as that can go. Stale if nothing handles its name.

        Whoever calls it has asked `valid`, unless the update was accepted before: then it is not validated again.
        """
        root = self.fibers.get(ROOT)
        depth = None if root is None else serving(self.program, root, update.name)
        if root is None or depth is None:
            return Changes(stale=True)
        root = self.fibers[ROOT] = _counted(root)
        at = _at(root, depth)
        asked = Handling(at, depth, update.name, update.id, update.payload, root.steps)
        fiber = Fiber(
            id=handler_id(self.accepted),
            pc=declared(self.program, at).targets[update.name],
            value=boxed(update.payload),
            frames=(asked, *inherited(root.frames[:depth])),
            steps=root.steps,
        )
        self.fibers[fiber.id] = fiber
        self.updates[fiber.id] = asked
        entry = self._told(history.UPDATE_ACCEPTED, asked, now_ms, update.payload)
        changes = Changes(fibers={ROOT: root, fiber.id: fiber}, entries=[entry])
        self._deliver([(fiber.id, Continued())], changes, self._context(now_ms))
        return self._concluded(changes)

    def withdraw(self, fiber: str, now_ms: int) -> Changes:
        """Ends an update that a replayed execution has told its caller to have failed."""
        changes = Changes()
        self._settle(fiber, failure(CLOSED, "closed"), changes, now_ms)
        return self._concluded(changes)

    # --- the end of an update ------------------------------------------------------------------

    def _handled(
        self, fiber: Fiber, outcome: Outcome, changes: Changes, now_ms: int
    ) -> list[Delivery]:
        """A handler has ended: sets variables of the main line, and answers. Returns the events that follow."""
        asked, root = self.updates[fiber.id], self.fibers[ROOT]
        root = changed(root, steps=root.steps + fiber.steps - asked.steps)
        if isinstance(outcome, Success):
            root, outcome = self._applied(root, asked, outcome.value)
        self.fibers[ROOT] = changes.fibers[ROOT] = root
        self._settle(fiber.id, outcome, changes, now_ms)
        return self._awakened(root)

    def _applied(self, root: Fiber, asked: Handling, result: JSON) -> tuple[Fiber, Outcome]:
        """The root fiber after an update with this result, and the update's outcome. All or nothing is set."""
        serve = declared(self.program, asked.at)
        main = main_line(self.program, root, asked.depth, self.limits, result)
        scope, made = main.scope(), dict[str, "JSON"]()
        for name, template in serve.sets.get(asked.name, {}).items():
            filled = template.fill(scope)
            if type(filled) is Failure:
                return root, filled
            made[name] = filled
        main.assign(made)
        answer = serve.answers.get(asked.name)
        given = result if answer is None else answer.fill(main.scope())
        if type(given) is Failure:
            return root, given
        return assigned(root, main.frames), Success(given)

    def _awakened(self, root: Fiber) -> list[Delivery]:
        """The event for a main line that waits for a condition, if the condition holds now or cannot be evaluated."""
        if type(root.wait) is not Watching:
            return []
        until = self.program.instructions[root.pc - 1]
        main = main_line(self.program, root, len(root.frames), self.limits, root.value)
        if until.predicate.holds(main.scope()) is False:  # type: ignore[union-attr]
            return []
        self.fibers[ROOT] = changed(root, wait=None, pc=root.pc - 1)
        return [(ROOT, Continued())]

    def _closed(self, depth: int, why: str, changes: Changes, now_ms: int) -> None:
        """The frame at this depth is gone: the updates that it, and frames inside it, handle fail."""
        for fiber in [id for id, asked in self.updates.items() if asked.depth >= depth]:
            name = self.updates[fiber].name
            text = f"update '{name}' was not answered: {why} before its handler had ended"
            self._settle(fiber, failure(CLOSED, text), changes, now_ms)

    def _settle(self, fiber: str, outcome: Outcome, changes: Changes, now_ms: int) -> None:
        asked = self.updates.pop(fiber)
        if isinstance(outcome, Success):
            entry = self._told(history.UPDATE_COMPLETED, asked, now_ms, outcome.value)
        else:
            entry = self._told(
                history.UPDATE_FAILED, asked, now_ms, outcome.error, **outcome.detail
            )
        changes.entries.append(entry)
        changes.updates.append(Settled(asked.update, asked.name, outcome))
        changes.dropped.append(parent_of(fiber)[:2])
        for id in [id for id in self.fibers if id == fiber or id.startswith(f"{fiber}/")]:
            gone = self.fibers.pop(id)
            if isinstance(gone.wait, Invoking):
                changes.commands.append((id, Abandon(gone.turn, gone.wait.ticket)))
            self._forks.joins.pop(id, None)
            self._held.pop(id, None)
            self._overlong.pop(id, None)
        for id in [id for id in changes.fibers if id == fiber or id.startswith(f"{fiber}/")]:
            del changes.fibers[id]

    def _told(self, kind: str, asked: Handling, now_ms: int, value: JSON, **detail: JSON) -> Entry:
        """The history entry about an update, at the wait in which the main line is."""
        about: dict[str, JSON] = {"name": asked.name, "update": asked.update, **detail}
        root = self.fibers.get(ROOT)
        return Entry(now_ms, ROOT, 0 if root is None else root.turn, kind, about, value)


def _at(root: Fiber, depth: int) -> int:
    at: int = root.frames[depth].at  # type: ignore[union-attr]
    return at


def _counted(root: Fiber) -> Fiber:
    """The root fiber with one update more that was accepted."""
    served = served_by(root.frames)
    frames = tuple(
        changed(served, accepted=served.accepted + 1)
        if served is not None and frame is served
        else frame
        for frame in root.frames
    )
    return changed(root, frames=frames)
