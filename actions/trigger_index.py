"""The triggers that CloudEvents of a type can fire, found without a look at all the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .model import Trigger

UNTYPED_FILTERS = 200  # triggers of a namespace whose filters are tried with each CloudEvent


class TriggerIndex:
    """The triggers of each namespace by the types of CloudEvents that their filters can fit.

    Args:
        triggers: of a namespace.
    """

    def __init__(self, triggers: Callable[[str], Iterable[Trigger]]) -> None:
        self._triggers = triggers
        self._made: dict[str, dict[str | None, list[Trigger]]] = {}  # None is for any type

    def changed(self, namespace: str) -> None:
        """The triggers of a namespace are not what they were."""
        self._made.pop(namespace, None)

    def of(self, namespace: str, type: str) -> list[Trigger]:
        """The triggers of a namespace whose filters may fit CloudEvents of a type, in order of name."""
        found = self._made.get(namespace)
        if found is None:
            found = self._made[namespace] = {}
            for trigger in self._triggers(namespace):
                if trigger.filter is not None:
                    types = trigger.filter.types
                    for each in (None,) if types is None else types:
                        found.setdefault(each, []).append(trigger)
        listed = [*found.get(type, ()), *found.get(None, ())]
        return sorted(listed, key=lambda trigger: trigger.name.name)
