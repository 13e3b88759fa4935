"""The fibers of an execution, and the joins that some of them wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..values import boxed
from .branches import items_of
from .cursor import Cursor, key_of
from .dialect import Iterations
from .events import Cancelled, Joined
from .fiber import Fiber, member_id, parent_of
from .frames import inherited
from .instructions import Each
from .instructions import Fork as ForkInstruction
from .joins import Join, width_of
from .sagas.operations import branch_frames
from .serving import as_asked
from .waits import Joining

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values import JSON, Failure, Outcome
    from .cursor import Context
    from .events import Event
    from .joins import Room
    from .program import Program

Delivery: TypeAlias = "tuple[str, Event]"
"""An event, and the id of the fiber that it is for."""


class Forks:
    """The fibers under way, by id; the joins of those that have forked; and the fibers that are ready to run."""

    __slots__ = ("_program", "fibers", "joins", "ready")

    def __init__(self, program: Program) -> None:
        self._program = program
        self.fibers: dict[str, Fiber] = {}
        self.joins: dict[str, Join] = {}
        self.ready: list[str] = []  # in order; an empty deque takes 700 bytes more

    def add(self, fiber: Fiber) -> None:
        """Adds a fiber that is ready to run."""
        self.fibers[fiber.id] = fiber
        self.ready.append(fiber.id)

    def clear(self) -> None:
        """Drops everything: the execution has ended."""
        self.fibers.clear()
        self.joins.clear()
        self.ready.clear()

    def fork(self, parent: Fiber, items: list[JSON] | None, room: Room) -> list[Delivery]:
        """Starts the first members of a fork. The fork joins at once if it has none, or no room for them."""
        spec = self._spec(parent)
        width = width_of(spec, items)
        join = Join(spec, width, items)
        members = join.begin()
        refused = room(len(self.fibers), len(members))
        if refused is not None or not width:
            outcome = refused or join.outcome()
            return [(parent.id, Joined(parent.turn, outcome, 0, members=join.members))]
        self.joins[parent.id] = join
        self._start(parent, join, members)
        return []

    def cancel(self, parent: Fiber) -> list[Delivery]:
        """Cancels all members of the fork that the fiber waits for."""
        return _cancellations(parent, self.joins[parent.id].cancel())

    def rebind(self, parent: Fiber) -> list[Delivery]:
        """Gives a fork of a language the bounds that its fiber's value has now."""
        spec, join = self._spec(parent), self.joins[parent.id]
        assert isinstance(spec, Iterations)  # noqa: S101  only a fork of a language has bounds to change
        to_start, to_cancel = join.rebound(spec)
        self._start(parent, join, to_start)
        return _cancellations(parent, to_cancel)

    def pass_over(self, member: str) -> None:
        """Starts the next members of a fork as if this one had ended; see `Join.pass_over`."""
        parent, _, _ = parent_of(member)
        join = self.joins[parent]
        self._start(self.fibers[parent], join, join.pass_over())

    def end(self, fiber: Fiber, outcome: Outcome) -> tuple[Join, list[Delivery]]:
        """A member has ended: starts and cancels others. Returns its join, which may be over now."""
        parent_id, _, index = parent_of(fiber.id)
        parent, join = self.fibers[parent_id], self.joins[parent_id]
        to_start, to_cancel = join.end(index, outcome, fiber.steps - parent.steps, fiber.log)
        self._start(parent, join, to_start)
        return join, _cancellations(parent, to_cancel)

    def rejoin(self, parent: Fiber, stored: dict[str, Fiber], context: Context) -> None:
        """Restores the join that a fiber waits for, and starts the members that were never stored."""
        spec = self._spec(parent)
        items: JSON | Failure = None
        if isinstance(spec, Iterations):
            items = boxed(parent.value)["items"]
        elif isinstance(spec, Each):
            items = items_of(Cursor(as_asked(parent), self._program.instructions, context), spec)
        items = items if type(items) is list else None
        width = width_of(spec, items)
        names = {member_id(parent.id, parent.turn, index): index for index in range(width)}
        traces = {names[name]: fiber for name, fiber in stored.items() if name in names}
        ended = {
            index: (fiber.outcome, fiber.steps - parent.steps, fiber.log)
            for index, fiber in traces.items()
            if fiber.outcome is not None
        }
        cancelled = isinstance(parent.wait, Joining) and parent.wait.unwind_reason is not None
        join = self.joins[parent.id] = Join(spec, width, items)
        join.restore(ended, set(traces), cancelled=cancelled)
        self._start(parent, join, sorted(set(join.live) - set(traces)))

    def _spec(self, parent: Fiber) -> ForkInstruction | Each | Iterations:
        spec = self._program.instructions[parent.pc - 1]
        forking = self._program.dialect.forks.get(type(spec))
        return spec if forking is None else forking(spec, parent.value)  # type: ignore[return-value]

    def _start(self, parent: Fiber, join: Join, members: Iterable[int]) -> None:
        spec = self._spec(parent)
        frames = inherited(parent.frames)
        key = key_of(parent.frames, parent.turn)
        for index in members:
            log = branch_frames(parent.frames, f"{key}/{index}" if key else None)
            self.add(
                Fiber(
                    id=member_id(parent.id, parent.turn, index),
                    pc=spec.branches[index] if isinstance(spec, ForkInstruction) else parent.pc,
                    value=join.input(index, parent.value),
                    frames=(*log, *frames),
                    steps=parent.steps,
                    event=parent.event,
                )
            )


def _cancellations(parent: Fiber, members: Iterable[int]) -> list[Delivery]:
    return [(member_id(parent.id, parent.turn, index), Cancelled()) for index in members]
