"""The door of the client: `connect`."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING

from .blocking import BlockingClient
from .calls import Calls
from .client import Client
from .places import Given, Options, locate
from .transport import Patience, Transport
from .wrapping import Loop

if TYPE_CHECKING:
    from .places import Place


class Connecting:
    """A connection that is opened by `async with`, or by `with` for a program without an event loop.

    Args:
        place: the server and the credentials.
        patience: how long to try again; None for the usual time.
    """

    def __init__(self, place: Place, patience: Patience | None = None) -> None:
        self._place = place
        self._transport = Transport(place, patience or Patience())
        self._opened, self._loop = AsyncExitStack(), ExitStack()

    def __repr__(self) -> str:
        return f"<connection to {self._place.url}>"

    async def __aenter__(self) -> Client:
        calls = Calls(await self._opened.enter_async_context(self._transport))
        return Client(calls)

    async def __aexit__(self, *exc: object) -> None:
        await self._opened.aclose()

    def __enter__(self) -> BlockingClient:
        with ExitStack() as opened:
            loop = opened.enter_context(Loop())
            client = loop.run(self.__aenter__())
            opened.callback(lambda: loop.run(self._opened.aclose()))
            self._loop = opened.pop_all()
        return BlockingClient(loop, client)

    def __exit__(self, *exc: object) -> None:
        self._loop.close()


def connect(
    url: str | None = None,
    auth: str | None = None,
    *,
    auth_file: str | None = None,
    ca: str | None = None,
    patience_s: float = 30.0,
) -> Connecting:
    """Makes a connection to a server, for `async with` or, without an event loop, for `with`.

    What is not given comes from the environment (XINGQIAO_URL, XINGQIAO_AUTH, XINGQIAO_AUTH_FILE,
    XINGQIAO_CA), from `xingqiao dev` in this folder, or from `.wskprops`, in that order.

    Args:
        url: URL of the server.
        auth: credentials, `UUID:KEY`.
        auth_file: file that holds the credentials.
        ca: PEM file of the certificates to trust; None for those that this machine trusts.
        patience_s: seconds for which a request is sent again while the server cannot be reached. Only
            requests whose repetition changes nothing are sent again.

    Raises:
        PlaceError: the URL is not valid, there are no credentials, or a file cannot be read.
    """
    place = locate(Given(url=url, auth=auth, auth_file=auth_file, ca=ca), Options())
    return Connecting(place, Patience(seconds=patience_s))
