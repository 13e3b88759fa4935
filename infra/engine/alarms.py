"""Triggers that tell operators: a saga cannot go on, or a call became a dead letter."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from ...actions import RefusedError, Rule
from ...composer import STUCK, Name

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from ...actions import Catalog
    from ...composer import JSON, Entry
    from .dead_letter_records import DeadLetter
    from .live import LiveExecution

log = logging.getLogger(__name__)

SAGA_STUCK = "saga-stuck"
DEAD_LETTER = "dead-letter"


class Alarms:
    """Fires the triggers of a namespace that tell its operators, if it has them.

    Args:
        tasks: in which triggers fire.
        catalog: has the rules.
        fire: fires a trigger.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        catalog: Catalog,
        fire: Callable[[Name, dict[str, JSON]], Awaitable[object]],
    ) -> None:
        self._tasks, self._catalog, self._fire = tasks, catalog, fire

    def stuck(self, run: LiveExecution, entries: list[Entry]) -> None:
        """A saga cannot go on: the log says so, and the trigger `saga-stuck` of its namespace fires."""
        stuck = next(entry for entry in reversed(entries) if entry.kind == STUCK)
        name, error = str(run.origin.action.listed_as), stuck.value
        log.error("the saga %s is stuck: execution %s, %s", name, run.id, stuck.detail.get("code"))
        payload = {"executionId": run.id, "action": name, "error": error}
        self._tell(Name(run.origin.namespace, None, SAGA_STUCK), payload)

    def letter(self, letter: DeadLetter) -> None:
        """A call became a dead letter: the trigger `dead-letter` of its namespace fires.

        It does not for a call of that trigger's own: else each letter would make the next one.
        """
        rule = self._catalog.find(Rule, Name.parse(letter.rule)) if letter.rule else None
        if rule is None or rule.trigger.name != DEAD_LETTER:
            self._tell(Name(letter.namespace, None, DEAD_LETTER), letter.shown())

    def _tell(self, trigger: Name, payload: dict[str, JSON]) -> None:
        self._tasks.create_task(self._told(trigger, payload))

    async def _told(self, trigger: Name, payload: dict[str, JSON]) -> None:
        with suppress(RefusedError):  # there is no such trigger
            await self._fire(trigger, payload)
