"""Around an action, wherever it runs: takes the conductor's message, answers with another.

A message is `{"token", "params", "action", "activation", "key", "deadline", "until", "carried"?}`; what comes back
is for the conductor to `receive`. After the instant `until` the conductor has given up waiting for this message:
one that is delivered later is dropped. So an action is done, and paid for, the moment it returns. An action's function
starts cold with this module and `running` alone: without `composer`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .running import define, run_action, set_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....composer import JSON

log = logging.getLogger(__name__)

RETURNED = ("token", "carried")  # of the message, as they came


def completed(message: dict[str, JSON], outcome: dict[str, JSON]) -> dict[str, JSON]:
    """What the conductor is told."""
    returned = {name: message[name] for name in RETURNED if name in message}
    return {"is": "completed", **returned, "outcome": outcome}


def is_late(message: dict[str, JSON], now_ms: int) -> bool:
    """Whether the conductor has given up waiting for this message, so that its action must not run any more."""
    until_ms = message.get("until")
    if until_ms is None or now_ms <= until_ms:
        return False
    log.warning(
        "%s of execution %s was delivered %d ms after the conductor had given up; it is not run",
        message["action"], message["token"]["execution"], now_ms - until_ms,
    )  # fmt: skip
    return True


class Wrapped:
    """One action.

    Args:
        name: of its file, in tracebacks.
        source: its code.
        main: its function.
    """

    def __init__(self, name: str, source: str, main: str) -> None:
        self._load: Callable[[], Callable[..., JSON]] = lambda: define(name, source, main)
        self._function: Callable[..., JSON] | None = None

    @classmethod
    def of_file(cls, path: Path, main: str) -> Wrapped:
        """The action in a file."""
        return cls(path.stem, path.read_text("utf-8"), main)

    def run(self, message: dict[str, JSON]) -> dict[str, JSON]:
        """Runs it once. The answer to be sent."""
        set_environment(
            {
                "__OW_ACTION_NAME": message["action"],
                "__OW_NAMESPACE": "_",
                "__OW_ACTIVATION_ID": message["activation"],
                "__OW_TRANSACTION_ID": message["token"]["execution"],
                "__OW_IDEMPOTENCY_KEY": message["key"],
                "__OW_DEADLINE": str(message["deadline"]),
            }
        )
        if self._function is None:
            try:
                self._function = self._load()
            except Exception as error:  # noqa: BLE001  the user's module
                text = f"{type(error).__name__}: {error}"
                return completed(message, {"code": "BadResponse", "error": text})
        return completed(message, run_action(self._function, message["params"]))


def crashed(
    message: dict[str, JSON], *, timed_out: bool, error: str, ran: bool = True
) -> dict[str, JSON]:
    """What the host says of an action that has not answered; one that has not even begun was throttled."""
    code = "Timeout" if timed_out else "Crashed" if ran else "Throttled"
    return completed(message, {"code": code, "error": {"code": code, "message": error}})
