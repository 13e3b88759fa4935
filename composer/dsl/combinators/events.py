"""A combinator for CloudEvents: emit one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...cloudevents import emission_flaw
from ...machine import instructions as i
from ..arguments import TEMPLATE, Argument, Kind
from ..composition import Row, build, define
from ..drawing import draw_data, words
from ..hosting import NO_EVENTS, never

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...expressions import Template
    from ..assembler import Assembler
    from ..composition import Composition


def emit(event: Any) -> Composition:
    """Emits a CloudEvent, which fires the triggers of this namespace that it fits; the value passes through.

    The CloudEvent is durable together with the step. It fails with `ExpressionError` if the template makes no
    CloudEvent.

    Args:
        event: a template for the CloudEvent: its `type`, its `data`, and its `subject`, its `source` and further
            attributes if you like. The id is the activation id of the step, the subject the id of the execution, and
            the source `/xingqiao/NAMESPACE/ACTION`. A member that is null is left out.
    """
    return build(EMIT, event=event)


def _take_event(value: Any) -> Template:
    template: Template = TEMPLATE.take(value)
    if template.selector is None:
        doc: Any = template.to_json()
        members = doc if isinstance(doc, dict) else {}
        unknown = {name for name, member in members.items() if _selects(member)}
        if why := emission_flaw(doc, unknown):
            raise ValueError(f"is not a template for a CloudEvent. {why}")
    return template


def _selects(member: Any) -> bool:
    return isinstance(member, dict) and "$path" in member


def _lower_emit(a: Assembler, node: Composition) -> None:
    a.emit(i.Emit, template=node.arguments["event"], path=a.path)


def _title(args: Mapping[str, Any]) -> str:
    template: Template = args["event"]
    doc: Any = template.to_json()
    return f"emit {words(doc if template.selector is not None else doc['type'])}"


_EVENT = Kind(_take_event, TEMPLATE.write, TEMPLATE.read, schema=TEMPLATE.schema)

EMIT: Final = define(
    Row(
        type="emit",
        name="emit",
        arguments={"event": Argument(_EVENT)},
        lower=_lower_emit,
        draw=draw_data,
        title=_title,
        unhosted=never(NO_EVENTS),
    )
)
