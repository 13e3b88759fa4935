"""Chains: a run ends, and the next run of its chain begins in its place.

`Handover` lists what the machine hands on from run to run. What the host keeps of an execution (its id, its
attributes, ...) is the host's to hand on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..freezing import changed, frozen
from .fiber import ROOT
from .frames import EXECUTION_TIMEOUT, Deadline
from .inbox import Inbox

if TYPE_CHECKING:
    from ..values import JSON
    from .changes import Changes
    from .execution import Execution
    from .frames import Frame
    from .inbox import Message

FIRST = 2  # the number of the entry after ExecutionStarted


@frozen
class Handover:
    """The state that the next run of a chain is given.

    Args:
        run: the id of the run that ends.
        deadlines: of the chain, as they stand.
        messages: that nobody has received yet, in order of arrival, numbered for the next run.
        ids: of these messages, and of those that were told a short time ago; see `Inbox.ids`.
    """

    run: str
    deadlines: tuple[Deadline, ...]
    messages: tuple[Message, ...]
    ids: frozenset[str]


def handover(execution: Execution) -> Handover:
    """The state that an execution hands on to the next run of its chain when it ends."""
    inbox = execution.inbox or Inbox()
    waiting = {message.id for message in inbox if message.id}
    return Handover(
        run=execution.id,
        deadlines=tuple(
            frame
            for frame in execution.fibers[ROOT].frames
            if type(frame) is Deadline and frame.bound == EXECUTION_TIMEOUT
        ),
        messages=tuple(
            changed(message, number=number) for number, message in enumerate(inbox, FIRST)
        ),
        ids=frozenset(inbox.ids | waiting),
    )


def take_over(
    execution: Execution,
    given: Handover,
    value: JSON,
    now_ms: int,
    frames: tuple[Frame, ...] = (),
) -> Changes:
    """Begins the next run of a chain, with what it is given, and with `frames` of its own."""
    below = (*given.deadlines, *frames)
    changes = execution.begin(value, now_ms, frames=below, told=given.messages, continues=given.run)
    if given.ids:
        execution.inbox = execution.inbox or Inbox()
        execution.inbox.ids |= given.ids
    return changes
