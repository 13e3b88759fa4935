"""The tombstones of an entity: answers to messages that may be delivered again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..composer import Failure, Success
from .effects import Answer
from .errors import ENDED, RETRYABLE, refusal
from .protocol import Operate
from .records import DeleteTombstone, Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..composer import Outcome
    from .effects import Effect, Request
    from .protocol import Transaction

TOKEN_MS = 24 * 3600 * 1000  # an operation with a token is remembered for so long


class Tombstones:
    """Tombstones by the transaction or operation that they are of."""

    def __init__(self, stones: Iterable[Tombstone]) -> None:
        self._stones = {stone.of: stone for stone in stones}
        self.deleted: list[
            str
        ] = []  # those that have expired, and are not yet handed out as writes

    def __contains__(self, of: str) -> bool:
        return of in self._stones

    def answer_of(self, of: str | None) -> Outcome | None:
        """Returns the answer to give again; None if there is no tombstone."""
        stone = self._stones.get(of or "")
        if stone is None:
            return None
        if stone.answer is None:
            return refusal(
                ENDED, "the transaction or operation was ended or undone before this message came"
            )
        return stone.answer

    def succeeded(self, of: str) -> bool:
        """True if the operation was done: neither refused, nor forbidden before it came."""
        return isinstance(self.answer_of(of), Success)

    def remember(self, of: str, now_ms: int, answer: Outcome | None) -> Tombstone:
        """Keeps an answer, to be given again; None forbids the operation from now on."""
        return self._keep(Tombstone(of, now_ms + TOKEN_MS, answer), now_ms)

    def _keep(self, stone: Tombstone, now_ms: int) -> Tombstone:
        expired = [of for of, old in self._stones.items() if old.until_ms <= now_ms]
        for of in expired:
            del self._stones[of]
        self.deleted += expired
        self._stones[stone.of] = stone
        return stone

    def with_deletions(self, effects: list[Effect]) -> list[Effect]:
        """Returns the effects; the first answer among them also deletes expired tombstones."""
        for at, effect in enumerate(effects):
            if isinstance(effect, Answer):
                deletions, self.deleted = tuple(map(DeleteTombstone, self.deleted)), []
                effects[at] = replace(effect, writes=(*effect.writes, *deletions))
                break
        return effects

    def operation_ended(
        self, request: Request, outcome: Outcome, now_ms: int
    ) -> tuple[Tombstone, ...]:
        """Remembers the outcome of an operation that may be requested again. Returns the writes."""
        message = request.message
        assert isinstance(message, Operate)  # noqa: S101  transactions have `transaction_ended`
        again = isinstance(outcome, Failure) and outcome.code in RETRYABLE
        if request.once or message.token is None or again:
            return ()
        return (self.remember(message.token, now_ms, outcome),)

    def transaction_ended(self, transaction: Transaction, now_ms: int) -> Tombstone:
        """Remembers a transaction until its deadline: after that, its messages are refused anyway."""
        known = self._stones.get(transaction.id)
        if known is not None and known.answer is not None:
            return known  # the decision made here may be requested again
        return self._keep(Tombstone(transaction.id, transaction.deadline_ms), now_ms)
