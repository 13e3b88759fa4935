"""A function on another cloud as an action of a function app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .remote import RemoteAction

if TYPE_CHECKING:
    from ..hosted.ports import Clock

LONGEST_MS = 570_000  # of a request: `host.json` gives the function itself ten minutes


def remote_action(doc: dict[str, Any], clock: Clock) -> RemoteAction:
    """The action that the bundler described."""
    return RemoteAction(doc, clock, LONGEST_MS)
