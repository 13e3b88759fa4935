"""Actions that are Lambda functions: their annotation, and the requests to and answers of their handlers.

Such an action has the annotation `lambda`: the function's configuration as Lambda's API has it. Its code begins
with one of `runtimes/functions`, so that its outcome is the handler's own:

- `Success(value)`: the value that the handler returned, any JSON: an object, a list, a text, null. An object with a
  field `error` is a success as well (a composition that runs the action as a step takes it for a failure, and wraps
  a value that is not an object).
- `Failure(ApplicationError, error)`: the error that the handler raised, `{"errorMessage", "errorType", "requestId",
  "stackTrace"}` (from Node.js `{"errorType", "errorMessage", "trace"}`), as Lambda answers it. A function that was
  cut off has Lambda's `errorType` for that: `Sandbox.Timedout`, `Runtime.ExitError`.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from ..composer import APPLICATION_ERROR, TIMEOUT, Failure, Success
from .errors import NotFoundError
from .outcome import BAD_RESPONSE, CRASHED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..composer import JSON, Name
    from .catalog import Catalog
    from .invocation import Invocation
    from .model import Action

FUNCTION = "lambda"  # the annotation
LATEST = "$LATEST"  # the version that can be changed
AT = "@"  # stands between the name of a function and its version or alias, in names of actions
TAIL_BYTES = 4096  # of a log in Lambda's answer

# The configuration of a function, which Lambda's API has checked.
Configuration: TypeAlias = dict[str, Any]


def function_of(action: Action) -> Configuration | None:
    """The configuration of an action that is a Lambda function; None for any other action."""
    found = action.annotations.get(FUNCTION)
    return found if isinstance(found, dict) else None


def version_of(function: Configuration) -> str:
    """The version of a function's configuration: a number, or `$LATEST`."""
    return str(function.get("Version", LATEST))


def qualified(name: Name, qualifier: str | None) -> Name:
    """The name of a function's version or alias among actions; the function's own name for `$LATEST`."""
    if qualifier is None or qualifier == LATEST:
        return name
    return replace(name, name=f"{name.name}{AT}{qualifier}")


def chosen(version: str, weights: Iterable[tuple[str, float]], chance: str) -> str:
    """The version that an alias calls: `version`, or one of those that get a share of the calls.

    The choice depends on `chance` only, the id of a request: a repeated request gets the same version.
    """
    at = int.from_bytes(sha256(chance.encode()).digest()[:8]) / (1 << 64)
    for other, weight in weights:
        if at < weight:
            return other
        at -= weight
    return version


def found_function(catalog: Catalog, name: Name, caller: str, chance: str) -> Action:
    """The action of this name; for the name of a function's alias, the version that the alias calls.

    A name with a qualifier is that of the action itself if the action is not a Lambda function: such an
    action has no versions.

    Raises:
        NotFoundError, ForbiddenError, ConflictError: there is no such action, or `caller` may not run it.
    """
    try:
        return catalog.resolve(name, caller)
    except NotFoundError:
        bare, at, qualifier = name.name.rpartition(AT)
        if not at:
            raise
        owner = replace(name, name=bare)
        action = catalog.resolve(owner, caller)
        if function_of(action) is None:
            return action
        version = catalog.alias(owner, qualifier, chance)
        if version is None:
            raise
        return catalog.resolve(qualified(owner, version), caller)


def request_id(activation: str) -> str:
    """An activation's id in the form of Lambda's request ids."""
    return "-".join(
        (activation[:8], activation[8:12], activation[12:16], activation[16:20], activation[20:])
    )


def handler_request(
    invocation: Invocation, function: Configuration, deadline_ms: int
) -> dict[str, JSON]:
    """The request to the code of a function: the event and its context."""
    name = function.get("FunctionName", invocation.action.name.name)
    memory_mb, version = function["MemorySize"], version_of(function)
    group, stream = f"/aws/lambda/{name}", f"[{version}]{invocation.activation}"
    return {
        "event": invocation.params,
        "request": request_id(invocation.activation),
        "name": name,
        "version": version,
        "arn": function["FunctionArn"],
        "memory_mb": memory_mb,
        "log_group": group,
        "log_stream": stream,
        "deadline_ms": deadline_ms,
    }


def log_tail(action: Action, activation: str, ran_ms: int, logs: Iterable[str]) -> str:
    """The last 4 KB of a run's log, between Lambda's own lines, in base64.

    Args:
        action: the function.
        activation: the run's id.
        ran_ms: its duration.
        logs: lines as records have them: `TIME stdout: TEXT`.
    """
    function, request = function_of(action) or {}, request_id(activation)
    printed = [line.split(" ", 1)[-1].partition(": ")[2] for line in logs]
    size = function.get("MemorySize", action.limits.memory_mb)
    report = f"Duration: {ran_ms}.00 ms\tBilled Duration: {ran_ms} ms\tMemory Size: {size} MB"
    lines = (
        f"START RequestId: {request} Version: {version_of(function)}",
        *printed,
        f"END RequestId: {request}",
        f"REPORT RequestId: {request}\t{report}\t\n",
    )
    return b64encode("\n".join(lines).encode(errors="replace")[-TAIL_BYTES:]).decode()


def handler_outcome(answer: Any) -> Success | Failure:
    """The outcome in the answer of a function's code."""
    match answer:
        case {"payload": result}:
            return Success(result)
        case {"error": error}:
            return Failure(APPLICATION_ERROR, error)
    return Failure(BAD_RESPONSE, "The function's code did not answer as it was made to.")


def lambda_failure(failure: Failure, invocation: Invocation) -> Failure:
    """A failure of the function's environment, in Lambda's words."""
    request = request_id(invocation.activation)
    if failure.code == TIMEOUT:
        seconds = invocation.action.limits.timeout_ms / 1000
        kind, text = "Sandbox.Timedout", f"Task timed out after {seconds:.2f} seconds"
    elif failure.code == CRASHED:
        kind, text = "Runtime.ExitError", f"Runtime exited: {failure.error}"
    else:
        return failure
    told = f"RequestId: {request} Error: {text}"
    return Failure(failure.code, {"errorType": kind, "errorMessage": told})
