"""Wraps an action: reads the conductor's message, runs the action, and answers with another message.

A message is an `ActionMessage`, perhaps with the state of its execution, `carried`; the conductor `receive`s
the answer. After the instant `until` the conductor no longer waits for the message: if it is delivered later,
it is dropped. So an action is done, and paid for, the moment it returns. An action's function starts cold with
this module, `action_message` and `user_code`: without `composer`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .action_message import ActionMessage, completion_token
from .user_code import define, define_folder, run_action, set_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ....composer import JSON

log = logging.getLogger(__name__)

RETURNED = ("token", "carried")  # the conductor gets these back as they came


def completed(message: Mapping[str, JSON], outcome: dict[str, JSON]) -> dict[str, JSON]:
    """The answer to the conductor."""
    returned = {name: message[name] for name in RETURNED if name in message}
    return {"is": "completed", **returned, "outcome": outcome}


def relay(message: Mapping[str, JSON], delay_s: int) -> dict[str, JSON]:
    """The answer that has the conductor invoke the action again with this message, after some seconds."""
    return {"is": "relay", "delay": delay_s, "message": dict(message)}


def delay_s(answer: Mapping[str, JSON]) -> int:
    """The seconds by which a queue must hold an answer back."""
    delay = answer.get("delay", 0)
    return delay if isinstance(delay, int) else 0


def is_late(message: Mapping[str, JSON], now_ms: int) -> bool:
    """True if the conductor has stopped waiting for this message: its action must not run any more."""
    asked = ActionMessage.from_json(message)
    if asked.until_ms is None or now_ms <= asked.until_ms:
        return False
    log.warning(
        "%s of execution %s was delivered %d ms after the conductor stopped waiting; it is not run",
        asked.action, asked.token["execution"], now_ms - asked.until_ms,
    )  # fmt: skip
    return True


class Wrapped:
    """An action with its wrapper.

    Args:
        load: loads its function, when it is first invoked.
    """

    def __init__(self, load: Callable[[], Callable[..., JSON]]) -> None:
        self._load = load
        self._function: Callable[..., JSON] | None = None

    @classmethod
    def of_source(cls, name: str, source: str, main: str) -> Wrapped:
        """The action in a text; the name is for tracebacks."""
        return cls(lambda: define(name, source, main))

    @classmethod
    def of_path(cls, path: Path, main: str) -> Wrapped:
        """The action in a file, or in a folder with a `__main__.py`."""
        if path.is_dir():
            return cls(lambda: define_folder(str(path), main))
        return cls.of_source(path.stem, path.read_text("utf-8"), main)

    def run(self, message: Mapping[str, JSON]) -> dict[str, JSON]:
        """Runs the action once. Returns the answer to send."""
        asked = ActionMessage.from_json(message)
        set_environment(
            {
                "__OW_ACTION_NAME": asked.action,
                "__OW_NAMESPACE": "_",
                "__OW_ACTIVATION_ID": asked.activation,
                "__OW_TRANSACTION_ID": str(asked.token["execution"]),
                "__OW_IDEMPOTENCY_KEY": asked.key,
                "__OW_COMPLETION_TOKEN": completion_token(asked.token),
                "__OW_DEADLINE": str(asked.deadline_ms),
            }
        )
        if self._function is None:
            try:
                self._function = self._load()
            except Exception as error:  # noqa: BLE001  the user's module
                text = f"{type(error).__name__}: {error}"
                return completed(message, {"code": "BadResponse", "error": text})
        return completed(message, run_action(self._function, asked.params))


def crashed(
    message: Mapping[str, JSON], *, timed_out: bool, error: str, ran: bool = True
) -> dict[str, JSON]:
    """The answer for an action that gave none. An action that did not even begin (`ran`) was throttled."""
    code = "Timeout" if timed_out else "Crashed" if ran else "Throttled"
    return completed(message, {"code": code, "error": {"code": code, "message": error}})
