"""The tasks of queues on a server, as a worker takes and answers them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...actions import ConflictError, RefusedError
from ..worker import is_passing
from .errors import UnreachedError
from .places import PlaceError
from .wire import COMPLETIONS, HOME, Request, segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from .transport import Transport

ANSWER_S = 300.0  # for which an answer is sent again while the server cannot be reached
FIRST_S, LONGEST_S = 0.2, 10.0  # between two attempts


class RemoteTasks:
    """The tasks of a server. A `Tasks` of a worker, which tries again by itself: it may be told to stop."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def take(self, queue: str, asked: Mapping[str, Any], wait_s: float) -> list[Any]:
        """See `Tasks`."""
        path = f"{HOME}/queues/{segment(queue)}/take"
        answer = await self._ask("POST", path, {**asked, "wait": wait_s}, wait_s)
        return list(answer["tasks"])

    async def leave(self, queue: str, worker: str) -> None:
        """See `Tasks`."""
        await self._ask("DELETE", f"{HOME}/queues/{segment(queue)}/workers/{segment(worker)}")

    async def beat(self, token: str, details: JSON) -> bool:
        """See `Tasks`."""
        answer = await self._ask("POST", f"{COMPLETIONS}/{segment(token)}/heartbeat", details)
        return not answer["cancel"]

    async def answer(self, token: str, result: dict[str, JSON]) -> None:
        """See `Tasks`."""
        loop, pause_s = asyncio.get_running_loop(), FIRST_S
        until_s, again = loop.time() + ANSWER_S, False
        while True:
            try:
                await self._ask("POST", f"{COMPLETIONS}/{segment(token)}", result)
            except RefusedError as error:
                if again and isinstance(error, ConflictError):
                    return  # most likely it was this answer that has come
                if not is_passing(error) or loop.time() > until_s:
                    raise
            else:
                return
            again = True
            await asyncio.sleep(pause_s)  # noqa: TID251  the server may start by then
            pause_s = min(2 * pause_s, LONGEST_S)

    async def _ask(self, method: str, path: str, body: JSON = None, wait_s: float = 0.0) -> Any:
        request = Request(method=method, path=path, body=body)
        try:
            return (await self._transport.ask(request, wait_s=wait_s, patience_s=0.0)).document
        except PlaceError as error:  # a proxy answers while the server starts
            raise UnreachedError(str(error)) from error
