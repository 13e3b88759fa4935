"""Units of a commit, and the choice of those that can be withdrawn while none is committed.

A unit that stands alone holds all that a call has begun: withdrawn, nothing of the call is left. It stands
alone no longer once a later unit goes on with what it has begun, or an entity has changed with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...actions import Write

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from .live import LiveExecution

    Also: TypeAlias = Callable[[Write], None]  # adds to the write that a change gathers in


@dataclass(slots=True)
class Unit:
    """One write, and its effects once it is durable; `refused` is called instead if the store refuses it.

    begun: executions that begin with it.
    waiting: futures that fail when the store does not commit in time.
    alone: whether it can be withdrawn, so far as it knows itself.
    """

    write: Write = field(default_factory=Write)
    effects: list[Callable[[], None]] = field(default_factory=list)
    refused: Callable[[], None] | None = None
    begun: list[LiveExecution] = field(default_factory=list)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)
    alone: bool = False

    @property
    def blank(self) -> bool:
        """True if nothing has gathered in it."""
        return not (self.effects or matters(self.write))

    def begun_and_ended(self, id: str) -> None:
        """Takes out the rows of an execution under way that ends in the commit in which it begins."""
        write = self.write
        write.executions = [row for row in write.executions if row.id != id]
        write.fibers = [row for row in write.fibers if row.execution != id]
        write.dropped = [dropped for dropped in write.dropped if dropped[0] != id]

    def tell(self, error: Exception) -> None:
        """Fails the futures of those who wait for it."""
        for future in self.waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # so that nobody is warned of one that was dropped
        self.waiting.clear()


def nothing(_: Write) -> None:
    """The `Also` that adds nothing."""


def matters(write: Write) -> bool:
    """True if there is anything to commit in a write."""
    return bool(
        write.fibers or write.history or write.activations or write.executions or write.documents
        or write.forgotten or write.dropped or write.values or write.indexed or write.expired
    )  # fmt: skip


def parted(units: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """The units that can be withdrawn, and those that must stay, each in order."""
    gone: list[Unit] = []
    kept: list[Unit] = []
    later: set[str] = set()
    for unit in reversed(units):
        ids = set(_ids(unit))
        (gone if unit.alone and ids.isdisjoint(later) else kept).append(unit)
        later |= ids
    return gone[::-1], kept[::-1]


def _ids(unit: Unit) -> Iterator[str]:
    """The executions that a unit says something of."""
    write = unit.write
    yield from write.forgotten
    for execution in write.executions:
        yield execution.id
    for fiber in write.fibers:
        yield fiber.execution
    for places in (write.history, write.dropped, write.values):
        yield from (place[0] for place in places)
    for activation in write.activations:
        yield activation.id
        if activation.cause is not None:
            yield activation.cause
    for run in unit.begun:
        yield run.id
        if run.origin.parent is not None:
            yield run.origin.parent.execution
