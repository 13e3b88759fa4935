"""Runs of distributed Maps. Their children are part of the execution that started them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ....actions import MapRunArn, NotFoundError
from ....composer import Rebound, Success
from ...aws import invalid, resource_missing
from ...http import is_machine_hidden
from ..contexts import map_run_key
from .execution_lookup import execution_named
from .names import read_arn
from .pages import page
from .protocol import seconds
from .run_counts import MapRun, map_runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ....composer import JSON
    from ...aws import Parameters
    from ...engine import NamedExecution
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations
    from .run_counts import Children

CONCURRENCY, COUNT, PERCENTAGE = BOUNDS = (
    "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage",
)  # fmt: skip
WHOLE = 100  # per cent


async def list_map_runs(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Lists the Map runs of an execution, in order."""
    arn = params["executionArn"]
    execution = await execution_named(arn, caller, api)
    runs = map_runs_of(await api.engine.executions.history(execution))
    numbered = list(enumerate(runs))
    shown, more = page(numbered, lambda run: f"{run[0]:06}", params, caller, f"runs of {arn}")
    return {"mapRuns": [_listed(run, execution, api) for _, run in shown], **more}


def _listed(run: MapRun, execution: NamedExecution, api: StepFunctionsApi) -> dict[str, JSON]:
    arn = read_arn(run.arn, MapRunArn)
    doc: dict[str, JSON] = {
        "executionArn": execution.address,
        "mapRunArn": run.arn,
        "stateMachineArn": api.arns.machine(f"{arn.machine}/{arn.label}"),
        "startDate": seconds(run.started_ms),
    }
    return doc if run.ended_ms is None else {**doc, "stopDate": seconds(run.ended_ms)}


async def describe_map_run(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    execution, run = await _found(params["mapRunArn"], caller, api)
    children = run.children
    if run.running and run.turn is not None:
        children = await _standing(execution, run, run.turn, api)
    doc: dict[str, JSON] = {
        "mapRunArn": run.arn,
        "executionArn": execution.address,
        "status": run.status,
        "startDate": seconds(run.started_ms),
        **_bounds(run, await api.engine.executions.definition(execution)),
        "executionCounts": run.counts(children, items=False),
        "itemCounts": run.counts(children, items=True),
        "redriveCount": execution.redrives,
    }
    if run.ended_ms is not None:
        doc["stopDate"] = seconds(run.ended_ms)
    if execution.redriven_ms:
        doc["redriveDate"] = seconds(execution.redriven_ms)
    return doc


async def _standing(
    execution: NamedExecution, run: MapRun, turn: int, api: StepFunctionsApi
) -> Children:
    """The status of each child of a run so far."""
    found = await api.engine.executions.children(execution, run.fiber, turn)
    return {
        index: "running"
        if outcome is None
        else "succeeded"
        if isinstance(outcome, Success)
        else "failed"
        for index, outcome in found.items()
    }


def _bounds(run: MapRun, definition: str) -> dict[str, Any]:
    """A run's bounds by AWS' names; a tolerated count and a tolerated percentage are apart."""
    state = next(_states_called(run.state, json.loads(definition)), {})
    percentage = state.get("ToleratedFailurePercentage")
    told: dict[str, Any] = {CONCURRENCY: run.concurrency, COUNT: run.tolerated, PERCENTAGE: 0.0}
    if isinstance(percentage, (int, float)):
        told |= {COUNT: state.get("ToleratedFailureCount", 0), PERCENTAGE: float(percentage)}
    return told | run.updated


def _states_called(name: str, doc: Any) -> Iterator[Mapping[str, Any]]:
    """The states of this name at any depth of a definition, which was checked when it was deployed."""
    if isinstance(doc, dict):
        states = doc.get("States")
        if isinstance(states, dict) and isinstance(states.get(name), dict):
            yield states[name]
    inner = doc.values() if isinstance(doc, dict) else doc if isinstance(doc, list) else ()
    for value in inner:
        yield from _states_called(name, value)


async def update_map_run(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Changes the bounds of a run; a run that has ended stays as it is."""
    given = {name: params[name] for name in BOUNDS if name in params}
    if not given:
        raise invalid(f"At least one of {', '.join(BOUNDS)} must be given.")
    execution, run = await _found(params["mapRunArn"], caller, api)
    if not run.running or run.turn is None:
        return {}
    definition = await api.engine.executions.definition(execution)
    wanted = _bounds(run, definition) | given
    bounds: dict[str, JSON] = {}
    if CONCURRENCY in given:
        bounds["concurrency"] = wanted[CONCURRENCY]
    if COUNT in given or PERCENTAGE in given:
        bounds["tolerated"] = _tolerated(wanted, run.width)
    event = Rebound(run.turn, bounds, {"asked": given})
    await api.engine.executions.rebound(execution.id, run.fiber, event)
    return {}


def _tolerated(wanted: Mapping[str, Any], width: int) -> int:
    """The number of tolerated failures: the lesser of count and percentage; 0 means not given."""
    allowed = [wanted[COUNT]] if wanted[COUNT] else []
    if wanted[PERCENTAGE]:
        allowed.append(int(width * wanted[PERCENTAGE] / WHOLE))
    return min(allowed, default=0)


async def _found(text: str, caller: Caller, api: StepFunctionsApi) -> tuple[NamedExecution, MapRun]:
    arn = read_arn(text, MapRunArn)
    try:
        execution = await api.engine.executions.named(map_run_key(caller.namespace, arn))
    except NotFoundError:
        raise resource_missing(text) from None
    if is_machine_hidden(execution, caller.namespace, api):
        raise resource_missing(text)
    runs = map_runs_of(await api.engine.executions.history(execution))
    run = next((run for run in runs if read_arn(run.arn, MapRunArn) == arn), None)
    if run is None:  # not expected: its entry is in the same commit
        raise resource_missing(text)
    return execution, run


OPERATIONS: Operations = {
    "DescribeMapRun": describe_map_run,
    "ListMapRuns": list_map_runs,
    "UpdateMapRun": update_map_run,
}
