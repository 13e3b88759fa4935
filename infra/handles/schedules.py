"""The common parts of the schedules of an embedded engine and of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...composer import JSON
    from .listings import Document


class Schedule(Protocol):
    """One schedule. It need not exist: each method says so.

    Each method but `create` raises NotFoundError if there is no such schedule.
    """

    @property
    def name(self) -> str:
        """The name of the schedule."""

    async def create(self, document: dict[str, JSON], *, overwrite: bool = False) -> Document:
        """Creates the schedule, or with `overwrite` replaces it. Returns its description.

        Args:
            document: `spec`, `do` and the other fields, as the HTTP API takes them.
            overwrite: True to replace a schedule of this name.

        Raises:
            InvalidError: the document is malformed.
            ConflictError: the schedule exists already.
        """

    async def get(self) -> JSON:
        """The document of the schedule."""

    async def describe(self) -> Document:
        """The schedule with its next 10 times, its last 10 runs and its counts."""

    async def pause(self) -> Document:
        """Pauses the schedule: its times pass without effect. Returns its description."""

    async def resume(self) -> Document:
        """Resumes the schedule. Times that passed in the pause start no runs. Returns its description."""

    async def trigger(self, *, overlap: str | None = None) -> Document:
        """Starts a run now, also of a paused schedule. Returns the schedule's description.

        Args:
            overlap: the policy for this run; the schedule's own if it is None.

        Raises:
            InvalidError: there is no such policy.
        """

    async def backfill(
        self, start: str | int, end: str | int, *, overlap: str | None = None
    ) -> Document:
        """Starts a run for each time of a period. Returns the schedule's description.

        Args:
            start: the first instant: ISO 8601, or milliseconds since the epoch.
            end: the last instant, which is included.
            overlap: the policy for these runs; `allow_all` if it is None.

        Raises:
            InvalidError: the period is malformed, or has too many times.
        """

    async def delete(self) -> Document:
        """Deletes the schedule. Its open runs go on. Returns its last description."""
