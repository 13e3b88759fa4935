"""The action that runs when a state machine, a version or an alias is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....actions import MachineArn
from ...aws import machine_missing
from .aliases import chosen
from .names import read_arn

if TYPE_CHECKING:
    from ....actions import Action
    from ..machines import Machine
    from ..records import Configuration
    from .api import StepFunctionsApi
    from .protocol import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The action that an ARN leads to, and how.

    `version` is the version that the ARN or its `alias` names; None for the current state of the machine.
    `revision` is None for a machine that was never changed.
    """

    machine: Machine
    action: Action
    version: int | None
    alias: str | None
    revision: str | None
    configuration: Configuration


async def start_of(text: str, execution: str, caller: Caller, api: StepFunctionsApi) -> Start:
    """The action that an execution of this name runs, started by this ARN.

    Raises:
        AwsError: InvalidArn, or StateMachineDoesNotExist.
    """
    arn = read_arn(text, MachineArn)
    machine = api.machines.find(caller.namespace, arn.name)
    if machine is None:
        raise machine_missing(text)
    number, alias = arn.qualifier, None
    if isinstance(number, str):
        alias = number
        if alias not in machine.record.aliases:
            raise machine_missing(text)
        number = chosen(machine.record.aliases[alias], execution)
    if number is None:
        return Start(
            machine=machine,
            action=machine.action,
            version=None,
            alias=None,
            revision=machine.revision,
            configuration=machine.record.configuration,
        )
    if number not in machine.versions:
        raise machine_missing(text)
    version = machine.versions[number]
    return Start(
        machine=machine,
        action=await api.machines.action(machine, number),
        version=number,
        alias=alias,
        revision=version.revision,
        configuration=version.configuration,
    )
