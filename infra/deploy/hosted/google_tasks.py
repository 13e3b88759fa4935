"""Messages between functions, as tasks of Cloud Tasks: a queue for the conductor and one for each action.

A task is an HTTP request to a function that comes at least once, with an identity token of the account that may
invoke the function. A task has at most 1 MB, more than any message of ours.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .google_account import Account, GoogleError, host_of, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....composer import JSON
    from .ports import Clock

CONDUCTOR = "conductor"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DISPATCH_S = 330  # an action's limit and some more; Cloud Tasks takes 15 s to 30 min


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The places of a bundle's functions and queues.

    queues: the beginning of the queues' full names; the function's name follows.
    url: of a function; `{function}` stands for its name.
    answers: the account that may invoke the conductor.
    steps: the account that may invoke the actions; "" in the function of an action.
    """

    queues: str
    url: str
    answers: str
    steps: str

    @classmethod
    def from_environment(cls, *, steps: bool) -> Site:
        """Reads the variables that `main.tf.json` sets for the conductor (`steps`) or for an action."""
        return cls(
            queues=setting("XINGQIAO_QUEUES"),
            url=setting("XINGQIAO_URL"),
            answers=setting("XINGQIAO_ANSWERS"),
            steps=setting("XINGQIAO_STEPS") if steps else "",
        )


class Tasks:
    """Creates tasks.

    Args:
        account: the service account of this function.
        site: the functions and their queues.
        clock: the time.
    """

    def __init__(self, account: Account, site: Site, clock: Clock) -> None:
        self._account, self._site, self._clock = account, site, clock
        self._host = host_of("cloudtasks.googleapis.com", "CLOUD_TASKS_EMULATOR_HOST")

    def create(
        self, function: str, message: Mapping[str, JSON], *, delay_s: int = 0, key: str = ""
    ) -> None:
        """Sends a message to a function.

        Args:
            function: `conductor`, or the name of an action's function.
            message: JSON.
            delay_s: from now, at most 30 days.
            key: a second task with this key, up to an hour after the first has ended, does nothing. ""
                for none: a task without a name is made faster.
        """
        queue = f"{self._site.queues}{function}"
        task = self._task(function, message)
        if key:
            # Names that begin at random spread over Google's machines, as its documentation advises.
            task["name"] = f"{queue}/tasks/{sha256(key.encode()).hexdigest()}"
        if delay_s:
            due = EPOCH + timedelta(milliseconds=self._clock.now_ms(), seconds=delay_s)
            task["scheduleTime"] = due.isoformat().replace("+00:00", "Z")
        try:
            self._account.post(self._host, f"/v2/{queue}/tasks", {"task": task})
        except GoogleError as error:
            if not key or error.reason != "ALREADY_EXISTS":
                raise

    def _task(self, function: str, message: Mapping[str, JSON]) -> dict[str, Any]:
        url = self._site.url.format(function=function)
        invoker = self._site.answers if function == CONDUCTOR else self._site.steps
        return {
            "dispatchDeadline": f"{DISPATCH_S}s",
            "httpRequest": {
                "url": url,
                "httpMethod": "POST",
                "headers": {"Content-Type": "application/json"},
                "body": base64.b64encode(json.dumps(message).encode()).decode(),
                "oidcToken": {"serviceAccountEmail": invoker, "audience": url},
            },
        }
