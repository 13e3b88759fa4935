"""Who runs steps, as whoever asks for them sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...composer import JSON, Invoke
    from .runs import Flight, Run


class Starter(Protocol):
    """Who runs steps: see `dispatch`."""

    def start(self, run: Run, fiber: str, flight: Flight, command: Invoke) -> None:
        """Runs a step that is durable now."""

    def resume(
        self, run: Run, fiber: str, turn: int, flight: Flight, ticket: dict[str, JSON]
    ) -> None:
        """Asks after one that was taken in, which is durable now."""

    def cancel(self, flight: Flight) -> None:
        """Stops one that nobody waits for."""

    def withdraw(self, flight: Flight) -> None:
        """Has an entity do nothing for it, as of now: before what else gathers."""
