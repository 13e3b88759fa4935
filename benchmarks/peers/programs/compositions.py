"""The work as compositions of Xingqiao, in process and over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xingqiao import composer
from xingqiao.composer import path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xingqiao.composer import Composition

    from ..work import Recovery, Work

SLOW = "ten-slow"  # the name of the composition of a recovery
MAILBOX = "mailbox"  # the name of the composition that waits for a message


def compositions(works: Sequence[Work], recovery: Recovery) -> dict[str, Composition]:
    """By name, the compositions that do this work with the actions `nothing` and `slow`."""
    return {
        **{work.name: _composition(work) for work in works},
        SLOW: composer.sequence(*["slow"] * recovery.steps),
        MAILBOX: composer.receive("go"),
    }


def _composition(work: Work) -> Composition:
    if work.shape == "fanout":
        return composer.map("nothing", items=path("$.items"))
    return composer.sequence(*["nothing"] * work.n)


def params(work: Work) -> dict[str, Any]:
    """What the composition takes."""
    return {"items": work.expected} if work.shape == "fanout" else work.payload
