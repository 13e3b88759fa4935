"""Actions that workers outside run: the `exec` that says in which queue their tasks wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import CompositionError
from ..expressions import Template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..values import JSON

TEMPLATES: Final = ("key", "priority", "version")
OPTIONS: Final = (*TEMPLATES, "attempts", "concurrent", "heartbeat", "per_minute", "to_start")


def queued(queue: Any, options: Mapping[str, Any]) -> dict[str, JSON]:
    """The `exec` of an action whose tasks wait in a queue. The server checks the values of options.

    Raises:
        CompositionError: an option is unknown, or the queue is not a text.
        ExpressionError: a value is neither JSON nor a selector.
    """
    if not isinstance(queue, str) or not queue:
        raise CompositionError(f"action: 'queue' must be the name of a queue, not {queue!r}")
    made: dict[str, JSON] = {"kind": "queue", "queue": queue}
    for name, value in options.items():
        if name not in OPTIONS:
            known = ", ".join(f"'{option}'" for option in OPTIONS)
            raise CompositionError(
                f"action: '{name}' does not go with 'queue', which takes {known}"
            )
        if value is None:
            continue
        made[name] = Template.of(value).to_json() if name in TEMPLATES else value
    return made
