"""Runs user code: an action's module, or a composition's inline functions by their hash.

Texts and rules are those of the service's own Python worker.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....composer import JSON

APPLICATION_ERROR, BAD_RESPONSE, PAYLOAD_TOO_LARGE = (
    "ApplicationError", "BadResponse", "PayloadTooLarge",
)  # fmt: skip
VALUE_BYTES = 150_000  # of a result: a message and a row of the table hold it beside other things
MAX_CLASSES, MAX_CLASS = 16, 100  # names of an exception's classes, and characters of each
HEAD_BYTES = 1024  # of a result that is too large, for the error


def define(name: str, source: str, main: str) -> Callable[..., Any]:
    """The function `main` of a module made of this source.

    Raises:
        LookupError: the module has no such function; or any error of the code.
    """
    return _executed(f"{name}.py", source, main)


def define_folder(folder: str, main: str) -> Callable[..., Any]:
    """The function `main` of the `__main__.py` in a folder, whose other modules it may import.

    Raises:
        LookupError: the module has no such function; or any error of the code.
    """
    packages = f"virtualenv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for place in (os.path.join(folder, packages), folder):  # noqa: PTH118  no pathlib in a cold start
        if place not in sys.path:
            sys.path.insert(0, place)
    path = os.path.join(folder, "__main__.py")  # noqa: PTH118  no pathlib in a cold start
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  no pathlib in a cold start
        return _executed(path, file.read(), main)


def _executed(path: str, source: str, main: str) -> Callable[..., Any]:
    module = sys.modules["main__"] = types.ModuleType("main__")  # where a dataclass looks for names
    module.__file__ = path
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  this is what we are for
    function = getattr(module, main, None)
    if not callable(function):
        raise LookupError(f"{path} has no function {main!r}")
    made: Callable[..., Any] = function
    return made


def defined(hash: str, code: Mapping[str, Any]) -> Callable[..., Any]:
    """An inline function of a program, by its hash.

    Raises:
        LookupError: the code has no such function; or any error of the code.
    """
    return define(f"function-{hash[:8]}", code["code"], code["main"])


def run_action(function: Callable[..., Any], params: JSON) -> dict[str, JSON]:
    """The outcome of an action: `{"value": ...}` or `{"code": ..., "error": ...}`."""
    try:
        result = _settled(function(params))
    except Exception as error:  # noqa: BLE001  the boundary to user code
        return _raised(error)
    if not isinstance(result, (dict, list)):
        return _failure(BAD_RESPONSE, "The action did not return a dictionary or array.")
    outcome = _written({"value": result})
    value = outcome.get("value")
    if isinstance(value, dict) and "error" in value:
        return _failure(APPLICATION_ERROR, value["error"])
    return outcome


def run_inline(
    function: Callable[..., Any], params: JSON, variables: dict[str, JSON]
) -> dict[str, JSON]:
    """The outcome of an inline function, with `variables` as it left them, if it sees any."""
    code, given = function.__code__, [params, variables]
    if not code.co_flags & 0x04:  # it does not take *args
        given = given[: code.co_argcount]
    try:
        result = _settled(function(*given))
    except Exception as error:  # noqa: BLE001  the boundary to user code
        outcome = _raised(error)
        left = _written({"variables": variables}) if variables else {}
        return {**outcome, **left} if "variables" in left else outcome
    answer = {"value": params if result is None else result}
    if variables:
        answer["variables"] = variables
    return _written(answer)


def set_environment(values: Mapping[str, str]) -> None:
    """Sets environment variables for user code."""
    os.environ.update(values)


def _settled(result: Any) -> Any:
    """The result of a coroutine; any other value as it is."""
    if not isinstance(result, types.CoroutineType):
        return result
    import asyncio  # noqa: PLC0415  a tenth of a cold start, and few actions need it

    return asyncio.run(result)


def _written(answer: dict[str, Any]) -> dict[str, JSON]:
    """The answer as JSON, or the failure that it cannot be written."""
    try:
        texts = {name: json.dumps(value, allow_nan=False) for name, value in answer.items()}
    except (TypeError, ValueError, RecursionError) as error:
        text = f"The action did not produce a valid JSON response: {_said(error)}"
        return _failure(BAD_RESPONSE, text)
    for text in texts.values():
        if len(text) > VALUE_BYTES:
            return _failure(
                PAYLOAD_TOO_LARGE,
                "The action produced a response that exceeded the allowed length: "
                f"{len(text)} > {VALUE_BYTES} bytes. The truncated response was: {text[:HEAD_BYTES]}",
            )
    return {name: json.loads(text) for name, text in texts.items()}


def _raised(error: Exception) -> dict[str, JSON]:
    """As OpenWhisk's Python runtime has it: the traceback in the log, the text as the error."""
    traceback.print_exception(error)
    text = (_said(error) or type(error).__name__)[:VALUE_BYTES]
    while len(json.dumps(text)) > VALUE_BYTES:  # characters beyond ASCII take more
        text = text[: len(text) // 2]
    return {**_failure(APPLICATION_ERROR, text), "raised": _classes(error)}


def _classes(error: Exception) -> list[JSON]:
    """The names of the exception's class and of its bases, by which `errors=` can name it."""
    names = [kind.__name__ for kind in type(error).__mro__ if kind not in (BaseException, object)]
    return [name[:MAX_CLASS] for name in names[:MAX_CLASSES]]


def _said(error: Exception) -> str:
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001  it is the user's, too
        return ""


def _failure(code: str, error: JSON) -> dict[str, JSON]:
    return {"code": code, "error": error}
