"""The common parts of sending CloudEvents to an embedded engine and to a server."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol

from ...actions import ConflictError, InvalidError
from ...composer import MAX_DEPTH, flaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...composer import JSON
    from .listings import Document

ID_BYTES = 16
ARGUMENTS = (
    "id",
    "source",
    "type",
    "data",
)  # of `send_event`, which are not among its `attributes`


def event_with(
    type: str, data: JSON, source: str, id: str, attributes: dict[str, JSON] | None
) -> dict[str, JSON]:
    """The CloudEvent that the arguments of `send_event` describe, in the JSON format.

    Raises:
        InvalidError: an attribute is an argument of its own.
    """
    further = attributes or {}
    if twice := [name for name in ARGUMENTS if name in further]:
        raise InvalidError(
            f"'{twice[0]}' cannot be among the attributes: it is an argument of its own."
        )
    event: dict[str, JSON] = {
        "specversion": "1.0",
        "id": id or secrets.token_hex(ID_BYTES),
        "source": source,
        "type": type,
        **further,
    }
    return event if data is None else {**event, "data": data}


def checked(events: Sequence[Document]) -> list[Document]:
    """The CloudEvents, which are JSON.

    Raises:
        InvalidError: they are not. The text names the place.
    """
    made = [*events]
    if why := flaw(made, depth=MAX_DEPTH + 1):  # data has one level less, in an object in a list
        raise InvalidError(f"The CloudEvents must be JSON: {why}.")
    return made


def key_of(taken: Document) -> str:
    """The key of the one CloudEvent that was sent.

    Raises:
        ConflictError: another one has its source and its id.
    """
    if taken.get("conflicts"):
        raise ConflictError(
            "A CloudEvent with this source and this id, and with another content, was sent before: give this one "
            "another id."
        )
    return str(taken["keys"][0])


class Events(Protocol):
    """Sends CloudEvents, and tells what became of them."""

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

    async def event(self, key: str) -> Document:
        """What became of a CloudEvent: its `state`, and the triggers that it has fired.

        Raises:
            NotFoundError: none with this key was sent in the last seven days.
        """
