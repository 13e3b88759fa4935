"""What each combinator becomes: one short function each, and the table that finds it.

The code of a part takes the value, leaves its result as the value, and leaves the frames as it found
them; when it fails it does not come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import instructions as i
from ..expressions import Template, path
from ..retries import MAX_DELAY_MS, RetryPolicy
from ..values import NO_CHOICE
from .spanning import SPANNING

if TYPE_CHECKING:
    from .assembler import Assembler, Label, Lowering
    from .composition import Composition

_ITEMS = Template.of(path("$.value", default=None))
_FIELD = path("$.value")
_NOTHING = Template.of({})
_NO_CASE = Template.of("switch: no case fits, and there is no default")


# --- leaves ------------------------------------------------------------------------------------


def _action(a: Assembler, node: Composition) -> None:
    a.emit(i.Invoke, action=a.action(node.arguments["name"]), path=a.path)


def _function(a: Assembler, node: Composition) -> None:
    runtime = node.arguments["function"]["exec"]
    a.emit(i.Call, function=a.function(runtime), path=a.path)


def _literal(a: Assembler, node: Composition) -> None:
    a.emit(i.Evaluate, template=Template.literal(node.arguments["value"]))


def _select(a: Assembler, node: Composition) -> None:
    a.emit(i.Evaluate, template=node.arguments["template"])


def _predicate(a: Assembler, node: Composition) -> None:
    a.emit(i.Test, predicate=node.arguments["predicate"])


def _assign(a: Assembler, node: Composition) -> None:
    a.emit(i.Assign, assignments=node.arguments["values"])


def _dynamic(a: Assembler, _: Composition) -> None:
    a.emit(i.InvokeNamed, path=a.path)


def _raise(a: Assembler, node: Composition) -> None:
    a.emit(i.Raise, code=node.arguments["code"], template=node.arguments["message"])


def _wait(a: Assembler, node: Composition) -> None:
    seconds, until = node.arguments["seconds"], node.arguments["until"]
    a.emit(i.Sleep, template=until or seconds, until=seconds is None, path=a.path)


# --- one after the other -----------------------------------------------------------------------


def _sequence(a: Assembler, node: Composition) -> None:
    for index, part in enumerate(node.arguments["components"]):
        a.part(f"components[{index}]", part)
    if not node.arguments["components"]:
        a.emit(i.Inspect)


def _test(a: Assembler, name: str, node: Composition, otherwise: Label) -> bool:
    """Branches on a test, saving the value around one that has to run. Whether it was saved."""
    test: Composition = node.arguments[name]
    if test.type == "predicate":
        a.emit(i.Branch, predicate=test.arguments["predicate"], otherwise=otherwise)
        return False
    a.emit(i.Save)
    a.part(name, test)
    a.emit(i.Branch, otherwise=otherwise)
    return True


def _restore(a: Assembler, saved: bool) -> None:
    if saved:
        a.emit(i.Recall, how="restore")


def _if(a: Assembler, node: Composition) -> None:
    otherwise, end = a.label(), a.label()
    saved = _test(a, "test", node, otherwise)
    _restore(a, saved)
    a.part("consequent", node.arguments["consequent"])
    a.emit(i.Jump, to=end)
    a.place(otherwise)
    _restore(a, saved)
    a.part("alternate", node.arguments["alternate"])
    a.place(end)


def _if_nosave(a: Assembler, node: Composition) -> None:
    otherwise, end = a.label(), a.label()
    a.part("test", node.arguments["test"])
    a.emit(i.Branch, otherwise=otherwise)
    a.part("consequent", node.arguments["consequent"])
    a.emit(i.Jump, to=end)
    a.place(otherwise)
    a.part("alternate", node.arguments["alternate"])
    a.place(end)


def _while(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    saved = _test(a, "test", node, end)
    _restore(a, saved)
    a.part("body", node.arguments["body"])
    a.emit(i.Jump, to=start)
    a.place(end)
    _restore(a, saved)


def _while_nosave(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    a.part("test", node.arguments["test"])
    a.emit(i.Branch, otherwise=end)
    a.part("body", node.arguments["body"])
    a.emit(i.Jump, to=start)
    a.place(end)


def _dowhile(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    a.part("body", node.arguments["body"])
    saved = _test(a, "test", node, end)
    _restore(a, saved)
    a.emit(i.Jump, to=start)
    a.place(end)
    _restore(a, saved)


def _dowhile_nosave(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    a.part("body", node.arguments["body"])
    a.part("test", node.arguments["test"])
    a.emit(i.Branch, otherwise=end)
    a.emit(i.Jump, to=start)
    a.place(end)


def _repeat(a: Assembler, node: Composition) -> None:
    a.emit(i.Repeat, count=node.arguments["count"])
    end, start = a.label(), a.here()
    a.emit(i.Count, otherwise=end)
    a.parts(node)
    a.emit(i.Jump, to=start)
    a.place(end)


def _switch(a: Assembler, node: Composition) -> None:
    on: Composition = node.arguments["on"]
    subject = on.arguments["template"].selector if on.type == "select" else None
    end, saved = a.label(), subject is None
    if subject is None:
        subject = _FIELD
        a.emit(i.Save)
        a.part("on", on)
    for index, case in enumerate(node.arguments["cases"]):
        other = a.label()
        a.emit(i.Branch, predicate=subject == case.equals, otherwise=other)
        _restore(a, saved)
        a.part(f"cases[{index}].body", case.body)
        a.emit(i.Jump, to=end)
        a.place(other)
    _restore(a, saved)
    if node.arguments["default"] is not None:
        a.part("default", node.arguments["default"])
    else:
        a.emit(i.Raise, code=NO_CHOICE, template=_NO_CASE)
    a.place(end)


def _eca(a: Assembler, node: Composition) -> None:
    """The condition's failure means no; so does a `value` that is false."""
    unmet, met, end = a.label(), a.label(), a.label()
    a.emit(i.Save)
    a.emit(i.Guard, to=unmet)
    a.part("condition", node.arguments["condition"])
    a.emit(i.Leave)
    a.emit(i.Branch, predicate=_FIELD.exists() & ~_FIELD.is_true(), otherwise=met)
    a.place(unmet)
    a.emit(i.Recall, how="restore")
    if node.arguments["otherwise"] is not None:
        a.part("otherwise", node.arguments["otherwise"])
    else:
        a.emit(i.Evaluate, template=_NOTHING)
    a.emit(i.Jump, to=end)
    a.place(met)
    a.emit(i.Recall, how="restore")
    a.part("body", node.arguments["body"])
    a.place(end)


# --- when things go wrong ----------------------------------------------------------------------


def _retry(a: Assembler, node: Composition) -> None:
    args = node.arguments
    policy = RetryPolicy(
        retries=args["count"],
        delay_ms=round(args["delay"] * 1000),
        backoff=args["backoff"],
        max_delay_ms=MAX_DELAY_MS if args["max_delay"] is None else round(args["max_delay"] * 1000),
        jitter=args["jitter"],
        errors=args["errors"],
        until=args["until"],
        pause=args["on_exhausted"] == "pause",
    )
    a.emit(i.Attempt, policy=policy)
    a.parts(node)
    a.emit(i.Settle)


def _try(a: Assembler, node: Composition) -> None:
    handler, end = a.label(), a.label()
    a.emit(i.Guard, to=handler, errors=node.arguments["errors"])
    a.part("body", node.arguments["body"])
    a.emit(i.Leave)
    a.emit(i.Jump, to=end)
    a.place(handler)
    a.part("handler", node.arguments["handler"])
    a.place(end)


def _finally(a: Assembler, node: Composition) -> None:
    finalizer = a.label()
    a.emit(i.Shield, to=finalizer)
    a.part("body", node.arguments["body"])
    a.emit(i.Finalize)
    a.place(finalizer)
    a.part("finalizer", node.arguments["finalizer"])
    a.emit(i.Finalized)


def _timeout(a: Assembler, node: Composition) -> None:
    a.emit(i.Limit, timeout_ms=max(1, round(node.arguments["seconds"] * 1000)))
    a.parts(node)
    a.emit(i.Leave)


# --- data --------------------------------------------------------------------------------------


def _let(a: Assembler, node: Composition) -> None:
    a.emit(i.Declare, variables=node.arguments["declarations"])
    a.parts(node)
    a.emit(i.Leave)


def _mask(a: Assembler, node: Composition) -> None:
    a.emit(i.Hide)
    a.parts(node)
    a.emit(i.Leave)


def _retain(a: Assembler, node: Composition) -> None:
    a.emit(i.Save)
    a.parts(node)
    a.emit(i.Recall, how="retain")


def _retain_catch(a: Assembler, node: Composition) -> None:
    caught = a.label()
    a.emit(i.Save)
    a.emit(i.Guard, to=caught)
    a.parts(node)
    a.emit(i.Leave)
    a.place(caught)
    a.emit(i.Recall, how="retain")


def _merge(a: Assembler, node: Composition) -> None:
    a.emit(i.Save)
    a.parts(node)
    a.emit(i.Recall, how="merge")


def _forward(a: Assembler, node: Composition) -> None:
    args = node.arguments
    a.emit(i.Save, template=args["carry"])
    a.emit(i.Evaluate, template=args["take"])
    a.parts(node)
    if args["into"] is not None:
        a.emit(i.Recall, how="into", field=args["into"])
    else:
        a.emit(i.Recall, how="merge")


# --- at the same time --------------------------------------------------------------------------


def _fork(a: Assembler, parts: list[tuple[str, Any]], **policy: Any) -> None:
    """A fiber for each part; each begins at its label and ends at an End."""
    branches, end = tuple(a.label() for _ in parts), a.label()
    a.emit(i.Fork, branches=branches, to=end, path=a.path, **policy)
    for branch, (where, part) in zip(branches, parts, strict=True):
        a.place(branch)
        a.part(where, part)
        a.emit(i.End)
    a.place(end)


def _parallel(a: Assembler, node: Composition) -> None:
    _fork(a, list(node.children()), errors=node.arguments["errors"])


def _race(a: Assembler, node: Composition) -> None:
    _fork(a, list(node.children()), first=True)


def _graph(a: Assembler, node: Composition) -> None:
    tasks = node.arguments["tasks"]
    places = {name: place for place, name in enumerate(tasks)}
    after = tuple(tuple(places[need] for need in task.after) for task in tasks.values())
    parts = [(f"tasks.{name}", task.body) for name, task in tasks.items()]
    _fork(a, parts, names=tuple(tasks), after=after, errors=node.arguments["errors"])


def _map(a: Assembler, node: Composition) -> None:
    args, end = node.arguments, a.label()
    a.emit(
        i.Each,
        items=args["items"] or _ITEMS,
        to=end,
        path=a.path,
        concurrency=args["concurrency"],
        errors=args["errors"],
    )
    a.parts(node)
    a.emit(i.End)
    a.place(end)


def _async(a: Assembler, node: Composition) -> None:
    end = a.label()
    a.emit(i.Spawn, to=end, path=a.path)
    a.parts(node)
    a.emit(i.End)
    a.place(end)


LOWERINGS: dict[str, Lowering] = {
    "action": _action,
    "function": _function,
    "literal": _literal,
    "select": _select,
    "predicate": _predicate,
    "assign": _assign,
    "dynamic": _dynamic,
    "raise": _raise,
    "wait": _wait,
    "sequence": _sequence,
    "if": _if,
    "if_nosave": _if_nosave,
    "while": _while,
    "while_nosave": _while_nosave,
    "dowhile": _dowhile,
    "dowhile_nosave": _dowhile_nosave,
    "repeat": _repeat,
    "switch": _switch,
    "eca": _eca,
    "retry": _retry,
    "try": _try,
    "finally": _finally,
    "timeout": _timeout,
    "let": _let,
    "mask": _mask,
    "retain": _retain,
    "retain_catch": _retain_catch,
    "merge": _merge,
    "forward": _forward,
    "parallel": _parallel,
    "race": _race,
    "graph": _graph,
    "map": _map,
    "async": _async,
    **SPANNING,
}
