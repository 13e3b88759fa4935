"""The rules for the attributes of a CloudEvent, and for those that a composition emits.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md#context-attributes
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..values import JSON

VERSION: Final = "1.0"
REQUIRED: Final = ("specversion", "id", "source", "type")
OPTIONAL: Final = ("subject", "time", "datacontenttype", "dataschema")
DATA, DATA_BASE64 = "data", "data_base64"
MAX_ATTRIBUTE: Final = 8_192  # characters of an attribute
MAX_ATTRIBUTES: Final = 100
MAX_EVENT_BYTES: Final = 1 << 20  # bytes of a CloudEvent
RESERVED_EVENTS: Final = {
    "type": ("xingqiao.", "io.serverlessworkflow."),
    "source": ("/xingqiao/",),
}
HOPS: Final = "xqhops"  # how many CloudEvents have led to this one
ADDED: Final = 10  # attributes that may be added to those that a composition gives

_NAME = re.compile(r"[a-z0-9]{1,64}")
_MOST, _LEAST = (1 << 31) - 1, -(1 << 31)
_LAST_OF_PLANES = "".join(
    chr((plane << 16) + last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
# Characters that a string must not have (section "Type System"): controls, surrogates, noncharacters.
_NOT_ALLOWED = re.compile(
    f"[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufdd0-\\ufdef{_LAST_OF_PLANES}]"
)
_SET = {
    "specversion": "it is always 1.0",
    "id": "it is the activation id of the step",
    "time": "it is the time of the step",
    HOPS: "the server counts it",
    DATA_BASE64: "give 'data'",
}


def attribute_flaw(name: str, value: JSON) -> str | None:
    """What is wrong with an attribute of a CloudEvent; None if nothing is."""
    if (flaw := name_flaw(name)) is not None:
        return flaw
    if name in REQUIRED + OPTIONAL and not (isinstance(value, str) and value):
        return f"The attribute {name!r} of a CloudEvent must be a string that is not empty, not {value!r:.100}."
    if isinstance(value, str):
        if len(value) > MAX_ATTRIBUTE or _NOT_ALLOWED.search(value):
            return (
                f"The attribute {name!r} of a CloudEvent must be up to {MAX_ATTRIBUTE} characters, without control "
                "characters and surrogates."
            )
    elif not (isinstance(value, bool) or (isinstance(value, int) and _LEAST <= value <= _MOST)):
        return f"The attribute {name!r} of a CloudEvent must be a string, a boolean or a 32-bit integer, not {value!r:.100}."
    return None


def name_flaw(name: str) -> str | None:
    """What is wrong with the name of an attribute; None if nothing is."""
    if _NAME.fullmatch(name):
        return None
    return f"The name of an attribute of a CloudEvent must be 1 to 64 of a-z and 0-9, not {name!r:.100}."


def reserved_attribute(attributes: Mapping[str, Any]) -> str | None:
    """The attribute whose value only the service itself may use: RESERVED_EVENTS has the prefixes; None if there is none."""
    for name, prefixes in RESERVED_EVENTS.items():
        if str(attributes.get(name, "")).startswith(prefixes):
            return name
    return None


def emission_flaw(event: JSON, unknown: Collection[str] = ()) -> str | None:
    """Why a composition cannot emit this CloudEvent; None if it can.

    `unknown` are the members whose values are not known yet.
    """
    if not isinstance(event, dict):
        return f"A CloudEvent must be an object with a 'type', not {event!r:.100}."
    if event.get("type") is None and "type" not in unknown:
        return "A CloudEvent needs a 'type'."
    if len(event) > MAX_ATTRIBUTES - ADDED:
        return f"A composition may give {MAX_ATTRIBUTES - ADDED} attributes, not {len(event)}."
    known: dict[str, JSON] = {}
    for name, value in event.items():
        if name in _SET:
            return f"A composition cannot give the attribute {name!r}: {_SET[name]}."
        if name == DATA:
            continue
        if name in unknown or value is None:  # null: it is not there (JSON format, 2.2)
            flaw = name_flaw(name)
        else:
            flaw, known[name] = attribute_flaw(name, value), value
        if flaw is not None:
            return flaw
    if (reserved := reserved_attribute(known)) is not None:
        prefixes = " or ".join(map(repr, RESERVED_EVENTS[reserved]))
        return f"The {reserved} of a CloudEvent cannot begin with {prefixes}."
    return None


def timestamp(ms: int) -> str:
    """The instant as the attribute `time` has it (RFC 3339)."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
