"""A server as its users have it: the `xingqiao` command as a process, and its HTTP API."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx

XINGQIAO = Path(sys.executable).with_name("xingqiao")
USER, KEY = "23bc46b1-71f6-4ed5-8c54-816aa4f8c502", "a-key-for-tests"
AUTH = f"{USER}:{KEY}"
DEADLINE_S = 30  # after which a server that does not start or stop is a failure


class Server:
    """A running server. Only what this has started is ever ended."""

    def __init__(self, data, *options, environment=None, descriptors=None):
        command = [XINGQIAO, "serve", "--port", "0", "--data", data, *options]
        if descriptors is not None:  # that it may open at most
            command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.data, self.log = data, []  # lines of standard error that were read before its end
        self.said = self.process.stdout.readline()
        found = re.search(r"serves at (\S+)", self.said)
        if found is None:
            raise AssertionError(f"it did not start: {self.said} {self.process.communicate()}")
        self.url = found[1]

    def client(self, auth=(USER, KEY)):
        """A client whose paths begin in the caller's namespace."""
        base = f"{self.url}/api/v1/namespaces/_"
        return httpx.Client(base_url=base, auth=auth, timeout=DEADLINE_S)

    def operator(self):
        """A client with the operator's credentials, which the server keeps in a file."""
        return self.client(tuple((Path(self.data) / "operator").read_text().strip().split(":")))

    def stop(self, number=signal.SIGTERM):
        """Sends a signal. Returns the exit code, and what it has written to standard error."""
        self.process.send_signal(number)
        try:
            _, errors = self.process.communicate(timeout=DEADLINE_S)
        finally:
            self.process.kill()  # does nothing to what has ended
        return self.process.returncode, "".join(self.log) + errors


@contextmanager
def running(data, *options, environment=None, descriptors=None):
    """A server for as long as the block."""
    server = Server(data, *options, environment=environment, descriptors=descriptors)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.stop()


@contextmanager
def starting(data, *options):
    """A function that starts servers on one directory; what still runs after the block is killed."""
    servers = []

    def start():
        servers.append(Server(data, *options))
        return servers[-1]

    try:
        yield start
    finally:
        for server in servers:
            if server.process.returncode is None:
                server.stop(signal.SIGKILL)
