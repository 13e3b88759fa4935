"""Heuristic decisions: an operator decides transactions in doubt by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import NotFoundError
from .documents import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON
    from ....transactions import Prepared
    from ..tick import Tick
    from .mailboxes import Mailboxes


class Heuristics:
    """Lists votes in doubt, decides them by hand, and forgets such decisions."""

    def __init__(self, mailboxes: Mailboxes, tick: Tick) -> None:
        self._mailboxes, self._tick = mailboxes, tick

    def votes(self, namespace: str) -> list[dict[str, JSON]]:
        """Lists the votes of a namespace that are in doubt, or were decided by an operator."""
        return [
            _shown(name, vote)
            for name, found in sorted(self._mailboxes.votes.items())
            for vote in found.values()
            if name.startswith(f"/{namespace}/")
        ]

    async def decide(
        self, namespace: str, transaction: str, *, commits: bool, by: str, reason: str
    ) -> None:
        """Decides a transaction for all entities of the namespace that are in doubt about it.

        Raises:
            NotFoundError: if there is none.
        """
        self._tick.ensure()
        for name in self._names(namespace, transaction, lambda vote: vote.heuristic is None):
            await self._mailboxes.decide_by_hand(
                name, transaction, commits=commits, by=by, reason=reason
            )
        await self._tick.committed()

    async def forget(self, namespace: str, transaction: str) -> None:
        """Forgets an operator's decision, and any damage that it has done.

        Raises:
            NotFoundError: if there is no such decision.
        """
        self._tick.ensure()
        for name in self._names(namespace, transaction, lambda vote: vote.heuristic is not None):
            await self._mailboxes.forget(name, transaction)
        await self._tick.committed()

    def _names(
        self, namespace: str, transaction: str, fits: Callable[[Prepared], bool]
    ) -> list[str]:
        names = [
            name
            for name, found in self._mailboxes.votes.items()
            if name.startswith(f"/{namespace}/")
            and transaction in found
            and fits(found[transaction])
        ]
        if not names:
            raise NotFoundError
        return names


def _shown(name: str, vote: Prepared) -> dict[str, JSON]:
    action, key = parts_of(name)
    doc: dict[str, JSON] = {
        "transaction": vote.transaction.id,
        "entity": action,
        "key": key,
        "since": vote.since_ms,
        "state": "in doubt",
    }
    if vote.transaction.coordinator is not None:
        doc["executionId"] = vote.transaction.coordinator.partition("/")[0]
    if vote.heuristic is not None:
        doc |= {"state": "damaged" if vote.damaged else "decided", "decision": vote.heuristic}
        doc |= {"by": vote.by, "reason": vote.why}
    return doc
