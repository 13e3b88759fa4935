"""The executions that the ARNs in requests name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import ExecutionArn, ExpressArn, NotFoundError, parsed_arn
from ...aws import AwsError
from ...http import is_machine_hidden
from .names import read_arn

if TYPE_CHECKING:
    from ...engine import NamedExecution
    from .api import StepFunctionsApi
    from .protocol import Caller


async def execution_named(text: str, caller: Caller, api: StepFunctionsApi) -> NamedExecution:
    """A standard execution of the caller's namespace.

    Raises:
        AwsError: the text is not an execution's ARN, or the execution does not exist.
    """
    return await _found(read_arn(text, ExecutionArn), text, caller, api)


async def any_execution_named(text: str, caller: Caller, api: StepFunctionsApi) -> NamedExecution:
    """A standard or express execution of the caller's namespace; AWS describes standard ones only.

    Raises:
        AwsError: the text is not an execution's ARN, or the execution does not exist.
    """
    arn = parsed_arn(text)
    if not isinstance(arn, ExecutionArn | ExpressArn):
        arn = read_arn(text, ExecutionArn)
    return await _found(arn, text, caller, api)


async def _found(
    arn: ExecutionArn | ExpressArn, text: str, caller: Caller, api: StepFunctionsApi
) -> NamedExecution:
    namespace, executions = caller.namespace, api.engine.executions
    try:
        if isinstance(arn, ExpressArn):
            id = arn.uuid.replace("-", "")
            execution = await executions.express(namespace, arn.machine, id)
        else:
            execution = await executions.found(namespace, arn.machine, arn.name)
    except NotFoundError:
        raise _unknown(text) from None
    if is_machine_hidden(
        execution, namespace, api
    ):  # the caller may not see its data and definition
        raise _unknown(text)
    return execution


def _unknown(text: str) -> AwsError:
    return AwsError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{text}'")
