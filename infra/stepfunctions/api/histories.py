"""GetExecutionHistory: the events of an execution, page by page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...aws import invalid_token
from .described import qualified
from .events import event_of
from .execution_lookup import any_execution_named
from .pages import PAGE, shown_before, token_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....composer import JSON
    from ...aws import Parameters
    from .api import StepFunctionsApi
    from .events import Entry
    from .protocol import Caller, Operations

_NUMBER = re.compile(r"[0-9]{1,12}")


async def get_execution_history(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Returns a page of events, the oldest or the newest first."""
    execution = await any_execution_named(params["executionArn"], caller, api)
    backward = params.get("reverseOrder", False)
    way = "down" if backward else "up"
    question = f"{params['executionArn']} {way}"
    last = _last(shown_before(params, caller, question))
    entries: Sequence[Entry] = await api.engine.executions.history(execution)
    found = [(entry, told) for entry in entries for told in entry.get("events", ())]
    if backward:
        found = [each for each in reversed(found) if last is None or each[1][0] < last]
    elif last is not None:
        found = [each for each in found if each[1][0] > last]
    size, data = params.get("maxResults") or PAGE, params.get("includeExecutionData", True)
    events = [event_of(entry, told, data=data) for entry, told in found[:size]]
    for event in events:
        if event["type"] == "ExecutionStarted":
            event["executionStartedEventDetails"] |= qualified(execution, api.arns)
    answer: dict[str, JSON] = {"events": [*events]}
    if len(found) > size:
        answer["nextToken"] = token_of(str(events[-1]["id"]), caller, question)
    return answer


def _last(text: str | None) -> int | None:
    """The last event that was shown."""
    if text is not None and not _NUMBER.fullmatch(text):
        raise invalid_token()
    return None if text is None else int(text)


OPERATIONS: Operations = {"GetExecutionHistory": get_execution_history}
