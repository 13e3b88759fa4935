"""Activities: create, delete, describe and list them, and poll for their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import ActivityArn, NotFoundError
from ...aws import AwsError, json_text
from ..activities import TAGS
from .names import check_name, read_arn
from .pages import page
from .protocol import seconds
from .tags import added

if TYPE_CHECKING:
    from ....composer import JSON
    from ...aws import Parameters
    from ..activities import Activity
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

ENCRYPTION = "encryptionConfiguration"


async def create_activity(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Creates an activity; a repeated request gets the same answer, even with other tags."""
    name = check_name(params["name"])
    configuration: dict[str, JSON] = {}
    if ENCRYPTION in params:
        configuration[ENCRYPTION] = params[ENCRYPTION]
    tags = added({}, params.get("tags", []))
    if tags:
        configuration[TAGS] = {**tags}
    activity = await api.activities.create(caller.namespace, name, configuration)
    if activity.configuration.get(ENCRYPTION) != configuration.get(ENCRYPTION):
        text = f"Activity Already Exists: '{api.arns.activity(name)}'"
        raise AwsError("ActivityAlreadyExists", text)
    return {
        "activityArn": api.arns.activity(name),
        "creationDate": seconds(activity.created_ms),
    }


async def delete_activity(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Deletes an activity, if it exists."""
    await api.activities.delete(caller.namespace, read_arn(params["activityArn"], ActivityArn).name)
    return {}


async def describe_activity(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    arn = params["activityArn"]
    try:
        activity = api.activities.get(caller.namespace, read_arn(arn, ActivityArn).name)
    except NotFoundError:
        raise _missing(arn) from None
    encryption = activity.configuration.get(ENCRYPTION)
    return _listed(activity, api) | ({} if encryption is None else {ENCRYPTION: encryption})


async def list_activities(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """The activities of the caller's namespace, in order of name."""
    activities = api.activities.list(caller.namespace)
    shown, more = page(activities, lambda a: a.name, params, caller, "activities")
    return {"activities": [_listed(activity, api) for activity in shown], **more}


async def get_activity_task(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """Waits for work; the token is null if none arrives in a minute."""
    arn = params["activityArn"]
    name = read_arn(arn, ActivityArn).name
    try:
        work = await api.activities.take(
            caller.namespace, name, params.get("workerName"), caller.gone
        )
    except NotFoundError:
        raise _missing(arn) from None
    if work is None:
        return {"taskToken": None}
    return {"taskToken": work.token, "input": json_text(work.input)}


def _listed(activity: Activity, api: StepFunctionsApi) -> dict[str, JSON]:
    return {
        "activityArn": api.arns.activity(activity.name),
        "name": activity.name,
        "creationDate": seconds(activity.created_ms),
    }


def _missing(arn: str) -> AwsError:
    return AwsError("ActivityDoesNotExist", f"Activity Does Not Exist: '{arn}'")


OPERATIONS: Operations = {
    "CreateActivity": create_activity,
    "DeleteActivity": delete_activity,
    "DescribeActivity": describe_activity,
    "GetActivityTask": get_activity_task,
    "ListActivities": list_activities,
}
