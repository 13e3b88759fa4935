"""A function on another cloud as a Lambda function of a bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..hosted.aws_actions import SystemClock, answering
from .remote import RemoteAction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from ....composer import JSON

LONGEST_MS = 880_000  # of a request: the function itself has 15 minutes


def elsewhere(path: Path) -> Callable[[dict[str, Any], object], None]:
    """The handler of the action that a file describes."""
    made: list[RemoteAction] = []

    def run(message: Mapping[str, JSON]) -> dict[str, JSON]:
        if not made:  # once the secrets are in the environment
            doc = json.loads(path.read_text("utf-8"))
            made.append(RemoteAction(doc, SystemClock(), LONGEST_MS))
        return made[0].run(message)

    return answering(run)
