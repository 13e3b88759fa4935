"""Executions that are to begin, and those that after all do not."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ....actions import merged
from ....composer import frozen
from ..contexts import name_key

if TYPE_CHECKING:
    from ....actions import Action
    from ....composer import JSON
    from ..bounds import Bounds
    from ..runs import Run
    from ..shared import Parts
    from ..steps import Starter
    from ..unwaited import Unwaited


@frozen
class Beginning:
    """An execution that is to begin.

    Args:
        action: the state machine; a version of it may be no action in the catalog.
        input: any JSON.
        namespace: that it is in.
        name: of a state machine's execution; None for one that tells its id.
        about: what else is kept of that, see `contexts`.
        trace: the id of the trace that it belongs to.
        unwaited: when nobody waits for it: then it may become a dead letter.
    """

    action: Action
    input: JSON
    namespace: str
    name: str | None = None
    about: dict[str, JSON] = field(default_factory=dict)
    trace: str = ""
    unwaited: Unwaited | None = None

    @property
    def key(self) -> str:
        """Of the document that holds the id of the execution of this name."""
        return name_key(self.namespace, self.action.listed_as.path, self.name or "")


def called(
    action: Action,
    params: dict[str, JSON],
    namespace: str,
    trace: str = "",
    unwaited: Unwaited | None = None,
) -> Beginning:
    """What is to begin when an action is called with these parameters."""
    value = params if action.entity is not None else merged(action.parameters, params)
    return Beginning(action, value, namespace, trace=trace, unwaited=unwaited)


def withdraw(begun: list[Run], parts: Parts, bounds: Bounds, starter: Starter) -> None:
    """Undoes that executions have begun: the store has not taken them, and nothing is left of them."""
    for run in begun:
        parts.counters.withdrawn += 1
        parts.ended.discard(run.id)
        if parts.runs.get(run.id) is run:
            del parts.runs[run.id]
            bounds.ended(run)
        parts.stuck.pop(run.id, None)
        run.put_off.clear()
        for flight in run.flights.values():
            starter.withdraw(flight)
        run.flights.clear()
