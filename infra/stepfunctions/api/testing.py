"""TestState: one state of a definition by itself.

A Task without a mock is done, as the only state of an express machine that is no action.
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
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MACHINES = uuid.UUID("6b7f0c57-6c0e-4d0c-8f5e-3a1d9b0f9c11")  # that tests' machines are named in
LONGEST_S = 300.0  # a test, as AWS has it
NAME = "test state"  # no machine's: those have no blanks
TIMED_OUT = Failure("States.Timeout", {"Error": "States.Timeout"})


async def test_state(
    params: dict[str, JSON], caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """What comes of a state, and of its values on their way if that is asked for."""
    around = asl.Surroundings(
        hooks=hooks_of(caller, api),
        fits=unfit,
        run=_run(params, caller, api),
        id=caller.request,
        now_ms=api.engine.now_ms,
    )
    try:
        begin = partial(asl.begin_test, params, execution_input(params.get("input")), around)
        begun = await api.engine.threads.run(begin)
    except asl.RefusedTestError as error:
        raise AwsError(error.code, str(error)) from error
    if not isinstance(begun, asl.StateTest):
        return begun
    performed = await _performed(begun.asked, caller, api)
    return await api.engine.threads.run(partial(begun.finish, performed))


def _run(params: dict[str, JSON], caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """The names that the context object of a test has: those of an express machine, without its last part."""
    name, machine_name = caller.request, str(uuid.uuid5(MACHINES, caller.request))
    machine_arn = api.arns.machine(machine_name)
    id = f"{machine_arn.replace(':stateMachine:', ':express:')}:{name}"
    execution = {"Id": id, "Name": name}
    if "roleArn" in params:
        execution["RoleArn"] = params["roleArn"]
    machine = {"Id": machine_arn, "Name": machine_name}
    return {"Execution": execution, "StateMachine": machine}


async def _performed(asked: asl.Asked, caller: Caller, api: StepFunctionsApi) -> Outcome:
    """What comes of a task."""
    state: dict[str, JSON] = {"Type": "Task", "Resource": asked.resource, "End": True}
    if asked.timeout_s is not None:
        state["TimeoutSeconds"] = asked.timeout_s
    definition = json.dumps({"StartAt": asl.ALONE, "States": {asl.ALONE: state}})
    exec = {"kind": MACHINE, "definition": definition, "type": "EXPRESS"}
    name = Name(caller.namespace, None, NAME)
    action = define_action(name, {"exec": exec}, None, api.engine.now_ms)
    beginning = Beginning(action, asked.parameters, caller.namespace)
    execution, ended = await api.engine.executions.run(beginning, LONGEST_S)
    if ended is None:
        await api.engine.executions.stop(execution)
        return TIMED_OUT
    return ended.outcome


OPERATIONS: Operations = {"TestState": test_state}
