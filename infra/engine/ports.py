"""The ports between the inbox, which has steps run, and the part of the engine that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...actions import Completion
    from ...composer import Invoke
    from .live import ActiveInvocation, LiveExecution
    from .tickets import Ticket


class Receiver(Protocol):
    """Receives the completion of a step: see `Inbox.completed`."""

    def __call__(
        self,
        run: LiveExecution,
        fiber: str,
        turn: int,
        active: ActiveInvocation,
        completion: Completion,
    ) -> None: ...


class Starter(Protocol):
    """Runs steps: see `dispatch`."""

    def start(
        self,
        run: LiveExecution,
        fiber: str,
        active: ActiveInvocation,
        command: Invoke,
        completed: Receiver,
    ) -> None:
        """Runs a step that is durable now, and calls `completed` with its completion."""

    def resume(
        self,
        run: LiveExecution,
        place: tuple[str, int],
        active: ActiveInvocation,
        ticket: Ticket,
        completed: Receiver,
    ) -> None:
        """Polls for a step that was accepted elsewhere; its ticket is durable now."""

    def cancel(self, active: ActiveInvocation) -> None:
        """Stops a step that nobody waits for."""

    def withdraw(self, active: ActiveInvocation) -> None:
        """Makes an entity drop a step at once, before anything else gathers."""
