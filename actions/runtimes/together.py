"""The part of `worker.py` that runs several calls of coroutine functions in one event loop, each as a task.

`worker.py` loads it when code needs it, and hands over its own parts: this file imports none of ours.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .worker import Call, Channel, Log, Runner

LEAVE_S = 0.5  # for a call to end after its cancellation, before the server is told that it goes on


class Together:
    """Answers requests, in the order in which their calls end.

    Args:
        channel: the socket to the server.
        runner: calls the functions.
        streams: stand for stdout and stderr.
        stray: gets the output that is no call's, such as that of threads.
        answers: make the lines that answer: with a result, and a request with an error; and the bytes of
            the longest result.
    """

    def __init__(
        self,
        channel: Channel,
        runner: Runner,
        streams: tuple[Log, Log],
        stray: Call,
        answers: tuple[Callable[..., bytes], Callable[..., bytes], int],
    ) -> None:
        self.channel, self.runner, self.streams, self.stray = channel, runner, streams, stray
        self.success, self.refusal, self.limit = answers
        self.loop = asyncio.new_event_loop()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.begun: set[int] = set()
        self.leaving: set[int] = set()  # calls that were cancelled and have not ended
        self.process = os.getpid()
        self.ended: BaseException | None = None
        self.call: contextvars.ContextVar[Call] = contextvars.ContextVar("call", default=stray)

    def serve(self) -> None:
        for stream in self.streams:
            stream.current = self.call.get
        self.loop.add_reader(self.channel.fd, self.readable)
        self.take()
        self.loop.run_forever()
        if self.ended is not None:
            raise self.ended

    def readable(self) -> None:
        if os.getpid() != self.process:
            os._exit(1)  # a fork of user code's: the requests are its parent's
        if self.channel.read():
            self.take()
        else:
            self.loop.stop()

    def take(self) -> None:
        """Acts on all documents that have come."""
        while self.channel.lines:
            document = self.channel.receive()
            if "cancel" in document:
                self.cancel(document["cancel"])
            else:
                self.tasks[document["id"]] = self.loop.create_task(self.run(document))

    def cancel(self, number: int) -> None:
        task = self.tasks.get(number)
        if task is None:
            return  # its answer is on the way
        self.leaving.add(number)
        if number in self.begun:  # a task that has not begun would end without an answer
            task.cancel()
        self.loop.call_later(LEAVE_S, self.tell, number)

    def tell(self, number: int) -> None:
        """Tells the server that a call which was cancelled goes on, if that is so."""
        if number in self.leaving:
            self.channel.send({"id": number, "left": False})

    async def run(self, request: dict[str, Any]) -> None:
        number = request["id"]
        call = self.stray.another(number)
        try:
            answer = await self.answer(request, call)
        except BaseException as error:  # noqa: BLE001  the end of this process, with all its calls
            self.ended = error
            self.loop.stop()
            return
        if os.getpid() != self.process:
            os._exit(1)  # as above
        for each in (call, self.stray):
            for stream in self.streams:
                stream.end(each)
        del self.tasks[number]
        self.begun.discard(number)
        if number in self.leaving:
            self.leaving.remove(number)
            answer = b'{"left":true}'
        self.channel.write(b'{"id":%d,%b' % (number, answer[1:]))

    async def answer(self, request: dict[str, Any], call: Call) -> bytes:
        if request["id"] in self.leaving:
            return b""  # it was cancelled before it began
        self.begun.add(request["id"])
        self.call.set(call)
        self.stray.left = self.stray.limit
        sys.stdout, sys.stderr = self.streams
        if not self.channel.begin(request["id"]):  # taken back: another worker runs it
            await self.loop.create_future()
        try:
            result = self.runner.answer(request, await self.runner.begin(request))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  the boundary to user code
            if request["id"] in self.leaving:
                return b""
            return self.refusal(error, request, self.limit)
        return self.success(result, self.limit)
