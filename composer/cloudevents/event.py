"""A CloudEvent 1.0: what happened, told by somebody.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md and formats/json-format.md
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from ..freezing import frozen

if TYPE_CHECKING:
    from ..values import JSON

_text = json.JSONEncoder(ensure_ascii=False).encode


@frozen
class CloudEvent:
    """A CloudEvent.

    Args:
        attributes: by name: the four that it must have, those that it may have, and extensions.
        content: `{}`, `{"data": value}`, or `{"data_base64": text}` for bytes.
    """

    attributes: dict[str, JSON]
    content: dict[str, JSON]

    @property
    def id(self) -> str:
        return self.attributes["id"]  # type: ignore[return-value]

    @property
    def source(self) -> str:
        return self.attributes["source"]  # type: ignore[return-value]

    @property
    def type(self) -> str:
        return self.attributes["type"]  # type: ignore[return-value]

    @property
    def data(self) -> JSON:
        """Its data: base64 text for bytes, None if it has none."""
        return next(iter(self.content.values()), None)

    @property
    def key(self) -> str:
        """32 hexadecimal digits of its source and id, which name it: the same pair is the same CloudEvent."""
        named = f"[{_text(self.source)},{_text(self.id)}]"
        return sha256(named.encode()).hexdigest()[:32]

    @property
    def params(self) -> dict[str, JSON]:
        """What an action is given: the data, as `value` unless it is an object, and the attributes as `__ow_event`."""
        data = self.data
        given = data if isinstance(data, dict) else {"value": data} if self.content else {}
        return {**given, "__ow_event": {**self.attributes}}

    def to_json(self) -> dict[str, JSON]:
        """The JSON format."""
        return {**self.attributes, **self.content}
