"""Combinators that repeat parts: a number of times, or while a test holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...machine import instructions as i
from ..arguments import COUNT, Argument
from ..composition import Effect, Row, build, define
from ..drawing import draw
from ..grammar import COMPONENTS, PART
from ..lowering import lower, lower_components
from .control import draw_test, lower_test, restore
from .data import PREDICATE

if TYPE_CHECKING:
    from ..assembler import Assembler
    from ..canvas import Canvas, Ends
    from ..composition import Composition, Part

# --- a number of times ---------------------------------------------------------------------------


def repeat(count: int, *parts: Part) -> Composition:
    """The parts in sequence, `count` times."""
    return build(REPEAT, count=count, components=parts)


def _lower_repeat(a: Assembler, node: Composition) -> None:
    a.emit(i.Repeat, count=node.arguments["count"])
    end, start = a.label(), a.here()
    a.emit(i.Count, otherwise=end)
    lower_components(a, node)
    a.emit(i.Jump, to=start)
    a.place(end)


REPEAT: Final = define(
    Row(
        type="repeat",
        name="repeat",
        arguments={"count": Argument(COUNT), **COMPONENTS},
        lower=_lower_repeat,
        title=lambda args: f"repeat {args['count']}x",
        effect=Effect.NONE,
    )
)


# --- while a test holds --------------------------------------------------------------------------


def loop(test: Part, body: Part) -> Composition:
    """The body on the value, again and again while `test` holds for the value."""
    return build(LOOP, test=test, body=body)


def loop_nosave(test: Part, body: Part) -> Composition:
    """Like `loop`, but the body takes the test's result, and so does the next part."""
    return build(LOOP_NOSAVE, test=test, body=body)


while_nosave = loop_nosave


def doloop(body: Part, test: Part) -> Composition:
    """The body, again while `test` holds for its result."""
    return build(DOLOOP, body=body, test=test)


def doloop_nosave(body: Part, test: Part) -> Composition:
    """Like `doloop`, but the body takes the test's result, and so does the next part."""
    return build(DOLOOP_NOSAVE, body=body, test=test)


def _lower_loop(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    saved = lower_test(a, "test", node, end)
    restore(a, saved)
    lower(a, "body", node.arguments["body"])
    a.emit(i.Jump, to=start)
    a.place(end)
    restore(a, saved)


def _lower_loop_nosave(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    lower(a, "test", node.arguments["test"])
    a.emit(i.Branch, otherwise=end)
    lower(a, "body", node.arguments["body"])
    a.emit(i.Jump, to=start)
    a.place(end)


def _lower_doloop(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    lower(a, "body", node.arguments["body"])
    saved = lower_test(a, "test", node, end)
    restore(a, saved)
    a.emit(i.Jump, to=start)
    a.place(end)
    restore(a, saved)


def _lower_doloop_nosave(a: Assembler, node: Composition) -> None:
    end, start = a.label(), a.here()
    lower(a, "body", node.arguments["body"])
    lower(a, "test", node.arguments["test"])
    a.emit(i.Branch, otherwise=end)
    a.emit(i.Jump, to=start)
    a.place(end)


def _draw_loop(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    test: Composition = node.arguments["test"]
    choice = draw_test(canvas, test, ends)
    first = canvas.size
    back = draw(canvas, node.arguments["body"], [(choice, "while")])
    if canvas.size > first:
        start = choice if test.row is PREDICATE else canvas.entered(ends) or choice
        for end, label in back:
            canvas.edge(end, start, label)
    return [(choice, "done")]


def _draw_doloop(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    start = canvas.leaf("", ends, "point")
    body = draw(canvas, node.arguments["body"], start)
    choice = draw_test(canvas, node.arguments["test"], body)
    canvas.edge(choice, start[0][0], "again")
    return [(choice, "done")]


_LOOP = {"test": Argument(PART), "body": Argument(PART)}
_DOLOOP = {"body": Argument(PART), "test": Argument(PART)}

LOOP: Final = define(
    Row(
        type="while",
        name="loop",
        arguments=_LOOP,
        lower=_lower_loop,
        draw=_draw_loop,
        effect=Effect.NONE,
    )
)
LOOP_NOSAVE: Final = define(
    Row(
        type="while_nosave",
        name="loop_nosave",
        arguments=_LOOP,
        lower=_lower_loop_nosave,
        draw=_draw_loop,
        effect=Effect.NONE,
    )
)
DOLOOP: Final = define(
    Row(
        type="dowhile",
        name="doloop",
        arguments=_DOLOOP,
        lower=_lower_doloop,
        draw=_draw_doloop,
        effect=Effect.NONE,
    )
)
DOLOOP_NOSAVE: Final = define(
    Row(
        type="dowhile_nosave",
        name="doloop_nosave",
        arguments=_DOLOOP,
        lower=_lower_doloop_nosave,
        draw=_draw_doloop,
        effect=Effect.NONE,
    )
)
