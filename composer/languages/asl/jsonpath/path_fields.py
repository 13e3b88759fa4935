"""The fields of states that take a number, a time or an array from a path: SecondsPath, ItemsPath and others.

The texts of the errors are AWS' as recorded, except those of a negative MaxConcurrency, of the timeouts
(TimeoutSecondsPath, HeartbeatSecondsPath) and of a TimestampPath that finds nothing, which no case shows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from ....expressions.nodes import Missing
from ..state_errors import RUNTIME, StatesError
from .fields import selected_by
from .texts import json_text
from .timestamps import nanoseconds

_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}(?:\.[0-9]{1,20})?")
MAX_SECONDS = 99_999_999  # of a wait or a timeout: AWS' bound on the values in definitions

if TYPE_CHECKING:
    from ....values import JSON
    from .paths import Scope
    from .references import ReferencePath


def _refuse(cause: str) -> NoReturn:
    raise StatesError(RUNTIME, cause)


def _shown(value: JSON) -> str:
    return value if type(value) is str else json_text(value)


def wait_seconds(path: ReferencePath, scope: Scope) -> int:
    """SecondsPath of a Wait state: whole seconds, 0 or more.

    Raises:
        StatesError: States.Runtime for anything else.
    """
    return _seconds("SecondsPath", path, _waited("SecondsPath", path, scope), 0)


def wait_until(path: ReferencePath, scope: Scope) -> int:
    """TimestampPath of a Wait state: the instant, in nanoseconds since 1970-01-01T00:00:00Z.

    Raises:
        StatesError: States.Runtime for anything else.
    """
    value = _waited("TimestampPath", path, scope)
    instant = nanoseconds(value) if type(value) is str else None
    if instant is None:
        _refuse(
            "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time "
            f"format string: {path.text} == {_shown(value)}"
        )
    return instant


def timeout_seconds(field: str, path: ReferencePath, scope: Scope) -> int:
    """TimeoutSecondsPath or HeartbeatSecondsPath: whole seconds, 1 or more.

    Raises:
        StatesError: States.Runtime for anything else.
    """
    return _seconds(field, path, selected_by(path.path, scope), 1)


def whole_number(field: str, path: ReferencePath, scope: Scope) -> int:
    """MaxConcurrencyPath, ToleratedFailureCountPath, MaxItemsPath, ...; the bounds are `bounded_count`'s.

    A text of digits is the number, as on AWS.

    Raises:
        StatesError: States.Runtime for a value that is not an integer.
    """
    value = selected_by(path.path, scope)
    if type(value) is int:
        return value
    if type(value) is str and _INTEGER.fullmatch(value):
        return int(value)
    return _no_number(field, path, value, "integer")


def percentage(field: str, path: ReferencePath, scope: Scope) -> float:
    """ToleratedFailurePercentagePath; the bounds are `bounded_percentage`'s.

    A text that is a number is the number, as on AWS.

    Raises:
        StatesError: States.Runtime for a value that is not a number.
    """
    value = selected_by(path.path, scope)
    if type(value) is int or type(value) is float:
        return float(value)
    if type(value) is str and _NUMBER.fullmatch(value):
        return float(value)
    return _no_number(field, path, value, "float")


def bounded_count(field: str, count: int) -> int:
    """A MaxConcurrency or ToleratedFailureCount, which AWS checks when the Map state has started.

    Raises:
        StatesError: States.Runtime if it is negative.
    """
    return count if count >= 0 else _refuse(f"{field} cannot be negative.")


def bounded_percentage(field: str, percent: float) -> float:
    """A ToleratedFailurePercentage, which AWS checks when the Map state has started.

    Raises:
        StatesError: States.Runtime if it is not between 0 and 100.
    """
    return percent if 0 <= percent <= 100 else _refuse(f"{field} must be between 0 and 100.")  # noqa: PLR2004


def items(path: ReferencePath, scope: Scope) -> list[JSON]:
    """ItemsPath of a Map state.

    Raises:
        StatesError: States.Runtime for a value that is not an array, States.ReferencePathConflict for no value.
    """
    found = path.get(scope)
    if type(found) is not list:
        _refuse(f'Reference path "{path.path.inner}" must point to array.')
    return found


def _waited(field: str, path: ReferencePath, scope: Scope) -> JSON:
    found = path.find(scope)
    if isinstance(found, Missing):
        _refuse(f"The {field} parameter does not reference an input value: {path.text}")
    return found


def _seconds(field: str, path: ReferencePath, value: JSON, least: int) -> int:
    if type(value) is not int:
        _refuse(
            f"The {field} parameter cannot be parsed as a long value: {path.text} == {_shown(value)}"
        )
    if value < least:
        which = "zero" if value == 0 else "a negative value"
        _refuse(f"The {field} parameter references {which}: {path.text} == {value}")
    if value > MAX_SECONDS:
        what = f"a value of more than {MAX_SECONDS}"
        _refuse(f"The {field} parameter references {what}: {path.text} == {value}")
    return value


def _no_number(field: str, path: ReferencePath, value: JSON, kind: str) -> NoReturn:
    _refuse(
        f'The {field} field refers to value "{_shown(value)}" which is not a valid {kind}: {path.text}'
    )
