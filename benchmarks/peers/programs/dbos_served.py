"""DBOS behind HTTP, as its users serve it: an ASGI application, here without a framework that would cost time.

Its directory comes by the environment: DBOS_DIRECTORY.
"""

from __future__ import annotations

import json
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from . import dbos_work


class Application:
    """`POST /SHAPE` runs an execution and answers with its result; `POST /begin` starts slow steps; `/expect`, `/tell` and `/received` are for messages."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        answer = json.dumps(await self._answer(scope["path"][1:], json.loads(body))).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, path: str, asked: dict[str, Any]) -> Any:
        if path == "begin":
            await dbos_work.begin(asked["n"], asked["payload"])
            return {}
        if path == "expect":
            await dbos_work.expect(asked["number"])
            return {}
        if path == "received":
            return await dbos_work.received(asked["number"])
        if path == "tell":
            await dbos_work.tell(asked["number"], asked["payload"])
            return {}
        return await dbos_work.WORKFLOWS[path](asked["n"], asked["payload"])

    async def _live(self, receive: Any, send: Any) -> None:
        """Opens DBOS with the server, and closes it with the server."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                directory = Path(os.environ["DBOS_DIRECTORY"])
                await self._open.enter_async_context(dbos_work.launched(directory))
            else:
                await self._open.aclose()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


app = Application()
