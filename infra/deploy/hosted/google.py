"""The functions `http` and `conductor` on Cloud Run: Firestore is the table, Cloud Tasks the outbox.

No function waits for another: it creates tasks and ends. A task that is answered with an error comes again.
"""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from .conductor import Conductor, LaterError
from .endpoints import Request, serve
from .google_account import Account, SystemClock, setting
from .google_table import FirestoreTable
from .google_tasks import CONDUCTOR, Site, Tasks
from .ports import Deployed, Invocation, Note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ....composer import JSON
    from .ports import Clock

log = logging.getLogger(__name__)

DAY_S = 24 * 3600
LONGEST_S = 30 * DAY_S - 3600  # Cloud Tasks holds a task back for 30 days, by its own clock
AT_ONCE = 16  # tasks that are created side by side
SWEEP = "/sweep"

Response: TypeAlias = "tuple[str, int, dict[str, str]]"


class GoogleOutbox:
    """An `Outbox`: each message is a task.

    Args:
        tasks: creates them.
        functions: the names of the actions' functions.
    """

    def __init__(self, tasks: Tasks, functions: Mapping[str, str]) -> None:
        self._tasks, self._functions = tasks, functions
        self._threads = ThreadPoolExecutor(AT_ONCE)

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        """Sends all of it."""
        if len(sends) == 1:
            self._send(sends[0])
        else:
            list(self._threads.map(self._send, sends))

    def _send(self, send: Invocation | Note) -> None:
        if isinstance(send, Invocation):
            self._tasks.create(self._functions[send.action], send.message, key=send.key)
        else:
            self._tasks.create(CONDUCTOR, send.message, delay_s=send.delay_s, key=send.key)


class Host:
    """The functions' process: made once, called for every request of Flask.

    Args:
        folder: the bundle's folder with `deployed.json`.
        clock: the time.
    """

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        bundle = json.loads((folder / "deployed.json").read_text("utf-8"))
        self._deployed, self._clock = Deployed.from_json(bundle), clock or SystemClock()
        account = Account()
        self._table = FirestoreTable(account, setting("XINGQIAO_DATABASE"))
        tasks = Tasks(account, Site.from_environment(steps=True), self._clock)
        outbox = GoogleOutbox(tasks, bundle["functions"])
        self._conductor = Conductor(
            self._deployed, self._table, outbox, self._clock, longest_s=LONGEST_S
        )

    def answer(self, request: Any) -> Response:
        """Answers a caller's request."""
        asked = Request(
            method=request.method,
            path=request.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=request.get_data(),
        )
        try:
            answer = serve(self._conductor, self._deployed, self._clock, asked)
        except LaterError as later:
            return _later(later)
        except Exception:
            log.exception("%s %s failed", asked.method, asked.path)
            text = (
                "the request failed, and the log has the reason: send it again with the same "
                "Idempotency-Key, and nothing is done twice"
            )
            return _json(500, {"error": text})
        return _json(answer.status, answer.body, answer.headers)

    def conduct(self, request: Any) -> Response:
        """Passes a task's message to the conductor; does the work that is due once a minute."""
        if request.path == SWEEP:
            self._conductor.sweep()
            self._table.expire(self._clock.now_ms())
            return _json(200, {})
        try:
            self._conductor.receive(json.loads(request.get_data()))
        except LaterError as later:
            return _later(later)
        return _json(200, {})


def _later(later: LaterError) -> Response:
    body: dict[str, JSON] = {"error": f"try again later: {later}"}
    return _json(503, body, {"Retry-After": str(later.delay_s)})


def _json(status: int, body: dict[str, JSON], headers: dict[str, str] | None = None) -> Response:
    return json.dumps(body), status, {"Content-Type": "application/json", **(headers or {})}
