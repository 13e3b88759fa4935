"""ListExecutions: the executions of a state machine, the newest first."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ....actions import MachineArn, Query
from ...aws import invalid, invalid_token, machine_missing, type_not_supported
from .described import STATUSES, listed
from .names import read_arn
from .pages import PAGE, shown_before, token_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ....composer import JSON
    from ...aws import Parameters
    from ...engine import NamedExecution
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

AT_ONCE = 200  # executions that are read at a time
STANDARD = "STANDARD"
OURS = {theirs: ours for ours, theirs in reversed(STATUSES.items())}
_PLACE = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")


class _Place(NamedTuple):
    """A place in the list: behind `skip` executions that began at `upto_ms`, and all newer ones."""

    upto_ms: int | None = None
    skip: int = 0

    def behind(self, execution: NamedExecution) -> _Place:
        began_ms = execution.started_ms
        return _Place(began_ms, self.skip + 1 if began_ms == self.upto_ms else 1)


async def list_executions(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Lists executions of a state machine, version or alias, filtered by status and redrive."""
    text, status = params.get("stateMachineArn"), params.get("statusFilter")
    redriven = params.get("redriveFilter")
    if "mapRunArn" in params:
        raise invalid("The children of a Map Run are part of the execution that started them.")
    if text is None:
        raise invalid("1 validation error detected: Must provide a StateMachine ARN or MapRun ARN")
    arn = _standard(text, caller, api)
    if status is not None and status not in OURS:
        return {"executions": []}
    question = f"{text} {status} {redriven}"
    place = _read(shown_before(params, caller, question))
    query = Query(
        namespace=caller.namespace,
        name=arn.name,
        status=None if status is None else OURS[status],
        limit=AT_ONCE,
    )
    size = params.get("maxResults") or PAGE
    executions: list[JSON] = []
    async for behind, execution in _rows(query, place, api):
        if not _fits(execution, arn, redriven):
            continue
        if len(executions) == size:
            token = token_of(f"{place.upto_ms}.{place.skip}", caller, question)
            return {"executions": executions, "nextToken": token}
        executions.append(listed(execution, api.arns))
        place = behind
    return {"executions": executions}


def _standard(text: str, caller: Caller, api: StepFunctionsApi) -> MachineArn:
    arn = read_arn(text, MachineArn)
    machine = api.machines.find(caller.namespace, arn.name)
    if machine is None:
        raise machine_missing(text)
    if machine.type != STANDARD:
        raise type_not_supported()
    return arn


async def _rows(
    query: Query, place: _Place, api: StepFunctionsApi
) -> AsyncIterator[tuple[_Place, NamedExecution]]:
    """The executions behind a place, each with the place behind it."""
    while True:
        page = replace(query, upto_ms=place.upto_ms, skip=place.skip)
        found = await api.engine.executions.all(page)
        for execution in found:
            place = place.behind(execution)
            yield place, execution
        if len(found) < query.limit:
            return


def _fits(execution: NamedExecution, arn: MachineArn, redriven: JSON) -> bool:
    about = execution.about
    if not execution.found_by_name:  # the name was another action's then
        return False
    if arn.qualifier is not None:
        by = "version" if isinstance(arn.qualifier, int) else "alias"
        if about.get(by) != arn.qualifier:
            return False
    return redriven is None or (redriven == "REDRIVEN") == bool(execution.redrives)


def _read(text: str | None) -> _Place:
    if text is None:
        return _Place()
    match = _PLACE.fullmatch(text)
    if match is None:
        raise invalid_token()
    return _Place(int(match[1]), int(match[2]))


OPERATIONS: Operations = {"ListExecutions": list_executions}
