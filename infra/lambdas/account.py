"""Limits of functions and of the account, and the settings that this server does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..aws import AwsError, Number, Required, members, read
from .configuration import arn_of, invalid
from .lookup import arn_in, function_only, name_of, target_of
from .protocol import Answer

if TYPE_CHECKING:
    from ...composer import JSON
    from .api import LambdaApi
    from .protocol import ApiCall

CONCURRENT = 1000  # AWS' limit of an account, shown if the namespace has no quota
LEFT = 100  # calls at the same time that cannot be reserved
GONE, MISSING = 204, 404
TOTAL_BYTES, UNZIPPED_BYTES, ZIPPED_BYTES = 80_530_636_800, 262_144_000, 52_428_800
RESERVED = members(ReservedConcurrentExecutions=Required(Number(least=0)))


async def put_concurrency(call: ApiCall, api: LambdaApi) -> Answer:
    """Limits the synchronous calls of a function that run at the same time."""
    reserved = read(RESERVED, call.document)["ReservedConcurrentExecutions"]
    async with api.lambdas.changing(name_of(call)):
        owner = function_only(call, api)
        others = sum(
            one.record.reserved or 0
            for one in api.lambdas.all(call.namespace)
            if one.name != owner.name
        )
        if others + reserved > _concurrent(call, api) - LEFT and reserved:
            raise invalid(
                "Specified ReservedConcurrentExecutions for function decreases account's "
                f"UnreservedConcurrentExecution below its minimum value of [{LEFT}]."
            )
        await api.lambdas.keep(owner, replace(owner.record, reserved=reserved))
    return Answer({"ReservedConcurrentExecutions": reserved})


async def get_concurrency(call: ApiCall, api: LambdaApi) -> Answer:
    reserved = function_only(call, api).record.reserved
    return Answer({} if reserved is None else {"ReservedConcurrentExecutions": reserved})


async def delete_concurrency(call: ApiCall, api: LambdaApi) -> Answer:
    async with api.lambdas.changing(name_of(call)):
        owner = function_only(call, api)
        await api.lambdas.keep(owner, replace(owner.record, reserved=None))
    return Answer(b"", GONE)


async def get_code_signing(call: ApiCall, api: LambdaApi) -> Answer:
    """Signatures of code are not checked: no function has a configuration for them."""
    owner = function_only(call, api)
    return Answer({"FunctionName": owner.name.name})


async def get_runtime_management(call: ApiCall, api: LambdaApi) -> Answer:
    """The runtime is the one that is installed with the server."""
    target = target_of(call, api)
    arn = arn_in(target, api) if target.qualifier else arn_of(target.owner.name.name, api)
    return Answer({"UpdateRuntimeOn": "Auto", "FunctionArn": arn})


async def get_provisioned(call: ApiCall, api: LambdaApi) -> Answer:
    """Workers are not kept ahead for one function."""
    target_of(call, api)
    text = "No Provisioned Concurrency Config found for this function"
    raise AwsError("ProvisionedConcurrencyConfigNotFoundException", text, MISSING)


async def list_event_sources(_call: ApiCall, _api: LambdaApi) -> Answer:
    """No event source calls functions: triggers and rules do."""
    return Answer({"EventSourceMappings": []})


async def get_settings(call: ApiCall, api: LambdaApi) -> Answer:
    """The limits of the namespace and what its functions use of them."""
    owners = api.lambdas.all(call.namespace)
    concurrent = _concurrent(call, api)
    reserved = sum(owner.record.reserved or 0 for owner in owners)
    size = sum(
        int(owner.function["CodeSize"]) * (1 + len(owner.record.versions)) for owner in owners
    )
    limits: dict[str, JSON] = {
        "TotalCodeSize": TOTAL_BYTES,
        "CodeSizeUnzipped": UNZIPPED_BYTES,
        "CodeSizeZipped": ZIPPED_BYTES,
        "ConcurrentExecutions": concurrent,
        "UnreservedConcurrentExecutions": max(0, concurrent - reserved),
    }
    usage: dict[str, JSON] = {"TotalCodeSize": size, "FunctionCount": len(owners)}
    return Answer({"AccountLimit": limits, "AccountUsage": usage})


def _concurrent(call: ApiCall, api: LambdaApi) -> int:
    return api.engine.quotas(call.namespace).concurrent or CONCURRENT
