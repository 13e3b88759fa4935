"""A server that is killed and started again while a program uses it."""

from __future__ import annotations

import inspect
import signal
from urllib.parse import urlsplit

from tests.kit.infra.servers import AUTH, Server
from xingqiao.client import RemoteExecution


class Life:
    """A server that is killed and started again, on one directory and one port."""

    def __init__(self, data):
        self._data, self.restarts = data, 0
        self.server = Server(data, "--auth", AUTH, "--isolation", "none")
        self._port = str(urlsplit(self.server.url).port)

    def restart(self):
        """Kills the server, and starts another in its place."""
        self.server.stop(signal.SIGKILL)
        self.server = Server(
            self._data, "--auth", AUTH, "--isolation", "none", "--port", self._port
        )
        self.restarts += 1

    def end(self):
        """Kills the server."""
        self.server.stop(signal.SIGKILL)


class Killed:
    """A client, or an execution of it, whose server is killed and started again before each call."""

    def __init__(self, of, life):
        self._of, self._life = of, life

    def __getattr__(self, name):
        member = getattr(self._of, name)
        if inspect.iscoroutinefunction(member):

            async def call(*args, **options):
                self._life.restart()
                return self._in_turn(await member(*args, **options))

            return call
        if inspect.ismethod(member):
            return lambda *args, **options: self._in_turn(member(*args, **options))
        return member

    def _in_turn(self, value):
        return Killed(value, self._life) if isinstance(value, RemoteExecution) else value
