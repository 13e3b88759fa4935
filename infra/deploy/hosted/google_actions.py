"""An action as a Cloud Run function: runs the user's code, and sends what came of it to the conductor."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from .action_message import ActionMessage
from .google_account import Account, SystemClock
from .google_tasks import CONDUCTOR, Site, Tasks
from .wrapper import Wrapped, crashed, is_late

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....composer import JSON

log = logging.getLogger(__name__)

RETRIES = "X-CloudTasks-TaskRetryCount"  # deliveries of this task before this one
DELIVERIES = 2  # of a message to an action that never ends
DONE = ("", 204)

Response: TypeAlias = "tuple[str, int]"


@lru_cache(maxsize=1)
def _tasks() -> Tasks:
    return Tasks(Account(), Site.from_environment(steps=False), SystemClock())


def wrapped(path: Path, main: str, *, at_most_once: bool) -> Callable[[Any], Response]:
    """The function of the action in a file: takes a request of Flask from Cloud Tasks.

    Args:
        path: the file.
        main: the name of the user's function.
        at_most_once: never run again if no answer came.
    """
    action, most = Wrapped.of_path(path, main), 1 if at_most_once else DELIVERIES

    def function(request: Any) -> Response:
        message = json.loads(request.get_data())
        retries = int(request.headers.get(RETRIES, 0))
        answer = _unanswered(message, retries, most)
        if answer is None:
            if is_late(message, SystemClock.now_ms()):
                return DONE
            answer = action.run(message)
        _tasks().create(CONDUCTOR, answer)
        return DONE

    return function


def _unanswered(message: dict[str, JSON], retries: int, most: int) -> dict[str, JSON] | None:
    """The answer for a delivery that comes again: the one before was stopped, or its process died.

    None if the action is to run.
    """
    if not retries:
        return None
    asked = ActionMessage.from_json(message)
    if SystemClock.now_ms() > asked.deadline_ms:
        text = f"{asked.action} did not end within its time limit"
        return crashed(message, timed_out=True, error=text)
    if retries < most:
        log.warning("%s is run again: its delivery before did not end", asked.action)
        return None
    text = f"{asked.action} was started {retries} times and never ended"
    return crashed(message, timed_out=False, error=text)
