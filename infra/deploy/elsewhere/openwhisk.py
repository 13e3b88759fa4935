"""A function on another cloud as an action of an OpenWhisk host.

OpenWhisk has no queue that brings a message later, so the action itself waits between two requests, within its
time limit. Secrets come as default parameters of the action, which the function elsewhere does not receive.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from ..hosted.action_message import ActionMessage
from ..hosted.wrapper import delay_s
from .remote import RemoteAction
from .variables import SECRET

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....composer import JSON

LAST_S = 2  # before its own time limit the action gives up: then it can still answer


class SystemClock:
    """The time of the machine."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000


def elsewhere(
    folder: Path, wait: Callable[[float], object] | None = None
) -> Callable[[dict[str, Any]], dict[str, JSON]]:
    """The `main` of the action that `action.json` in a folder describes.

    `wait` waits for some seconds; None for the machine's time.
    """
    wait = wait or threading.Event().wait
    doc, clock = json.loads((folder / "action.json").read_text("utf-8")), SystemClock()
    longest_ms = doc["timeout_ms"] - 1000 * LAST_S
    action = RemoteAction(doc, clock, longest_ms)

    def main(params: dict[str, Any]) -> dict[str, JSON]:
        for name in [name for name in params if name.startswith(SECRET)]:
            value = params.pop(name)
            os.environ[name] = value if isinstance(value, str) else json.dumps(value)
        id = os.environ["__OW_ACTIVATION_ID"]
        answer = action.run(
            ActionMessage(
                token={"execution": id, "fiber": "0", "turn": 0},
                params=params,
                action=os.environ.get("__OW_ACTION_NAME", ""),
                activation=id,
                key=id,
                deadline_ms=clock.now_ms() + longest_ms,
                until_ms=None,
            ).to_json()
        )
        while answer["is"] == "relay":
            wait(delay_s(answer))
            again: Any = answer["message"]
            answer = action.run(again)
        outcome: Any = answer["outcome"]
        value = outcome.get("value", {"error": outcome.get("error")})
        return value if isinstance(value, dict) else {"value": value}

    return main
