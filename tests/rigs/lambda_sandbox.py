"""Sandboxes of AWS Lambda: a process each, in which AWS' own runtime client runs the handler.

Runs inside the rig's environment (see `lambda_cloud.py`). A sandbox is one `awslambdaric` and the
runtime API that it asks for events:
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

API = "/2018-06-01/runtime"
MAX_RESPONSE_BYTES = 6_291_556
LOG_TAIL_BYTES = 4096
START_S = 60  # a sandbox that does not ask for its first event by then is broken
END_S = 5  # what a dead process has written is read by then
UNHANDLED = "Unhandled"

# The sandbox ends with the rig, however that ends: its standard input closes.
PROGRAM = """
import os, runpy, sys, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
runpy.run_module("awslambdaric", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What of a function decides how its sandboxes are made: two alike can share them."""

    name: str
    version: str
    handler: str
    folder: Path
    memory_mb: int
    timeout_s: int
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event on its way to a handler."""

    id: str
    payload: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an invocation has ended. `error` is what X-Amz-Function-Error says, or None."""

    payload: bytes
    error: str | None
    log: bytes
    reusable: bool


class Sandbox:
    """A process that runs events one after the other."""

    def __init__(self, deployed, environment, on_taken):
        self._deployed, self._on_taken = deployed, on_taken
        self._events, self._said = queue.Queue(), queue.Queue()
        self._written, self._reading = bytearray(), threading.Lock()
        self._asked_ns = None  # when it asked for its first event
        self._new = True
        self._server = _RuntimeServer(self)
        self._started_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, deployed.handler],
            cwd=deployed.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**environment, "AWS_LAMBDA_RUNTIME_API": self._server.address},
        )  # fmt: skip
        os.set_blocking(self._process.stdout.fileno(), False)
        self._reader = _started(self._read)
        _started(self._watch)

    def run(self, event):
        """Runs one event to its end, whatever that is."""
        self._events.put(event)
        self._await({"taken", "init", "exit"}, START_S)
        began_ns = time.monotonic_ns()
        kind, body = self._await({"response", "error", "init", "exit"}, self._deployed.timeout_s)
        took_ms = (time.monotonic_ns() - began_ns) / 1e6
        return self._ended(event, kind, body, took_ms)

    @property
    def alive(self):
        return self._process.poll() is None

    def end(self):
        """Ends the process, with what it has started, and waits for it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(END_S)
        self._process.stdin.close()
        self._process.stdout.close()
        _started(self._server.stop)

    # --- what the runtime API is told

    def next(self):
        """The next event, when there is one; None when the sandbox is over."""
        if self._asked_ns is None:
            self._asked_ns = time.monotonic_ns()
        event = self._events.get()
        if event is not None:
            self._on_taken(self._deployed.name)
            self._said.put(("taken", b""))
        return event

    def say(self, kind, body):
        self._said.put((kind, body))

    # --- what is made of it

    def _await(self, kinds, seconds):
        """The first message of one of these kinds; what ends an event is kept for the next look."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                kind, body = self._said.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                return "timeout", b""
            if kind in kinds:
                if "taken" in kinds and kind != "taken":
                    self._said.put((kind, body))
                return kind, body

    def _ended(self, event, kind, body, took_ms):
        error, status, reusable, notice = UNHANDLED, "", False, b""
        match kind:
            case "response" if len(body) > MAX_RESPONSE_BYTES:
                text = (
                    "Response payload size exceeded maximum allowed payload size "
                    f"({MAX_RESPONSE_BYTES} bytes)."
                )
                body = _failure("Function.ResponseSizeTooLarge", text)
                status = "Status: error\tError Type: Function.ResponseSizeTooLarge"
            case "response":
                error, reusable = None, True
            case "error":
                reusable = True
            case "init":
                status = f"Status: error\tError Type: {json.loads(body)['errorType']}"
            case "timeout":
                text = f"Task timed out after {self._deployed.timeout_s:.2f} seconds"
                body = _failure("Sandbox.Timedout", f"RequestId: {event.id} Error: {text}")
                notice = f"{_now()} {event.id} {text}\n\n".encode()
                status = "Status: timeout"
            case _:
                text = f"RequestId: {event.id} Error: {_exit_text(int(body))}"
                body = _failure("Runtime.ExitError", text)
                notice = f"{text}\nRuntime.ExitError\n".encode()
                status = "Status: error\tError Type: Runtime.ExitError"
        log = self._log(event, notice, took_ms, status)
        return Ended(payload=body, error=error, log=log, reusable=reusable)

    def _log(self, event, notice, took_ms, status):
        peak_mb = self._peak_mb()
        if not self.alive:
            self._reader.join(END_S)
        self._drain()
        with self._reading:
            written, self._written = bytes(self._written), bytearray()
        init_ms = 0.0
        if self._new and self._asked_ns:
            init_ms = (self._asked_ns - self._started_ns) / 1e6
        self._new = False
        fields = [
            f"REPORT RequestId: {event.id}",
            f"Duration: {took_ms:.2f} ms",
            f"Billed Duration: {math.ceil(took_ms + init_ms)} ms",
            f"Memory Size: {self._deployed.memory_mb} MB",
            f"Max Memory Used: {peak_mb} MB",
            *([f"Init Duration: {init_ms:.2f} ms"] if init_ms else []),
            *([status] if status else []),
        ]
        start = f"START RequestId: {event.id} Version: {self._deployed.version}\n".encode()
        if written and not written.endswith(b"\n"):
            written += b"\n"
        end = f"END RequestId: {event.id}\n" + "\t".join(fields) + "\t\n"
        return (start + written + notice + end.encode())[-LOG_TAIL_BYTES:]

    def _peak_mb(self):
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        except OSError:
            return self._deployed.memory_mb  # of a process that is gone nothing is known
        peak = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(peak[0].split()[1]) // 1024 if peak else self._deployed.memory_mb

    def _read(self):
        """Takes what the process writes, so that its pipe is never full."""
        poll = _poll(self._process.stdout)
        while True:
            poll.poll()
            if self._drain():
                return

    def _drain(self):
        """Takes what is written now; says whether that was the last."""
        with self._reading:
            while True:
                try:
                    some = os.read(self._process.stdout.fileno(), 65536)
                except BlockingIOError:
                    return False
                if not some:
                    return True
                self._written += some

    def _watch(self):
        self._said.put(("exit", str(self._process.wait()).encode()))
        self._events.put(None)


class _RuntimeServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, sandbox):
        super().__init__(("127.0.0.1", 0), _RuntimeApi)
        self.sandbox = sandbox
        self.address = f"127.0.0.1:{self.server_address[1]}"
        _started(self.serve_forever)

    def stop(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """The client is gone with its process: that is told by its exit."""


class _RuntimeApi(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # with small writes it costs 40 ms an event
    wbufsize = -1

    def do_GET(self):
        event = self.server.sandbox.next()
        if event is None:
            self.close_connection = True
            return
        self._answer(200, event.payload, event.headers)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = "init" if self.path == f"{API}/init/error" else self.path.rpartition("/")[2]
        self.server.sandbox.say(
            kind, body
        )  # first: a runtime that has been answered may end at once
        self._answer(413 if len(body) > MAX_RESPONSE_BYTES else 202, b"{}", {})

    def _answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *arguments):
        """Nobody reads it."""


def _started(target):
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def _poll(stream):
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    return poll


def _failure(kind, text):
    return json.dumps({"errorType": kind, "errorMessage": text}).encode()


def _exit_text(code):
    if code < 0:
        return f"Runtime exited with error: signal: {signal.strsignal(-code).lower()}"
    if code == 0:
        return "Runtime exited without providing a reason"
    return f"Runtime exited with error: exit status {code}"


def _now():
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
