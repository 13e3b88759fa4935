"""What a Task's resource is to the machine: an action to invoke, and what comes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, final

from ....errors import InvalidNameError
from ....freezing import frozen
from ....names import Name
from ....values import TIMEOUT as TIMED_OUT
from ....values import Failure
from ..resources import integration, is_activity, is_function
from ..state_errors import RUNTIME, TASK_FAILED, TIMEOUT, failed
from .lambda_invoke import TAIL, PayloadError, event_of, invoked

if TYPE_CHECKING:
    from ....values import JSON
    from .lambda_invoke import Answered

OWN: Final = "/whisk.system/states/"
ACTIVITY: Final = f"{OWN}activity"
INTEGRATION: Final = f"{OWN}integration"
NAMES: Final = ("code", "name", "type")  # of an error, the first that is a text
CALLBACK: Final = ".waitForTaskToken"
NO_FUNCTION: Final = "Lambda.ResourceNotFoundException"
AWAITED: Final = "RequestResponse"
UNAWAITED: Final = ("Event", "DryRun")
UNREADABLE: Final = "Lambda.InvalidRequestContentException"
TOO_LARGE: Final = "PayloadTooLarge"  # the code of a result that its runner does not hand on
LAMBDA_ERRORS: Final = {  # of ours, what Lambda calls them
    "NotFound": NO_FUNCTION,
    "Throttled": "Lambda.TooManyRequestsException",
    "Permission": "Lambda.AccessDeniedException",
    "Unavailable": "Lambda.ServiceException",
    TIMED_OUT: TIMEOUT,
}


@final
@frozen
class Resource:
    """A resource: how its events are called, and what they tell of it.

    `kind` is `LambdaFunction`, `Activity` or `Task`.
    """

    kind: str
    service: str
    operation: str
    text: str

    @property
    def later(self) -> bool:
        """Whether it answers by its token."""
        return self.kind == "Activity" or self.operation.endswith(CALLBACK)

    @property
    def named(self) -> str:
        """What AWS calls it where its result is too large: the service, or the ARN."""
        return self.service or self.text

    @property
    def invokes(self) -> bool:
        """Whether it is `lambda:invoke`, in one of its patterns."""
        return self.service == "lambda" and self.operation in ("invoke", f"invoke{CALLBACK}")

    @property
    def waited_for(self) -> bool:
        """Whether the end of what it asks for is waited for, and not only the answer."""
        return self.operation.endswith((".sync", ".sync:2"))

    @property
    def about(self) -> dict[str, JSON]:
        """What each event of it tells."""
        if self.kind == "Task":
            return {"resourceType": self.service, "resource": self.operation}
        return {}


def resource_of(text: str) -> Resource:
    """What a Task's Resource names; a plain name is an action's, which is called as a function is."""
    asked = integration(text)
    if asked is not None:
        return Resource("Task", asked.service, asked.operation + asked.pattern, text)
    if is_activity(text):
        return Resource("Activity", "", "", text)
    return Resource("LambdaFunction", "", "", text)


def target(resource: Resource, parameters: JSON, execution: str) -> tuple[str, JSON] | Failure:
    """The action that a resource is, and what it is given; `execution` is the ARN that it belongs to."""
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
    """Whether the end of the function's log is asked for."""
    return resource.invokes and isinstance(parameters, dict) and parameters.get("LogType") == TAIL


def unawaited(resource: Resource, parameters: JSON) -> bool:
    """Whether a function is not waited for, or not run at all: its answer then tells of the request alone."""
    given = parameters if isinstance(parameters, dict) else {}
    return resource.invokes and given.get("InvocationType") in UNAWAITED


def _invocation(given: dict[str, JSON], execution: str) -> tuple[str, JSON] | Failure:
    """The function that `lambda:invoke` names, and its event; or what begins it without waiting for it."""
    how = given.get("InvocationType") or AWAITED
    if how not in (AWAITED, *UNAWAITED):
        text = f"InvocationType must be one of Event, RequestResponse and DryRun, not {_text(how)}."
        return failed("Lambda.InvalidParameterValueException", text)
    name = given.get("FunctionName")
    if not isinstance(name, str):
        return failed(RUNTIME, "The field 'FunctionName' must be the name of a function.")
    try:
        aimed = _function(name, event_of(given.get("Payload")))
    except PayloadError as error:
        text = f"Could not parse request body into json: {error}. A Payload that is text must be the text of a JSON value"
        return failed(UNREADABLE, f"{text}. (Service: Lambda, Status Code: 400)")
    if how == AWAITED or isinstance(aimed, Failure):
        return aimed
    action, event = aimed
    asked = {"FunctionName": action, "Payload": event, "InvocationType": how}
    return INTEGRATION, {
        "service": "lambda", "operation": "invoke", "pattern": "", "parameters": asked, "execution": execution,
    }  # fmt: skip


def _function(text: str, payload: JSON) -> tuple[str, JSON] | Failure:
    """The action of a function's name or ARN. A name in an ARN, or by itself, is in no package."""
    name = (
        text.rsplit(":function:", maxsplit=1)[-1].partition(":")[0] if is_function(text) else text
    )
    try:
        parsed = str(Name.parse(name))
    except InvalidNameError:
        parsed = OWN
    if parsed.startswith(
        OWN
    ):  # what a machine is made of is no function: it is asked as its states say
        return failed(NO_FUNCTION, f"Function not found: {text}")
    return parsed, payload


def result_of(resource: Resource, value: JSON, answered: Answered) -> JSON:
    """A task's result, of what its action has given."""
    return (
        invoked(value, answered) if resource.operation == "invoke" and resource.invokes else value
    )


def submitted(resource: Resource, value: JSON, answered: Answered) -> JSON:
    """What has come of asking for a task that answers later."""
    return invoked(value, answered) if resource.invokes else value


def failure_of(resource: Resource, failure: Failure) -> Failure:
    """A task's failure, by the States Language's names.

    What an integration or a worker says of itself, `{"Error", "Cause"}`, stays; of a function its `errorType` is
    the name, and of an action what its error calls itself; else it is States.TaskFailed, or what Lambda calls it.
    """
    error = failure.error
    if error == {} and failure.code in ("", TASK_FAILED):  # who answers a task need not say why
        return failed(None, None)
    if _names_itself(error):
        return failed_as(failure)
    if isinstance(error, dict) and isinstance(error.get("errorType"), str):
        return failed(error["errorType"], _text(error))
    if failure.code == TIMED_OUT:
        return failed(TIMEOUT, None)
    if resource.kind == "LambdaFunction" or resource.service == "lambda":
        known = LAMBDA_ERRORS.get(failure.code)
        if known is not None:
            return failed(known, _message(error))
    return _called(error)


def _called(error: JSON) -> Failure:
    """A failure that has its own name, with all of it as the cause if it is more than a message."""
    own = error if isinstance(error, dict) else {}
    name = next((own[key] for key in NAMES if isinstance(own.get(key), str)), None)
    if name is None:
        return failed(TASK_FAILED, _message(error))
    if own.keys() == {"code", "message"} and isinstance(own["message"], str):
        return failed(name, own["message"])
    return failed(name, _text({"error": own}))


def failed_as(failure: Failure) -> Failure:
    """A failure as it names itself; States.TaskFailed if it does not."""
    error = failure.error
    if _names_itself(error):
        return failed(error.get("Error"), error.get("Cause"))
    return failed(TASK_FAILED, _message(error))


def _names_itself(error: JSON) -> bool:
    return isinstance(error, dict) and bool(error) and error.keys() <= {"Error", "Cause"}


def _message(error: JSON) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        text: str = error["message"]
        return text
    return error if isinstance(error, str) else _text(error)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
