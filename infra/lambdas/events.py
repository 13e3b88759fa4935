"""Rules for asynchronous invocations: how often one that failed is retried, and how old it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...actions import LATEST
from ..aws import AwsError, Number, Text, members, read
from .configuration import arn_of, invalid
from .lookup import name_of, target_of
from .pages import page
from .protocol import Answer
from .records import Events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from .api import LambdaApi
    from .lambdas import Lambda
    from .lookup import Target
    from .protocol import ApiCall

GONE, MISSING, MOST = 204, 404, 50
WAITS_S = (60, 120)  # before the first and the second retry
_DESTINATION = members(Destination=Text(most=350))
GIVEN = members(
    MaximumRetryAttempts=Number(least=0, most=2),
    MaximumEventAgeInSeconds=Number(least=60, most=21_600),
    DestinationConfig=members(OnSuccess=_DESTINATION, OnFailure=_DESTINATION),
)


def retries_of(owner: Lambda, qualifier: str | None) -> int:
    """The number of retries of an event: those that begin before the event is too old."""
    rules = owner.record.events.get(
        "" if qualifier in (None, LATEST) else str(qualifier), Events(modified_ms=0)
    )
    starts = [sum(WAITS_S[: number + 1]) for number in range(rules.retries)]
    return sum(start <= rules.age_s for start in starts)


async def put_config(call: ApiCall, api: LambdaApi) -> Answer:
    """Sets all rules; those that are missing in the request have their defaults."""
    return await _set(call, api, _settings(call.document), Events(modified_ms=0))


async def update_config(call: ApiCall, api: LambdaApi) -> Answer:
    """Changes the given rules; the others stay."""
    return await _set(call, api, _settings(call.document), None)


async def get_config(call: ApiCall, api: LambdaApi) -> Answer:
    target = target_of(call, api)
    return Answer(_shown(_found(target, api), target.owner, _key(target), api))


async def delete_config(call: ApiCall, api: LambdaApi) -> Answer:
    async with api.lambdas.changing(name_of(call)):
        target = target_of(call, api)
        _found(target, api)
        record = target.owner.record
        left = {key: rules for key, rules in record.events.items() if key != _key(target)}
        await api.lambdas.keep(target.owner, replace(record, events=left))
    return Answer(b"", GONE)


async def list_configs(call: ApiCall, api: LambdaApi) -> Answer:
    owner = target_of(call, api).owner
    listed, more = page(owner.record.events.items(), lambda pair: pair[0] or LATEST, call, MOST)
    shown: list[JSON] = [_shown(rules, owner, key, api) for key, rules in listed]
    return Answer({"FunctionEventInvokeConfigs": shown, **more})


# --- steps ---------------------------------------------------------------------------------------


def _settings(doc: dict[str, JSON]) -> Mapping[str, Any]:
    given = read(GIVEN, doc)
    destinations = given.get("DestinationConfig", {})
    if any(one.get("Destination") for one in destinations.values()):
        raise invalid(
            "Destinations are not supported: leave out 'DestinationConfig'. A state machine or a composition can "
            "handle the result of a function."
        )
    if not given:
        raise invalid(
            "You must specify at least one of the parameters to configure asynchronous invocations."
        )
    return given


async def _set(
    call: ApiCall, api: LambdaApi, given: Mapping[str, Any], before: Events | None
) -> Answer:
    async with api.lambdas.changing(name_of(call)):
        target = target_of(call, api)
        before = before or _found(target, api)
        rules = Events(
            modified_ms=api.engine.now_ms,
            retries=given.get("MaximumRetryAttempts", before.retries),
            age_s=given.get("MaximumEventAgeInSeconds", before.age_s),
        )
        record, key = target.owner.record, _key(target)
        await api.lambdas.keep(target.owner, replace(record, events={**record.events, key: rules}))
    return Answer(_shown(rules, target.owner, key, api))


def _key(target: Target) -> str:
    return "" if target.qualifier == LATEST else target.key


def _found(target: Target, api: LambdaApi) -> Events:
    rules = target.owner.record.events.get(_key(target))
    if rules is None:
        arn = arn_of(target.owner.name.name, api, target.qualifier or LATEST)
        text = f"The function {arn} doesn't have an EventInvokeConfig"
        raise AwsError("ResourceNotFoundException", text, MISSING)
    return rules


def _shown(rules: Events, owner: Lambda, key: str, api: LambdaApi) -> dict[str, JSON]:
    return {
        "LastModified": rules.modified_ms / 1000,
        "FunctionArn": arn_of(owner.name.name, api, key or LATEST),
        "MaximumRetryAttempts": rules.retries,
        "MaximumEventAgeInSeconds": rules.age_s,
        "DestinationConfig": {"OnSuccess": {}, "OnFailure": {}},
    }
