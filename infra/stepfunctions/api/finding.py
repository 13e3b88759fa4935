"""Executions by their ARNs, and the names that may be given to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....actions import ExecutionArn, ExpressArn, NotFoundError, parsed_arn
from ...aws import AwsError, invalid_name
from ...http import is_machine_hidden
from .naming import read_arn

if TYPE_CHECKING:
    from ...engine import NamedExecution
    from .api import StepFunctionsApi
    from .protocol import Caller

# https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
_BARRED = re.compile(
    r"[\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\U0010ffff]"
)


def check_given(name: str) -> str:
    """A name that is given to an execution or an activity, as it is.

    Raises:
        AwsError: InvalidName.
    """
    if _BARRED.search(name):
        raise invalid_name(name)
    return name


async def execution_named(text: str, caller: Caller, api: StepFunctionsApi) -> NamedExecution:
    """A standard execution of the caller's.

    Raises:
        AwsError: when the text is no execution's ARN, or there is none.
    """
    return await _found(read_arn(text, ExecutionArn), text, caller, api)


async def any_execution_named(text: str, caller: Caller, api: StepFunctionsApi) -> NamedExecution:
    """An execution of the caller's, be it express: AWS refuses to tell of those, and has logs of them instead.

    Raises:
        AwsError: when the text is no execution's ARN, or there is none.
    """
    if isinstance(parsed_arn(text), ExpressArn):
        return await _found(read_arn(text, ExpressArn), text, caller, api)
    return await execution_named(text, caller, api)


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
    if is_machine_hidden(execution, namespace, api):  # its data and definition are not the caller's
        raise _unknown(text)
    return execution


def _unknown(text: str) -> AwsError:
    return AwsError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{text}'")
