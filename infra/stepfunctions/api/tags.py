"""Tags of state machines and activities."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....actions import ActivityArn, MachineArn, NotFoundError, parsed_arn
from ...aws import AwsError, invalid, resource_missing
from ..activities import TAGS
from ..machines import Machine
from .names import read_arn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ....composer import JSON
    from ...aws import Parameters
    from ..activities import Activity
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MOST = 50  # tags of one resource


def added(tags: Mapping[str, str], given: Iterable[Parameters]) -> dict[str, str]:
    """Returns the tags with those of a request; a tag replaces one with the same key.

    Raises:
        AwsError: TooManyTags, or ValidationException for one without a key.
    """
    if not all("key" in tag for tag in given):
        raise invalid("Every tag must have a key")
    made = {**tags, **{tag["key"]: tag.get("value", "") for tag in given}}
    if len(made) > MOST:
        raise AwsError(
            "TooManyTags", f"You've exceeded the number of tags allowed for a resource: {MOST}."
        )
    return made


async def tag(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    await _change(params, caller, api, lambda tags: added(tags, params["tags"]))
    return {}


async def untag(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Removes tags; unknown keys are ignored."""
    gone = params["tagKeys"]
    await _change(
        params, caller, api, lambda tags: {k: v for k, v in tags.items() if k not in gone}
    )
    return {}


async def list_all(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    tags = _tags(_found(params, caller, api))
    return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}


def _found(params: Parameters, caller: Caller, api: StepFunctionsApi) -> Machine | Activity:
    """The state machine or activity that has this ARN; a version or an alias has no tags.

    Raises:
        AwsError: InvalidArn, or ResourceNotFound.
    """
    text = params["resourceArn"]
    activity = parsed_arn(text)
    if isinstance(activity, ActivityArn):
        try:
            return api.activities.get(caller.namespace, activity.name)
        except NotFoundError:
            raise resource_missing(text) from None
    arn = read_arn(text, MachineArn)
    machine = api.machines.find(caller.namespace, arn.name)
    if machine is None or arn.qualifier is not None:
        raise resource_missing(text)
    return machine


def _tags(resource: Machine | Activity) -> dict[str, str]:
    if isinstance(resource, Machine):
        return resource.record.tags
    return resource.tags


async def _change(
    params: Parameters,
    caller: Caller,
    api: StepFunctionsApi,
    rule: Callable[[dict[str, str]], dict[str, str]],
) -> None:
    """Replaces the tags of a resource by what `rule` makes of them."""
    name = _found(params, caller, api).name
    async with api.machines.changing(caller.namespace, name):
        resource = _found(params, caller, api)
        tags = rule(_tags(resource))
        if tags == _tags(resource):
            return
        if isinstance(resource, Machine):
            await api.machines.keep(resource, replace(resource.record, tags=tags))
        else:
            await api.activities.configure(resource, {**resource.configuration, TAGS: {**tags}})


OPERATIONS: Operations = {
    "TagResource": tag,
    "UntagResource": untag,
    "ListTagsForResource": list_all,
}
