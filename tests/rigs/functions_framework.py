"""Google's functions-framework on a source file, as a process: what Cloud Run functions run behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from tests.rigs.venvs import python_of

# Its own command cannot take a free port and say which. It ends when its standard input closes.
PROGRAM = """
import os, sys, threading
from functions_framework import create_app
from werkzeug.serving import WSGIRequestHandler, make_server
app = create_app(sys.argv[1], sys.argv[2], sys.argv[3])
class Handler(WSGIRequestHandler):
    wbufsize, disable_nagle_algorithm = -1, True
server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.buffer.read()
"""


@contextmanager
def functions_framework(source, target="main", *, signature="http"):
    """The URL of a function for as long as the block.

    Args:
        source: The source code, or a file with it.
        target: The function in it.
        signature: `http` or `cloudevent`.
    """
    python = python_of("gcp")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        text = source.read_text("utf-8") if isinstance(source, Path) else source
        path = Path(folder) / "main.py"
        path.write_text(text, "utf-8")
        process = subprocess.Popen(
            [python, "-c", PROGRAM, target, path, signature],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={"PATH": os.environ.get("PATH", "")},
        )  # fmt: skip
        with process:  # its end closes the pipe
            said = process.stdout.readline()
            if not said:
                errors.seek(0)
                raise AssertionError(f"functions-framework did not start: {errors.read()}")
            yield f"http://127.0.0.1:{said.strip()}"
