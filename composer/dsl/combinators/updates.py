"""Combinators for executions that people can change: updates with an answer, and the wait for a change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ...errors import CompositionError
from ...expressions import PREDICATE_REFERENCE, TEMPLATE_REFERENCE
from ...machine import instructions as i
from ...machine.update_instructions import Close, Serve, Until
from ..arguments import ASSIGNMENTS, CONDITION, TEMPLATE, Argument, Kind, optional
from ..composition import Effect, Row, build, define
from ..drawing import draw, draw_components, draw_data, predicate_words, title
from ..grammar import COMPONENTS, PART, PART_REFERENCE
from ..hosting import NO_UPDATES, never
from ..lowering import HANDLER, lower, lower_components
from .talking import MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...expressions import Predicate, Template
    from ..arguments import Kind as Kinds
    from ..assembler import Assembler
    from ..canvas import Canvas, Ends
    from ..composition import Composition, Part


# --- a handler -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnUpdate:
    """A handler of updates; see `on_update`."""

    validate: Predicate | None
    body: Composition
    sets: dict[str, Template]
    answer: Template | None


def on_update(
    *,
    validate: Any = None,
    body: Part = None,
    sets: Mapping[str, Any] | None = None,
    answer: Any = None,
) -> OnUpdate:
    """For `updates`: validates an update, runs `body` on its payload, changes variables and answers.

    Args:
        validate: a predicate over the payload and the variables. If it does not hold, the update is rejected, and
            nothing is recorded.
        body: runs on the payload, beside the main line, with a copy of the variables. Default: the payload itself.
        sets: variables of enclosing `let`s, and templates for their new values, over the result of `body` and the
            variables as they are when `body` has ended.
        answer: template for the answer, over the result of `body` and the new variables. Default: the result.

    Raises:
        CompositionError: an argument is wrong; the text names it and the remedy.
    """
    return OnUpdate(
        _taken("validate", _OPTIONAL_CONDITION, validate),
        _taken("body", PART, body),
        _taken("sets", ASSIGNMENTS, sets) if sets else {},
        _taken("answer", _OPTIONAL_TEMPLATE, answer),
    )


def _taken(name: str, kind: Kinds, value: Any) -> Any:
    try:
        return kind.take(value)
    except ValueError as error:
        raise CompositionError(f"on_update: '{name}' {error}") from error


_OPTIONAL_CONDITION: Final = optional(CONDITION)
_OPTIONAL_TEMPLATE: Final = optional(TEMPLATE)


# --- updates -------------------------------------------------------------------------------------


def updates(*parts: Part, **handlers: OnUpdate) -> Composition:
    """The parts in sequence, and handlers for updates: requests that change variables and are answered.

    While the parts run, an update is validated, accepted and handled beside them, by a handler with its name. Up
    to 10 are under way at a time. When a handler has ended, its `sets` change the variables at once, so that no two
    updates lose each other's change. An update that has no answer when the parts end fails with `Closed`; its
    handler runs no further, and no finalizer of the handler runs. Of two nested `updates` with the same name, the
    inner one handles it.

    It stands on the main line: not in a branch, a saga, a transaction or a handler.

    Args:
        parts: run in sequence.
        handlers: `on_update(...)`, by the names of the updates.
    """
    return build(UPDATES, handlers=handlers, components=parts)


def _lower_updates(a: Assembler, node: Composition) -> None:
    handlers: dict[str, OnUpdate] = node.arguments["handlers"]
    if a.apart:
        raise CompositionError(
            f"updates: it stands in {a.apart[-1]}; move it out, so that it is around the main line"
        )
    declared = a.declared()
    for name, handler in handlers.items():
        if unknown := sorted(handler.sets.keys() - declared):
            raise CompositionError(
                f"updates: the handler of {name!r} sets {unknown[0]!r}, which no `let` around updates(...) "
                f"declares: put let({{{unknown[0]!r}: ...}}, updates(...)) around it"
            )
    targets = {name: a.label() for name in handlers}
    body = a.label()
    a.emit(
        Serve,
        targets=targets,
        to=body,
        path=a.path,
        validators={
            name: each.validate for name, each in handlers.items() if each.validate is not None
        },
        sets={name: each.sets for name, each in handlers.items() if each.sets},
        answers={name: each.answer for name, each in handlers.items() if each.answer is not None},
    )
    for name, handler in handlers.items():
        a.place(targets[name])
        with a.set_apart(HANDLER):
            lower(a, f"handlers.{name}.body", handler.body)
        a.emit(i.End)
    a.place(body)
    with a.inside("updates"):
        lower_components(a, node)
    a.emit(Close)


def _take_handlers(value: Any) -> dict[str, OnUpdate]:
    if not isinstance(value, dict) or not value:
        raise ValueError("must name at least one update, such as add=on_update(sets={...})")
    for name, handler in value.items():
        if not isinstance(name, str) or not name.isidentifier() or len(name) > MAX_NAME:
            raise ValueError(
                f"has {name!r:.80}, which is not the name of an update: use letters, digits and '_', "
                f"at most {MAX_NAME}"
            )
        if not isinstance(handler, OnUpdate):
            raise ValueError(f"has {name!r}, which must be on_update(...), not {handler!r:.100}")
    return dict(value)


def _write_handler(handler: OnUpdate) -> dict[str, Any]:
    body = handler.body.to_json()
    written = {
        "validate": _OPTIONAL_CONDITION.write(handler.validate),
        "body": None if body == _EMPTY else body,
        "sets": ASSIGNMENTS.write(handler.sets) if handler.sets else None,
        "answer": _OPTIONAL_TEMPLATE.write(handler.answer),
    }
    return {
        name: value
        for name, value in written.items()
        if value is not None or (name == "answer" and handler.answer is not None)
    }


def _read_handler(doc: Any) -> OnUpdate:
    if not isinstance(doc, dict) or not doc.keys() <= _MEMBERS.keys():
        known = ", ".join(_MEMBERS)
        raise ValueError(f"must be an object with {known}, not {doc!r:.100}")
    return on_update(**{name: _MEMBERS[name].read(value) for name, value in doc.items()})


def _draw_updates(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    def drawn() -> Ends:
        for name, handler in node.arguments["handlers"].items():
            canvas.cluster(f"on {name}", partial(draw, canvas, handler.body, []))
        return draw_components(canvas, node, ends)

    return canvas.cluster(title(node), drawn)


_EMPTY: Final = {"type": "sequence"}
_MEMBERS: Final[dict[str, Kinds]] = {
    "validate": CONDITION,
    "body": PART,
    "sets": ASSIGNMENTS,
    "answer": TEMPLATE,
}
_HANDLERS: Final = Kind(
    _take_handlers,
    lambda value: {name: _write_handler(handler) for name, handler in value.items()},
    lambda doc: {name: _read_handler(item) for name, item in doc.items()},
    lambda argument, value: [
        (f"{argument}.{name}.body", handler.body) for name, handler in value.items()
    ],
    schema={
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "type": "object",
            "properties": {
                "validate": PREDICATE_REFERENCE,
                "body": PART_REFERENCE,
                "sets": ASSIGNMENTS.schema,
                "answer": TEMPLATE_REFERENCE,
            },
            "additionalProperties": False,
        },
    },
)

UPDATES: Final = define(
    Row(
        type="updates",
        name="updates",
        arguments={"handlers": Argument(_HANDLERS), **COMPONENTS},
        lower=_lower_updates,
        draw=_draw_updates,
        title=lambda args: "updates " + ", ".join(args["handlers"]),
        effect=Effect.APART,
        unhosted=never(NO_UPDATES),
    )
)


# --- until ---------------------------------------------------------------------------------------


def until(predicate: Any) -> Composition:
    """Waits until a predicate over the variables holds; the result is the input.

    The predicate is evaluated when the part begins, and again whenever an update has changed variables. So the part
    stands in `updates(...)`, on the main line. Put `timeout` around it to bound the wait.

    Args:
        predicate: such as `var("left") == 0`.
    """
    return build(UNTIL, predicate=predicate)


def _lower_until(a: Assembler, node: Composition) -> None:
    if not a.is_inside("updates") or any(place != "a saga" for place in a.apart):
        raise CompositionError(
            "until: it must stand in updates(...), on the main line: nothing else changes what it waits for"
        )
    a.emit(Until, predicate=node.arguments["predicate"], path=a.path)


UNTIL: Final = define(
    Row(
        type="until",
        name="until",
        arguments={"predicate": Argument(CONDITION)},
        lower=_lower_until,
        draw=draw_data,
        title=lambda args: f"until {predicate_words(args['predicate'].to_json())}",
        effect=Effect.APART,
        unhosted=never(NO_UPDATES),
    )
)
