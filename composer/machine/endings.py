"""The last entry of a history: how an execution has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import CANCELLED, Success
from . import history
from .fiber import ROOT
from .history import Entry

if TYPE_CHECKING:
    from ..values import JSON, Outcome
    from .fiber import Fiber


def ending(root: Fiber, outcome: Outcome, detail: dict[str, JSON], now_ms: int) -> Entry:
    """The entry for the outcome of an execution, with the detail that its language adds."""
    if isinstance(outcome, Success):
        return Entry(now_ms, ROOT, root.turn, history.EXECUTION_SUCCEEDED, detail, outcome.value)
    if outcome.code == CANCELLED:
        return Entry(now_ms, ROOT, root.turn, history.EXECUTION_CANCELLED, detail, outcome.error)
    detail = {**detail, **outcome.detail, "origin": root.origin}
    return Entry(now_ms, ROOT, root.turn, history.EXECUTION_FAILED, detail, outcome.error)
