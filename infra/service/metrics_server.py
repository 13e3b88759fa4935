"""A listener of its own for the metrics: a scraper reaches it without reaching the API."""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.server import ServerState

from ..edge import Acceptor, Bounds, Census, Guarded
from ..http import METRICS_TYPE, scrapes
from .listening import config_of, listening, url_of

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Iterator

    from starlette.requests import Request

    from ..settings import Settings

log = logging.getLogger(__name__)

BOUNDS = Bounds(connections=64, unfinished=32, unfinished_per_address=16)
REFUSED = (
    "Send the key of XINGQIAO_METRICS_KEY as 'Authorization: Bearer KEY'.\n"  # as Prometheus does
)


class MetricsServer:
    """Serves the metrics at an address of their own, to everybody who reaches it and has the key, if one is set.

    Args:
        settings: settings of the service, with a `metrics_port`.

    Raises:
        SettingsError: the server cannot listen there.
    """

    def __init__(self, settings: Settings) -> None:
        assert settings.metrics_port is not None  # noqa: S101  or nothing is served
        self._settings = settings
        self._socket: socket.socket = listening(
            settings.metrics_host, settings.metrics_port, "metrics-"
        )

    @contextlib.contextmanager
    def serving(self, write: Callable[[], bytes], tasks: asyncio.TaskGroup) -> Iterator[None]:
        """Serves the text that `write` returns while the block runs; `tasks` owns the connections."""
        settings = self._settings

        async def metrics(request: Request) -> Response:
            if settings.metrics_key and not scrapes(request, settings.metrics_key):
                return PlainTextResponse(REFUSED, 401, {"WWW-Authenticate": "Bearer"})
            return Response(write(), media_type=METRICS_TYPE)

        app = Starlette(routes=[Route(settings.metrics_path, metrics, methods=["GET"])])
        state, census = ServerState(), Census(BOUNDS)
        protocol = partial(Guarded, config_of(app), state, census)
        log.info(
            "the metrics are at %s%s",
            url_of(self._socket, settings.metrics_host, "http"),
            settings.metrics_path,
        )
        try:
            with census.watching(), Acceptor(self._socket, census, protocol).accepting(tasks):
                yield
        finally:
            self._socket.close()
            for connection in list(state.connections):
                connection.shutdown()
