"""The service as a process: serves HTTP until it is told to stop, then stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn

from .api import api_of
from .app import open_service
from .http import create_app
from .namespaces import OPERATOR, first_namespaces
from .settings import OPERATOR_FILE, write_secret
from .stores import StoreError
from .telemetry import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .app import Service
    from .http import Api
    from .namespaces import Namespaces
    from .settings import Settings

log = logging.getLogger(__name__)

GONE = (
    "another server has taken table {table} over, and conducts what was under way here: this one has "
    "stopped. Give each server a table of its own, and start this one again when it is needed"
)
BACKLOG = 2048  # connections that wait to be accepted


class _Server(uvicorn.Server):
    """Uvicorn, with signals left to us: executions are to be drained before connections close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    settings: Settings, started: Callable[[str, str | None], None] = lambda _, __: None
) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        settings: of the service.
        started: told the URL and, at the first start, the credentials that are shown only once.

    Raises:
        StoreError: when it cannot start, or its store has been taken over; the text says why.
        SandboxError, AuthError: when it cannot start; the text says why.
        OSError: when it cannot listen.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    sock = _listening(settings)
    url = _url(settings.host, sock.getsockname()[1])
    settings = replace(settings, api_host=settings.api_host or url)
    async with open_service(settings) as service:
        gone = service.gone
        credentials = await _credentials(service.namespaces, settings)
        api = _api(service, settings)
        server = _Server(_config(api))
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(server.serve([sock]))
            started(url, credentials)
            stopping = tasks.create_task(stop.wait())
            losing = tasks.create_task(gone.wait())
            await asyncio.wait((serving, stopping, losing), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            losing.cancel()
            api.stopping = True
            await _drained(service, 0 if gone.is_set() else settings.grace_s)
            server.should_exit = True
    if gone.is_set():
        raise StoreError(GONE.format(table=settings.dynamodb))


async def _drained(service: Service, grace_s: float) -> None:
    """Begins nothing new, and waits for what is under way; not when another server conducts it."""
    log.info("stopping: steps under way have %g s", grace_s)
    service.activities.close()
    if not await service.engine.drain(grace_s):
        log.warning("some steps are still under way; they run again after the next start")


def _api(service: Service, settings: Settings) -> Api:
    metrics = metrics_of(service.engine, service.pool, service.clouds.invoker, service.completions)
    return api_of(service, settings, metrics)


def _config(api: Api) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(api),
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def _listening(settings: Settings) -> socket.socket:
    return socket.create_server(
        (settings.host, settings.port),
        family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
        backlog=BACKLOG,
    )


async def _credentials(namespaces: Namespaces, settings: Settings) -> str | None:
    """Those of `guest`, when they are new; the operator's go into a file that only they can read."""
    guest, operator = await first_namespaces(namespaces, settings.auth, settings.operator)
    if settings.data is not None:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)  # the store may lie elsewhere
        file = settings.data / OPERATOR_FILE
        if operator is None and settings.operator is None and not file.exists():
            operator = await namespaces.rotate(OPERATOR)
        if operator is not None:
            write_secret(file, operator)
    return guest


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
