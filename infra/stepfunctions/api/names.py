"""Names and ARNs in requests: checks, and the state machines that ARNs name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from ....actions import (
    ActivityArn,
    ExecutionArn,
    ExpressArn,
    MachineArn,
    MapRunArn,
    parsed_arn,
)
from ...aws import invalid_arn, invalid_name, machine_missing, wrong_resource

if TYPE_CHECKING:
    from ....actions import Arn
    from ..machines import Machine
    from .api import StepFunctionsApi
    from .protocol import Caller

A = TypeVar("A", MachineArn, ExecutionArn, ExpressArn, ActivityArn, MapRunArn)

# AWS refuses blanks, brackets, wildcards, some special characters and control characters. Here, a name must
# also be valid for an action.
_MACHINE_NAME = re.compile(r"\w[\w@.-]*", re.ASCII)
# https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
_BARRED = re.compile(
    r"[\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\U0010ffff]"
)
_KINDS = {
    MachineArn: "stateMachine",
    ExecutionArn: "execution",
    ExpressArn: "express",
    ActivityArn: "activity",
    MapRunArn: "mapRun",
}


def check_machine_name(name: str) -> str:
    """Returns a name that a state machine can be given.

    Raises:
        AwsError: InvalidName.
    """
    if not _MACHINE_NAME.fullmatch(name):
        raise invalid_name(name)
    return name


def check_name(name: str) -> str:
    """Returns a name that an execution or an activity can be given.

    Raises:
        AwsError: InvalidName.
    """
    if _BARRED.search(name):
        raise invalid_name(name)
    return name


def read_arn(text: str, kind: type[A]) -> A:
    """The parsed ARN, which must be of this kind.

    Raises:
        AwsError: InvalidArn.
    """
    arn: Arn | None = parsed_arn(text)
    if arn is None:
        raise invalid_arn(text)
    if isinstance(arn, kind):
        return arn
    raise wrong_resource(_KINDS[type(arn)])


def unqualified(text: str) -> str:
    """The name in a state machine's ARN, which must not name a version or an alias.

    Raises:
        AwsError: InvalidArn, or StateMachineDoesNotExist.
    """
    arn = read_arn(text, MachineArn)
    if arn.qualifier is not None:
        raise machine_missing(text)
    return arn.name


def found(text: str, caller: Caller, api: StepFunctionsApi) -> Machine:
    """The state machine of an ARN, which must not name a version or an alias.

    Raises:
        AwsError: InvalidArn, or StateMachineDoesNotExist.
    """
    machine = api.machines.find(caller.namespace, unqualified(text))
    if machine is None:
        raise machine_missing(text)
    return machine
