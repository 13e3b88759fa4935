"""CloudEvents 1.0 from outside: their JSON format, and what a sender may not say.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md and formats/json-format.md
"""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import date
from typing import TYPE_CHECKING, Any

from ..composer import (
    DATA,
    DATA_BASE64,
    HOPS,
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    REQUIRED,
    RESERVED_EVENTS,
    VERSION,
    CloudEvent,
    attribute_flaw,
    nests_deeper,
    reserved_attribute,
)
from .errors import ForbiddenError, InvalidError, RefusedError, TooLargeError

if TYPE_CHECKING:
    from ..composer import JSON

MAX_EVENTS = 1_000  # of a batch
MAX_BATCH_BYTES = 8 << 20
OLDER_VERSIONS = ("0.1", "0.2", "0.3")
_HOPS = re.compile(r"[0-9]{1,9}")
# RFC 3339, section 5.6. The date, and whether the hour and the offset exist, are checked beside it.
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


class ReservedEventError(ForbiddenError):
    """The CloudEvent comes from outside, and has a type or a source that only the service itself may use."""

    code = "ReservedEvent"

    def __init__(self, text: str) -> None:
        super().__init__("")
        self.args = (text,)


def read_cloud_event(doc: Any, *, outside: bool = True) -> CloudEvent:
    """Reads the JSON format of a CloudEvent. One that comes from `outside` cannot have a reserved type or source.

    Raises:
        InvalidError: it is not one; the text names the attribute.
        ReservedEventError: its type or its source is reserved.
    """
    if nests_deeper(
        [doc], MAX_DEPTH + 1
    ):  # before an error shows a value: deep ones cannot be shown
        raise InvalidError(
            f"The data of a CloudEvent must not nest deeper than {MAX_DEPTH - 1} levels."
        )
    if not isinstance(doc, dict):
        raise InvalidError(f"A CloudEvent must be a JSON object, not {doc!r:.100}.")
    attributes = {name: value for name, value in doc.items() if name not in (DATA, DATA_BASE64)}
    # A member that is null is one that is not there (JSON format, 2.2).
    attributes = {name: value for name, value in attributes.items() if value is not None}
    content = {name: doc[name] for name in (DATA, DATA_BASE64) if doc.get(name) is not None}
    _check_attributes(attributes)
    if HOPS in attributes:
        attributes[HOPS] = _hops(attributes[HOPS])
    event = CloudEvent(attributes, content)
    _check_content(event)
    if outside:
        _check_outside(event)
    return event


def read_cloud_events(docs: Any) -> list[CloudEvent]:
    """Reads a batch of CloudEvents from outside, in the JSON format.

    Raises:
        InvalidError: one is malformed; the text names its index and the attribute.
        ReservedEventError: a type or a source is reserved.
        TooLargeError: they are more than 1,000.
    """
    if not isinstance(docs, list):
        raise InvalidError("A batch of CloudEvents must be a JSON list.")
    if len(docs) > MAX_EVENTS:
        raise TooLargeError(
            f"A batch may have {MAX_EVENTS} CloudEvents, not {len(docs)}: send several batches."
        )
    events = []
    for index, doc in enumerate(docs):
        try:
            events.append(read_cloud_event(doc))
        except RefusedError as error:
            error.args = (f"The CloudEvent at index {index} of the batch: {error}",)
            raise
    return events


def _check_attributes(attributes: dict[str, JSON]) -> None:
    version = attributes.get("specversion")
    if version is not None and version != VERSION:
        older = version in OLDER_VERSIONS
        hint = (
            " Have the sender use version 1.0: older ones have other attributes." if older else ""
        )
        raise InvalidError(
            f"The attribute 'specversion' of a CloudEvent must be \"{VERSION}\", not {version!r:.100}.{hint}"
        )
    for name in REQUIRED:
        value = attributes.get(name)
        if not isinstance(value, str) or not value:
            raise InvalidError(
                f"A CloudEvent must have the attribute {name!r}, a string that is not empty, not {value!r:.100}."
            )
    if len(attributes) > MAX_ATTRIBUTES:
        raise InvalidError(
            f"A CloudEvent may have {MAX_ATTRIBUTES} attributes, not {len(attributes)}."
        )
    for name, value in attributes.items():
        _check_attribute(name, value)


def _check_attribute(name: str, value: JSON) -> None:
    if (flaw := attribute_flaw(name, value)) is not None:
        raise InvalidError(flaw)
    if name == "time":
        _check_time(value)


def _hops(value: JSON) -> int:
    """The number, which a header holds as text."""
    found = _HOPS.fullmatch(str(value))
    if found is None:
        raise InvalidError(
            f"The attribute '{HOPS}' of a CloudEvent must be the number of CloudEvents that led to it, not {value!r:.100}."
        )
    return int(found[0])


def _check_time(value: JSON) -> None:
    found = _TIME.fullmatch(str(value))
    try:
        date.fromisoformat(found[1] if found else "")
    except ValueError:
        raise InvalidError(
            f"The attribute 'time' of a CloudEvent must be like 2026-11-23T08:30:00Z (RFC 3339), not {value!r:.100}."
        ) from None


def _check_content(event: CloudEvent) -> None:
    if len(event.content) > 1:
        raise InvalidError(
            "A CloudEvent cannot have both 'data' and 'data_base64': remove one of them."
        )
    if DATA_BASE64 in event.content:
        try:
            b64decode(event.content[DATA_BASE64], validate=True)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InvalidError("The member 'data_base64' of a CloudEvent must be base64.") from None


def _check_outside(event: CloudEvent) -> None:
    if (name := reserved_attribute(event.attributes)) is not None:
        raise ReservedEventError(
            f"The attribute {name!r} of a CloudEvent from outside must not begin with "
            f"{' or '.join(RESERVED_EVENTS[name])}: choose another {name}."
        )
