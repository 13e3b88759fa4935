"""The functions of an Azure function app: HTTP, the conductor, the actions, and the sweep.

No function waits for another: it sends a message and ends.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING, Any, Protocol

import azure.functions as func  # at run time: the worker reads the annotations

from .action_message import ActionMessage
from .azure_account import Account, queue_name
from .azure_outbox import ACTIONS, COMPLETIONS, AzureOutbox
from .azure_table import AzureTable
from .conductor import Conductor, LaterError
from .endpoints import Request, serve
from .ports import Deployed, Note
from .wrapper import Wrapped, crashed, delay_s, is_late

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ....composer import JSON
    from .ports import Clock

CONNECTION = "AzureWebJobsStorage"  # the setting that every function app has
STORAGE = "XINGQIAO_STORAGE"  # the setting that names another prefix of tables and queues
LATER_S = 30  # until a message is looked at again that came too early
DELIVERIES = 2  # of a message to an action that never answers
EVERY_MINUTE = "0 * * * * *"


class SystemClock:
    """The machine's time."""

    @staticmethod
    def now_ms() -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class Runnable(Protocol):
    """An action with its wrapper. Law: `run` raises nothing, and does not wait for other messages."""

    def run(self, message: Mapping[str, JSON]) -> dict[str, JSON]:
        """Runs the action once. Returns the message to send to the conductor."""


def storage_named(prefix: str) -> str:
    """A prefix for the names of tables and queues.

    Raises:
        ValueError: Azure does not allow such names.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]{2,23}", prefix):
        raise ValueError(
            f"{STORAGE} must be 3 to 24 lower case letters and digits, a letter first, not {prefix!r}"
        )
    return prefix


class Hosted:
    """A bundle on Azure: the work of its functions.

    Args:
        folder: the bundle: `deployed.json`, and the files of its actions.
        connection: the connection string of the storage account.
        clock: the time.
        elsewhere: makes the action of a function on another cloud; None if the bundle has no such step.
    """

    def __init__(
        self,
        folder: Path,
        connection: str,
        clock: Clock | None = None,
        elsewhere: Callable[[dict[str, Any], Clock], Runnable] | None = None,
    ) -> None:
        document = json.loads((folder / "deployed.json").read_text("utf-8"))
        self.storage = storage_named(os.environ.get(STORAGE) or document["storage"])
        self._clock = clock or SystemClock()
        self._deployed = Deployed.from_json(document)
        account = Account(connection, self.storage)
        self._table, self._outbox = AzureTable(account), AzureOutbox(account, self._clock)
        self._conductor = Conductor(self._deployed, self._table, self._outbox, self._clock)
        self._actions: dict[str, Runnable] = {
            name: Wrapped.of_path(folder / code["file"], code["main"])
            for name, code in document["code"].items()
        }
        if elsewhere is not None:
            for name, remote in document["elsewhere"].items():
                self._actions[name] = elsewhere(remote, self._clock)

    def answer(self, request: func.HttpRequest) -> func.HttpResponse:
        """Handles an HTTP request."""
        asked = Request(
            method=request.method,
            path=request.route_params.get("path", ""),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=request.get_body(),
        )
        try:
            answer = serve(self._conductor, self._deployed, self._clock, asked)
        except LaterError as error:
            return _json(503, {"error": str(error)}, {"Retry-After": str(LATER_S)})
        return _json(answer.status, answer.body, answer.headers)

    def conduct(self, body: bytes) -> None:
        """Passes a message to the conductor."""
        message = self._outbox.opened(body)
        if message is None:
            return
        try:
            self._conductor.receive(message)
        except LaterError:
            self._outbox.send([Note(message=message, delay_s=LATER_S)])
        self._outbox.forget(body)

    def act(self, body: bytes, delivery: int) -> None:
        """Runs an action, and sends its answer. The host counts deliveries that did not end."""
        message = self._outbox.opened(body)
        if message is None:
            return
        if delivery == 1 and is_late(message, self._clock.now_ms()):
            self._outbox.forget(body)
            return
        name = ActionMessage.from_json(message).action
        most = 1 if self._deployed.actions[name].at_most_once else DELIVERIES
        if delivery > most:
            text = f"{name} was started {most} times and never ended"
            answer = crashed(message, timed_out=False, error=text)
        else:
            answer = self._actions[name].run(message)
        self._outbox.send([Note(message=answer, delay_s=delay_s(answer))])
        self._outbox.forget(body)

    def sweep(self) -> None:
        """Does the work that is due, and removes old rows."""
        self._conductor.sweep()
        now_ms = self._clock.now_ms()
        self._table.expire(now_ms)
        self._outbox.expire(now_ms)


def function_app(hosted: Hosted) -> func.FunctionApp:
    """The functions with their triggers."""

    def http(req: func.HttpRequest) -> func.HttpResponse:
        return hosted.answer(req)

    def conductor(message: func.QueueMessage) -> None:
        hosted.conduct(message.get_body())

    def action(message: func.QueueMessage) -> None:
        hosted.act(message.get_body(), message.dequeue_count or 1)

    def sweep(timer: func.TimerRequest) -> None:  # noqa: ARG001  the worker gives it
        hosted.sweep()

    app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    app.route("{*path}", methods=["GET", "POST", "DELETE"])(http)
    queues = ((COMPLETIONS, conductor), (ACTIONS, action))
    for name, function in queues:
        app.queue_trigger("message", queue_name(hosted.storage, name), CONNECTION)(function)
    app.timer_trigger("timer", EVERY_MINUTE)(sweep)
    return app


def _json(status: int, body: JSON, headers: dict[str, str]) -> func.HttpResponse:
    return func.HttpResponse(
        json.dumps(body), status_code=status, headers=headers, mimetype="application/json"
    )
