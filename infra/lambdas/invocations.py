"""Invokes a function: it runs as the only Task of a state machine.

So the result is any JSON value that the handler returns or raises, and the run has a record with its log. An
`Event` is durable when the server answers, and retried if it fails, unless configured otherwise twice: after
one minute and after two.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...actions import (
    LATEST,
    NotFoundError,
    Query,
    Write,
    chosen,
    function_of,
    log_tail,
    request_id,
    version_of,
)
from ...composer import MAX_DEPTH, Failure, activation_id, flaw
from ..aws import AwsError, again, machine_of
from ..engine import EVENT, Beginning, Unwaited
from ..http import parse
from .calls_under_way import check
from .configuration import arn_of, missing, named
from .events import retries_of
from .lookup import qualified_target
from .protocol import Answer
from .records import RETRIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Action
    from ...composer import JSON
    from ..engine import Ended, NamedExecution
    from .api import LambdaApi
    from .configuration import Named
    from .lookup import Target
    from .protocol import ApiCall

MAX_EVENT_BYTES = 262_144  # of the input of a state machine, which runs the function
TOO_MUCH_DATA = "States.DataLimitExceeded"  # the state machine's name for a result over its limit
TOO_LARGE: Final[JSON] = {
    "errorType": "Function.ResponseSizeTooLarge",
    "errorMessage": f"Response payload size exceeded maximum allowed payload size ({MAX_EVENT_BYTES} bytes).",
}
SLACK_S = 30.0  # time for the worker to start, beside the function's timeout


async def invoke(call: ApiCall, api: LambdaApi) -> Answer:
    """Invokes a function: synchronously, asynchronously or not at all (`X-Amz-Invocation-Type`)."""
    headers = call.request.headers
    meant = named(call.name, call.query("Qualifier"))
    owner = api.lambdas.find(meant.action(call.namespace))
    if owner is None:
        action, reserved, retries = _plain(meant, call.namespace, api), None, RETRIES
    else:
        action = called(qualified_target(owner, meant.qualifier, api), call.id, api)
        reserved, retries = owner.record.reserved, retries_of(owner, meant.qualifier)
    event = _event(call.content)
    check_size(event)
    match headers.get("x-amz-invocation-type", "RequestResponse"):
        case "RequestResponse":
            with api.under_way.counted(str(meant.action(call.namespace)), reserved):
                execution, ended = await run(action, event, call.namespace, api)
            tail = headers.get("x-amz-log-type") == "Tail"
            return await _told(action, execution, ended, call.namespace, api, tail=tail)
        case "Event":
            check(0, reserved)
            machine, unwaited = machine_of(action.name, *again(retries)), Unwaited(EVENT)
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


def check_size(event: JSON) -> None:
    """Checks the size of an event.

    Raises:
        AwsError: RequestTooLargeException.
    """
    size = len(orjson.dumps(event))
    if size > MAX_EVENT_BYTES:
        raise AwsError(
            "RequestTooLargeException",
            f"Request must be smaller than {MAX_EVENT_BYTES + 1} bytes for the InvokeFunction operation: the event "
            f"has {size}.",
            413,
        )


def called(target: Target, chance: str, api: LambdaApi) -> Action:
    """The action that a call of a function, a version or an alias runs; `chance` is the id of the request."""
    alias = target.alias
    if alias is None:
        return target.action
    version = chosen(alias.version, alias.weights, chance)
    found = target.owner.action if version == LATEST else api.lambdas.version(target.owner, version)
    return target.action if found is None else found


async def run(
    action: Action, event: JSON, namespace: str, api: LambdaApi
) -> tuple[NamedExecution, Ended]:
    """Runs an action and waits for its end.

    Raises:
        AwsError: ServiceException: the action did not end in time.
        RefusedError: the action may not run now.
    """
    wait_s = action.limits.timeout_ms / 1000 + SLACK_S
    beginning = Beginning(machine_of(action.name), event, namespace)
    execution, ended = await api.engine.executions.run(beginning, wait_s)
    if ended is None:
        raise AwsError("ServiceException", "The function did not end in time.", 500)
    return execution, ended


def _plain(meant: Named, namespace: str, api: LambdaApi) -> Action:
    """An action that is not a function: it has no versions."""
    arn = arn_of(meant.name, api)
    if meant.qualifier not in (None, LATEST):
        raise missing(f"{arn}:{meant.qualifier}")
    try:
        return api.engine.catalog.resolve(meant.action(namespace), namespace)
    except NotFoundError:
        raise missing(arn) from None


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


async def _told(  # noqa: PLR0913  a run has as many sides
    action: Action,
    execution: NamedExecution,
    ended: Ended,
    namespace: str,
    api: LambdaApi,
    *,
    tail: bool,
) -> Answer:
    activation = activation_id(execution.id, "0", 1)
    version = version_of(function_of(action) or {})
    headers = {"X-Amz-Executed-Version": version, "x-amzn-RequestId": request_id(activation)}
    if isinstance(ended.outcome, Failure):
        headers["X-Amz-Function-Error"] = "Unhandled"
        content = _error(ended.outcome)
    else:
        content = ended.outcome.value
    if tail:
        headers["X-Amz-Log-Result"] = await _log(action, execution, namespace, api)
    return Answer(orjson.dumps(content), 200, headers)


def _error(failure: Failure) -> JSON:
    """The error that the handler raised, from the cause; else the engine's error, by Lambda's name."""
    error: Mapping[str, Any] = failure.error if isinstance(failure.error, dict) else {}
    cause = error.get("Cause")
    if error.get("Error") == TOO_MUCH_DATA:
        return TOO_LARGE
    try:
        told = json.loads(cause or "")
    except ValueError:
        told = None
    if isinstance(told, dict) and "errorType" in told:
        return told
    return {"errorMessage": cause or "", "errorType": error.get("Error")}


async def _log(action: Action, execution: NamedExecution, namespace: str, api: LambdaApi) -> str:
    """The output of a run, with Lambda's own lines around it."""
    await api.engine.commit(Write())  # the record is in an earlier write
    query = Query(namespace=namespace, cause=execution.id, limit=1)
    (found,) = await api.engine.records.activations(query, whole=True)
    record: Mapping[str, Any] = found
    return log_tail(action, record["activationId"], record["duration"], record["logs"])
