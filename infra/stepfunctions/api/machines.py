"""State machines: create, update, delete, describe and list them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....actions import MACHINE, ConflictError, MachineArn
from ....composer import Name, asl
from ...aws import AwsError, invalid, machine_missing
from ..machines import Publication
from ..records import Configuration, Record
from .names import check_machine_name, found, read_arn
from .pages import page
from .protocol import seconds
from .tags import added
from .validation import checked
from .versions import check_room, current_arn

if TYPE_CHECKING:
    from ....composer import JSON
    from ...aws import Parameters
    from ..machines import Machine
    from ..records import Version
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

OFF = "OFF"
CUSTOMER = "CUSTOMER_MANAGED_KMS_KEY"
METADATA = "METADATA_ONLY"
STANDARD = "STANDARD"
_LOG_GROUP = re.compile(r"arn:aws[a-z-]*:logs:[a-z0-9-]+:[0-9]{12}:log-group:[^:]+(:\*)?")


async def create(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Creates a state machine; a repeated request gets the same answer, even with other role or tags."""
    name, type = check_machine_name(params["name"]), params.get("type", STANDARD)
    publication = _publication(params)
    fresh = api.machines.defaults
    record = Record(
        created_ms=0,
        first="",
        configuration=_configured(params, fresh),
        tags=added({}, params.get("tags", [])),
    )
    async with api.machines.changing(caller.namespace, name):
        machine = api.machines.find(caller.namespace, name)
        if machine is not None:
            return _again(machine, params, record.configuration, api)
        definition = await checked(params["definition"], type, caller, api)
        exec: dict[str, JSON] = {"kind": MACHINE, "definition": definition, "type": type}
        full = Name(caller.namespace, None, name)
        try:
            machine = await api.machines.define(full, exec, record, publication)
        except ConflictError:  # another action has the name
            why = "an action has this name, and is no state machine"
            raise _exists(api.arns.machine(name), f" ({why})") from None
    return _created(machine, api, published=publication is not None)


def _again(
    machine: Machine, params: Parameters, configuration: Configuration, api: StepFunctionsApi
) -> dict[str, JSON]:
    """The answer if the state machine exists: it may be a repetition of the request that created it."""
    wanted = (params["definition"], params.get("type", STANDARD), replace(configuration, role=""))
    has = (machine.definition, machine.type, replace(machine.record.configuration, role=""))
    publish, current = params.get("publish", False), machine.current
    if wanted != has or (
        publish and (current is None or current.description != params.get("versionDescription"))
    ):
        raise _exists(api.arns.machine(machine.name))
    return _created(machine, api, published=publish)


def _created(machine: Machine, api: StepFunctionsApi, *, published: bool) -> dict[str, JSON]:
    answer: dict[str, JSON] = {
        "stateMachineArn": api.arns.machine(machine.name),
        "creationDate": seconds(machine.record.created_ms),
    }
    return {**answer, **current_arn(machine, api)} if published else answer


async def update(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Changes a state machine; a request without changes makes no new revision."""
    arn = params["stateMachineArn"]
    publication = _publication(params)
    async with api.machines.changing(caller.namespace, read_arn(arn, MachineArn).name):
        machine = found(arn, caller, api)
        if not params.keys() & _CHANGED:
            raise AwsError(
                "MissingRequiredParameter",
                "Either the definition, the role ARN, the LoggingConfiguration, or the "
                "TracingConfiguration must be specified",
            )
        configuration = _configured(params, machine.record.configuration)
        definition = params.get("definition", machine.definition)
        same = (definition, configuration) == (machine.definition, machine.record.configuration)
        if publication is not None and not (same and machine.current):
            check_room(machine)
        if not same:
            definition = await checked(definition, machine.type, caller, api)
            exec: dict[str, JSON] = {
                "kind": MACHINE,
                "definition": definition,
                "type": machine.type,
            }
            machine = await api.machines.define(
                machine.action.name, exec, configuration, publication
            )
        elif publication is not None and machine.current is None:
            machine = await api.machines.publish(machine, publication)
    answer: dict[str, JSON] = {"updateDate": seconds(api.engine.now_ms)}
    if machine.revision is not None:
        answer["revisionId"] = machine.revision
    return {**answer, **current_arn(machine, api)} if publication else answer


_CHANGED = {
    "definition",
    "roleArn",
    "loggingConfiguration",
    "tracingConfiguration",
    "encryptionConfiguration",
}


async def delete(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Deletes a state machine, if it exists, with its versions and aliases, at once."""
    arn = read_arn(params["stateMachineArn"], MachineArn)
    if arn.qualifier is not None:
        raise invalid(
            "The state machine ARN must not be qualified with a version or an alias: "
            f"'{params['stateMachineArn']}'"
        )
    async with api.machines.changing(caller.namespace, arn.name):
        machine = api.machines.find(caller.namespace, arn.name)
        if machine is not None:
            await api.machines.remove(machine)
    return {}


async def describe(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Describes a state machine, a version of it, or the first version of an alias."""
    text = params["stateMachineArn"]
    arn = read_arn(text, MachineArn)
    machine = api.machines.find(caller.namespace, arn.name)
    if machine is None:
        raise machine_missing(text)
    number = _number(arn, text, machine)
    version = None if number is None else machine.versions[number]
    answer = _described(api.arns.spelled(arn), machine, version)
    if params.get("includedData") == METADATA:
        return answer
    if number is None:
        return {**answer, **defined(machine.definition)}
    return {**answer, **defined(await api.machines.definition(machine, number))}


def _number(arn: MachineArn, text: str, machine: Machine) -> int | None:
    """The version that an ARN leads to; None for the current state of the machine."""
    number = arn.qualifier
    if isinstance(number, str):
        alias = machine.record.aliases.get(number)
        if alias is None:
            raise machine_missing(text)
        number = alias.routes[0][0]
    if number is not None and number not in machine.versions:
        raise machine_missing(text)
    return number


def _described(arn: str, machine: Machine, version: Version | None) -> dict[str, JSON]:
    configuration = machine.record.configuration if version is None else version.configuration
    revision = machine.revision if version is None else version.revision
    created_ms = machine.record.created_ms if version is None else version.created_ms
    answer: dict[str, JSON] = {
        "stateMachineArn": arn,
        "name": machine.name,
        "status": "ACTIVE",
        "type": machine.type if version is None else version.type,
        "creationDate": seconds(created_ms),
        **configured(configuration),
    }
    if revision is not None:
        answer["revisionId"] = revision
    if version is not None and version.description is not None:
        answer["description"] = version.description
    return answer


def configured(configuration: Configuration) -> dict[str, JSON]:
    """A configuration as DescribeStateMachine shows it."""
    return {
        "roleArn": configuration.role,
        "loggingConfiguration": configuration.logging,
        "tracingConfiguration": {"enabled": configuration.tracing},
        "encryptionConfiguration": configuration.encryption,
    }


def defined(definition: str) -> dict[str, JSON]:
    used = asl.variables_used(definition)
    doc: dict[str, JSON] = {"definition": definition}
    if used:
        doc["variableReferences"] = {state: [*names] for state, names in used.items()}
    return doc


async def list_all(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Lists the state machines of the caller's namespace, in order of name."""
    machines = api.machines.all(caller.namespace)
    shown, more = page(machines, lambda m: m.name, params, caller, "machines")
    listed: list[JSON] = [
        {
            "stateMachineArn": api.arns.machine(machine.name),
            "name": machine.name,
            "type": machine.type,
            "creationDate": seconds(machine.record.created_ms),
        }
        for machine in shown
    ]
    return {"stateMachines": listed, **more}


# --- parameters of a request -------------------------------------------------------------------


def _publication(params: Parameters) -> Publication | None:
    description = params.get("versionDescription")
    if params.get("publish", False):
        return Publication(description)
    if description is not None:
        raise invalid("Version description can only be set when publish is true")
    return None


def _configured(params: Parameters, before: Configuration) -> Configuration:
    """A configuration with the changes of a request.

    Raises:
        AwsError: InvalidLoggingConfiguration or InvalidEncryptionConfiguration.
    """
    made = replace(before, role=params.get("roleArn", before.role))
    if "loggingConfiguration" in params:
        made = replace(made, logging=_logging(params["loggingConfiguration"]))
    if "tracingConfiguration" in params:
        made = replace(made, tracing=params["tracingConfiguration"].get("enabled", False))
    if "encryptionConfiguration" in params:
        made = replace(made, encryption=_encryption(params["encryptionConfiguration"]))
    return made


def _logging(given: Parameters) -> dict[str, JSON]:
    level, destinations = given.get("level", OFF), given.get("destinations")
    if len(destinations or ()) > 1 or (level != OFF and not destinations):
        raise _unlogged("Must specify exactly one Log Destination.")
    for destination in destinations or ():
        group = destination.get("cloudWatchLogsLogGroup", {}).get("logGroupArn", "")
        if not _LOG_GROUP.fullmatch(group):
            raise _unlogged("Log Destination not found.")
    made: dict[str, JSON] = {
        "level": level,
        "includeExecutionData": given.get("includeExecutionData", False),
    }
    return made if destinations is None else {**made, "destinations": destinations}


def _encryption(given: dict[str, Any]) -> dict[str, JSON]:
    if given["type"] == CUSTOMER and "kmsKeyId" not in given:
        why = f"'kmsKeyId' is required when 'type' is '{CUSTOMER}'"
        raise AwsError("InvalidEncryptionConfiguration", f"Invalid Encryption Configuration: {why}")
    if given["type"] != CUSTOMER and len(given) > 1:
        why = f"'kmsKeyId' and 'kmsDataKeyReusePeriodSeconds' go with the type '{CUSTOMER}' only"
        raise AwsError("InvalidEncryptionConfiguration", f"Invalid Encryption Configuration: {why}")
    return given


def _unlogged(why: str) -> AwsError:
    return AwsError("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {why}")


def _exists(arn: str, why: str = "") -> AwsError:
    return AwsError("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'{why}")


OPERATIONS: Operations = {
    "CreateStateMachine": create,
    "UpdateStateMachine": update,
    "DeleteStateMachine": delete,
    "DescribeStateMachine": describe,
    "ListStateMachines": list_all,
}
