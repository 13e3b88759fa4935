"""Invokes a function: it runs as the only Task of a state machine.

So the result is any JSON value that the handler returns or raises, and the run has a record with its log. An
`Event` is durable when the server answers, and retried twice if it fails, after one minute and after two.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import NotFoundError, Query, Write, log_tail, request_id
from ...composer import MAX_DEPTH, Failure, activation_id, flaw
from ..aws import AGAIN, AwsError, machine_of
from ..engine import EVENT, Beginning, Unwaited
from ..http import parse
from .configuration import LATEST, arn_of, missing, named
from .protocol import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Action
    from ...composer import JSON
    from ..engine import NamedExecution
    from ..http import Api
    from .protocol import ApiCall

SLACK_S = 30.0  # time for the worker to start, beside the function's timeout


async def invoke(call: ApiCall, api: Api) -> Answer:
    """Invokes a function: synchronously, asynchronously or not at all (`X-Amz-Invocation-Type`)."""
    headers = call.request.headers
    meant = named(call.name, call.request.query_params.get("Qualifier"))
    arn = arn_of(meant.name, api)
    if meant.qualifier not in (None, LATEST):
        raise missing(f"{arn}:{meant.qualifier}")
    try:
        action = api.engine.catalog.resolve(meant.action(call.namespace), call.namespace)
    except NotFoundError:
        raise missing(arn) from None
    event = _event(call.content)
    match headers.get("x-amz-invocation-type", "RequestResponse"):
        case "RequestResponse":
            beginning = Beginning(machine_of(action.name), event, call.namespace)
            tail = headers.get("x-amz-log-type") == "Tail"
            return await _waited_for(action, beginning, api, tail=tail)
        case "Event":
            machine, unwaited = machine_of(action.name, AGAIN), Unwaited(EVENT)
            beginning = Beginning(machine, event, call.namespace, unwaited=unwaited)
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
        raise AwsError("ServiceException", "The function did not end in time.", 500)
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
    """The error that the handler raised, from the cause; else the engine's error."""
    error: Mapping[str, Any] = failure.error if isinstance(failure.error, dict) else {}
    cause = error.get("Cause")
    try:
        told = json.loads(cause or "")
    except ValueError:
        told = None
    if isinstance(told, dict) and "errorType" in told:
        return told
    return {"errorMessage": cause or "", "errorType": error.get("Error")}


async def _log(action: Action, execution: NamedExecution, namespace: str, api: Api) -> str:
    """The output of a run, with Lambda's own lines around it."""
    await api.engine.commit(Write())  # the record is in an earlier write
    query = Query(namespace=namespace, cause=execution.id, limit=1)
    (found,) = await api.engine.records.activations(query, whole=True)
    record: Mapping[str, Any] = found
    return log_tail(action, record["activationId"], record["duration"], record["logs"])
