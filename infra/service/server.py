"""The server process: serves HTTP until SIGINT or SIGTERM, then drains and stops."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

from ..access import OPERATOR, first_namespaces
from ..edge import (
    Acceptor,
    Bodies,
    Bounds,
    Census,
    CertificateError,
    Guarded,
    context_of,
    edge_metrics,
    network_of,
    raise_descriptors,
)
from ..http import create_app
from ..settings import OPERATOR_FILE, SettingsError, each, write_secret
from ..stepfunctions import operations
from ..stores import StoreError
from .api import WINGS, api_of
from .app import open_service
from .listening import HttpServer, config_of, listening, url_of
from .metrics_server import MetricsServer
from .telemetry import access_metrics, metrics_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ..access import Namespaces
    from ..http import Api
    from ..settings import Settings
    from .app import Service

log = logging.getLogger(__name__)

GONE = (
    "this server has stopped, because another server has taken over table {table} and its running "
    "executions. Give each server its own table before you start this server again"
)
OTHERS = 0o077  # mode bits of other users


async def serve(
    settings: Settings, started: Callable[[str, str | None], None] = lambda _, __: None
) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        settings: settings of the service.
        started: called with the URL and, at the first start, the generated credentials.

    Raises:
        StoreError: the store cannot be opened, or another server has taken it over.
        SandboxError, AuthError, CertificateError, SettingsError: the server cannot start or listen.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    tls = _tls(settings)
    sock = listening(settings.host, settings.port)
    metrics_server = None if settings.metrics_port is None else MetricsServer(settings)
    url = url_of(sock, settings.host, "http" if tls is None else "https")
    settings = replace(settings, api_host=settings.api_host or url)
    _warn(settings)
    census = Census(_bounds(settings))
    async with open_service(settings) as service:
        taken_over = service.taken_over
        credentials = await _credentials(service.namespaces, settings)
        api = _api(service, settings, census)
        server = HttpServer(config_of(create_app(api, WINGS)))
        acceptor = Acceptor(
            sock, census, partial(Guarded, server.config, server.server_state, census), tls
        )
        if tls is not None:
            loop.add_signal_handler(signal.SIGHUP, _renew, acceptor, settings)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(server.serve())
            with census.watching():
                with acceptor.accepting(tasks), _metrics(metrics_server, api, tasks):
                    started(url, credentials)
                    warning = tasks.create_task(_warn_if_paused(service, settings))
                    await _first(tasks, serving, stop, taken_over)
                    warning.cancel()
                    api.stopping = True
                    await _drained(service, 0 if taken_over.is_set() else settings.grace_s)
                sock.close()
                server.should_exit = True
                await serving
    if taken_over.is_set():
        raise StoreError(GONE.format(table=settings.dynamodb))


async def _drained(service: Service, grace_s: float) -> None:
    """Starts nothing new and waits up to `grace_s` seconds for running steps."""
    log.info("stopping: running steps have %g s to end", grace_s)
    service.activities.close()
    if not await service.engine.drain(grace_s):
        log.warning("some steps are still running; they run again after the next start")


async def _warn_if_paused(service: Service, settings: Settings) -> None:
    if settings.paused:
        await service.engine.recovery.counted()
        log.warning(
            "the server is paused: %d executions wait and no execution starts until "
            "`xingqiao service resume`", service.engine.recovery.left,
        )  # fmt: skip


async def _first(
    tasks: asyncio.TaskGroup, serving: asyncio.Task[None], *signs: asyncio.Event
) -> None:
    """Waits until an event is set or the server ends by itself."""
    waiting = [tasks.create_task(sign.wait()) for sign in signs]
    await asyncio.wait((serving, *waiting), return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


def _api(service: Service, settings: Settings, census: Census) -> Api:
    """The service for its HTTP endpoints, with the metrics of all its parts."""
    bodies = Bodies(settings.reading_bytes, settings.unauthenticated_bytes)
    write = metrics_of(service.engine, service.pool, service.clouds.invoker, service.completions)
    edge = edge_metrics(census, bodies)
    access = access_metrics(service.failures, service.audit)
    api = api_of(service, settings, lambda: write() + access() + edge())
    api = replace(api, bodies=bodies)
    service.step_functions.serve(service.engine, operations(api))
    return api


def _metrics(
    server: MetricsServer | None, api: Api, tasks: asyncio.TaskGroup
) -> AbstractContextManager[None]:
    return contextlib.nullcontext() if server is None else server.serving(api.metrics, tasks)


def _bounds(settings: Settings) -> Bounds:
    """The bounds in the settings, lowered to the available file descriptors."""
    wanted = {field.name: getattr(settings, field.name) for field in fields(Bounds)}
    proxies = frozenset(map(network_of, each(settings.proxies)))
    bounds = Bounds(**{**wanted, "proxies": proxies})
    descriptors = raise_descriptors(bounds.descriptors(settings.workers))
    lowered = bounds.within(descriptors, settings.workers)
    if lowered.connections < bounds.connections:
        log.warning(
            "connections are limited to %d in place of %d, because this process can open only %d files: "
            "raise the hard limit (ulimit -Hn)",
            lowered.connections, bounds.connections, descriptors,
        )  # fmt: skip
    return lowered


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return context_of(settings.tls_cert, settings.tls_key)


def _renew(acceptor: Acceptor, settings: Settings) -> None:
    """Reads certificate and key again; new connections use them."""
    try:
        acceptor.tls = _tls(settings)
    except CertificateError as error:
        log.error("the new certificate is not used, the old one stays: %s", error)  # noqa: TRY400  no traceback
    else:
        log.info("reloaded the certificate from %s", settings.tls_cert)


def _warn(settings: Settings) -> None:
    """Warns about settings that expose keys or figures to others."""
    if settings.tls_cert is None and not _is_loopback(settings.host):
        log.warning(
            "listening on %s without TLS: keys and payloads cross the network in clear text. Give "
            "--tls-cert and --tls-key, or listen on 127.0.0.1 behind a reverse proxy with TLS",
            settings.host,
        )
    is_open = settings.metrics_port is not None and not settings.metrics_key
    if is_open and not _is_loopback(settings.metrics_host):
        log.warning(
            "everybody who reaches %s can read the metrics of all namespaces: set "
            "XINGQIAO_METRICS_KEY, or give --metrics-host 127.0.0.1",
            settings.metrics_host,
        )
    data = settings.data
    if data is not None and data.is_dir() and data.stat().st_mode & OTHERS:
        log.warning(
            "the data directory %s, which holds keys, is open to other users (mode %o): chmod 700 %s",
            data, data.stat().st_mode & 0o777, data,
        )  # fmt: skip


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a host name
        return host == "localhost"


def _given(settings: Settings) -> str | None:
    """The credentials of `guest` from the settings, or from the file that they name."""
    if settings.auth_file is None:
        return settings.auth
    try:
        return settings.auth_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise SettingsError(f"the auth_file {settings.auth_file} cannot be read: {told}") from error


async def _credentials(namespaces: Namespaces, settings: Settings) -> str | None:
    """The generated credentials of `guest`. Writes the operator's to a file that only its owner reads."""
    guest, operator = await first_namespaces(namespaces, _given(settings), settings.operator)
    if settings.data is not None:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)  # the store may be a table
        file = settings.data / OPERATOR_FILE
        if operator is None and settings.operator is None and not file.exists():
            operator = await namespaces.rotate(OPERATOR)
        if operator is not None:
            write_secret(file, operator)
    return guest
