"""Schedules on a server, as a program works with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .wire import HOME, segment

if TYPE_CHECKING:
    from ...composer import JSON
    from ..handles import Document
    from .calls import Calls


class RemoteSchedule:
    """A schedule on a server. It need not exist: each method says so if it does not.

    A method that changes something raises InDoubtError if the connection is lost: it is not sent again, because
    another caller may have changed the schedule meanwhile.
    """

    def __init__(self, calls: Calls, name: str) -> None:
        self._calls, self._name = calls, name
        self._path = f"{HOME}/schedules/{segment(name)}"

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self._name

    def __repr__(self) -> str:
        return f"<schedule {self._name}>"

    async def create(self, document: dict[str, JSON], *, overwrite: bool = False) -> Document:
        """Creates the schedule, or with `overwrite` replaces it. Returns its description.

        Args:
            document: `spec`, `do` and the other fields, as the HTTP API takes them.
            overwrite: True to replace a schedule of this name.

        Raises:
            InvalidError: the document is malformed.
            ConflictError: the schedule exists already.
        """
        return await self._calls.ask("PUT", self._path, document, overwrite=overwrite)

    async def get(self) -> JSON:
        """The document of the schedule.

        Raises:
            NotFoundError: there is no such schedule.
        """
        document: JSON = (await self.describe())["document"]
        return document

    async def describe(self) -> Document:
        """The schedule with its next 10 times, its last 10 runs and its counts.

        Raises:
            NotFoundError: there is no such schedule.
        """
        return await self._calls.ask("GET", self._path)

    async def pause(self) -> Document:
        """Pauses the schedule: its times pass without effect. Returns its description.

        Raises:
            NotFoundError: there is no such schedule.
        """
        return await self._calls.ask("POST", f"{self._path}/pause")

    async def resume(self) -> Document:
        """Resumes the schedule. Times that passed in the pause start no runs. Returns its description.

        Raises:
            NotFoundError: there is no such schedule.
        """
        return await self._calls.ask("POST", f"{self._path}/resume")

    async def trigger(self, *, overlap: str | None = None) -> Document:
        """Starts a run now, also of a paused schedule. Returns the schedule's description.

        Args:
            overlap: the policy for this run; the schedule's own if it is None.

        Raises:
            NotFoundError: there is no such schedule, or no such action.
            InvalidError: there is no such policy.
        """
        return await self._calls.ask("POST", f"{self._path}/trigger", _with(overlap))

    async def backfill(
        self, start: str | int, end: str | int, *, overlap: str | None = None
    ) -> Document:
        """Starts a run for each time of a period. Returns the schedule's description.

        Args:
            start: the first instant: ISO 8601, or milliseconds since the epoch.
            end: the last instant, which is included.
            overlap: the policy for these runs; `allow_all` if it is None.

        Raises:
            NotFoundError: there is no such schedule, or no such action.
            InvalidError: the period is malformed, or has too many times.
        """
        body = {"from": start, "to": end, **_with(overlap)}
        return await self._calls.ask("POST", f"{self._path}/backfill", body)

    async def delete(self) -> Document:
        """Deletes the schedule. Its open runs go on. Returns its last description.

        Raises:
            NotFoundError: there is no such schedule.
        """
        return await self._calls.ask("DELETE", self._path)


def _with(overlap: str | None) -> dict[str, JSON]:
    return {} if overlap is None else {"overlap": overlap}
