"""The dead letters of a namespace: listed, retried and removed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...actions import read_cloud_event
from ...composer import Name
from .inbox.pending import called
from .unwaited import ALARM, CLOUDEVENT

if TYPE_CHECKING:
    from ...composer import JSON
    from .dead_letter_records import DeadLetter, DeadLetterRecords
    from .firing import Firing
    from .inbox.inbox import Inbox
    from .redrives import Redrives
    from .shared import Parts
    from .tick import Tick

FIRES = (ALARM, CLOUDEVENT)  # what they were to do


class DeadLetters:
    """Lists, shows, retries and removes the dead letters of a namespace."""

    def __init__(  # noqa: PLR0913, PLR0917  the parts that it needs
        self,
        parts: Parts,
        tick: Tick,
        inbox: Inbox,
        letters: DeadLetterRecords,
        redrives: Redrives,
        firing: Firing,
    ) -> None:
        self._parts, self._tick, self._firing = parts, tick, firing
        self._inbox, self._letters, self._redrives = inbox, letters, redrives

    def __len__(self) -> int:
        return len(self._letters)

    def list(self, namespace: str) -> list[dict[str, JSON]]:
        """The letters of a namespace, the newest first."""
        return [letter.shown() for letter in self._letters.listed(namespace)]

    def called(self, namespace: str, id: str) -> tuple[str, str]:
        """The full name of the action that one called, and the namespace whose action that was.

        The namespace is "" when the call was refused before it began: then its parameters are the caller's own.

        Raises:
            NotFoundError: when there is none of this id in the namespace.
        """
        letter = self._letters.found(namespace, id)
        return letter.target, letter.owner

    async def get(self, namespace: str, id: str) -> dict[str, JSON]:
        """A letter, with the parameters of its call.

        Raises:
            NotFoundError: when there is none of this id in the namespace.
        """
        letter = self._letters.found(namespace, id)
        params, error = await self._letters.content(letter)
        shown = {**letter.shown(), "error": error}
        return shown if letter.execution else {**shown, "params": params}

    async def retry(self, namespace: str, id: str) -> str | None:
        """Retries the call of a letter and removes the letter. Returns the activation, which is durable.

        An execution is redriven from where it failed. The trigger of an alarm or a CloudEvent is fired; None is
        returned if no rule of it is active. Anything else is invoked anew. Both happen in the commit that removes the letter.

        Raises:
            NotFoundError: when there is none of this id in the namespace, or its action is gone.
            RefusedError: when it may not run now; then it stays.
        """
        self._tick.ensure()
        letter = self._letters.found(namespace, id)
        if letter.execution and letter.activation is not None:
            await self._redrives.redrive(namespace, letter.activation, None)
            self._gone(letter)
            await self._tick.committed()
            return letter.activation
        params, _ = await self._letters.content(letter)
        self._tick.ensure()  # reading may have taken long
        letter = self._letters.found(namespace, id)  # nobody has sent it again meanwhile
        if letter.how in FIRES:
            return await self._fired_again(letter, params)
        action = self._parts.catalog.resolve(Name.parse(letter.target), namespace)
        now_ms = self._parts.clock.now_ms()
        self._parts.used(namespace).admit(self._parts.settings.quotas(namespace), now_ms)
        activation = self._parts.ids.execution_id(now_ms)
        accepted = self._tick.durable()
        self._letters.remove(namespace, id)
        self._inbox.begin(activation, called(action, params, namespace, unwaited=letter.unwaited))
        await accepted
        return activation

    async def _fired_again(self, letter: DeadLetter, payload: Any) -> str | None:
        gone = partial(self._gone, letter)
        if letter.how == CLOUDEVENT:
            payload = read_cloud_event(payload, outside=False)
        return await self._firing.fire(Name.parse(letter.target), payload, beside=gone)

    async def remove(self, namespace: str, id: str) -> dict[str, JSON]:
        """Removes a letter; that is durable when this returns. Returns the letter.

        Raises:
            NotFoundError: when there is none of this id in the namespace.
            UnavailableError: when the store does not commit.
        """
        letter = self._letters.found(namespace, id)
        accepted = self._tick.durable()
        self._letters.remove(namespace, id)
        await accepted
        return letter.shown()

    async def clear(self, namespace: str) -> None:
        """Removes all letters of a namespace that is being removed."""
        letters = self._letters.listed(namespace)
        if letters:
            accepted = self._tick.durable()
            for letter in letters:
                self._letters.remove(namespace, letter.id)
            await accepted

    def _gone(self, letter: DeadLetter) -> None:
        """Removes a letter, unless somebody else has."""
        if any(other.id == letter.id for other in self._letters.listed(letter.namespace)):
            self._letters.remove(letter.namespace, letter.id)
