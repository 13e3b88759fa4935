"""The limits of an activation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..composer import Bound
from .errors import InvalidError
from .unknown_fields import refuse_mistakes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..composer import JSON


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an activation. Those of a composition apply to its inline functions.

    `concurrency` is the number of activations that may share a worker: https://github.com/apache/openwhisk/blob/master/docs/intra-concurrency.md
    `concurrent` is the number of activations of the action that run at the same time, `per_minute` the number that
    begin in a minute, evenly; the others wait. None is for any number.
    """

    timeout_ms: int = 60_000
    memory_mb: int = 256
    logs_mb: int = 10
    concurrency: int = 1
    concurrent: int | None = None
    per_minute: int | None = None

    @property
    def waits(self) -> bool:
        """True if activations of the action wait for each other."""
        return self.concurrent is not None or self.per_minute is not None

    @property
    def bound(self) -> Bound:
        """The numbers of the limit that waits."""
        return Bound(self.concurrent, self.per_minute)

    def to_json(self) -> dict[str, JSON]:
        return {
            **self.bound.to_json(),
            "concurrency": self.concurrency,
            "logs": self.logs_mb,
            "memory": self.memory_mb,
            "timeout": self.timeout_ms,
        }

    def to_list(self) -> list[JSON]:
        """Its values in the order of `LIMITS`, as records and executions keep them; those that wait only if set."""
        kept: list[JSON] = [self.concurrency, self.logs_mb, self.memory_mb, self.timeout_ms]
        return [*kept, self.concurrent, self.per_minute] if self.waits else kept

    @classmethod
    def from_json(cls, doc: JSON, longest_ms: int | None = None) -> Limits:
        """Reads what `to_json` wrote, or part of it.

        Raises:
            InvalidError: a limit is out of bounds. The message names it.
        """
        return changed(doc, cls(), longest_ms)


DEFAULT = Limits()
BOUNDS = {  # field: (attribute, least, most, unit), as OpenWhisk has them
    "timeout": ("timeout_ms", 100, 300_000, " milliseconds"),
    "memory": ("memory_mb", 128, 512, " MB"),
    "logs": ("logs_mb", 0, 10, " MB"),
    "concurrency": ("concurrency", 1, 500, ""),
    "concurrent": ("concurrent", 1, 1_000_000, ""),
    "per_minute": ("per_minute", 1, 1_000_000, ""),
}
WAITING = ("concurrent", "per_minute")  # null removes them
LIMITS = ("concurrency", "logs", "memory", "timeout", *WAITING)  # as `Limits.to_list` has them


def named_limits(values: Sequence[JSON]) -> dict[str, JSON]:
    """The limits of a list that `Limits.to_list` made, by their names, without those that are not set."""
    return {name: value for name, value in zip(LIMITS, values, strict=False) if value is not None}


def changed(doc: JSON, before: Limits, longest_ms: int | None = None) -> Limits:
    """Returns limits with the values that a document sets.

    Args:
        doc: the document.
        before: the limits to change.
        longest_ms: the longest allowed timeout, if it differs from that of code.

    Raises:
        InvalidError: a limit is out of bounds or misspelt. The message names it.
    """
    if doc is None:
        return before
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\n'limits' must be an object")
    refuse_mistakes(doc, tuple(BOUNDS), "limits")
    changes: dict[str, Any] = {}
    for name, value in doc.items():
        if name in WAITING and value is None:
            changes[name] = None
        if name not in BOUNDS or value is None:
            continue
        attribute, least, most, unit = BOUNDS[name]
        if name == "timeout" and longest_ms is not None:
            most = longest_ms
        if type(value) is not int:
            raise InvalidError(f"The request content was malformed:\nlimit '{name}' must be an int")
        if value > most:
            raise InvalidError(f"{name} {value}{unit} exceeds allowed threshold of {most}{unit}")
        if value < least:
            raise InvalidError(f"{name} {value}{unit} is below allowed threshold of {least}{unit}")
        changes[attribute] = value
    return replace(before, **changes)
