"""The server of a worker: its requests, sent again while the server cannot be reached."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import aiohttp

from ...composer import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON

API = "/api/v1"
QUEUES = API + "/namespaces/_/queues/"
COMPLETIONS = API + "/completions/"
ANSWER_S = 300.0  # for which an answer is sent again while the server cannot be reached
MARGIN_S = 15.0  # seconds to wait for the server, beyond those that it is asked to wait
FIRST_S, LONGEST_S = 0.2, 10.0  # between two attempts
NO_CONTENT, LEAST_ERROR, CONFLICT, UNAVAILABLE = 204, 400, 409, 503


class ServerError(Error):
    """The server refused a request, with this status, or could not be reached: then `status` is None."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status

    @property
    def passing(self) -> bool:
        """True if the same request may succeed later."""
        return self.status is None or self.status >= UNAVAILABLE - 3


class Server:
    """A connection to a server. Use it with `async with`.

    Args:
        url: URL of the server.
        auth: credentials, `UUID:KEY`, of a key that may take tasks.
        ca: PEM file of the trusted certificates; None for those that this machine trusts.
    """

    def __init__(self, url: str, auth: str, ca: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Basic {b64encode(auth.encode()).decode()}"}
        self._tls = True if ca is None else ssl.create_default_context(cafile=ca)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._tls)
        self._session = aiohttp.ClientSession(connector=connector, trust_env=True)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def take(self, queue: str, asked: Mapping[str, JSON], wait_s: float) -> list[Any]:
        """Waits for tasks, for so many seconds.

        Raises:
            ServerError: the server refuses, or cannot be reached.
        """
        path = f"{QUEUES}{quote(queue, safe='')}/take"
        body: JSON = {**asked, "wait": wait_s}
        answer = await self._ask("POST", path, body, wait_s, signed=True)
        return list(answer["tasks"])

    async def leave(self, queue: str, worker: str) -> None:
        """Ends the wait of a worker: it gets no further task.

        Raises:
            ServerError: the server refuses, or cannot be reached.
        """
        path = f"{QUEUES}{quote(queue, safe='')}/workers/{quote(worker, safe='')}"
        await self._ask("DELETE", path, None, signed=True)

    async def beat(self, token: str, details: JSON) -> bool:
        """Tells that a worker is at work. Returns False if nobody waits for its task any more.

        Raises:
            ServerError: the server refuses, or cannot be reached.
        """
        answer = await self._ask("POST", f"{COMPLETIONS}{token}/heartbeat", details)
        return not answer["cancel"]

    async def answer(self, token: str, result: dict[str, JSON]) -> None:
        """Answers a task. It is sent again while the server cannot be reached: the first answer counts.

        Raises:
            ServerError: the server refuses the answer, or could not be reached for minutes.
        """
        loop, pause_s = asyncio.get_running_loop(), FIRST_S
        until_s, again = loop.time() + ANSWER_S, False
        while True:
            try:
                await self._ask("POST", f"{COMPLETIONS}{token}", result)
            except ServerError as error:
                if again and error.status == CONFLICT:
                    return  # most likely it was this answer that has come
                if not error.passing or loop.time() > until_s:
                    raise
            else:
                return
            again = True
            await asyncio.sleep(pause_s)  # noqa: TID251  the server may start by then
            pause_s = min(2 * pause_s, LONGEST_S)

    async def _ask(
        self, method: str, path: str, body: JSON, wait_s: float = 0.0, *, signed: bool = False
    ) -> Any:
        assert self._session is not None  # noqa: S101  it is open
        timeout = aiohttp.ClientTimeout(total=wait_s + MARGIN_S)
        headers = self._headers if signed else {}
        try:
            async with self._session.request(
                method, self._url + path, json=body, headers=headers, timeout=timeout
            ) as response:
                if response.status == NO_CONTENT:
                    return None
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            raise ServerError(f"the server at {self._url} cannot be reached: {why}") from error
        except ValueError as error:
            raise ServerError(f"the response of {self._url} is not JSON: check the URL") from error
        if response.status >= LEAST_ERROR:
            text = answer.get("error") if isinstance(answer, dict) else answer
            raise ServerError(f"{text} ({response.status})", response.status)
        return answer
