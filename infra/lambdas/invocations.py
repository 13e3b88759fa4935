"""A function is invoked: it is the Task of a state machine of its own, in the way that AWS invokes it.

So what comes of it is just what its handler returned or raised, whatever JSON that is, and its run has a record with
its log. An `Event` is durable when it is answered, and tried twice more if it fails, a minute later and two.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

from ...actions import NotFoundError, Query, Write, log_tail, request_id
from ...composer import MAX_DEPTH, Failure, activation_id, flaw
from ..aws import AGAIN, AwsError, machine_of
from ..engine import EVENT, Beginning, Unwaited
from ..http import parse
from .configuration import LATEST, arn_of, missing, named
from .protocol import Answer

if TYPE_CHECKING:
    from ...actions import Action
    from ...composer import JSON
    from ..engine import NamedExecution
    from ..http import Api
    from .protocol import Asked

SLACK_S = 30.0  # over the function's own timeout, for its worker to start


async def invoke(asked: Asked, api: Api) -> Answer:
    """As the header `X-Amz-Invocation-Type` says: waited for, not waited for, or not at all."""
    headers = asked.request.headers
    meant = named(asked.name, asked.request.query_params.get("Qualifier"))
    arn = arn_of(meant.name, api)
    if meant.qualifier not in (None, LATEST):
        raise missing(f"{arn}:{meant.qualifier}")
    try:
        action = api.engine.catalog.resolve(meant.action(asked.namespace), asked.namespace)
    except NotFoundError:
        raise missing(arn) from None
    event = _event(asked.content)
    match headers.get("x-amz-invocation-type", "RequestResponse"):
        case "RequestResponse":
            beginning = Beginning(machine_of(action.name), event, asked.namespace)
            tail = headers.get("x-amz-log-type") == "Tail"
            return await _waited_for(action, beginning, api, tail=tail)
        case "Event":
            machine, unwaited = machine_of(action.name, AGAIN), Unwaited(EVENT)
            beginning = Beginning(machine, event, asked.namespace, unwaited=unwaited)
            await api.engine.executions.begin(beginning)
            return Answer(b"", 202)
        case "DryRun":
            return Answer(b"", 204)
        case other:
            raise AwsError(
                "InvalidParameterValueException",
                f"Value {other} at 'invocationType' failed to satisfy constraint: Member must satisfy "
                "enum value set: [Event, RequestResponse, DryRun]",
            )


def _event(content: bytearray) -> JSON:
    try:
        event = parse(content or b"{}")
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if content.count(b"{") + content.count(b"[") > MAX_DEPTH and (why := flaw(event)):
        raise _unreadable(why)
    return event


def _unreadable(why: str) -> AwsError:
    return AwsError(
        "InvalidRequestContentException", f"Could not parse request body into json: {why}"
    )


async def _waited_for(action: Action, beginning: Beginning, api: Api, *, tail: bool) -> Answer:
    wait_s = action.limits.timeout_ms / 1000 + SLACK_S
    execution, ended = await api.engine.executions.run(beginning, wait_s)
    if ended is None:
        raise AwsError("ServiceException", "The function has not ended in its time.", 500)
    activation = activation_id(execution.id, "0", 1)
    headers = {"X-Amz-Executed-Version": LATEST, "x-amzn-RequestId": request_id(activation)}
    if isinstance(ended.outcome, Failure):
        headers["X-Amz-Function-Error"] = "Unhandled"
        content = _error(ended.outcome)
    else:
        content = ended.outcome.value
    if tail:
        headers["X-Amz-Log-Result"] = await _log(action, execution, beginning.namespace, api)
    return Answer(orjson.dumps(content), 200, headers)


def _error(failure: Failure) -> JSON:
    """What the handler raised, as it is told in the cause; else what the engine says of it."""
    cause = failure.error.get("Cause")
    try:
        told = json.loads(cause or "")
    except ValueError:
        told = None
    if isinstance(told, dict) and "errorType" in told:
        return told
    return {"errorMessage": cause or "", "errorType": failure.error.get("Error")}


async def _log(action: Action, execution: NamedExecution, namespace: str, api: Api) -> str:
    """What a run has printed, with the lines of the platform around it."""
    await api.engine.commit(Write())  # the record is written with what was before this
    query = Query(namespace=namespace, cause=execution.id, limit=1)
    (record,) = await api.engine.records.activations(query, whole=True)
    return log_tail(action, record["activationId"], record["duration"], record["logs"])
