"""Executions that are to begin, and the removal of those that the store did not take."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ....actions import PLAIN, StartOptions
from ....composer import frozen
from ..names import name_key
from ..targets import given

if TYPE_CHECKING:
    from ....actions import Action
    from ....composer import JSON, Message
    from ..core import Core
    from ..live import LiveExecution
    from ..unwaited import Unwaited


@frozen
class Beginning:
    """An execution that is to begin.

    Args:
        action: its action; a version of one need not be in the catalog.
        input: any JSON.
        namespace: that it is in.
        name: the execution's name; None for one that is named by its id.
        about: further members that a wing keeps of it, see `hooks`.
        trace: the id of the trace that it belongs to.
        unwaited: when nobody waits for it: then it may become a dead letter.
        options: what the caller says of it.
        told: messages that it receives before its first part runs.
    """

    action: Action
    input: JSON
    namespace: str
    name: str | None = None
    about: dict[str, JSON] = field(default_factory=dict)
    trace: str = ""
    unwaited: Unwaited | None = None
    options: StartOptions = PLAIN
    told: tuple[Message, ...] = ()

    @property
    def key(self) -> str:
        """The key of the document that holds the id of the execution with this name."""
        return name_key(self.namespace, self.action.listed_as.path, self.name or "")


def called(
    action: Action,
    params: JSON,
    namespace: str,
    trace: str = "",
    unwaited: Unwaited | None = None,
) -> Beginning:
    """The execution that begins when an action is called with these parameters."""
    value = params if action.entity is not None else given(action, params)
    return Beginning(action, value, namespace, trace=trace, unwaited=unwaited)


def withdraw(begun: list[LiveExecution], core: Core) -> None:
    """Removes executions that have begun from memory, with all that they have: the store did not take them."""
    parts = core.parts
    for run in begun:
        core.limits.gone(run)
        core.step_limits.gone(run)
        parts.counters.withdrawn += 1
        parts.ended.discard(run.id)
        parts.handed.pop(run.id, None)
        if parts.runs.get(run.id) is run:
            del parts.runs[run.id]
            core.bounds.ended(run)
        parts.stuck.pop(run.id, None)
        run.put_off.clear()
        for active in run.invocations.values():
            core.starter.withdraw(active)
        run.invocations.clear()
