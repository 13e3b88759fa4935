"""Following of a server: histories and log lines as they are stored, each once, also across a restart."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...composer import timeline
from . import output
from .client import ApiError, annotations_of
from .exit_codes import TIMED_OUT, UNREACHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...composer import Line as TimelineLine
    from .client import Client

WAIT_MS = 20_000  # time that one request waits for news
RETRY_S = 0.5  # seconds between two attempts to reach a server
UNAVAILABLE = 503  # status of a server that is stopping
RUNNING = ("running", "paused", "stuck")
PAGE = 200  # activations of one request
ENTRIES = 1000  # history entries of one request
LOOK_BACK_MS = (
    6 * 60_000
)  # code runs 5 minutes at most: it began no earlier than this before its end
KEPT = 50_000  # activations whose lines are remembered as shown
COMPOSED = ("sequence", "composition")  # kinds whose logs are the ids of their steps


class Line(NamedTuple):
    """A line of the log of an activation, with the instant and the stream that it begins with."""

    at: str
    name: str
    activation: str
    text: str

    def to_json(self) -> dict[str, str]:
        """The line as a JSON document."""
        return {"activationId": self.activation, "name": self.name, "line": self.text}


Change: TypeAlias = "tuple[str, list[dict[str, Any]], list[Line]]"
"""The status of an execution, all entries of its history so far, and the new log lines of its steps."""


class Connection:
    """Requests to a server that may restart meanwhile: they are sent again until it answers.

    The first request is sent once, so that a wrong URL is an error.

    Args:
        client: the client that sends the requests.
        say: writes a text when the connection is lost and when it is back.
    """

    def __init__(self, client: Client, say: Callable[[str], None] = output.remark) -> None:
        self._client, self._say, self._lost, self._known = client, say, False, False

    def ask(self, path: str, **query: Any) -> Any:
        """Like `Client.ask`, for a request that reads."""
        while True:
            try:
                answer = self._client.ask("GET", path, **query)
            except ApiError as error:
                if not self._known or not _is_away(error):
                    raise
                if not self._lost:
                    self._say(
                        f"the server at {self._client.url} cannot be reached any more: this command "
                        "continues when the server is back; press Ctrl-C to stop"
                    )
                self._lost = True
                time.sleep(RETRY_S)
            else:
                if self._lost:
                    self._say("connected again")
                self._lost, self._known = False, True
                return answer


def _is_away(error: ApiError) -> bool:
    return error.exit_code in (UNREACHED, TIMED_OUT) or error.status == UNAVAILABLE


class Logs:
    """Log lines of a server, each once. It knows the lines that are stored after it is made.

    Args:
        connection: the connection to the server.
        read: reads the stored records, oldest lines included; for lines from before, and for a server
            that has forgotten the position after a restart.
    """

    def __init__(
        self, connection: Connection, read: Callable[[], Iterable[dict[str, Any]]]
    ) -> None:
        self._read = read
        self._shown: dict[str, int] = {}  # lines, by activation
        self.position = str(connection.ask("logs")["next"])

    def stored(self) -> list[Line]:
        """The lines that are stored and were not returned before."""
        return self._lines(self._read())

    def take(self, page: dict[str, Any]) -> list[Line]:
        """The lines of a page that were not returned before."""
        self.position = page["next"]
        return self.stored() if page.get("gap") else self._lines(page["activations"])

    def _lines(self, records: Iterable[dict[str, Any]]) -> list[Line]:
        found: list[Line] = []
        for record in records:
            id, lines = record["activationId"], own_lines(record)
            found += [
                Line(line.partition(" ")[0], record["name"], id, line)
                for line in lines[self._shown.get(id, 0) :]
            ]
            self._shown[id] = max(len(lines), self._shown.pop(id, 0))  # the newest stand last
        for id in list(self._shown)[: max(0, len(self._shown) - KEPT)]:
            del self._shown[id]
        return sorted(found, key=lambda line: line.at)


def own_lines(record: dict[str, Any]) -> list[str]:
    """The log lines of a record; none if its log is the ids of its steps."""
    return [] if _is_composed(record) else list(record["logs"])


def _is_composed(record: dict[str, Any]) -> bool:
    """True if the log of a record is the ids of its steps."""
    notes = annotations_of(record)
    return bool(notes.get("conductor") or notes.get("kind") in COMPOSED)


def records_since(
    connection: Connection, since_ms: int, name: str | None = None
) -> Iterator[dict[str, Any]]:
    """The records of a namespace's activations that began at or after an instant."""
    return _pages(connection, since=since_ms, name=name)


def records_below(connection: Connection, id: str) -> Iterator[dict[str, Any]]:
    """The records of an execution's steps and of the steps below them."""
    for record in _pages(connection, cause=id):
        yield record
        if _is_composed(record):
            yield from records_below(connection, record["activationId"])


def _pages(connection: Connection, **query: Any) -> Iterator[dict[str, Any]]:
    found = 0
    while True:
        page = connection.ask("activations", docs=True, limit=PAGE, skip=found, **query)
        yield from page
        found += len(page)
        if len(page) < PAGE:
            return


def history(connection: Connection, id: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The status and all entries so far, at each change until the execution has ended."""
    entries: list[dict[str, Any]] = []
    while True:
        after = entries[-1]["seq"] if entries else 0
        page = connection.ask(f"executions/{id}/history", after=after, limit=ENTRIES, wait=WAIT_MS)
        entries += page["entries"]
        if "next" not in page:
            yield page["status"], entries
            if page["status"] not in RUNNING:
                return


def history_and_logs(connection: Connection, id: str, logs: Logs) -> Iterator[Change]:
    """Like `history`, with the new log lines of all steps."""
    entries: list[dict[str, Any]] = []
    while True:
        after = entries[-1]["seq"] if entries else 0
        page = connection.ask(
            f"executions/{id}/history",
            after=after, limit=ENTRIES, wait=WAIT_MS, logs=logs.position,
        )  # fmt: skip
        lines = logs.take(page["logs"])
        entries += page["entries"]
        yield page["status"], entries, lines
        news = page["entries"] or page["logs"]["activations"] or page["logs"].get("gap")
        if page["status"] not in RUNNING and not news:
            return


def namespace_logs(
    connection: Connection, name: str | None, since_ms: int
) -> Iterator[tuple[list[Line], list[dict[str, Any]]]]:
    """The log lines of a namespace from an instant on: first those that are stored, then each new one.

    With the new lines come the records of the activations that have ended or wait.
    """
    from_ms = since_ms
    logs = Logs(connection, lambda: records_since(connection, from_ms, name))
    yield logs.stored(), []
    while True:
        page = connection.ask("logs", after=logs.position, name=name, wait=WAIT_MS)
        lines = logs.take(page)
        from_ms = max(since_ms, page["now"] - LOOK_BACK_MS)
        yield lines, page["activations"]


def new_records(
    connection: Connection, name: str | None, until_s: float | None = None
) -> Iterator[dict[str, Any]]:
    """The records of activations, without their results, as they end or begin to wait; each once.

    Args:
        connection: the connection to the server.
        name: name of the action, with its package; None for all.
        until_s: the end, as an instant of `time.monotonic`; None for no end.
    """
    shown: dict[str, None] = {}
    page = connection.ask("logs")
    began_ms = from_ms = page["now"]
    while until_s is None or time.monotonic() < until_s:
        left_ms = WAIT_MS if until_s is None else int(1000 * (until_s - time.monotonic()))
        wait_ms = min(max(left_ms, 0), WAIT_MS)
        page = connection.ask("logs", after=page["next"], name=name, wait=wait_ms)
        records = page["activations"]
        if page.get("gap"):  # the server has restarted: the list has those that it has forgotten
            records = sorted(records_since(connection, from_ms, name), key=_ended_ms)
        from_ms = max(began_ms, page["now"] - LOOK_BACK_MS)
        for record in records:
            if record["activationId"] not in shown:
                shown[record["activationId"]] = None
                yield record
        for id in list(shown)[: max(0, len(shown) - KEPT)]:
            del shown[id]


def _ended_ms(record: dict[str, Any]) -> int:
    ended_ms: int = record.get("end", record["start"])
    return ended_ms


def plain_record(connection: Connection, id: str, missing: ApiError) -> dict[str, Any]:
    """The record of an activation that is not stored as an execution: a plain action that has ended.

    Raises:
        ApiError: `missing`, if there is no such activation either.
    """
    try:
        record: dict[str, Any] = connection.ask(f"activations/{id}", wait=WAIT_MS)
    except ApiError as error:
        raise (missing if error.is_missing else error) from None
    return record


class Call:
    """A call that is followed: its timeline and its logs, until it has ended.

    Make it before the call: then no line is missed.
    """

    def __init__(self, client: Client) -> None:
        self._connection, self._id, self._composed = Connection(client), "", False
        self._logs = Logs(self._connection, lambda: records_below(self._connection, self._id))

    def show(self, id: str, *, as_json: bool) -> dict[str, Any]:
        """Shows the call with this id while it runs. Returns its record when it has ended."""
        self._id = id
        try:
            output.remark(f"activation {id}")
            record = self._shown(as_json=as_json)
        except KeyboardInterrupt:
            again = "execution watch" if self._composed else "activation get"
            output.remark(f"\nthe run goes on; to see it again: xingqiao {again} {id}")
            raise
        lines = self._logs.take({"next": self._logs.position, "activations": [record]})
        if as_json:
            _write_json([("", [], lines)])
        else:
            show_lines(lines)
        return record

    def _shown(self, *, as_json: bool) -> dict[str, Any]:
        try:
            self._show_execution(as_json=as_json)
        except ApiError as error:
            if not error.is_missing:
                raise  # a plain action, or an express execution: only its record is stored
        while True:
            try:
                record: dict[str, Any] = self._connection.ask(
                    f"activations/{self._id}", wait=WAIT_MS
                )
            except ApiError as error:
                if not error.is_missing:
                    raise
            else:
                if "response" in record:
                    return record

    def _show_execution(self, *, as_json: bool) -> None:
        found = self._noted()
        if as_json:
            _write_json(found)
        elif sys.stdout.isatty():
            with output.live() as show:
                for _, entries, lines in found:
                    show_lines(lines)
                    show(entries)
        else:
            told = Told()
            for status, entries, lines in found:
                show_lines(lines)
                told.show(entries, ended=status not in RUNNING)

    def _noted(self) -> Iterator[Change]:
        for change in history_and_logs(self._connection, self._id, self._logs):
            self._composed = bool(change[1])  # a plain action has no history
            yield change


class Told:
    """A timeline on a stream: prints each line once, when its step or wait is over."""

    def __init__(self) -> None:
        self._shown: Counter[TimelineLine] = (
            Counter()
        )  # parallel steps may have lines that are equal

    def show(self, entries: list[dict[str, Any]], *, ended: bool) -> None:
        """Prints the new lines of a history; at the end also those that are not over."""
        lines = timeline(entries)
        over = [line for line in lines if line.tone != "wait" or line.took_ms is not None or ended]
        for line in (Counter(over) - self._shown).elements():
            output.timeline_line(line)
        self._shown = Counter(over)


def _write_json(found: Iterable[Change]) -> None:
    shown = 0
    for _, entries, lines in found:
        for line in lines:
            output.write_json(line.to_json())
        for entry in entries[shown:]:
            output.write_json(entry)
        shown = len(entries)


def show_lines(lines: Iterable[Line]) -> None:
    """Writes log lines for people."""
    for line in lines:
        output.log_line(line.name, line.activation, line.text)
