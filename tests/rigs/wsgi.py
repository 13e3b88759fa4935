"""A WSGI application over HTTP on loopback, in a thread of the tests' own process."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from werkzeug.serving import WSGIRequestHandler, make_server

LOOK_S = 0.01  # whether it is to stop


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        """Says nothing."""


@contextmanager
def served(application):
    """Its URL, for as long as the block."""
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, args=[LOOK_S], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
