"""The resource of a Task: the action that it invokes, and the meaning of that action's result or failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, final

from ....errors import InvalidNameError
from ....freezing import frozen
from ....names import Name
from ....values import TIMEOUT as TIMED_OUT
from ....values import Failure
from ..resources import integration, is_activity, is_function
from ..state_errors import RUNTIME, TASK_FAILED, TIMEOUT, details_of, failed
from .lambda_invoke import TAIL, PayloadError, event_of, invocation_result

if TYPE_CHECKING:
    from ....values import JSON
    from ..state_errors import Details
    from .lambda_invoke import Response

OWN: Final = "/whisk.system/states/"
ACTIVITY: Final = f"{OWN}activity"
INTEGRATION: Final = f"{OWN}integration"
NAMES: Final = ("code", "name", "type")  # of an error, the first that is a text
CALLBACK: Final = ".waitForTaskToken"
NO_FUNCTION: Final = "Lambda.ResourceNotFoundException"
LATEST: Final = "$LATEST"
AWAITED: Final = "RequestResponse"
UNAWAITED: Final = ("Event", "DryRun")
UNREADABLE: Final = "Lambda.InvalidRequestContentException"
TOO_LARGE: Final = "PayloadTooLarge"  # the code of a result that is too large for its runner
LAMBDA_ERRORS: Final = {  # Lambda's names for our codes
    "NotFound": NO_FUNCTION,
    "Throttled": "Lambda.TooManyRequestsException",
    "Permission": "Lambda.AccessDeniedException",
    "Unavailable": "Lambda.ServiceException",
    TIMED_OUT: TIMEOUT,
}


@final
@frozen
class Resource:
    """A Task's resource, with the names and the details of its events.

    `kind` is `LambdaFunction`, `Activity` or `Task`.
    """

    kind: str
    service: str
    operation: str
    text: str

    @property
    def later(self) -> bool:
        """True if its result comes later, by its task token."""
        return self.kind == "Activity" or self.operation.endswith(CALLBACK)

    @property
    def named(self) -> str:
        """Its name in AWS' error about a result that is too large: the service, or the ARN."""
        return self.service or self.text

    @property
    def invokes(self) -> bool:
        """True for `lambda:invoke`, in any of its patterns."""
        return self.service == "lambda" and self.operation in ("invoke", f"invoke{CALLBACK}")

    @property
    def waited_for(self) -> bool:
        """True if the task waits for the end of the work, and not only for the response."""
        return self.operation.endswith((".sync", ".sync:2"))

    @property
    def details(self) -> dict[str, JSON]:
        """The details of each of its events."""
        if self.kind == "Task":
            return {"resourceType": self.service, "resource": self.operation}
        return {}


def resource_of(text: str) -> Resource:
    """Parses a Task's Resource; a plain name is an action's, which is invoked like a function."""
    service = integration(text)
    if service is not None:
        return Resource("Task", service.service, service.operation + service.pattern, text)
    if is_activity(text):
        return Resource("Activity", "", "", text)
    return Resource("LambdaFunction", "", "", text)


def target(resource: Resource, parameters: JSON, execution: str) -> tuple[str, JSON] | Failure:
    """The action of a resource, and its parameters; `execution` is the ARN of the execution."""
    if resource.kind == "Activity":
        return ACTIVITY, {"arn": resource.text, "input": parameters}
    if resource.kind == "LambdaFunction":
        return _function(resource.text, parameters)
    if resource.invokes:
        return _invocation(parameters if isinstance(parameters, dict) else {}, execution)
    operation, _, pattern = resource.operation.partition(".")
    return INTEGRATION, {
        "service": resource.service,
        "operation": operation,
        "pattern": f".{pattern}" if pattern else "",
        "parameters": parameters,
        "execution": execution,
    }


def tails(resource: Resource, parameters: JSON) -> bool:
    """True if the task asks for the end of the function's log."""
    return resource.invokes and isinstance(parameters, dict) and parameters.get("LogType") == TAIL


def unawaited(resource: Resource, parameters: JSON) -> bool:
    """True if a function is not waited for, or not run at all: the response then is about the request alone."""
    given = parameters if isinstance(parameters, dict) else {}
    return resource.invokes and given.get("InvocationType") in UNAWAITED


def _invocation(given: dict[str, JSON], execution: str) -> tuple[str, JSON] | Failure:
    """The function of `lambda:invoke`, and its event; or the integration that starts it without waiting for it."""
    how = given.get("InvocationType") or AWAITED
    if how not in (AWAITED, *UNAWAITED):
        text = f"InvocationType must be one of Event, RequestResponse and DryRun, not {_text(how)}."
        return failed("Lambda.InvalidParameterValueException", text)
    name = given.get("FunctionName")
    if not isinstance(name, str):
        return failed(RUNTIME, "The field 'FunctionName' must be the name of a function.")
    try:
        aimed = _function(name, event_of(given.get("Payload")), given.get("Qualifier"))
    except PayloadError as error:
        text = f"Could not parse request body into json: {error}. A Payload that is text must be the text of a JSON value"
        return failed(UNREADABLE, f"{text}. (Service: Lambda, Status Code: 400)")
    if how == AWAITED or isinstance(aimed, Failure):
        return aimed
    action, event = aimed
    request: dict[str, JSON] = {"FunctionName": action, "Payload": event, "InvocationType": how}
    return INTEGRATION, {
        "service": "lambda", "operation": "invoke", "pattern": "", "parameters": request, "execution": execution,
    }  # fmt: skip


def _function(text: str, payload: JSON, asked: JSON = None) -> tuple[str, JSON] | Failure:
    """The action of a function's name or ARN. A name in an ARN, or by itself, has no package.

    The version or alias `prod` of a function `NAME` is the action `NAME@prod`. It is a part of `text`, or `asked`.
    """
    name, _, qualifier = text.rsplit(":function:", maxsplit=1)[-1].partition(":")
    if not is_function(text) and text.startswith("arn:"):
        name = text
    qualifier = qualifier or (asked if isinstance(asked, str) else "")
    if qualifier not in ("", LATEST):
        name = f"{name}@{qualifier}"
    try:
        parsed = str(Name.parse(name))
    except InvalidNameError:
        parsed = OWN
    if parsed.startswith(OWN):  # the server's own actions are not functions
        return failed(NO_FUNCTION, f"Function not found: {text}")
    return parsed, payload


def result_of(resource: Resource, value: JSON, response: Response) -> JSON:
    """A task's result, from the result of its action."""
    return (
        invocation_result(value, response)
        if resource.operation == "invoke" and resource.invokes
        else value
    )


def submitted(resource: Resource, value: JSON, response: Response) -> JSON:
    """The response to the request for a task whose result comes later."""
    return invocation_result(value, response) if resource.invokes else value


def failure_of(resource: Resource, failure: Failure) -> Failure:
    """A task's failure, by the States Language's names.

    The `{"Error", "Cause"}` of an integration or a worker stays. The name is a function's `errorType`, or the name
    in the error of an action; else it is States.TaskFailed, or Lambda's name for it.
    """
    error, details = failure.error, details_of(failure)
    if error == {} and failure.code in ("", TASK_FAILED):  # a worker need not give a reason
        return failed(None, None)
    if _names_itself(details):
        return failed_as(failure)
    if isinstance(details.get("errorType"), str):
        return failed(details["errorType"], _text(error))
    if failure.code == TIMED_OUT:
        return failed(TIMEOUT, None)
    if resource.kind == "LambdaFunction" or resource.service == "lambda":
        known = LAMBDA_ERRORS.get(failure.code)
        if known is not None:
            return failed(known, _message(error))
    return _called(error, details)


def _called(error: JSON, own: Details) -> Failure:
    """A failure that has its own name, with all of it as the cause if it is more than a message."""
    name = next((own[key] for key in NAMES if isinstance(own.get(key), str)), None)
    if name is None:
        return failed(TASK_FAILED, _message(error))
    if own.keys() == {"code", "message"} and isinstance(own["message"], str):
        return failed(name, own["message"])
    return failed(name, _text({"error": own}))


def failed_as(failure: Failure) -> Failure:
    """A failure under its own name; States.TaskFailed if it has none."""
    details = details_of(failure)
    if _names_itself(details):
        return failed(details.get("Error"), details.get("Cause"))
    return failed(TASK_FAILED, _message(failure.error))


def _names_itself(details: Details) -> bool:
    return bool(details) and details.keys() <= {"Error", "Cause"}


def _message(error: JSON) -> str:
    match error:
        case {"message": str(text)}:
            return text
    return error if isinstance(error, str) else _text(error)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
