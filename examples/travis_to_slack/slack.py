"""A stand-in for Slack's incoming webhooks. Its first two responses are errors."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/services/T0000/B0000/secret"
BAD_ANSWERS = (503, 500)


class Slack(ThreadingHTTPServer):
    """Accepts messages at `url`, and keeps the accepted messages in `messages`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Webhook)
        self.bad_answers = list(BAD_ANSWERS)
        self.messages: list[dict[str, object]] = []
        self.url = f"http://127.0.0.1:{self.server_port}{PATH}"


class _Webhook(BaseHTTPRequestHandler):
    server: Slack

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != PATH:
            self._answer(404, "no_service")
        elif self.server.bad_answers:
            self._answer(self.server.bad_answers.pop(0), "rollup_error")
        elif "text" not in (message := json.loads(body)):
            self._answer(400, "no_text")
        else:
            self.server.messages.append(message)
            self._answer(200, "ok")

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Writes no log."""


@contextmanager
def slack() -> Iterator[Slack]:
    """Runs a stand-in, and stops it at the end of the block."""
    server = Slack()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
