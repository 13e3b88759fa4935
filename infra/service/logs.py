"""The service's log: text or JSON lines on standard error.

Writing to a pipe blocks when the reader stops reading. A thread writes the lines so that a stalled
reader (a paused terminal, a log collector that hangs) never stops the server.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

LINES: Final = 10_000  # lines kept for a reader that has stopped reading; later ones are counted
PATIENCE_S: Final = 1.0  # seconds that the end of the process waits for the reader
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON, with all fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)  # orjson refuses half a character


class StreamThread(logging.Handler):
    """Writes log lines to a stream from a thread of its own.

    Args:
        stream: output stream; a write may block for any time.
        lines: maximum number of waiting lines. Further lines are dropped and counted in a log line.
    """

    def __init__(self, stream: TextIO, lines: int = LINES) -> None:
        super().__init__()
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(lines)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._waiting.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1
        except Exception:  # noqa: BLE001  a handler never raises: the base class reports it
            self.handleError(record)

    def flush(self) -> None:
        """Waits until every line is written, at most `PATIENCE_S` seconds."""
        with self._waiting.all_tasks_done:
            self._waiting.all_tasks_done.wait_for(
                lambda: not self._waiting.unfinished_tasks, PATIENCE_S
            )

    def close(self) -> None:
        self.flush()
        if self._waiting.empty():
            self._waiting.put(None)
            self._thread.join(PATIENCE_S)
        super().close()

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            # The stream has lost its reader: nobody can be told, and the server must not stop.
            with suppress(OSError, ValueError):
                self._stream.write("".join(f"{text}\n" for text in (line, *self._missed())))
                self._stream.flush()
            self._waiting.task_done()

    def _missed(self) -> list[str]:
        if not self._dropped or not self._waiting.empty():
            return []
        missed, self._dropped = self._dropped, 0
        text = "%d log lines were dropped because standard error was not read"
        record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (missed,), None)
        return [self.format(record)]


def set_up_logs(form: str) -> None:
    """Sends logs to standard error, as `text` or as `json`."""
    handler = StreamThread(sys.stderr)
    if form == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s  %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("botocore").setLevel(logging.WARNING)  # INFO shows the source of credentials
