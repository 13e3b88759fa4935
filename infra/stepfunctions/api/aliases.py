"""Aliases of state machines: names for one or two versions."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ....actions import MachineArn
from ...aws import (
    conflict,
    invalid,
    machine_missing,
    quota_exceeded,
    resource_missing,
    wrong_resource,
)
from ..records import Alias
from .names import read_arn
from .pages import page
from .protocol import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....composer import JSON
    from ...aws import Parameters
    from ..machines import Machine
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MOST = 100  # aliases of a machine
WHOLE = 100  # the sum of an alias' weights


def chosen(alias: Alias, execution: str) -> int:
    """The version that an execution of this name runs, chosen by weight.

    The choice depends on the name only, so a repeated request gets the same version.
    """
    at = int.from_bytes(sha256(execution.encode()).digest()[:8]) % WHOLE
    for number, weight in alias.routes:
        if at < weight:
            return number
        at -= weight
    raise AssertionError(alias)  # weights add up


async def create(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Creates an alias; a repeated request gets the same answer."""
    name, now_ms = params["name"], api.engine.now_ms
    owner, routes = _routes(params["routingConfiguration"])
    async with api.machines.changing(caller.namespace, owner):
        machine = _routed(owner, routes, caller, api)
        aliases = machine.record.aliases
        alias = Alias(
            name=name,
            description=params.get("description"),
            routes=routes,
            created_ms=now_ms,
            updated_ms=now_ms,
        )
        before = aliases.get(name)
        if before is None:
            if len(aliases) >= MOST:
                raise quota_exceeded(
                    f"A state machine has at most {MOST} aliases: delete some of them."
                )
            await _keep(machine, {**aliases, name: alias}, api)
        elif (before.description, before.routes) != (alias.description, alias.routes):
            raise conflict(
                "Failed to create alias because an alias with the same name and a different routing "
                "configuration already exists."
            )
        else:
            alias = before
    return {
        "stateMachineAliasArn": api.arns.machine(owner, name),
        "creationDate": seconds(alias.created_ms),
    }


async def update(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Changes the versions of an alias, or its description."""
    arn = _alias_arn(params)
    if not params.keys() & {"description", "routingConfiguration"}:
        raise invalid("Either the description or the routing configuration must be specified")
    async with api.machines.changing(caller.namespace, arn.name):
        machine, alias = _found(arn, caller, api)
        if "routingConfiguration" in params:
            owner, routes = _routes(params["routingConfiguration"])
            if owner != arn.name:
                raise invalid(
                    "Routing configuration must contain versions of the alias' own state machine"
                )
            _routed(owner, routes, caller, api)
            alias = replace(alias, routes=routes)
        alias = replace(
            alias,
            description=params.get("description", alias.description),
            updated_ms=api.engine.now_ms,
        )
        await _keep(machine, {**machine.record.aliases, alias.name: alias}, api)
    return {"updateDate": seconds(alias.updated_ms)}


async def delete(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Deletes an alias, if it exists."""
    arn = _alias_arn(params)
    async with api.machines.changing(caller.namespace, arn.name):
        machine = api.machines.find(caller.namespace, arn.name)
        if machine is not None and arn.qualifier in machine.record.aliases:
            aliases = machine.record.aliases
            left = {name: alias for name, alias in aliases.items() if name != arn.qualifier}
            await _keep(machine, left, api)
    return {}


async def describe(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Describes an alias."""
    arn = _alias_arn(params)
    machine, alias = _found(arn, caller, api)
    answer: dict[str, JSON] = {
        "stateMachineAliasArn": api.arns.spelled(arn),
        "name": alias.name,
        "routingConfiguration": [
            {"stateMachineVersionArn": api.arns.machine(machine.name, number), "weight": weight}
            for number, weight in alias.routes
        ],
        "creationDate": seconds(alias.created_ms),
        "updateDate": seconds(alias.updated_ms),
    }
    return answer if alias.description is None else {**answer, "description": alias.description}


async def list_all(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Lists the aliases of a state machine or of one version, the oldest first."""
    text = params["stateMachineArn"]
    arn = read_arn(text, MachineArn)
    number = arn.qualifier
    machine = api.machines.find(caller.namespace, arn.name)
    if machine is None or isinstance(number, str):
        raise machine_missing(text)
    aliases = [
        alias
        for alias in machine.record.aliases.values()
        if number is None or number in dict(alias.routes)
    ]
    question = f"aliases/{arn.name}:{number}"
    shown, more = page(aliases, _oldest_first, params, caller, question)
    listed: list[JSON] = [
        {
            "stateMachineAliasArn": api.arns.machine(arn.name, alias.name),
            "creationDate": seconds(alias.created_ms),
        }
        for alias in shown
    ]
    return {"stateMachineAliases": listed, **more}


def _oldest_first(alias: Alias) -> str:
    return f"{alias.created_ms:015}/{alias.name}"


# --- parameters of a request -------------------------------------------------------------------


def _alias_arn(params: Parameters) -> MachineArn:
    arn = read_arn(params["stateMachineAliasArn"], MachineArn)
    if not isinstance(arn.qualifier, str):
        raise wrong_resource("stateMachine")
    return arn


def _found(arn: MachineArn, caller: Caller, api: StepFunctionsApi) -> tuple[Machine, Alias]:
    machine = api.machines.find(caller.namespace, arn.name)
    alias = None if machine is None else machine.record.aliases.get(str(arn.qualifier))
    if machine is None or alias is None:
        raise resource_missing()
    return machine, alias


def _routes(given: Sequence[Parameters]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The name of the state machine, and its versions with their weights.

    Raises:
        AwsError: ValidationException.
    """
    texts = [route["stateMachineVersionArn"] for route in given]
    listed = f"Received: [{', '.join(texts)}]"
    if len(set(texts)) < len(texts):
        raise invalid(
            f"Routing configuration must contain distinct state machine version ARNs. {listed}"
        )
    weights = [route["weight"] for route in given]
    if sum(weights) != WHOLE:
        raise invalid(
            f"Sum of routing configuration weights must equal {WHOLE}. Received: {weights}"
        )
    arns = [read_arn(text, MachineArn) for text in texts]
    numbers = [arn.qualifier for arn in arns if isinstance(arn.qualifier, int)]
    if len(numbers) < len(arns):
        raise invalid(f"Routing configuration must contain state machine version ARNs. {listed}")
    if len({arn.name for arn in arns}) > 1:
        raise invalid(
            f"Routing configuration must contain versions of one state machine only. {listed}"
        )
    return arns[0].name, tuple(zip(numbers, weights, strict=True))


def _routed(
    name: str, routes: tuple[tuple[int, int], ...], caller: Caller, api: StepFunctionsApi
) -> Machine:
    """The state machine that has these versions.

    Raises:
        AwsError: ResourceNotFound.
    """
    machine = api.machines.find(caller.namespace, name)
    if machine is None or not all(number in machine.versions for number, _ in routes):
        raise resource_missing()
    return machine


async def _keep(machine: Machine, aliases: dict[str, Alias], api: StepFunctionsApi) -> None:
    await api.machines.keep(machine, replace(machine.record, aliases=aliases))


OPERATIONS: Operations = {
    "CreateStateMachineAlias": create,
    "UpdateStateMachineAlias": update,
    "DeleteStateMachineAlias": delete,
    "DescribeStateMachineAlias": describe,
    "ListStateMachineAliases": list_all,
}
