"""Listening sockets, and the server that serves their connections."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

import uvicorn

from ..edge import Guarded
from ..settings import SettingsError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from starlette.types import ASGIApp

BACKLOG = 2048  # connections waiting to be accepted


class HttpServer(uvicorn.Server):
    """Uvicorn without signal handlers: executions must be drained before connections close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Starts without sockets: `Acceptor` accepts connections, within bounds."""
        await self.lifespan.startup()
        self.servers: list[asyncio.base_events.Server] = []
        self.started = True


def config_of(app: ASGIApp) -> uvicorn.Config:
    """Uvicorn's configuration for an application."""
    return uvicorn.Config(
        app,
        http=Guarded,
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def listening(host: str, port: int, options: str = "") -> socket.socket:
    """A socket that listens.

    Args:
        host: address to listen on.
        port: port to listen on; 0 for any free port.
        options: prefix of the options `host` and `port`, for the error.

    Raises:
        SettingsError: the server cannot listen there.
    """
    try:
        return socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=BACKLOG,
        )
    except OSError as error:  # its own text has error numbers
        raise SettingsError(
            f"the server cannot listen on {host}:{port}: {_reason(error)}. Give another "
            f"address with --{options}host, another port with --{options}port (0 picks a free one), or "
            "stop the process that uses the port"
        ) from error


def _reason(error: OSError) -> str:
    text = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return (text or str(error)).lower()


def url_of(sock: socket.socket, host: str, scheme: str) -> str:
    """The URL of a listening socket."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{sock.getsockname()[1]}"
