"""The table of combinators: what each takes, how it is checked, and how it stands in JSON.

Types and argument names are those of Apache OpenWhisk Composer's JSON where it has them, so that its
compositions read as ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from ..values import equal
from . import policies
from .arguments import (
    ASSIGNMENTS,
    COUNT,
    DELAY,
    ERRORS,
    FACTOR,
    FIELD,
    FLAG,
    INSTANT,
    JSON_VALUE,
    NAME,
    POSITIVE,
    PREDICATE,
    SECONDS,
    SHARE,
    TEMPLATE,
    VARIABLES,
    Argument,
    Kind,
    choice,
    optional,
)
from .functions import ActionFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..values import JSON


MAX_TRANSACTION_S = 60


@dataclass(frozen=True, slots=True)
class Task:
    """A node of a graph: what runs, and after which others."""

    body: Any
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a switch: what the value must equal, and what runs then."""

    equals: JSON
    body: Any


@dataclass(frozen=True, slots=True)
class Rule:
    """A combinator: its name in Python, its arguments, and what they must be together."""

    name: str
    arguments: dict[str, Argument]
    check: Callable[[dict[str, Any]], Iterable[str]] = lambda _: ()


# --- kinds of argument -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartKinds:
    """The kinds that hold compositions, given how one is made of an argument and read from JSON."""

    as_part: Callable[[Any], Any]
    read: Callable[[JSON], Any]

    def part(self) -> Kind:
        return Kind(
            self.as_part,
            lambda part: part.to_json(),
            lambda doc: None if doc is None else self.read(doc),
        )

    def parts(self) -> Kind:
        return Kind(
            self._take_parts,
            lambda parts: [part.to_json() for part in parts],
            lambda doc: [None if item is None else self.read(item) for item in doc],
        )

    def _take_parts(self, values: Any) -> tuple[Any, ...]:
        if not isinstance(values, (list, tuple)):
            raise ValueError(f"must be a list of parts, not {values!r}")
        return tuple(self.as_part(value) for value in values)

    def cases(self) -> Kind:
        return Kind(
            self._take_cases,
            lambda cases: [{"equals": c.equals, "body": c.body.to_json()} for c in cases],
            lambda doc: [(item["equals"], self.read(item["body"])) for item in doc],
        )

    def _take_cases(self, values: Any) -> tuple[Case, ...]:
        pairs = values.items() if isinstance(values, dict) else values
        cases: list[Case] = []
        try:
            for equals, body in pairs:
                cases.append(Case(JSON_VALUE.take(equals), self.as_part(body)))
        except TypeError:
            raise ValueError(
                f"must be a dict, or pairs, of a value and what runs for it, not {values!r}"
            ) from None
        for index, case in enumerate(cases):
            if any(equal(case.equals, earlier.equals) for earlier in cases[:index]):
                raise ValueError(f"has {case.equals!r} twice: the second can never be reached")
        return tuple(cases)

    def tasks(self) -> Kind:
        return Kind(
            self._take_tasks,
            lambda tasks: {
                name: {"body": task.body.to_json(), "after": list(task.after)}
                for name, task in tasks.items()
            },
            lambda doc: {
                name: Task(self.read(item["body"]), tuple(item["after"]))
                for name, item in doc.items()
            },
        )

    def _take_tasks(self, values: Any) -> dict[str, Task]:
        if not isinstance(values, dict) or not values:
            raise ValueError(f"must be a dict of names and what runs, not {values!r}")
        tasks = {}
        for name, value in values.items():
            if not isinstance(name, str) or not name or name == "error":
                raise ValueError(f"has {name!r}: a task's name is a string other than 'error'")
            tasks[name] = value if isinstance(value, Task) else Task(self.as_part(value), ())
        for name, task in tasks.items():
            for need in task.after:
                if need not in tasks:
                    known = ", ".join(tasks)
                    raise ValueError(f"has {name!r} after {need!r}, which is none of {known}")
        try:
            TopologicalSorter({name: task.after for name, task in tasks.items()}).prepare()
        except CycleError as error:
            raise ValueError(f"has a cycle: {' before '.join(error.args[1])}") from None
        return tasks


def _function(value: Any) -> dict[str, JSON]:
    runtime = value.get("exec") if isinstance(value, dict) else None
    if not isinstance(runtime, dict) or not all(
        isinstance(runtime.get(key), str) for key in ("kind", "code")
    ):
        raise ValueError("must be {'exec': {'kind': ..., 'code': ...}}")
    copied: dict[str, JSON] = JSON_VALUE.take(value)
    return copied


def _definition(value: Any) -> dict[str, JSON] | ActionFunction:
    if isinstance(value, ActionFunction):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("exec"), dict):
        raise ValueError("must be an action: {'exec': {...}, 'limits'?: ..., 'annotations'?: ...}")
    copied: dict[str, JSON] = JSON_VALUE.take(value)
    return copied


FUNCTION = Kind(_function)
# A function of this process stands in JSON by its name alone.
DEFINITION = Kind(_definition, lambda value: None if isinstance(value, ActionFunction) else value)


# --- what arguments must be together -----------------------------------------------------------


def _after_raise(arguments: dict[str, Any]) -> Iterable[str]:
    for index, part in enumerate(arguments["components"][:-1]):
        if part.type == "raise":
            yield f"part {index + 1} can never be reached: part {index} always fails"


def _one_bound(arguments: dict[str, Any]) -> Iterable[str]:
    if (arguments["seconds"] is None) == (arguments["until"] is None):
        yield "give either 'seconds' or 'until'"


def _capped(arguments: dict[str, Any]) -> Iterable[str]:
    cap, delay = arguments["max_delay"], arguments["delay"]
    if cap is not None and cap < delay:
        yield f"'max_delay' ({cap:g}) must not be less than 'delay' ({delay:g})"
    if not delay and (cap is not None or arguments["backoff"] != 1 or arguments["jitter"]):
        yield "'backoff', 'max_delay' and 'jitter' need a 'delay'"


def _forwards(arguments: dict[str, Any]) -> Iterable[str]:
    if not arguments["components"]:
        yield "give at least one part to run on what is taken"


_APART = frozenset({
    "action", "function", "dynamic", "async", "parallel", "map", "race", "graph", "transaction",
    "participant", "saga", "step",
})  # fmt: skip


def declared(parts: Iterable[Any]) -> bool:
    """Whether a transaction of these parts knows its operations before it begins."""
    return all(part.type in ("call", "participant") for part in parts)


def _transacts(arguments: dict[str, Any]) -> Iterable[str]:
    parts = arguments["components"]
    if not parts:
        yield "give at least one call"
    if arguments["seconds"] > MAX_TRANSACTION_S:
        yield f"'seconds' must be at most {MAX_TRANSACTION_S}: nobody waits for a lock for longer"
    if declared(parts):
        if any(part.arguments["expected_version"] is not None for part in parts
               if part.type == "call"):  # fmt: skip
            yield "'expected_version' is for calls outside: within, what is read stays as it is"
        return
    for part in parts:
        for node in part.walk():
            if node.type in _APART:
                yield (
                    f"'{node.type}' cannot take part: what is not a call of an entity is not undone "
                    "when it aborts (several calls alone make a transaction of any participants)"
                )


# A part of a saga that does nothing but to arrange others, or to shape data.
_ARRANGING = frozenset({
    "sequence", "if", "if_nosave", "while", "while_nosave", "dowhile", "dowhile_nosave", "repeat",
    "switch", "eca", "retry", "try", "finally", "timeout", "let", "mask", "retain", "retain_catch",
    "merge", "forward", "parallel", "race", "graph", "map", "function", "literal", "select",
    "predicate", "assign", "raise", "wait", "saga", "step",
})  # fmt: skip
_IN_ORDER = frozenset({"sequence", "let", "mask", "retain", "merge", "forward", "timeout", "saga"})


def _declares(arguments: dict[str, Any]) -> Iterable[str]:
    how = [name for name in ("undo", "pivot", "retriable", "no_undo") if arguments[name]]
    if not how:
        yield (
            "say how its effect is undone: undo=..., or pivot=True (it decides), retriable=True (it "
            "is done in the end), or no_undo='why it needs none'"
        )
    if arguments["pivot"] and len(how) > 1:
        yield (
            f"a pivot is not undone, nor tried until it is done: leave out {how[0]!r}"
            if (how[0] != "pivot")
            else f"a pivot is not undone, nor tried until it is done: leave out {how[1]!r}"
        )
    if arguments["undo"] and arguments["no_undo"]:
        yield "give 'undo', or in 'no_undo' why it needs none"
    if arguments["undo_on_failure"] and not arguments["undo"]:
        yield "'undo_on_failure' needs an 'undo'"
    if arguments["pivot"] and arguments["retries"] is not None:
        yield "a pivot's 'retries' cannot be counted: it is asked until it says yes or no"


def _spans(arguments: dict[str, Any]) -> Iterable[str]:
    if not arguments["components"]:
        yield "give at least one step"
    passed, why = False, None
    for part in arguments["components"]:
        if why is None:
            passed, why = _checked(part, passed, in_order=True)
    if why is not None:
        yield why


def _checked(node: Any, passed: bool, *, in_order: bool) -> tuple[bool, str | None]:
    """Whether the pivot has passed after a part of a saga, and what is wrong with it."""
    if node.type == "call" and node.arguments["read"]:
        return passed, None
    if node.type not in _ARRANGING:
        what = node.arguments.get("name") or node.arguments.get("entity") or node.type
        return passed, f"{what!r} may have an effect: make it a step, step({what!r}, undo=...)"
    if node.type == "step":
        return _step_checked(node, passed, in_order=in_order)
    if node.type == "raise" and passed:
        return passed, "after the pivot it only goes forward: nothing may raise an error"
    here = in_order and node.type in _IN_ORDER
    for _, child in node.children():
        passed, why = _checked(child, passed, in_order=here)
        if why is not None:
            return passed, why
    return passed, None


def _step_checked(node: Any, passed: bool, *, in_order: bool) -> tuple[bool, str | None]:
    if node.arguments["pivot"]:
        if passed:
            return (
                passed,
                "it has two pivots: once the first has passed, there is no second decision",
            )
        if not in_order:
            return passed, "a pivot stands in the saga's own sequence, not in a branch or a loop"
        return True, None
    if passed and not node.arguments["retriable"]:
        return passed, "after the pivot it only goes forward: every step must be retriable=True"
    if (
        not passed
        and node.arguments["retriable"]
        and not (node.arguments["undo"] or node.arguments["no_undo"])
    ):
        return passed, "a retriable step before the pivot may have to be undone: give its 'undo'"
    return passed, None


# --- the table ---------------------------------------------------------------------------------


def grammar(kinds: PartKinds) -> dict[str, Rule]:
    """The rule of each combinator, by type."""
    body = {"components": Argument(kinds.parts(), ())}
    part = Argument(kinds.part())
    errors = Argument(choice("fail", "wait", "collect"), "fail")
    return {
        "action": Rule(
            "action", {"name": Argument(NAME), "action": Argument(optional(DEFINITION), None)}
        ),
        "function": Rule("function", {"function": Argument(FUNCTION)}),
        "literal": Rule("literal", {"value": Argument(JSON_VALUE)}),
        "select": Rule("select", {"template": Argument(TEMPLATE)}),
        "predicate": Rule("predicate", {"predicate": Argument(PREDICATE)}),
        "assign": Rule("assign", {"values": Argument(ASSIGNMENTS)}),
        "sequence": Rule("sequence", body, _after_raise),
        "if": Rule(
            "when", {"test": part, "consequent": part, "alternate": Argument(kinds.part(), None)}
        ),
        "if_nosave": Rule(
            "when_nosave",
            {"test": part, "consequent": part, "alternate": Argument(kinds.part(), None)},
        ),
        "while": Rule("loop", {"test": part, "body": part}),
        "while_nosave": Rule("loop_nosave", {"test": part, "body": part}),
        "dowhile": Rule("doloop", {"body": part, "test": part}),
        "dowhile_nosave": Rule("doloop_nosave", {"body": part, "test": part}),
        "repeat": Rule("repeat", {"count": Argument(COUNT), **body}),
        "retry": Rule(
            "retry",
            {
                "count": Argument(optional(COUNT)),
                **body,
                "delay": Argument(DELAY, 0.0),
                "backoff": Argument(FACTOR, 1.0),
                "max_delay": Argument(optional(DELAY), None),
                "jitter": Argument(SHARE, 0.0),
                "errors": Argument(ERRORS, ()),
                "until": Argument(optional(PREDICATE), None),
                "on_exhausted": Argument(choice("raise", "pause"), "raise"),
            },
            _capped,
        ),
        "try": Rule("do", {"body": part, "handler": part, "errors": Argument(ERRORS, ())}),
        "finally": Rule("ensure", {"body": part, "finalizer": part}),
        "raise": Rule("raise_error", {"code": Argument(FIELD), "message": Argument(TEMPLATE, "")}),
        "let": Rule("let", {"declarations": Argument(VARIABLES), **body}),
        "mask": Rule("mask", body),
        "retain": Rule("retain", body),
        "retain_catch": Rule("retain_catch", body),
        "merge": Rule("merge", body),
        "dynamic": Rule("dynamic", {}),
        "async": Rule("asynchronous", body),
        "parallel": Rule("parallel", {**body, "errors": errors}),
        "map": Rule(
            "map",
            {
                **body,
                "items": Argument(optional(TEMPLATE), None),
                "concurrency": Argument(optional(POSITIVE), None),
                "errors": errors,
            },
        ),
        "race": Rule("race", body),
        "graph": Rule(
            "graph",
            {"tasks": Argument(kinds.tasks()), "errors": Argument(choice("fail", "wait"), "fail")},
        ),
        "forward": Rule(
            "forward",
            {
                "take": Argument(TEMPLATE),
                **body,
                "carry": Argument(optional(TEMPLATE), None),
                "into": Argument(optional(FIELD), None),
            },
            _forwards,
        ),
        "eca": Rule(
            "eca",
            {"condition": part, "body": part, "otherwise": Argument(optional(kinds.part()), None)},
        ),
        "switch": Rule(
            "switch",
            {
                "on": part,
                "cases": Argument(kinds.cases()),
                "default": Argument(optional(kinds.part()), None),
            },
        ),
        "wait": Rule(
            "wait",
            {
                "seconds": Argument(optional(TEMPLATE), None),
                "until": Argument(optional(INSTANT), None),
            },
            _one_bound,
        ),
        "timeout": Rule("timeout", {"seconds": Argument(SECONDS), **body}),
        "call": Rule(
            "call",
            {
                "entity": Argument(NAME),
                "key": Argument(TEMPLATE),
                "operation": Argument(FIELD),
                "params": Argument(optional(TEMPLATE), None),
                "read": Argument(FLAG, False),
                "expected_version": Argument(optional(TEMPLATE), None),
                "action": Argument(optional(DEFINITION), None),
            },
        ),
        "participant": Rule(
            "participant",
            {
                "prepare": Argument(NAME),
                "commit": Argument(NAME),
                "abort": Argument(NAME),
                "params": Argument(optional(TEMPLATE), None),
            },
        ),
        "step": Rule(
            "step",
            {
                "do": part,
                "undo": Argument(optional(kinds.part()), None),
                "pivot": Argument(FLAG, False),
                "retriable": Argument(FLAG, False),
                "no_undo": Argument(optional(FIELD), None),
                "undo_on_failure": Argument(FLAG, False),
                "retries": Argument(optional(COUNT), None),
                "delay": Argument(DELAY, 1.0),
                "seconds": Argument(optional(SECONDS), None),
                "undo_retries": Argument(optional(COUNT), 5),
                "undo_delay": Argument(DELAY, 1.0),
            },
            _declares,
        ),
        "saga": Rule(
            "saga",
            {
                **body,
                "retry": Argument(Kind(policies.take, policies.write, policies.read), None),
                "seconds": Argument(optional(SECONDS), None),
            },
            _spans,
        ),
        "transaction": Rule(
            "transaction",
            {
                **body,
                "retries": Argument(COUNT, 10),
                "seconds": Argument(SECONDS, 10.0),
                "conflict": Argument(choice("wait", "nowait"), "wait"),
            },
            _transacts,
        ),
    }
