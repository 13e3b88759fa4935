"""Requests to one entity that wait: for its lock, or with the lock for the active request to end."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .locks import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .effects import Request
    from .locks import Claim, LockStatus


class PendingRequests:
    """The entity's lock, the requests that wait for it, and those that hold it and wait."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._waiting: dict[str, Request] = {}  # for the lock, by the owner of the claim
        self._granted: deque[Request] = deque()  # with the lock, for the active request to end

    def __iter__(self) -> Iterator[Request]:
        yield from self._waiting.values()
        yield from self._granted

    @property
    def waiting(self) -> list[tuple[str, Request]]:
        """The requests that wait for the lock, each with the owner of its claim."""
        return list(self._waiting.items())

    def waits(self, owner: str) -> bool:
        """True if a request waits for the lock in the owner's name."""
        return owner in self._waiting

    def ask(self, request: Request, claim: Claim) -> LockStatus:
        """Asks for the lock, and keeps the request unless the lock is refused."""
        status = self.lock.ask(claim)
        if status == "granted":
            self._granted.append(request)
        elif status == "waits":
            self._waiting[claim.owner] = request
        return status

    def grant(self) -> None:
        """Gives the lock to the requests that can have it now."""
        for claim in self.lock.granted():
            self._granted.append(self._waiting.pop(claim.owner))

    def next(self) -> Request | None:
        """Removes and returns the next request that holds the lock."""
        return self._granted.popleft() if self._granted else None

    def stop_waiting(self, owner: str) -> None:
        """Withdraws the owner's claim; a lock that the owner holds already is kept."""
        del self._waiting[owner]
        held = [claim for claim in self.lock.holders if claim.owner == owner]
        self.lock.release(owner)
        for claim in held:
            self.lock.take(claim)

    def remove_granted(self, id: str) -> list[Request]:
        """Removes and returns the requests of this id that hold the lock."""
        found = [request for request in self._granted if request.id == id]
        for request in found:
            self._granted.remove(request)
        return found
