"""Values as texts: in the causes of errors, and in the results of States.Format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....values import measured
from ..state_errors import DATA_LIMIT_EXCEEDED, StatesError

if TYPE_CHECKING:
    from ....values import JSON

MAX_TEXT = 1 << 20  # about how many bytes a value may have that is made into a text


def json_text(value: JSON) -> str:
    """Compact JSON, as in the causes of AWS and in the results of States.JsonToString.

    Raises:
        StatesError: States.DataLimitExceeded, for a value of more than MAX_TEXT bytes or too deep.
    """
    _limited(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def java_text(value: JSON) -> str:
    """The text of Java's maps and lists: `{Arg1=1, Arg2=[]}`; strings have no quotes.

    Raises:
        StatesError: States.DataLimitExceeded, for a value of more than MAX_TEXT bytes or too deep.
    """
    _limited(value)
    return _java(value)


def _java(value: JSON) -> str:
    if type(value) is dict:
        return "{" + ", ".join(f"{key}={_java(member)}" for key, member in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(_java, value)) + "]"
    return value if type(value) is str else json.dumps(value)


def _limited(value: JSON) -> None:
    if measured(value, MAX_TEXT) > MAX_TEXT:
        raise StatesError(
            DATA_LIMIT_EXCEEDED,
            f"A value of more than {MAX_TEXT} bytes, or too deep, cannot be made into a text.",
        )
