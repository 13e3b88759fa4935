"""Combinators that run parts at the same time: branches, items, tasks, and executions of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from ...expressions import Template, path
from ...machine import instructions as i
from ..arguments import POSITIVE, TEMPLATE, Argument, Kind, choice, items_of, optional
from ..composition import Effect, InComposer, Row, as_part, build, define
from ..drawing import draw, draw_components, title
from ..grammar import COMPONENTS, PART_REFERENCE, one_part, read
from ..hosting import NO_KEY, ONE_THREAD, never
from ..lowering import lower, lower_components
from .control import sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..assembler import Assembler
    from ..canvas import Canvas, Ends
    from ..composition import Composition, Part

_ITEMS = Template.of(path("$.value", default=None))
_WHOLE: Final = (
    "its branches run beside others, and only a whole run can continue as new: move it after them"
)
_ERRORS = Argument(choice("fail", "wait", "collect"), "fail")


# --- branches ------------------------------------------------------------------------------------


def parallel(*parts: Part, errors: str = "fail") -> Composition:
    """All parts in parallel on the input: `{"value": [their results, in order]}`.

    Args:
        parts: the branches. Each has its own copy of the variables.
        errors: `fail`: the first failure cancels the other branches and is the result; `wait`: all
            branches end, and the first failure in their order is the result; `collect`: a failure
            stands in the list as `{"error": ...}`, and the result is a success.
    """
    return build(PARALLEL, components=parts, errors=errors)


def race(*parts: Part) -> Composition:
    """All parts in parallel on the input; the first success is the result, and the others are cancelled.

    If all parts fail, it fails with `AllFailed` and their errors, in order.
    """
    return build(RACE, components=parts)


any = race  # as Composer calls it


def _fork(a: Assembler, parts: Iterable[tuple[str, Composition]], **policy: Any) -> None:
    """Emits a fork with a fiber for each part; a fiber begins at its label and ends at an End."""
    begun = [(a.label(), where, part) for where, part in parts]
    end = a.label()
    branches = tuple(branch for branch, _, _ in begun)
    a.emit(i.Fork, branches=branches, to=end, path=a.path, **policy)
    for branch, where, part in begun:
        a.place(branch)
        with a.set_apart("a branch"):
            lower(a, where, part)
        a.emit(i.End)
    a.place(end)


def _lower_parallel(a: Assembler, node: Composition) -> None:
    _fork(a, node.children(), errors=node.arguments["errors"])


def _lower_race(a: Assembler, node: Composition) -> None:
    _fork(a, node.children(), first=True)


def _draw_branches(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    def drawn() -> Ends:
        fork = canvas.leaf("", ends, "bar")
        last: Ends = []
        for part in node.arguments["components"]:
            last += draw(canvas, part, fork)
        return canvas.leaf("", last or fork, "bar")

    return canvas.cluster(title(node), drawn)


PARALLEL: Final = define(
    Row(
        type="parallel",
        name="parallel",
        arguments={**COMPONENTS, "errors": _ERRORS},
        lower=_lower_parallel,
        whole=_WHOLE,
        draw=_draw_branches,
        effect=Effect.APART,
        composer=InComposer(names=("par",), forks=True),
        unhosted=never(ONE_THREAD),
    )
)
RACE: Final = define(
    Row(
        type="race",
        name="race",
        arguments=COMPONENTS,
        lower=_lower_race,
        whole=_WHOLE,
        draw=_draw_branches,
        effect=Effect.APART,
        unhosted=never(ONE_THREAD),
    )
)


# --- items ---------------------------------------------------------------------------------------


def map(
    *parts: Part,
    items: Any = None,
    concurrency: int | None = None,
    errors: str = "fail",
) -> Composition:
    """The parts in sequence for each item of a list, in parallel: `{"value": [results, in order]}`.

    Args:
        parts: the parts that run for each item; an item that is not an object is passed as `{"value": item}`.
        items: a path to the list, or a template that makes one; None for the field `value`.
        concurrency: the number of items that run at the same time; None for all.
        errors: as for `parallel`.
    """
    return build(MAP, components=parts, items=items, concurrency=concurrency, errors=errors)


def _lower_map(a: Assembler, node: Composition) -> None:
    args, end = node.arguments, a.label()
    a.emit(
        i.Each,
        items=args["items"] or _ITEMS,
        to=end,
        path=a.path,
        concurrency=args["concurrency"],
        errors=args["errors"],
    )
    with a.set_apart("a branch"):
        lower_components(a, node)
    a.emit(i.End)
    a.place(end)


def _draw_map(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    def drawn() -> Ends:
        fork = canvas.leaf("", ends, "bar")
        return canvas.leaf("", draw_components(canvas, node, fork), "bar")

    return canvas.cluster(title(node), drawn)


def _title_of_map(args: Mapping[str, Any]) -> str:
    return "map" + (f", {args['concurrency']} at a time" if args["concurrency"] else "")


MAP: Final = define(
    Row(
        type="map",
        name="map",
        arguments={
            **COMPONENTS,
            "items": Argument(optional(TEMPLATE), None),
            "concurrency": Argument(optional(POSITIVE), None),
            "errors": _ERRORS,
        },
        lower=_lower_map,
        whole=_WHOLE,
        draw=_draw_map,
        title=_title_of_map,
        effect=Effect.APART,
        composer=InComposer(forks=True),
        unhosted=never(ONE_THREAD),
    )
)


# --- tasks with dependencies ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """A node of a graph: its composition, and the names of the tasks before it."""

    body: Composition
    after: tuple[str, ...]


def graph(tasks: Mapping[str, Part | Task], *, errors: str = "fail") -> Composition:
    """Named tasks, each started when all tasks that it depends on have ended.

    Args:
        tasks: by name; `after([names], part)` for a task that depends on others. Such a task takes their
            results as `{name: result}`; a task without dependencies takes the input.
        errors: `fail`: the first failure cancels the other tasks; `wait`: tasks that do not depend on
            the failed one run to their end first.

    Returns:
        A composition whose result is `{name: result}` of all tasks.
    """
    return build(GRAPH, tasks=tasks, errors=errors)


def after(names: str | Iterable[str], *parts: Part) -> Task:
    """For `graph`: the parts in sequence, after the tasks of these names."""
    needs = (names,) if isinstance(names, str) else tuple(names)
    body = one_part("after", parts[0]) if len(parts) == 1 else sequence(*parts)
    return Task(body, tuple(dict.fromkeys(needs)))


def _take_tasks(values: Any) -> dict[str, Task]:
    if not isinstance(values, dict) or not values:
        raise ValueError(f"must be a dict of names and what runs, not {values!r}")
    tasks = {}
    for name, value in values.items():
        if not isinstance(name, str) or not name or name == "error":
            raise ValueError(f"has {name!r}: a task's name is a string other than 'error'")
        tasks[name] = value if isinstance(value, Task) else Task(as_part(value), ())
    for name, task in tasks.items():
        for need in task.after:
            if need not in tasks:
                known = ", ".join(tasks)
                raise ValueError(f"has {name!r} after {need!r}, which is not a task: use {known}")
    try:
        TopologicalSorter({name: task.after for name, task in tasks.items()}).prepare()
    except CycleError as error:
        raise ValueError(f"has a cycle: {' before '.join(error.args[1])}") from None
    return tasks


def _lower_graph(a: Assembler, node: Composition) -> None:
    tasks = node.arguments["tasks"]
    places = {name: place for place, name in enumerate(tasks)}
    needs = tuple(tuple(places[need] for need in task.after) for task in tasks.values())
    parts = [(f"tasks.{name}", task.body) for name, task in tasks.items()]
    _fork(a, parts, names=tuple(tasks), after=needs, errors=node.arguments["errors"])


def _draw_graph(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    tasks: dict[str, Task] = node.arguments["tasks"]

    def drawn() -> Ends:
        fork = canvas.leaf("", ends, "bar")
        done: dict[str, Ends] = {}
        left = dict(tasks)
        while left:
            name = next(name for name, task in left.items() if done.keys() >= set(task.after))
            task = left.pop(name)
            start = [end for need in task.after for end in done[need]] or fork
            done[name] = canvas.cluster(name, partial(draw, canvas, task.body, start))
        needed = {need for task in tasks.values() for need in task.after}
        last = [end for name, ends in done.items() if name not in needed for end in ends]
        return canvas.leaf("", last, "bar")

    return canvas.cluster(title(node), drawn)


_TASKS = Kind(
    _take_tasks,
    lambda tasks: {
        name: {"body": task.body.to_json(), "after": list(task.after)}
        for name, task in tasks.items()
    },
    lambda doc: {
        name: Task(read(item["body"]), tuple(items_of(item["after"]))) for name, item in doc.items()
    },
    lambda argument, tasks: [(f"{argument}.{name}", task.body) for name, task in tasks.items()],
    schema={
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "type": "object",
            "properties": {
                "body": PART_REFERENCE,
                "after": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["body", "after"],
        },
    },
)

GRAPH: Final = define(
    Row(
        type="graph",
        name="graph",
        arguments={
            "tasks": Argument(_TASKS),
            "errors": Argument(choice("fail", "wait"), "fail"),
        },
        lower=_lower_graph,
        whole=_WHOLE,
        draw=_draw_graph,
        effect=Effect.APART,
        unhosted=never(ONE_THREAD),
    )
)


# --- asynchronous --------------------------------------------------------------------------------


def asynchronous(*parts: Part) -> Composition:
    """Starts the parts in sequence as a new execution and does not wait for its end.

    The result is `{"method": "async", "activationId": ..., "sessionId": ...}`.
    """
    return build(ASYNC, components=parts)


def _lower_async(a: Assembler, node: Composition) -> None:
    end = a.label()
    a.emit(i.Spawn, to=end, path=a.path)
    with a.set_apart("asynchronous(...)"):
        lower_components(a, node)
    a.emit(i.End)
    a.place(end)


ASYNC: Final = define(
    Row(
        type="async",
        name="asynchronous",
        arguments=COMPONENTS,
        lower=_lower_async,
        whole="its parts are an execution of their own: deploy them as an action, and start that with child",
        unhosted=never(NO_KEY),
    )
)
