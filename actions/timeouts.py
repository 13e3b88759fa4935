"""The time limits that a start or an annotation sets for a run and for the chain of its runs, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON

RUN_TIMEOUT, EXECUTION_TIMEOUT = "run_timeout", "execution_timeout"
LONGEST_S = 10 * 366 * 24 * 3600


def timeout_ms(seconds: JSON) -> int | None:
    """A time limit in milliseconds; None if the value is not one."""
    if type(seconds) is not int and type(seconds) is not float:
        return None
    return max(1, round(seconds * 1000)) if 0 < seconds <= LONGEST_S else None


def checked_ms(seconds: JSON, where: str) -> int | None:
    """A time limit in milliseconds; None stands for no limit.

    Raises:
        InvalidError: the value is not a number of seconds, or too large.
    """
    limit_ms = timeout_ms(seconds)
    if limit_ms is None and seconds is not None:
        raise InvalidError(
            f"{where} must be a number of seconds > 0 and <= {LONGEST_S}, not {seconds!r:.80}."
        )
    return limit_ms


def check_annotations(annotations: Mapping[str, JSON]) -> None:
    """Checks the time limits in the annotations of an action.

    Raises:
        InvalidError: one is not valid. The message names it.
    """
    for name in (RUN_TIMEOUT, EXECUTION_TIMEOUT):
        checked_ms(annotations.get(name), f"The annotation '{name}'")
