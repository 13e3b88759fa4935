"""The combinator that starts a child: an execution with an id and an end of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...expressions import Template, path
from ...machine import instructions as i
from ..arguments import FLAG, NAME, TEMPLATE, Argument, choice, optional
from ..composition import Composition, Row, build, define
from ..hosting import NO_STORE, never

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..assembler import Assembler
    from ..canvas import Canvas, Ends

ON_OPEN: Final = choice("fail", "use", "same", "terminate")
ON_CLOSED: Final = choice("allow", "allow_failed", "reject")
CLOSE: Final = choice("terminate", "cancel", "abandon")
ON_CANCEL: Final = choice("wait", "try", "abandon")
_ALL: Final = Template.of(path("$"))


def child(  # noqa: PLR0913  a child has as many sides
    action: str,
    params: Any = None,
    *,
    id: Any = None,
    on_open: str = "fail",
    on_closed: str = "allow",
    close: str = "terminate",
    on_cancel: str = "wait",
    wait: bool = True,
) -> Composition:
    """Starts an action as an execution of its own; its result is the result.

    If the child fails, this part fails with `ChildFailed`: the error has the child's `id`, `run`, `code` and
    `error`. If an execution has the id already, the failure is `AlreadyStarted` or `AlreadyCompleted`.

    Args:
        action: the name of the action.
        params: the parameters, a template; None for the value.
        id: your id for the child, a template that makes a text; None for a child without an id.
        on_open: what happens if an execution with the id is open: `fail`, `use` it, use it if it has the
            `same` action and parameters, or `terminate` it and start.
        on_closed: what happens if the newest execution with the id has ended: `allow` the start, allow it
            only if that has failed (`allow_failed`), or `reject` it.
        close: what happens to the child when this execution ends: `terminate` it at once, `cancel` it, or
            `abandon` it, which leaves it running.
        on_cancel: what happens when this part is cancelled while it waits: `wait` asks the child to stop and
            waits until it has ended, `try` asks and goes on at once, `abandon` leaves the child alone.
        wait: False to go on as soon as the child has started; then the result is `{"executionId", "id"}`.

    Raises:
        CompositionError: an argument is wrong; the text names it and the remedy.
    """
    return build(
        CHILD, name=action, params=params, id=id, on_open=on_open, on_closed=on_closed,
        close=close, on_cancel=on_cancel, wait=wait,
    )  # fmt: skip


def _check(arguments: Mapping[str, Any]) -> Iterable[str]:
    for name, usual in (("on_open", "fail"), ("on_closed", "allow")):
        if arguments[name] != usual and arguments["id"] is None:
            yield f"'{name}' needs an 'id'"
    if arguments["on_cancel"] != "wait" and not arguments["wait"]:
        yield "'on_cancel' says how a wait ends: remove it, or wait for the child"


def _lower(a: Assembler, node: Composition) -> None:
    args = node.arguments
    made: dict[str, Any] = {"params": _ALL if args["params"] is None else args["params"]}
    if args["id"] is not None:
        made["id"] = args["id"]
    a.emit(
        i.Adopt, action=a.action(args["name"]), message=Template.joined(made), path=a.path,
        wait=args["wait"], on_open=args["on_open"], on_closed=args["on_closed"],
        close=args["close"], on_cancel=args["on_cancel"],
    )  # fmt: skip


def _draw(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    return canvas.leaf(f"child {node.arguments['name'].removeprefix('/_/')}", ends)


CHILD: Final = define(
    Row(
        type="child",
        name="child",
        arguments={
            "name": Argument(NAME),
            "params": Argument(optional(TEMPLATE), None),
            "id": Argument(optional(TEMPLATE), None),
            "on_open": Argument(ON_OPEN, "fail"),
            "on_closed": Argument(ON_CLOSED, "allow"),
            "close": Argument(CLOSE, "terminate"),
            "on_cancel": Argument(ON_CANCEL, "wait"),
            "wait": Argument(FLAG, True),
        },
        check=_check,
        lower=_lower,
        draw=_draw,
        unhosted=never(NO_STORE),
    )
)
