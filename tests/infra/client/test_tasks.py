"""The requests of a worker, to a server of HTTP."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from xingqiao.actions import (
    ConflictError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)
from xingqiao.client import connect
from xingqiao.infra.client import tasks as module
from xingqiao.infra.client.errors import UnreachedError
from xingqiao.infra.client.tasks import RemoteTasks


@asynccontextmanager
async def opened(url):
    async with connect(url, "user:key") as x:
        yield RemoteTasks(x._calls.transport)


@asynccontextmanager
async def serving(*answers):
    """A server that answers in this order, and a client of it. It notes what it was asked."""
    asked, left = [], list(answers)

    async def answer(request):
        asked.append((request.method, request.path, await request.text(), request.headers))
        status, body = left.pop(0)
        if status is None:
            request.transport.close()
            return web.Response()
        return (
            web.json_response(body, status=status)
            if body is not None
            else web.Response(status=status)
        )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        async with opened(f"http://127.0.0.1:{port}/") as tasks:
            yield tasks, asked
    finally:
        await runner.cleanup()


async def test_it_takes_tasks_with_its_key_and_says_how_long_it_waits():
    async with serving((200, {"tasks": [1, 2]})) as (server, asked):
        assert await server.take("a/b", {"worker": "one"}, 5.0) == [1, 2]

    ((method, path, body, headers),) = asked
    assert (method, path) == ("POST", "/api/v1/namespaces/_/queues/a/b/take")
    assert '"wait": 5.0' in body
    assert headers["Authorization"].startswith("Basic ")


async def test_it_leaves_a_queue():
    async with serving((204, None)) as (server, asked):
        await server.leave("gpu", "one")

    assert asked[0][:2] == ("DELETE", "/api/v1/namespaces/_/queues/gpu/workers/one")


@pytest.mark.parametrize("cancel", [True, False])
async def test_a_heartbeat_says_whether_the_task_is_waited_for(cancel):
    async with serving((200, {"cancel": cancel}), (200, {"cancel": cancel})) as (server, asked):
        assert await server.beat("token", {"at": 5}) is not cancel
        await server.beat("token", None)

    assert [body for _, _, body, _ in asked] == ['{"at": 5}', ""]


async def test_an_answer_is_sent_again_until_the_server_takes_it(monkeypatch):
    monkeypatch.setattr(module, "FIRST_S", 0.001)
    busy = (503, {"error": "later"})
    async with serving(busy, (None, None), (202, {"accepted": True})) as (server, asked):
        await server.answer("token", {"ok": 1})

    assert len(asked) == 3


async def test_an_answer_that_has_come_before_the_connection_broke_is_not_refused(monkeypatch):
    monkeypatch.setattr(module, "FIRST_S", 0.001)
    async with serving((None, None), (409, {"error": "over"})) as (server, _):
        await server.answer("token", {"ok": 1})


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFoundError), (409, ConflictError), (413, TooLargeError)]
)
async def test_an_answer_that_the_server_refuses_is_an_error(status, error):
    async with serving((status, {"error": "no"})) as (server, _):
        with pytest.raises(error, match="no"):
            await server.answer("token", {})


async def test_an_answer_is_not_sent_for_ever(monkeypatch):
    monkeypatch.setattr(module, "FIRST_S", 0.001)
    monkeypatch.setattr(module, "ANSWER_S", -1)
    async with serving((503, {"error": "later"})) as (server, _):
        with pytest.raises(UnavailableError):
            await server.answer("token", {})


async def test_a_server_that_cannot_be_reached_is_named():
    async with opened("http://127.0.0.1:1") as server:
        with pytest.raises(
            UnreachedError, match=r"the server at http://127\.0\.0\.1:1 cannot be reached"
        ):
            await server.leave("gpu", "one")


async def test_what_is_no_server_of_ours_is_named():
    async def page(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(page, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening, opened(f"http://127.0.0.1:{port}") as server:
        with pytest.raises(UnreachedError, match="is not JSON: check that url names"):
            await server.take("gpu", {}, 0.0)
