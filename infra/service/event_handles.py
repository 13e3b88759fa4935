"""CloudEvents sent to an embedded engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import read_cloud_events
from ..handles import checked, event_with, key_of
from .handles import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...composer import JSON
    from ..engine import Engine
    from ..handles import Document


class EmbeddedEvents:
    """Sends CloudEvents to an embedded engine, and tells what became of them."""

    engine: Engine

    async def send_event(  # noqa: PLR0913  a CloudEvent has as many sides
        self,
        type: str,
        data: JSON = None,
        *,
        source: str,
        id: str = "",
        attributes: dict[str, JSON] | None = None,
        wait: bool = False,
    ) -> str:
        """Sends a CloudEvent. Returns its key once it is durable; the triggers that it fits fire afterwards.

        Args:
            type: what happened, such as `com.example.order.placed`.
            data: any JSON.
            source: where it happened, such as `/shop`. Source and id name a CloudEvent: a second one is not taken.
            id: by which the CloudEvent is taken once; "" for a new one.
            attributes: further attributes, such as `subject`, `time` and extensions.
            wait: True to wait until the triggers have fired, durably too.

        Raises:
            InvalidError: an attribute is malformed; the text names it.
            ForbiddenError: the type or the source is reserved.
            TooLargeError: the CloudEvent is larger than 1 MiB.
            ConflictError: another CloudEvent with this source and id was sent before.
            ThrottledError: too many CloudEvents wait for their triggers.
        """
        event = event_with(type, data, source, id, attributes)
        return key_of(await self.send_events([event], wait=wait))

    async def send_events(self, events: Sequence[Document], *, wait: bool = False) -> Document:
        """Sends CloudEvents in the JSON format, up to 1,000 and 8 MiB. They fire triggers in this order.

        Args:
            events: the CloudEvents, each with `specversion`, `id`, `source` and `type`.
            wait: True to wait until the triggers have fired, durably too.

        Returns:
            `{"accepted", "duplicates", "keys"}`, once they are durable: how many are new, how many were sent before,
            and the keys of all; `conflicts` too if some were sent before with another content.

        Raises:
            InvalidError: a CloudEvent is malformed; the text names its index and the attribute.
            ForbiddenError: a type or a source is reserved.
            TooLargeError: there are too many, or they are too large.
            ThrottledError: too many CloudEvents wait for their triggers.
        """
        docs = orjson.loads(
            orjson.dumps(checked(events))
        )  # the program may change its own meanwhile
        taken = await self.engine.events.accept(NAMESPACE, read_cloud_events(docs))
        if wait:
            await self.engine.events.settled(NAMESPACE, taken.keys)
        return taken.to_json()

    async def event(self, key: str) -> Document:
        """What became of a CloudEvent: its `state`, and the triggers that it has fired.

        Raises:
            NotFoundError: none with this key was sent in the last seven days.
        """
        return await self.engine.events.get(NAMESPACE, key)
