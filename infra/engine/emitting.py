"""What the server adds to a CloudEvent that a composition emits."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from ...composer import HOPS, CloudEvent

if TYPE_CHECKING:
    from ...composer import JSON, Emit
    from .live import LiveExecution


def emitted(run: LiveExecution, command: Emit) -> CloudEvent:
    """The CloudEvent of a step: from its execution, unless the composition says otherwise.

    The number of CloudEvents that have led to it is known by the origin of the execution, which no input can change.
    """
    origin, given = run.origin, command.attributes
    added: dict[str, JSON] = {
        "source": f"/xingqiao/{quote(origin.namespace)}/{quote(origin.action.listed_as.path)}",
        "subject": run.id,
        "traceparent": f"00-{origin.trace or run.id}-{str(given['id'])[-16:]}-01",
    }
    counted: dict[str, JSON] = {HOPS: origin.hops} if origin.hops else {}
    return CloudEvent({**added, **given, **counted}, command.content)


def hops_after(event: CloudEvent) -> int:
    """The number of CloudEvents that have led to the executions that this one starts."""
    hops = event.attributes.get(HOPS)
    return 1 + max(0, hops) if isinstance(hops, int) else 1
