"""The combinator that ends a run and has the next run of its chain begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...expressions import Selector, Template
from ...machine import instructions as i
from ..arguments import NAME, TEMPLATE, Argument, optional
from ..composition import Row, build, define
from ..drawing import draw_data
from ..hosting import NO_KEY, never

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..assembler import Assembler
    from ..composition import Composition

_INPUT = Template.of(Selector())


def continue_as_new(template: Any = None, action: str | None = None) -> Composition:
    """Ends this run of the execution; the next run begins in the same commit. Nothing after this part runs.

    The next run has the same id of yours, and a history of its own. Messages that were not received yet,
    attributes, the memo and open children go along. Whoever waits for the execution hears of its last run.

    Args:
        template: makes the input of the next run; None for the value.
        action: the name of another composition that goes on; None for this one, as it is deployed then.

    Raises:
        CompositionError: an argument is wrong; the text names it and the remedy.
    """
    return build(CONTINUE, template=template, name=action)


def _lower(a: Assembler, node: Composition) -> None:
    args = node.arguments
    a.emit(
        i.Restart,
        template=_INPUT if args["template"] is None else args["template"],
        action="" if args["name"] is None else a.action(args["name"]),
        path=a.path,
    )


def _title(args: Mapping[str, Any]) -> str:
    name = args["name"]
    return "continue as new" if name is None else f"continue as {name.removeprefix('/_/')}"


CONTINUE: Final = define(
    Row(
        type="continue_as_new",
        name="continue_as_new",
        arguments={
            "template": Argument(optional(TEMPLATE), None),
            "name": Argument(optional(NAME), None),
        },
        lower=_lower,
        draw=draw_data,
        title=_title,
        continues=True,
        unhosted=never(NO_KEY),
    )
)
