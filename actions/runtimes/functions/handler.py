"""What an action of a Lambda function begins with: it finds the handler, and calls it as Lambda does.

It stands as `__main__.py` in the action's archive, beside `function.json` and the folder `task` with what was
uploaded. It is asked `{"event", "request", "deadline_ms", "arn", ...}` and answers `{"payload": result}`, or
`{"error": {"errorMessage", "errorType", "requestId", "stackTrace"}}`, texts as Lambda's runtime has them.
"""

from __future__ import annotations

import contextlib
import decimal
import importlib
import json
import os
import sys
import time
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

ROOT = os.getcwd()
TASK = os.path.join(ROOT, "task")
SHOWN = "/var/task"  # where Lambda has it

with open("function.json", encoding="utf-8") as file:
    FUNCTION = json.load(file)
os.environ.update(FUNCTION["environment"], LAMBDA_TASK_ROOT=TASK, _HANDLER=FUNCTION["handler"])
if ROOT in sys.path:
    sys.path.remove(ROOT)  # what is ours is not the function's to import
sys.path.insert(0, TASK)
os.chdir(TASK)
found: list[Callable[[Any, Context], Any]] = []


class UncallableError(Exception):
    """The handler cannot be called: what Lambda calls that, and why."""

    def __init__(self, kind: str, text: str, trace: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.kind, self.trace = kind, list(trace)


class Identity:
    """Who has asked, of a mobile app's users: nobody here."""

    cognito_identity_id = None
    cognito_identity_pool_id = None


class Context:
    """What a handler is told of its run."""

    client_context = None

    def __init__(self, asked: dict[str, Any]) -> None:
        self.aws_request_id = asked["request"]
        self.function_name = asked["name"]
        self.function_version = asked["version"]
        self.invoked_function_arn = asked["arn"]
        self.memory_limit_in_mb = str(asked["memory_mb"])
        self.log_group_name = asked["log_group"]
        self.log_stream_name = asked["log_stream"]
        self.identity = Identity()
        self._deadline_ms = asked["deadline_ms"]

    def get_remaining_time_in_millis(self) -> int:
        left_ms: int = self._deadline_ms - int(time.time() * 1000)
        return max(0, left_ms)

    def log(self, message: object) -> None:
        sys.stdout.write(str(message))


def main(asked: dict[str, Any]) -> dict[str, Any]:
    request = asked["request"]
    try:
        return {"payload": plain(handler()(asked["event"], Context(asked)))}
    except UncallableError as fault:
        return told(str(fault), fault.kind, request, fault.trace)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        text = f"RequestId: {request} Error: Runtime exited with error: exit status {status}"
        return told(text, "Runtime.ExitError", request, [])
    except BaseException as error:  # noqa: BLE001  whatever user code raises is told
        return told(str(error), type(error).__name__, request, frames(error))


def handler() -> Callable[[Any, Context], Any]:
    """The function that is called, found once."""
    if found:
        return found[0]
    spelled = FUNCTION["handler"]
    try:
        module, function = spelled.rsplit(".", 1)
    except ValueError as error:
        text = f"Bad handler '{spelled}': {error}"
        raise UncallableError("Runtime.MalformedHandlerName", text) from None
    name = module.replace("/", ".")
    try:
        loaded = importlib.import_module(name)
    except ImportError as error:
        text = f"Unable to import module '{module}': {error}"
        raise UncallableError("Runtime.ImportModuleError", text) from None
    except SyntaxError as error:
        text = f"Syntax error in module '{module}': {error}"
        where = f'  File "{shown(error.filename)}" Line {error.lineno}\n    {error.text}'
        raise UncallableError("Runtime.UserCodeSyntaxError", text, [where]) from None
    if not hasattr(loaded, function):
        text = f"Handler '{function}' missing on module '{module}'"
        raise UncallableError("Runtime.HandlerNotFound", text)
    called: Callable[[Any, Context], Any] = getattr(loaded, function)
    found.append(called)
    return called


def plain(result: Any) -> Any:
    """The result as Lambda's runtime writes it: bytes are the text of the response itself, which mostly is JSON."""
    try:
        if isinstance(result, bytes):
            return body(result.decode())
        try:
            text = json.dumps(result, allow_nan=False, default=written)
        except TypeError:  # perhaps of a key
            text = json.dumps(with_text_keys(result), allow_nan=False, default=written)
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        text = f"Unable to marshal response: {error}"
        raise UncallableError("Runtime.MarshalError", text) from None


def body(text: str) -> Any:
    """The text of a response that the handler wrote itself."""
    try:
        return json.loads(text, parse_constant=no_constant)
    except ValueError:
        return text


def no_constant(name: str) -> Any:
    raise ValueError(name)


def written(value: Any) -> Any:
    """Writes values that JSON lacks as Lambda's runtime does: bytes as UTF-8, decimals as numbers."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, decimal.Decimal):
        return json.loads(str(value))
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key.decode() if isinstance(key, bytes) else key: with_text_keys(member)
            for key, member in value.items()
        }
    return [with_text_keys(each) for each in value] if isinstance(value, (list, tuple)) else value


def frames(error: BaseException) -> list[str]:
    """Where it was raised, from the handler on."""
    ours = os.path.join(ROOT, "__main__.py")
    tuples = [
        (shown(frame.filename), frame.lineno or 0, frame.name, frame.line)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != ours
    ]
    return traceback.format_list(tuples)


def shown(path: str | None) -> str:
    """A path as it is in Lambda."""
    path = path or ""
    return SHOWN + path[len(TASK) :] if path.startswith(TASK + os.sep) else path


def told(text: str, kind: str, request: str, trace: list[str]) -> dict[str, Any]:
    """The error, which is printed as well."""
    lines = ["Traceback (most recent call last):\n", *trace] if trace else []
    sys.stdout.write("".join((f"[ERROR] {kind}: {text}\n", *lines)))
    error = {"errorMessage": text, "errorType": kind, "requestId": request, "stackTrace": trace}
    return {"error": error}


with contextlib.suppress(BaseException):  # what is wrong with it is told when it is asked for
    handler()
