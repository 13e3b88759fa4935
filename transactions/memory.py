"""What an entity remembers of messages that may come again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..composer import Failure, Success
from .effects import Answer
from .errors import ENDED, RETRYABLE, refusal
from .protocol import Operate
from .records import Forgotten, Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..composer import JSON, Outcome
    from .effects import Effect, Request
    from .protocol import Transaction

TOKEN_MS = 24 * 3600 * 1000  # that an operation which may come twice is remembered


class Memory:
    """Tombstones, by what they are of."""

    def __init__(self, stones: Iterable[Tombstone]) -> None:
        self._stones = {stone.of: stone for stone in stones}
        self._gone: list[str] = []

    def __contains__(self, of: str) -> bool:
        return of in self._stones

    def told(self, of: str | None) -> Outcome | None:
        """What was answered to it; None when it is not remembered."""
        stone = self._stones.get(of or "")
        if stone is None:
            return None
        if stone.answer is None:
            return refusal(ENDED, "it has ended, or been undone, before this came")
        code, value = stone.answer
        return Success(value) if code is None else Failure(code, value)

    def succeeded(self, of: str) -> bool:
        """Whether it was done: neither refused, nor stopped before it came."""
        return isinstance(self.told(of), Success)

    def remember(self, of: str, now_ms: int, answer: Outcome | None) -> Tombstone:
        """Keeps an answer, to be given again; None for what must not be done any more."""
        written: JSON = None
        if isinstance(answer, Failure):
            written = [answer.code, answer.error]
        elif answer is not None:
            written = [None, answer.value]
        return self._keep(Tombstone(of, now_ms + TOKEN_MS, written), now_ms)

    def _keep(self, stone: Tombstone, now_ms: int) -> Tombstone:
        gone = [of for of, old in self._stones.items() if old.until_ms <= now_ms]
        for of in gone:
            del self._stones[of]
        self._gone += gone
        self._stones[stone.of] = stone
        return stone

    def tidied(self, effects: list[Effect]) -> list[Effect]:
        """The effects, the first answer of which also deletes what need not be remembered any more."""
        for at, effect in enumerate(effects if self._gone else ()):
            if isinstance(effect, Answer):
                gone, self._gone = tuple(map(Forgotten, self._gone)), []
                effects[at] = replace(effect, writes=(*effect.writes, *gone))
                break
        return effects

    def kept(self, request: Request, outcome: Outcome, now_ms: int) -> tuple[Tombstone, ...]:
        """What is written of an operation that may be asked for again."""
        message = request.message
        assert isinstance(message, Operate)  # noqa: S101  transactions are buried
        again = isinstance(outcome, Failure) and outcome.code in RETRYABLE
        if request.once or message.token is None or again:
            return ()
        return (self.remember(message.token, now_ms, outcome),)

    def bury(self, transaction: Transaction, now_ms: int) -> Tombstone:
        """A transaction has ended here: remembered until its messages are refused for their age."""
        known = self._stones.get(transaction.id)
        if known is not None and known.answer is not None:
            return known  # it may still be asked what it has decided
        return self._keep(Tombstone(transaction.id, transaction.deadline_ms), now_ms)
