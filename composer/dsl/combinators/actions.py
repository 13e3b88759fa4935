"""Combinators that invoke something: an action, the action that the value names, an inline function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

from ...errors import CompositionError
from ...expressions import Template
from ...machine import instructions as i
from ..arguments import JSON_VALUE, NAME, Argument, Kind, optional
from ..composition import Composition, Effect, Row, as_part, build, define
from ..drawing import draw_data
from ..functions import ActionFunction, Params, Result
from ..queues import OPTIONS as QUEUE_OPTIONS
from ..queues import queued

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...values import JSON
    from ..assembler import Assembler
    from ..canvas import Canvas, Ends

MAX_LABEL = 60
LIMITS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "timeout": ((int, float), "a number of seconds > 0"),
    "memory": ((int,), "a whole number of megabytes > 0"),
    "concurrency": ((int,), "a whole number of runs > 0"),
}


# --- an action by its name -----------------------------------------------------------------------


@overload
def action(name: str, /, **options: Any) -> Composition: ...
@overload
def action(
    function: Callable[Params, Result], /, *, name: str | None = None, timeout: float | None = None,
    memory: int | None = None, concurrency: int | None = None,
    annotations: Mapping[str, JSON] | None = None, limits: Mapping[str, JSON] | None = None,
    requirements: Sequence[str] | None = None, queue: str | None = None, key: Any = None,
    priority: Any = None, version: Any = None, attempts: int | None = None,
    heartbeat: float | None = None, to_start: float | None = None, concurrent: int | None = None,
    per_minute: int | None = None,
) -> ActionFunction[Params, Result]: ...  # fmt: skip
@overload
def action(
    *, name: str | None = None, timeout: float | None = None, memory: int | None = None,
    concurrency: int | None = None, annotations: Mapping[str, JSON] | None = None,
    limits: Mapping[str, JSON] | None = None, requirements: Sequence[str] | None = None,
    queue: str | None = None, key: Any = None,
    priority: Any = None, version: Any = None, attempts: int | None = None,
    heartbeat: float | None = None, to_start: float | None = None, concurrent: int | None = None,
    per_minute: int | None = None,
) -> Callable[[Callable[Params, Result]], ActionFunction[Params, Result]]: ...  # fmt: skip
def action(subject: Any = None, /, **options: Any) -> Any:
    """An action by name; or, on a Python function, that function as an action.

    `action("pkg/name")` invokes the action of that name (`/namespace/pkg/name` in full). `code=` or
    `sequence=` also defines the action, and deploying the composition deploys it:
    `action("hello", code="def main(p): ...", kind="python:3", limits={"timeout": 5000})`. With `function=`
    the action runs on the cloud that `kind` names, with the options of that kind:
    `action("charge", kind="aws:lambda", function="charge:live", region="eu-west-1")`.

    With `queue=` the action's tasks wait in that queue until a worker outside takes them, which you start
    with `xingqiao worker`: `action("render", queue="gpu", heartbeat=30, key=path("$.tenant"))`.

    `@action` on a function makes an action with the function's name. In a program that embeds the engine
    the function runs in the program, trusted; after deployment to a server its source runs in a worker.

    Args:
        subject: the name of an action, or a Python function.
        options: for a function: `name`; `timeout` in seconds; `memory` in megabytes; `concurrency`, the
            number of runs at a time in one worker, which takes effect on an `async def`; `annotations`; `requirements`, the packages that it
            imports in place of those of its project, such as `["requests>=2.31"]`; and `limits`, which sets
            the same limits as OpenWhisk's JSON does, with the timeout in milliseconds. The server checks
            their bounds. With `queue`: `attempts`, the number of workers that may get a task one after the
            other; `heartbeat` and `to_start`, in seconds; `priority` (1 to 5), `key` and `version`, which
            may be `path(...)`; `concurrent` and `per_minute`, limits for the action or for each key.

    Raises:
        CompositionError: an argument is wrong; the text names it and the remedy.
    """
    if callable(subject) and not isinstance(subject, (str, Composition)):
        return _action_function(subject, **options)
    if subject is None:
        return lambda function: _action_function(function, **options)
    return build(ACTION, name=subject, action=_definition(**options))


def _action_function(
    function: Callable[Params, Result],
    name: str | None = None,
    limits: Mapping[str, JSON] | None = None,
    annotations: Mapping[str, JSON] | None = None,
    requirements: Sequence[str] | None = None,
    **options: Any,
) -> ActionFunction[Params, Result]:
    known = (*LIMITS, "name", "limits", "annotations", "requirements", "queue")
    made, waits = dict(limits or {}), None
    if (queue := options.pop("queue", None)) is not None:
        waits = queued(
            queue, {name: options.pop(name) for name in QUEUE_OPTIONS if name in options}
        )
    if unknown := options.keys() - LIMITS:
        raise CompositionError(
            f"action: unknown argument {min(unknown)!r}; a function's action takes {', '.join(known)}"
        )
    for option, value in options.items():
        if value is None:
            continue
        if option in made:
            raise CompositionError(
                f"action: give either '{option}' or limits['{option}'], not both"
            )
        made[option] = _limit(option, value)
    named = name or str(getattr(function, "__name__", ""))
    if named in ("", "<lambda>"):
        raise CompositionError("action: a lambda has no name: use action(function, name=...)")
    build(ACTION, name=named)  # checks the name
    notes = None if annotations is None else dict(annotations)
    needed = _requirements(requirements)
    return ActionFunction(named, function, made or None, notes, needed, waits)


def _requirements(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or not all(
        isinstance(text, str) and text for text in given
    ):
        raise CompositionError(
            f"action: 'requirements' must be a list such as ['requests>=2.31'], not {given!r}"
        )
    return tuple(given)


def _limit(name: str, value: Any) -> JSON:
    """The limit as OpenWhisk's JSON has it: the timeout in milliseconds."""
    kinds, what = LIMITS[name]
    if type(value) not in kinds or not 0 < value < float("inf"):
        raise CompositionError(f"action: '{name}' must be {what}, not {value!r}")
    limit: int = round(value * 1000) if name == "timeout" else value
    return limit


def _definition(
    limits: dict[str, JSON] | None = None,
    annotations: dict[str, JSON] | None = None,
    **options: Any,
) -> dict[str, JSON] | None:
    options = {name: value for name, value in options.items() if value is not None}
    whats = [name for name in ("code", "sequence", "function", "queue") if name in options]
    given = {**options, "limits": limits, "annotations": annotations}
    if not whats:
        if extra := next((name for name, value in given.items() if value), None):
            raise CompositionError(
                f"action: '{extra}' needs 'code', 'sequence', 'function' or 'queue'"
            )
        return None
    if len(whats) > 1:
        raise CompositionError(f"action: give either '{whats[0]}' or '{whats[1]}'")
    doc: dict[str, JSON] = {"exec": _exec_of(whats[0], options)}
    if limits:
        doc["limits"] = limits
    if annotations:
        doc["annotations"] = [{"key": key, "value": value} for key, value in annotations.items()]
    return doc


def _exec_of(what: str, options: dict[str, Any]) -> dict[str, JSON]:
    if what == "function":
        if not isinstance(options.get("kind"), str):
            raise CompositionError(
                "action: 'function' needs a 'kind' such as 'aws:lambda' or 'http'"
            )
        body = {"body": Template.of(options["body"]).to_json()} if "body" in options else {}
        return {**options, **body}
    if what == "queue":
        return queued(options.pop("queue"), options)
    allowed = {"code": ("code", "kind"), "sequence": ("sequence",)}[what]
    for name in options:
        if name not in allowed:
            raise CompositionError(f"action: '{name}' does not go with '{what}'")
    if what == "code":
        return {"kind": options.get("kind", "python:3"), "code": options["code"]}
    names = [build(ACTION, name=item).arguments["name"] for item in options["sequence"]]
    return {"kind": "sequence", "components": names}


def _take_definition(value: Any) -> dict[str, JSON] | ActionFunction[..., Any]:
    if isinstance(value, ActionFunction):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("exec"), dict):
        raise ValueError("must be an action: {'exec': {...}, 'limits'?: ..., 'annotations'?: ...}")
    copied: dict[str, JSON] = JSON_VALUE.take(value)
    return copied


DEFINITION: Final = Kind(
    _take_definition,
    # JSON has only the name of a function of this process.
    lambda value: None if isinstance(value, ActionFunction) else value,
    schema={
        "type": "object",
        "properties": {"exec": {"type": "object"}},
        "required": ["exec"],
    },
)


def _lower_action(a: Assembler, node: Composition) -> None:
    a.emit(i.Invoke, action=a.action(node.arguments["name"]), path=a.path)


def _draw_action(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    return canvas.leaf(node.arguments["name"].removeprefix("/_/"), ends)


ACTION: Final = define(
    Row(
        type="action",
        name="action",
        arguments={"name": Argument(NAME), "action": Argument(optional(DEFINITION), None)},
        lower=_lower_action,
        draw=_draw_action,
    )
)


# --- the action that the value names -------------------------------------------------------------


def dynamic() -> Composition:
    """Invokes the action that the value names: `{"type": "action", "name": ..., "params": {...}}`."""
    return build(DYNAMIC)


def _lower_dynamic(a: Assembler, _: Composition) -> None:
    a.emit(i.InvokeNamed, path=a.path)


DYNAMIC: Final = define(Row(type="dynamic", name="dynamic", lower=_lower_dynamic, draw=draw_data))


# --- an inline function --------------------------------------------------------------------------


def function(function: Callable[..., Any]) -> Composition:
    """An inline function, captured as source and run in a worker, never in the conductor.

    The function takes the value, or the value and the visible `let` variables, which it may set:
    `lambda params, variables: ...`. Its return value is the result; a function that returns None has
    its first argument, perhaps changed, as its result.

    Raises:
        CaptureError: it refers to a name that cannot be sent to a worker; the text gives the remedy.
    """
    if isinstance(function, (str, Composition)) or not callable(function):
        raise CompositionError(f"function: must be a Python function, not {function!r}")
    return as_part(function)


def _take_function(value: Any) -> dict[str, JSON]:
    runtime = value.get("exec") if isinstance(value, dict) else None
    if not isinstance(runtime, dict) or not all(
        isinstance(runtime.get(key), str) for key in ("kind", "code")
    ):
        raise ValueError("must be {'exec': {'kind': ..., 'code': ...}}")
    copied: dict[str, JSON] = JSON_VALUE.take(value)
    return copied


def _lower_function(a: Assembler, node: Composition) -> None:
    runtime = node.arguments["function"]["exec"]
    a.emit(i.Call, function=a.function(runtime), path=a.path)


def _draw_function(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    code = node.arguments["function"]["exec"]["code"].strip().splitlines()
    return canvas.leaf(f"λ {code[-1] if len(code) == 1 else code[0]}"[:MAX_LABEL], ends)


def _unhosted_function(args: Mapping[str, Any]) -> str | None:
    kind: str = args["function"]["exec"]["kind"]
    if kind.startswith("python"):
        return None
    return f"a conductor action runs only Python inline, and the function is of kind {kind!r}"


_FUNCTION: Final = Kind(
    _take_function,
    schema={
        "type": "object",
        "properties": {
            "exec": {
                "type": "object",
                "properties": {"kind": {"type": "string"}, "code": {"type": "string"}},
                "required": ["kind", "code"],
            }
        },
        "required": ["exec"],
    },
)
FUNCTION: Final = define(
    Row(
        type="function",
        name="function",
        arguments={"function": Argument(_FUNCTION)},
        lower=_lower_function,
        draw=_draw_function,
        effect=Effect.APART,
        unhosted=_unhosted_function,
    )
)
