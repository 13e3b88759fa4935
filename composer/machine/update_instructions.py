"""The instructions of updates; see `updating`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..expressions import Predicate, Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Serve:
    """Pushes a Serving frame, and goes on at `to`: updates of these names are handled until the frame is popped.

    Args:
        targets: where the handler of each update begins; it ends at an End.
        validators: predicates over the payload and the main line's variables, by name.
        sets: templates for variables of the main line, by name of the update.
        answers: templates for the answers, by name; a result without one is the answer.
    """

    targets: dict[str, int]
    to: int
    path: str
    validators: dict[str, Predicate]
    sets: dict[str, dict[str, Template]]
    answers: dict[str, Template]


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Pops the Serving frame: updates that are under way fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Waits until the predicate holds: it is evaluated again whenever an update sets variables."""

    predicate: Predicate
    path: str
