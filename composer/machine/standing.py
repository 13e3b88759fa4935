"""The state of an execution, as its fibers stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conductor import reissue
from .fiber import ROOT
from .queries import state_of
from .stretches import Stretch
from .waits import Acquiring, Hearing, Invoking, Paused, Watching

if TYPE_CHECKING:
    from ..values import JSON
    from .commands import Invoke
    from .cursor import Context
    from .fiber import Fiber
    from .forks import Forks
    from .program import Program
    from .queries import QueryState

_IN_ORDER = (Hearing, Watching, Acquiring)


class Standing:
    """What the fibers under way say of their execution."""

    __slots__ = ()
    if TYPE_CHECKING:
        fibers: dict[str, Fiber]
        program: Program

        last: QueryState | None
        _forks: Forks
        _overlong: dict[str, int]

        def _context(self, now_ms: int) -> Context: ...

    @property
    def seen(self) -> QueryState | None:
        """The state that queries see: the present one, or that of its end."""
        root = self.fibers.get(ROOT)
        return self.last if root is None else state_of(self.program, root)

    def pending(self, now_ms: int) -> list[tuple[str, Invoke]]:
        """The invocations under way, which are sent again after a crash."""
        context = self._context(now_ms)
        commands = (
            (fiber.id, reissue(self.program, fiber, context)) for fiber in self.fibers.values()
        )
        return [(fiber, command) for fiber, command in commands if command is not None]

    @property
    def polled(self) -> list[tuple[str, int, JSON]]:
        """The actions to poll, also after a crash: fiber, turn and ticket."""
        return [
            (fiber.id, fiber.turn, fiber.wait.ticket)
            for fiber in self.fibers.values()
            if isinstance(fiber.wait, Invoking) and fiber.wait.polled
        ]

    @property
    def since_ms(self) -> int:
        """The last instant since which a fiber waits in an order of instants; 0 if none does."""
        waits = (fiber.wait for fiber in self.fibers.values())
        return max((wait.since_ms for wait in waits if isinstance(wait, _IN_ORDER)), default=0)

    @property
    def paused(self) -> bool:
        """True if a fiber waits for an operator."""
        return any(isinstance(fiber.wait, Paused) for fiber in self.fibers.values())

    @property
    def stuck(self) -> bool:
        """True if a saga waits for an operator."""
        return bool(self.stuck_fibers)

    @property
    def stuck_fibers(self) -> list[str]:
        """The fibers in which a saga waits for an operator."""
        return [
            fiber.id
            for fiber in self.fibers.values()
            if isinstance(fiber.wait, Paused) and fiber.wait.stuck
        ]

    @property
    def stretch(self) -> Stretch | None:
        """The evaluation to make next. It does not depend on the execution, which may change meanwhile."""
        for fiber, since_ms in self._overlong.items():
            return Stretch(self.program, self.fibers[fiber], self._context(since_ms))
        return None

    @property
    def ready(self) -> bool:
        """True if there is work that needs no event."""
        return bool(self._forks.ready or self._overlong)
