"""Google's functions-framework on one function of a bundle, with each request in a process of its own.

    python google_function.py SOURCE TARGET AHEAD

It prints its port, and ends when its standard input closes. The file AHEAD has the milliseconds that its clock is
ahead of the machine's. The process of a request with the header `x-die-before: N /v2/` is killed before its N-th
request to Google whose path begins so, counted from 0; the metadata server does not count.
"""

from __future__ import annotations

import http.client
import os
import signal
import sys
import threading
import time
from pathlib import Path

SOURCE, TARGET, AHEAD = sys.argv[1:]
REAL_NS, ASK = time.time_ns, http.client.HTTPConnection.request
time.time_ns = lambda: REAL_NS() + 1_000_000 * int(Path(AHEAD).read_text() or 0)

from functions_framework import create_app  # noqa: E402  its modules take the clock when they load
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402


class Handler(WSGIRequestHandler):
    wbufsize, disable_nagle_algorithm = -1, True

    def log_request(self, code="-", size="-"):
        """Its caller knows."""


def mortal(app):
    """The app, which may be killed."""

    def called(environ, start_response):
        left = environ.get("HTTP_X_DIE_BEFORE")
        if left is not None:
            number, path = left.split()
            die_before(int(number), path)
        return app(environ, start_response)

    return called


def die_before(number, path):
    counted, lock = [], threading.Lock()

    def request(connection, method, url, *rest, **options):
        if method == "POST" and url.startswith(path):
            with lock:
                if len(counted) == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                counted.append(method)
        return ASK(connection, method, url, *rest, **options)

    http.client.HTTPConnection.request = request


app = create_app(TARGET, SOURCE, "http")
server = make_server("127.0.0.1", 0, mortal(app), processes=20, request_handler=Handler)


def end():
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end, daemon=True).start()
print(server.server_port, flush=True)  # noqa: T201  it is asked so
server.serve_forever()
