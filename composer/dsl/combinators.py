"""The combinators: what a user writes. Each returns a checked, frozen `Composition`.

Where a part is expected there may stand a composition, the name of an action, a Python function
(captured as source), a predicate or path (evaluated by the conductor itself), or None for `empty`.
All raise `CompositionError` for wrong use, naming the argument.

Semantics are Apache OpenWhisk Composer's where it has them: a result that is no object is boxed as
`{"value": result}`; an object with an `error` field is a failure, loses its other fields and takes the
error path; conditions are true as JavaScript has it (an empty list is true).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ..errors import CompositionError
from ..expressions import Selector, Template
from .composition import Composition, Part, as_part, build, forwarding
from .functions import ActionFunction
from .grammar import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from ..expressions import Predicate
    from ..values import JSON

# --- leaves ------------------------------------------------------------------------------------


@overload
def action(name: str, /, **options: Any) -> Composition: ...
@overload
def action(function: Callable[..., Any], /, *, name: str | None = None) -> ActionFunction: ...
@overload
def action(
    *, name: str | None = None, limits: dict[str, JSON] | None = None,
    annotations: dict[str, JSON] | None = None,
) -> Callable[[Callable[..., Any]], ActionFunction]: ...  # fmt: skip
def action(subject: Any = None, /, **options: Any) -> Any:
    """An action by name; or, on a Python function, that function as an action.

    `action("pkg/name")` invokes the action of that name (`/namespace/pkg/name` in full). With
    `code=` or `sequence=` it also says what the action is, and deploying the composition deploys it:
    `action("hello", code="def main(p): ...", kind="python:3", limits={"timeout": 5000})`. With `function=`
    it runs elsewhere, on the cloud that `kind` names, with that kind's options:
    `action("charge", kind="aws:lambda", function="charge:live", region="eu-west-1")`.

    `@action` on a function names an action after it. In a program that embeds the engine it runs
    there, trusted; deployed to a server, its source runs in a worker.
    """
    if callable(subject) and not isinstance(subject, (str, Composition)):
        return _action_function(subject, **options)
    if subject is None:
        return lambda function: _action_function(function, **options)
    return build("action", name=subject, action=_definition(**options))


def _action_function(
    function: Callable[..., Any],
    name: str | None = None,
    limits: dict[str, JSON] | None = None,
    annotations: dict[str, JSON] | None = None,
) -> ActionFunction:
    named = name or str(getattr(function, "__name__", ""))
    if named in ("", "<lambda>"):
        raise CompositionError("action: a lambda has no name: use action(function, name=...)")
    build("action", name=named)  # checks the name
    return ActionFunction(named, function, limits, annotations)


def _definition(
    limits: dict[str, JSON] | None = None,
    annotations: dict[str, JSON] | None = None,
    **options: Any,
) -> dict[str, JSON] | None:
    options = {name: value for name, value in options.items() if value is not None}
    whats = [name for name in ("code", "sequence", "function") if name in options]
    given = {**options, "limits": limits, "annotations": annotations}
    if not whats:
        if extra := next((name for name, value in given.items() if value), None):
            raise CompositionError(f"action: '{extra}' needs 'code', 'sequence' or 'function'")
        return None
    if len(whats) > 1:
        raise CompositionError(f"action: give either '{whats[0]}' or '{whats[1]}'")
    doc: dict[str, JSON] = {"exec": _executed(whats[0], options)}
    if limits:
        doc["limits"] = limits
    if annotations:
        doc["annotations"] = [{"key": key, "value": value} for key, value in annotations.items()]
    return doc


def _executed(what: str, options: dict[str, Any]) -> dict[str, JSON]:
    if what == "function":
        if not isinstance(options.get("kind"), str):
            raise CompositionError(
                "action: 'function' needs a 'kind' such as 'aws:lambda' or 'http'"
            )
        body = {"body": Template.of(options["body"]).to_json()} if "body" in options else {}
        return {**options, **body}
    allowed = {"code": ("code", "kind"), "sequence": ("sequence",)}[what]
    for name in options:
        if name not in allowed:
            raise CompositionError(f"action: '{name}' does not go with '{what}'")
    if what == "code":
        return {"kind": options.get("kind", "python:3"), "code": options["code"]}
    names = [build("action", name=item).arguments["name"] for item in options["sequence"]]
    return {"kind": "sequence", "components": names}


def function(function: Callable[..., Any]) -> Composition:
    """An inline function, captured as source and run in a worker, never in the conductor.

    It takes the value, or the value and the visible `let` variables, which it may set:
    `lambda params, variables: ...`. What it returns is the result; None stands for the value it was
    given, as it is then.

    Raises:
        CaptureError: when it refers to what cannot travel; the text says what to do.
    """
    if isinstance(function, (str, Composition)) or not callable(function):
        raise CompositionError(f"function: must be a Python function, not {function!r}")
    return as_part(function)


def task(part: Part) -> Composition:
    """The part itself, as a composition."""
    return _part("task", part)


def empty() -> Composition:
    """Nothing: the value goes through, unless it is an error."""
    return build("sequence", components=())


def literal(value: JSON) -> Composition:
    """A constant, whatever the input."""
    return build("literal", value=value)


def select(template: Any) -> Composition:
    """A projection: JSON with `path()` and `var()` in it, filled in by the conductor itself."""
    return build("select", template=template)


def dynamic() -> Composition:
    """Invokes the action that the value names: `{"type": "action", "name": ..., "params": {...}}`."""
    return build("dynamic")


def raise_error(code: str, message: Any = "") -> Composition:
    """Fails with the error `{"code": code, "message": message}`; the message may be a template."""
    return build("raise", code=code, message=message)


def wait(
    seconds: float | Selector | None = None,
    *,
    until: str | float | datetime | Selector | None = None,
) -> Composition:
    """Waits, without anything running: seconds, or until an instant (ISO 8601, or epoch seconds)."""
    if type(seconds) in (int, float) and not 0 <= seconds <= 366 * 24 * 3600:  # type: ignore[operator]
        raise CompositionError(f"wait: 'seconds' must be from 0 to a year, not {seconds!r}")
    return build("wait", seconds=seconds, until=until)


# --- one after the other -----------------------------------------------------------------------


def sequence(*parts: Part) -> Composition:
    """The parts in order, each on the result of the one before; the first failure ends it."""
    return build("sequence", components=parts)


def when(test: Part, consequent: Part, alternate: Part = None) -> Composition:
    """If `test` makes `{"value": <true>}`, the consequent, else the alternate; both on the input."""
    return build("if", test=test, consequent=consequent, alternate=alternate)


def when_nosave(test: Part, consequent: Part, alternate: Part = None) -> Composition:
    """As `when`, but the branch takes the test's result."""
    return build("if_nosave", test=test, consequent=consequent, alternate=alternate)


def switch(
    on: Part, cases: Mapping[str, Part] | Iterable[tuple[JSON, Part]], default: Part = ...
) -> Composition:
    """The part whose case equals what `on` (a path, or a part that makes `{"value": ...}`) gives.

    Each part runs on the input. Without a default, a value that no case has fails with `NoChoice`.
    """
    chosen = {} if default is ... else {"default": _part("switch", default)}
    return build("switch", on=on, cases=cases, **chosen)


def eca(condition: Part, body: Part, otherwise: Part = ...) -> Composition:
    """Event, condition, action: the body on the input, if the condition holds.

    It holds unless it fails or makes `{"value": <false>}`; what it makes is not used. Otherwise the
    result is `{}`, or that of `otherwise` on the input.
    """
    chosen = {} if otherwise is ... else {"otherwise": _part("eca", otherwise)}
    return build("eca", condition=condition, body=body, **chosen)


def loop(test: Part, body: Part) -> Composition:
    """While `test` holds for the value, the body on it."""
    return build("while", test=test, body=body)


def loop_nosave(test: Part, body: Part) -> Composition:
    """As `loop`, but the body takes the test's result, and so does what follows."""
    return build("while_nosave", test=test, body=body)


def doloop(body: Part, test: Part) -> Composition:
    """The body, again while `test` holds for its result."""
    return build("dowhile", body=body, test=test)


def doloop_nosave(body: Part, test: Part) -> Composition:
    """As `doloop`, but the body takes the test's result, and so does what follows."""
    return build("dowhile_nosave", body=body, test=test)


def repeat(count: int, *parts: Part) -> Composition:
    """The parts in sequence, `count` times."""
    return build("repeat", count=count, components=parts)


# --- when things go wrong ----------------------------------------------------------------------


def retry(  # noqa: PLR0913  a policy has as many sides
    count: int | None,
    *parts: Part,
    delay: float = 0,
    backoff: float = 1,
    max_delay: float | None = None,
    jitter: float = 0,
    errors: str | Iterable[str] = (),
    until: Predicate | None = None,
    on_exhausted: str = "raise",
) -> Composition:
    """The parts in sequence, again on the same input when they fail.

    Args:
        count: re-tries at most (so `count + 1` attempts), None for as many as it takes.
        parts: what is tried.
        delay: seconds before the first re-try.
        backoff: each further delay is so many times as long.
        max_delay: seconds that no delay exceeds.
        jitter: the share of each delay, 0 to 1, that chance takes off.
        errors: names of the failures to retry (`Timeout`, an error's code, ...); all when empty.
        until: a predicate on the result; one that does not fulfil it counts as failed.
        on_exhausted: `raise` the last failure, or `pause` until an operator resumes.
    """
    return build(
        "retry",
        count=count,
        components=parts,
        delay=delay,
        backoff=backoff,
        max_delay=max_delay,
        jitter=jitter,
        errors=errors,
        until=until,
        on_exhausted=on_exhausted,
    )


def do(body: Part, handler: Part, *, errors: str | Iterable[str] = ()) -> Composition:
    """The body; if it fails (with one of `errors`, when given), the handler on `{"error": ...}`."""
    return build("try", body=body, handler=handler, errors=errors)


def fallback(*parts: Part, errors: str | Iterable[str] = ()) -> Composition:
    """The first part; if it fails (with one of `errors`, when given), the next, on the same input.

    It is `do` with the input kept in a variable, `fallback`; a handler of `do` itself sees the error only.
    """
    if len(parts) < 2:  # noqa: PLR2004  one to fail, one to fall back on
        raise CompositionError("fallback: give at least two parts: one, and what to fall back on")
    *before, made = parts
    for part in reversed(before):
        again = build("sequence", components=(Selector(variable="fallback"), made))
        made = do(part, again, errors=errors)
    kept = build("sequence", components=(assign(fallback=Selector()), made))
    return build("let", declarations={"fallback": None}, components=(kept,))


def ensure(body: Part, finalizer: Part) -> Composition:
    """The body, then the finalizer on its result or error, whatever happens.

    The result is the finalizer's, as in Composer: one that hands an error on (as `empty` does) fails.
    When the body is cancelled or timed out the finalizer runs undisturbed, and then that goes on.
    """
    return build("finally", body=body, finalizer=finalizer)


def timeout(seconds: float, *parts: Part) -> Composition:
    """The parts in sequence; fails with `Timeout` when they are not done after so many seconds."""
    return build("timeout", seconds=seconds, components=parts)


# --- data --------------------------------------------------------------------------------------


def let(declarations: dict[str, JSON], *parts: Part) -> Composition:
    """The parts in sequence, with variables that inline functions and `var()` see."""
    return build("let", declarations=declarations, components=parts)


def mask(*parts: Part) -> Composition:
    """The parts in sequence, without the variables of the innermost enclosing `let`."""
    return build("mask", components=parts)


def assign(**values: Any) -> Composition:
    """Sets `let` variables to templates, filled in by the conductor; the value goes through."""
    return build("assign", values=values)


def retain(*parts: Part) -> Composition:
    """`{"params": input, "result": result}` of the parts in sequence."""
    return build("retain", components=parts)


def retain_catch(*parts: Part) -> Composition:
    """As `retain`, also when the parts fail: then the result is `{"error": ...}`."""
    return build("retain_catch", components=parts)


def merge(*parts: Part) -> Composition:
    """The input, with the fields of the parts' result over it."""
    return build("merge", components=parts)


def forward(take: Any, *parts: Part, carry: Any = None, into: str | None = None) -> Composition:
    """Runs the parts on a projection of the data and carries the rest around them.

    Args:
        take: what the parts get: names of fields, a path, or a template.
        parts: in sequence.
        carry: what goes around them: names of fields, a path or a template; all of it when None.
        into: the field that takes the result; without it the result's fields go over what is carried.
    """
    return forwarding(take, parts, carry=carry, into=into)


# --- at the same time --------------------------------------------------------------------------


def parallel(*parts: Part, errors: str = "fail") -> Composition:
    """All parts at once on the input: `{"value": [their results, in order]}`.

    Args:
        parts: the branches. Variables are theirs to read, and to change for themselves.
        errors: `fail`, the first failure cancels the others and is the result; `wait`, all are
            awaited and the first failure in order is; `collect`, a failure stands in the list as
            `{"error": ...}` and the result is a success.
    """
    return build("parallel", components=parts, errors=errors)


def map(
    *parts: Part,
    items: Any = None,
    concurrency: int | None = None,
    errors: str = "fail",
) -> Composition:
    """The parts in sequence for each item of a list, at once: `{"value": [results, in order]}`.

    Args:
        parts: what runs for each item; an item that is no object comes as `{"value": item}`.
        items: a path to the list, or a template that makes one; the field `value` when None.
        concurrency: so many at a time; all when None.
        errors: as for `parallel`.
    """
    return build("map", components=parts, items=items, concurrency=concurrency, errors=errors)


def race(*parts: Part) -> Composition:
    """All parts at once on the input; the first to succeed is the result, the others are cancelled.

    When all fail it fails with `AllFailed` and their errors, in order.
    """
    return build("race", components=parts)


def graph(tasks: Mapping[str, Part | Task], *, errors: str = "fail") -> Composition:
    """Named tasks, each started when the last of those it comes after is done.

    Args:
        tasks: by name; `after([names], part)` for one that depends on others. It takes their results
            as `{name: result}`; one that depends on none takes the input.
        errors: `fail`, the first failure cancels the others; `wait`, what does not depend on it runs
            to its end first.

    Returns:
        A composition whose result is `{name: result}` of all tasks.
    """
    return build("graph", tasks=tasks, errors=errors)


def after(names: str | Iterable[str], *parts: Part) -> Task:
    """For `graph`: the parts in sequence, after the tasks of these names."""
    needs = (names,) if isinstance(names, str) else tuple(names)
    body = _part("after", parts[0]) if len(parts) == 1 else sequence(*parts)
    return Task(body, tuple(dict.fromkeys(needs)))


def asynchronous(*parts: Part) -> Composition:
    """Starts the parts in sequence as an execution of its own and does not wait for it.

    The result is `{"method": "async", "activationId": ..., "sessionId": ...}`.
    """
    return build("async", components=parts)


def _part(combinator: str, part: Part) -> Composition:
    try:
        return as_part(part)
    except ValueError as error:
        raise CompositionError(f"{combinator}: a part {error}") from error


# --- other names of the same -------------------------------------------------------------------

any = race
then = sequence
value = literal
while_nosave = loop_nosave
