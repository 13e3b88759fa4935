"""Executions: start, describe, stop and redrive them.

https://docs.aws.amazon.com/step-functions/latest/apireference/
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....actions import ConflictError
from ....composer import Failure
from ...aws import AwsError, json_text, type_not_supported
from ...engine import Beginning
from ..contexts import role_of
from .data import execution_input
from .described import described, not_redrivable, redriving
from .execution_lookup import any_execution_named, execution_named
from .machines import METADATA, configured, defined
from .names import check_name
from .protocol import seconds
from .starts import start_of

if TYPE_CHECKING:
    from ....composer import JSON
    from ...aws import Parameters
    from ...engine import NamedExecution
    from .api import StepFunctionsApi
    from .described import About
    from .protocol import Caller, Operations

MEMORY_MB = 64  # the step in which AWS bills memory
BILLED_MS = 100  # the step in which AWS bills time
TIMED_OUT = Failure("States.Timeout", {"Error": "States.Timeout", "Status": "TIMED_OUT"})


async def start_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Starts an execution; the same name and input again while it runs return the same execution."""
    beginning = await _beginning(params, caller, api)
    execution, fresh = await api.engine.executions.begin(beginning)
    if not fresh and execution.about.get("request") != caller.request:
        given, _ = await api.engine.executions.data(execution)
        same = json_text(given) == json_text(beginning.input)
        if execution.ended_ms is not None or not same:
            text = f"Execution Already Exists: '{execution.address}'"
            raise AwsError("ExecutionAlreadyExists", text)
    return {"executionArn": execution.address, "startDate": seconds(execution.started_ms)}


async def start_sync_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Runs an express state machine to its end, and describes the execution."""
    beginning = await _beginning(params, caller, api)
    if not beginning.action.express:
        raise type_not_supported()
    execution, ended = await api.engine.executions.run(beginning, api.longest_s)
    if ended is None:
        await api.engine.executions.stop(execution)
    outcome = TIMED_OUT if ended is None else ended.outcome
    data = params.get("includedData") != METADATA
    answer = described(execution, beginning.input, outcome, api.arns, data=data)
    del answer["redriveCount"]
    took_ms = (execution.ended_ms or 0) - execution.started_ms
    return {
        **answer,
        "billingDetails": {
            "billedMemoryUsedInMB": MEMORY_MB,
            "billedDurationInMilliseconds": -(-max(took_ms, 1) // BILLED_MS) * BILLED_MS,
        },
    }


async def _beginning(params: Parameters, caller: Caller, api: StepFunctionsApi) -> Beginning:
    """The beginning of the execution that a request describes.

    Raises:
        AwsError: the name is malformed, the state machine does not exist, or the input is not JSON.
    """
    name = params.get("name")
    if name is not None:
        check_name(name)
    start = await start_of(params["stateMachineArn"], name or caller.request, caller, api)
    about: dict[str, JSON] = {
        "request": caller.request,
        "role": start.configuration.role,
        "updated": start.action.updated_ms,
        "version": start.version,
        "alias": start.alias,
        "revision": start.revision,
        "traceHeader": params.get("traceHeader"),
    }
    if not start.configuration.same_but_role(api.machines.defaults):
        about["configuration"] = configured(start.configuration)
    if start.action.express:  # another execution may have the same name
        about["name"], name = name, None
    about = {key: value for key, value in about.items() if value is not None}
    input = execution_input(params.get("input"))
    return Beginning(start.action, input, caller.namespace, name, about)


async def describe_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    execution = await any_execution_named(params["executionArn"], caller, api)
    return await whole(execution, api, data=params.get("includedData") != METADATA)


async def whole(
    execution: NamedExecution, api: StepFunctionsApi, *, data: bool = True
) -> dict[str, JSON]:
    """An execution as DescribeExecution shows it."""
    given, outcome = await api.engine.executions.data(execution)
    doc = described(execution, given, outcome, api.arns, data=data)
    return doc | redriving(execution, api.engine.now_ms)


async def describe_state_machine_for_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Describes the state machine as it was when the execution began."""
    execution = await execution_named(params["executionArn"], caller, api)
    about: About = execution.about
    role = role_of(api.arns, execution.about)  # there is none for a call of the action
    configuration = configured(replace(api.machines.defaults, role=role))
    doc: dict[str, JSON] = {
        "stateMachineArn": api.arns.machine(execution.path),
        "name": execution.path,
        "updateDate": seconds(about.get("updated", execution.started_ms)),
        **about.get("configuration", configuration),
    }
    if "revision" in about:
        doc["revisionId"] = about["revision"]
    if params.get("includedData") == METADATA:
        return doc
    return doc | defined(await api.engine.executions.definition(execution))


async def stop_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Stops an execution; one that has ended stays as it is."""
    execution = await execution_named(params["executionArn"], caller, api)
    error, cause = params.get("error"), params.get("cause")
    stopped_ms = await api.engine.executions.stop(execution, error, cause)
    return {"stopDate": seconds(stopped_ms)}


async def redrive_execution(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Redrives an execution from its failed step."""
    execution = await execution_named(params["executionArn"], caller, api)
    why = not_redrivable(execution, api.engine.now_ms)
    if why is None:
        try:
            await api.engine.redrive(caller.namespace, execution.id)
        except ConflictError as error:
            why = str(error)
    if why is not None:
        raise AwsError("ExecutionNotRedrivable", why)
    again = await execution_named(params["executionArn"], caller, api)
    return {"redriveDate": seconds(again.redriven_ms)}


OPERATIONS: Operations = {
    "DescribeExecution": describe_execution,
    "DescribeStateMachineForExecution": describe_state_machine_for_execution,
    "RedriveExecution": redrive_execution,
    "StartExecution": start_execution,
    "StartSyncExecution": start_sync_execution,
    "StopExecution": stop_execution,
}
