"""TestState: runs one state of a definition by itself.

A Task without a mock is invoked, as the only state of an express state machine that is not deployed.
"""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import TYPE_CHECKING

from ....actions import MACHINE, define_action
from ....composer import Failure, Name, asl
from ...aws import AwsError
from ...engine import Beginning
from .data import execution_input
from .responses import unfit
from .validation import hooks_of

if TYPE_CHECKING:
    from ....composer import JSON, Outcome
    from ...aws import Parameters
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MACHINES = uuid.UUID(
    "6b7f0c57-6c0e-4d0c-8f5e-3a1d9b0f9c11"
)  # namespace of the names of tested state machines
NAME = "test state"  # has a blank: the name of no deployed state machine
TIMED_OUT = Failure("States.Timeout", {"Error": "States.Timeout"})


async def test_state(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Runs a state; returns its result, and on request the values on the way."""
    around = asl.Surroundings(
        hooks=hooks_of(caller, api),
        fits=unfit,
        run=_run(params, caller, api),
        id=caller.request,
        now_ms=api.engine.now_ms,
    )
    try:
        begin = partial(asl.begin_test, dict(params), execution_input(params.get("input")), around)
        begun = await api.engine.threads.run(begin)
    except asl.RefusedTestError as error:
        raise AwsError(error.code, str(error)) from error
    if not isinstance(begun, asl.StateTest):
        return begun
    performed = await _performed(begun.task, caller, api)
    return await api.engine.threads.run(partial(begun.finish, performed))


def _run(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """The names in a test's context object: those of an express execution, without the last part."""
    name, machine_name = caller.request, str(uuid.uuid5(MACHINES, caller.request))
    machine_arn = api.arns.machine(machine_name)
    id = f"{machine_arn.replace(':stateMachine:', ':express:')}:{name}"
    execution: dict[str, JSON] = {"Id": id, "Name": name}
    if "roleArn" in params:
        execution["RoleArn"] = params["roleArn"]
    machine: dict[str, JSON] = {"Id": machine_arn, "Name": machine_name}
    return {"Execution": execution, "StateMachine": machine}


async def _performed(task: asl.TaskRequest, caller: Caller, api: StepFunctionsApi) -> Outcome:
    """Runs a task and returns its outcome."""
    state: dict[str, JSON] = {"Type": "Task", "Resource": task.resource, "End": True}
    if task.timeout_s is not None:
        state["TimeoutSeconds"] = task.timeout_s
    definition = json.dumps({"StartAt": asl.ALONE, "States": {asl.ALONE: state}})
    exec: dict[str, JSON] = {"kind": MACHINE, "definition": definition, "type": "EXPRESS"}
    name = Name(caller.namespace, None, NAME)
    action = define_action(name, {"exec": exec}, None, api.engine.now_ms)
    beginning = Beginning(action, task.parameters, caller.namespace)
    execution, ended = await api.engine.executions.run(beginning, api.longest_s)
    if ended is None:
        await api.engine.executions.stop(execution)
        return TIMED_OUT
    return ended.outcome


OPERATIONS: Operations = {"TestState": test_state}
