"""The lock of one entity: shared to read, exclusive to write, granted in order of arrival.

Deadlocks are impossible. A *plain* operation holds no lock while it waits. *Declared* transactions
take their locks in the order of the keys, so they cannot wait for each other in a circle. Transactions
that take locks as they go wait only for younger ones (wait-die), so neither can they. A declared
transaction never waits for one of these, so no circle goes through both. A transaction that may not
wait is refused, keeps its age and tries again; in time it is older than the others.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..composer import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .protocol import Order, Transaction

LockStatus: TypeAlias = Literal["granted", "waits", "refused"]
Age: TypeAlias = tuple[int, str]


@frozen
class Claim:
    """A request for the lock. `order` None: a plain operation, which is its own owner."""

    owner: str
    exclusive: bool
    order: Order | None = None
    age: Age = (0, "")


class Lock:
    """The claims that hold the entity, and the claims that wait for it."""

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held: dict[str, Claim] = {}
        self._waiting: deque[Claim] = deque()

    @property
    def free(self) -> bool:
        """True if no claim holds the lock or waits for it."""
        return not (self._held or self._waiting)

    def holds(self, owner: str, *, exclusive: bool = False) -> bool:
        """True if the owner holds the lock; with `exclusive`, if it may write."""
        claim = self._held.get(owner)
        return claim is not None and (claim.exclusive or not exclusive)

    @property
    def holders(self) -> Iterator[Claim]:
        return iter(self._held.values())

    @property
    def waiting(self) -> Iterator[Claim]:
        """The waiting claims, in order of arrival."""
        return iter(self._waiting)

    def ask(self, claim: Claim) -> LockStatus:
        """Grants the claim, lets it wait its turn, or refuses it."""
        if not (self._held or self._waiting):
            self._held[claim.owner] = claim
            return "granted"
        if self.holds(claim.owner, exclusive=claim.exclusive):
            return "granted"
        upgrade = claim.owner in self._held
        ahead = [] if upgrade else [*self._waiting]
        others = [held for held in self._held.values() if held.owner != claim.owner]
        if not ahead and self._compatible(claim):
            self._held[claim.owner] = claim
            return "granted"
        if not _may_wait(claim, [*others, *ahead]):
            return "refused"
        if upgrade:  # those behind wait for what it holds already
            self._waiting.appendleft(claim)
        else:
            self._waiting.append(claim)
        return "waits"

    def take(self, claim: Claim) -> None:
        """Gives the lock to a claim that held it before."""
        self._held[claim.owner] = claim

    def release(self, owner: str) -> None:
        """Withdraws the owner's claims, held and waiting."""
        self._held.pop(owner, None)
        if self._waiting:
            self._waiting = deque(claim for claim in self._waiting if claim.owner != owner)

    def granted(self) -> list[Claim]:
        """Grants the lock to waiting claims, in order, until one must wait. Returns the claims."""
        found = []
        while self._waiting and self._compatible(self._waiting[0]):
            claim = self._waiting.popleft()
            self._held[claim.owner] = claim
            found.append(claim)
        return found

    def _compatible(self, claim: Claim) -> bool:
        return all(
            held.owner == claim.owner or not (held.exclusive or claim.exclusive)
            for held in self._held.values()
        )


def claim_of(transaction: Transaction, *, exclusive: bool) -> Claim:
    """Returns a transaction's claim."""
    return Claim(transaction.id, exclusive, transaction.order, transaction.age)


def _may_wait(claim: Claim, ahead: list[Claim]) -> bool:
    """True if waiting cannot close a circle; see above."""
    by_age = [other for other in ahead if other.order in ("wait", "nowait")]
    match claim.order:
        case None:
            return True
        case "declared":
            return not by_age
        case "wait":
            return all(claim.age < other.age for other in by_age)
        case _:
            return False
