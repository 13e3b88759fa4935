"""Combinators that choose the next part: sequences, waits and choices. See also `loops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...errors import CompositionError
from ...expressions import Selector, Template, path
from ...machine import instructions as i
from ...machine.operations import MAX_SLEEP_MS, YEARS
from ...values import NO_CHOICE, equal
from ..arguments import INSTANT, JSON_VALUE, TEMPLATE, Argument, Kind, items_of, optional
from ..composition import Effect, InComposer, Row, as_part, build, define
from ..drawing import draw, draw_components, draw_data, title, words
from ..grammar import COMPONENTS, PART, PART_REFERENCE, one_part, read
from ..hosting import NO_TIMER, never
from ..lowering import lower, lower_components
from .data import PREDICATE, SELECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from ...values import JSON
    from ..assembler import Assembler, Label
    from ..canvas import Canvas, Ends
    from ..composition import Composition, Part

_FIELD = path("$.value")
_NOTHING = Template.of({})
_NO_CASE = Template.of("switch: no case fits, and there is no default")
_REQUIRED_PART = Argument(PART)
_OPTIONAL_PART = Argument(optional(PART), None)


# --- sequences and waits -------------------------------------------------------------------------


def sequence(*parts: Part) -> Composition:
    """The parts in order, each on the result of the part before it; the first failure ends the sequence."""
    return build(SEQUENCE, components=parts)


then = sequence


def empty() -> Composition:
    """No part: the value passes through, unless it is an error."""
    return build(SEQUENCE, components=())


def task(part: Part) -> Composition:
    """The part itself, as a composition."""
    return one_part("task", part)


def _check_sequence(arguments: Mapping[str, Any]) -> Iterable[str]:
    for index, part in enumerate(arguments["components"][:-1]):
        if part.row.fails:
            yield f"part {index + 1} can never be reached: part {index} always fails"


SEQUENCE: Final = define(
    Row(
        type="sequence",
        name="sequence",
        arguments=COMPONENTS,
        check=_check_sequence,
        lower=lower_components,
        draw=draw_components,
        effect=Effect.NONE,
        in_order=True,
        composer=InComposer(names=("seq", "empty")),
    )
)


def wait(
    seconds: float | Selector | None = None,
    *,
    until: str | float | datetime | Selector | None = None,
) -> Composition:
    """Waits for seconds, or until an instant (ISO 8601, or epoch seconds); no process runs meanwhile."""
    if type(seconds) in (int, float) and not 0 <= seconds * 1000 <= MAX_SLEEP_MS:  # type: ignore[operator]
        text = f"wait: 'seconds' must be from 0 to {YEARS} years, not {seconds!r}"
        raise CompositionError(text)
    return build(WAIT, seconds=seconds, until=until)


def _check_wait(arguments: Mapping[str, Any]) -> Iterable[str]:
    if (arguments["seconds"] is None) == (arguments["until"] is None):
        yield "give either 'seconds' or 'until'"


def _lower_wait(a: Assembler, node: Composition) -> None:
    seconds, until = node.arguments["seconds"], node.arguments["until"]
    a.emit(i.Sleep, template=until or seconds, until=seconds is None, path=a.path)


def _title_of_wait(args: Mapping[str, Any]) -> str:
    if args["until"] is not None:
        return f"wait until {words(args['until'].to_json())}"
    return f"wait {words(args['seconds'].to_json())} s"


WAIT: Final = define(
    Row(
        type="wait",
        name="wait",
        arguments={
            "seconds": Argument(optional(TEMPLATE), None),
            "until": Argument(optional(INSTANT), None),
        },
        check=_check_wait,
        lower=_lower_wait,
        draw=draw_data,
        title=_title_of_wait,
        effect=Effect.NONE,
        unhosted=never(NO_TIMER),
    )
)


# --- tests ---------------------------------------------------------------------------------------


def lower_test(a: Assembler, name: str, node: Composition, otherwise: Label) -> bool:
    """Branches on a test; saves the value around a test that has to run. True if the value was saved."""
    test: Composition = node.arguments[name]
    if test.row is PREDICATE:
        a.emit(i.Branch, predicate=test.arguments["predicate"], otherwise=otherwise)
        return False
    a.emit(i.Save)
    lower(a, name, test)
    a.emit(i.Branch, otherwise=otherwise)
    return True


def restore(a: Assembler, saved: bool) -> None:
    if saved:
        a.emit(i.Recall, how="restore")


def draw_test(canvas: Canvas, test: Composition, ends: Ends) -> str:
    if test.row is PREDICATE:
        return canvas.node(title(test), "choice", ends)
    return canvas.node("?", "choice", draw(canvas, test, ends))


# --- choices -------------------------------------------------------------------------------------


def when(test: Part, consequent: Part, alternate: Part = None) -> Composition:
    """The consequent if `test` makes `{"value": <true>}`, else the alternate; both on the input."""
    return build(WHEN, test=test, consequent=consequent, alternate=alternate)


def when_nosave(test: Part, consequent: Part, alternate: Part = None) -> Composition:
    """Like `when`, but the branch takes the test's result."""
    return build(WHEN_NOSAVE, test=test, consequent=consequent, alternate=alternate)


def _lower_when(a: Assembler, node: Composition) -> None:
    otherwise, end = a.label(), a.label()
    saved = lower_test(a, "test", node, otherwise)
    restore(a, saved)
    lower(a, "consequent", node.arguments["consequent"])
    a.emit(i.Jump, to=end)
    a.place(otherwise)
    restore(a, saved)
    lower(a, "alternate", node.arguments["alternate"])
    a.place(end)


def _lower_when_nosave(a: Assembler, node: Composition) -> None:
    otherwise, end = a.label(), a.label()
    lower(a, "test", node.arguments["test"])
    a.emit(i.Branch, otherwise=otherwise)
    lower(a, "consequent", node.arguments["consequent"])
    a.emit(i.Jump, to=end)
    a.place(otherwise)
    lower(a, "alternate", node.arguments["alternate"])
    a.place(end)


def _draw_when(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    choice = draw_test(canvas, node.arguments["test"], ends)
    yes = draw(canvas, node.arguments["consequent"], [(choice, "yes")])
    return yes + draw(canvas, node.arguments["alternate"], [(choice, "no")])


_CHOICE = {
    "test": _REQUIRED_PART,
    "consequent": _REQUIRED_PART,
    "alternate": Argument(PART, None),
}

WHEN: Final = define(
    Row(
        type="if",
        name="when",
        arguments=_CHOICE,
        lower=_lower_when,
        draw=_draw_when,
        effect=Effect.NONE,
    )
)
WHEN_NOSAVE: Final = define(
    Row(
        type="if_nosave",
        name="when_nosave",
        arguments=_CHOICE,
        lower=_lower_when_nosave,
        draw=_draw_when,
        effect=Effect.NONE,
    )
)


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a switch: a value, and the part that runs for it."""

    equals: JSON
    body: Composition


def switch(
    on: Part, cases: Mapping[str, Part] | Iterable[tuple[JSON, Part]], default: Part = ...
) -> Composition:
    """The part whose case equals the value of `on`: a path, or a part that makes `{"value": ...}`.

    Each part runs on the input. Without a default, a value without a case fails with `NoChoice`.
    """
    chosen = {} if default is ... else {"default": one_part("switch", default)}
    return build(SWITCH, on=on, cases=cases, **chosen)


def _take_cases(values: Any) -> tuple[Case, ...]:
    pairs = values.items() if isinstance(values, dict) else values
    cases: list[Case] = []
    try:
        for equals, body in pairs:
            cases.append(Case(JSON_VALUE.take(equals), as_part(body)))
    except TypeError:
        raise ValueError(
            f"must be a dict, or pairs, of a value and the part that runs for it, not {values!r}"
        ) from None
    for index, case in enumerate(cases):
        if any(equal(case.equals, earlier.equals) for earlier in cases[:index]):
            raise ValueError(f"has {case.equals!r} twice: the second can never be reached")
    return tuple(cases)


def _lower_switch(a: Assembler, node: Composition) -> None:
    on: Composition = node.arguments["on"]
    subject = on.arguments["template"].selector if on.row is SELECT else None
    end, saved = a.label(), subject is None
    if subject is None:
        subject = _FIELD
        a.emit(i.Save)
        lower(a, "on", on)
    for index, case in enumerate(node.arguments["cases"]):
        other = a.label()
        a.emit(i.Branch, predicate=subject == case.equals, otherwise=other)
        restore(a, saved)
        lower(a, f"cases[{index}].body", case.body)
        a.emit(i.Jump, to=end)
        a.place(other)
    restore(a, saved)
    if node.arguments["default"] is not None:
        lower(a, "default", node.arguments["default"])
    else:
        a.emit(i.Raise, code=NO_CHOICE, template=_NO_CASE)
    a.place(end)


def _draw_switch(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    on: Composition = node.arguments["on"]
    if on.row is SELECT:
        choice = canvas.node(title(on), "choice", ends)
    else:
        choice = canvas.node("?", "choice", draw(canvas, on, ends))
    last: Ends = []
    for case in node.arguments["cases"]:
        last += draw(canvas, case.body, [(choice, words(case.equals))])
    default = node.arguments["default"]
    return last + (draw(canvas, default, [(choice, "else")]) if default else [])


_CASES = Kind(
    _take_cases,
    lambda cases: [{"equals": case.equals, "body": case.body.to_json()} for case in cases],
    lambda doc: [(item["equals"], read(item["body"])) for item in items_of(doc)],
    lambda name, cases: [(f"{name}[{at}].body", case.body) for at, case in enumerate(cases)],
    schema={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"equals": True, "body": PART_REFERENCE},
            "required": ["equals", "body"],
        },
    },
)

SWITCH: Final = define(
    Row(
        type="switch",
        name="switch",
        arguments={"on": _REQUIRED_PART, "cases": Argument(_CASES), "default": _OPTIONAL_PART},
        lower=_lower_switch,
        draw=_draw_switch,
        effect=Effect.NONE,
    )
)


def eca(condition: Part, body: Part, otherwise: Part = ...) -> Composition:
    """Event, condition, action: the body on the input, if the condition holds.

    The condition holds unless it fails or makes `{"value": <false>}`; its result is not used. If it does
    not hold, the result is `{}`, or that of `otherwise` on the input.
    """
    chosen = {} if otherwise is ... else {"otherwise": one_part("eca", otherwise)}
    return build(ECA, condition=condition, body=body, **chosen)


def _lower_eca(a: Assembler, node: Composition) -> None:
    """Emits the choice: a condition that fails does not hold, nor does one with a false `value`."""
    unmet, met, end = a.label(), a.label(), a.label()
    a.emit(i.Save)
    a.emit(i.Guard, to=unmet)
    lower(a, "condition", node.arguments["condition"])
    a.emit(i.Leave)
    a.emit(i.Branch, predicate=_FIELD.exists() & ~_FIELD.is_true(), otherwise=met)
    a.place(unmet)
    a.emit(i.Recall, how="restore")
    if node.arguments["otherwise"] is not None:
        lower(a, "otherwise", node.arguments["otherwise"])
    else:
        a.emit(i.Evaluate, template=_NOTHING)
    a.emit(i.Jump, to=end)
    a.place(met)
    a.emit(i.Recall, how="restore")
    lower(a, "body", node.arguments["body"])
    a.place(end)


def _draw_eca(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    choice = draw_test(canvas, node.arguments["condition"], ends)
    yes = draw(canvas, node.arguments["body"], [(choice, "yes")])
    otherwise = node.arguments["otherwise"]
    return yes + (draw(canvas, otherwise, [(choice, "no")]) if otherwise else [(choice, "no")])


ECA: Final = define(
    Row(
        type="eca",
        name="eca",
        arguments={
            "condition": _REQUIRED_PART,
            "body": _REQUIRED_PART,
            "otherwise": _OPTIONAL_PART,
        },
        lower=_lower_eca,
        draw=_draw_eca,
        effect=Effect.NONE,
    )
)
