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
    """The entity's lock, the requests that wait for it, and those that hold it and wait.

    queue: the requests that wait for the lock, by the owner of the claim.
    granted: those with the lock, which wait for the active request to end, in order.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.queue: dict[str, Request] = {}
        self.granted: deque[Request] = deque()

    def __iter__(self) -> Iterator[Request]:
        yield from self.queue.values()
        yield from self.granted

    @property
    def waiting(self) -> list[tuple[str, Request]]:
        """The requests that wait for the lock, each with the owner of its claim."""
        return list(self.queue.items())

    def waits(self, owner: str) -> bool:
        """True if a request waits for the lock in the owner's name."""
        return owner in self.queue

    def ask(self, request: Request, claim: Claim) -> LockStatus:
        """Asks for the lock, and keeps the request unless the lock is refused."""
        status = self.lock.ask(claim)
        if status == "granted":
            self.granted.append(request)
        elif status == "waits":
            self.queue[claim.owner] = request
        return status

    def grant(self) -> None:
        """Gives the lock to the requests that can have it now."""
        for claim in self.lock.granted():
            self.granted.append(self.queue.pop(claim.owner))

    def stop_waiting(self, owner: str) -> None:
        """Withdraws the owner's claim; a lock that the owner holds already is kept."""
        del self.queue[owner]
        held = [claim for claim in self.lock.holders if claim.owner == owner]
        self.lock.release(owner)
        for claim in held:
            self.lock.take(claim)

    def remove_granted(self, id: str) -> list[Request]:
        """Removes and returns the requests of this id that hold the lock."""
        found = [request for request in self.granted if request.id == id]
        for request in found:
            self.granted.remove(request)
        return found
