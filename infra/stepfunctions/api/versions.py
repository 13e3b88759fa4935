"""Versions of state machines: published revisions, which never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import MachineArn
from ...aws import conflict, invalid, quota_exceeded
from ..machines import INITIAL, Publication
from .names import found, read_arn, unqualified
from .pages import page
from .protocol import seconds

if TYPE_CHECKING:
    from ....composer import JSON
    from ...aws import Parameters
    from ..machines import Machine
    from ..records import Version
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MOST = 1000  # versions of a machine
DIGITS = 10


def check_room(machine: Machine) -> None:
    """Checks that one more version may be published.

    Raises:
        AwsError: ServiceQuotaExceededException.
    """
    if len(machine.versions) >= MOST:
        raise quota_exceeded(f"A state machine has at most {MOST} versions: delete some of them.")


def current_arn(machine: Machine, api: StepFunctionsApi) -> dict[str, JSON]:
    """The ARN of a state machine's current version, which must be published."""
    current = machine.current
    assert current is not None  # noqa: S101  it has been published
    return {"stateMachineVersionArn": api.arns.machine(machine.name, current.number)}


async def publish(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Publishes the current revision, unless it is published already."""
    name = unqualified(params["stateMachineArn"])
    async with api.machines.changing(caller.namespace, name):
        machine = found(params["stateMachineArn"], caller, api)
        wanted, has = params.get("revisionId"), machine.revision or INITIAL
        if wanted is not None and wanted != has:
            raise conflict(
                f"Failed to publish the State Machine version for revision {wanted}. "
                f"The current State Machine revision is {has}."
            )
        if machine.current is None:
            check_room(machine)
            publication = Publication(params.get("description"))
            machine = await api.machines.publish(machine, publication)
    current = machine.current
    assert current is not None  # noqa: S101  it has just been published, if it was not
    return {"creationDate": seconds(current.created_ms), **current_arn(machine, api)}


async def delete(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Deletes a version, if it exists; no alias may lead to it."""
    text = params["stateMachineVersionArn"]
    arn = read_arn(text, MachineArn)
    number = arn.qualifier
    if not isinstance(number, int):
        raise invalid(f"The ARN must be that of a state machine version: '{text}'")
    async with api.machines.changing(caller.namespace, arn.name):
        machine = api.machines.find(caller.namespace, arn.name)
        if machine is None or number not in machine.versions:
            return {}
        leading = [
            alias.name for alias in machine.record.aliases.values() if number in dict(alias.routes)
        ]
        if leading:
            raise conflict(
                "Version to be deleted must not be referenced by an alias. Current list of aliases "
                f"referencing this version: [{', '.join(leading)}]"
            )
        await api.machines.keep(machine, machine.record, dropped=[number])
    return {}


async def list_all(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Lists the versions of a state machine, the newest first."""
    machine = found(params["stateMachineArn"], caller, api)
    shown, more = page(
        machine.versions.values(), _newest_first, params, caller, f"versions/{machine.name}"
    )
    listed: list[JSON] = [
        {
            "stateMachineVersionArn": api.arns.machine(machine.name, version.number),
            "creationDate": seconds(version.created_ms),
        }
        for version in shown
    ]
    return {"stateMachineVersions": listed, **more}


def _newest_first(version: Version) -> str:
    return f"{10**DIGITS - version.number:0{DIGITS}}"


OPERATIONS: Operations = {
    "PublishStateMachineVersion": publish,
    "DeleteStateMachineVersion": delete,
    "ListStateMachineVersions": list_all,
}
