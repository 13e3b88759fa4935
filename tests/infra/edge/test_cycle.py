"""Responses on the wire: one write for a short one, a valid head, and a body as long as the head says."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.edge.wires import Line, Wire
from xingqiao.infra.edge.cycle import JOINED_BYTES

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
OLD = b"GET / HTTP/1.0\r\nHost: x\r\n\r\n"


def app_of(*messages):
    """An application that sends these messages."""

    async def app(scope, receive, send):
        for message in messages:
            await send(message)

    return app


def start(*headers, status=200):
    return {"type": "http.response.start", "status": status, "headers": [*headers]}


def body(text=b"", *, more=False):
    return {"type": "http.response.body", "body": text, "more_body": more}


def length(size):
    return (b"content-length", b"%d" % size)


class Writes(Wire):
    """A transport that keeps each write apart."""

    def __init__(self):
        super().__init__()
        self.writes = []

    def write(self, data):
        self.writes.append(bytes(data))
        super().write(data)


async def written(*messages, request=GET):
    """The writes of a response, and the line that has sent it."""
    line = Line(app_of(*messages))
    line.wire = line.protocol.transport = Writes()
    line.wire.protocol = line.protocol
    await line.send(request)
    return line.wire.writes, line


async def test_a_response_of_known_length_is_one_write():
    writes, _ = await written(start(length(2), (b"A", b"b")), body(b"ok"))

    assert writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\na: b\r\n\r\nok"]


@pytest.mark.parametrize(("size", "count"), [(JOINED_BYTES, 1), (JOINED_BYTES + 1, 2)])
async def test_a_long_body_is_not_copied(size, count):
    writes, _ = await written(start(length(size)), body(b"x" * size))

    assert len(writes) == count
    assert b"".join(writes).endswith(b"\r\n\r\n" + b"x" * size)


async def test_the_head_waits_for_the_first_piece_of_a_body_only():
    writes, _ = await written(start(length(4)), body(b"ab", more=True), body(b"cd"))

    assert [write[-2:] for write in writes] == [b"ab", b"cd"]


async def test_a_head_of_unknown_length_is_sent_at_once():
    ready = asyncio.Event()

    async def app(scope, receive, send):
        await send(start())
        await ready.wait()
        await send(body(b"abc", more=True))
        await send(body(b"", more=True))
        await send(body(b"d"))

    line = Line(app)
    await line.send(GET)
    assert line.wire.sent == b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

    ready.set()
    await line.answered()
    assert line.wire.sent.endswith(b"\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")


async def test_an_application_may_name_the_chunks_itself():
    writes, _ = await written(start((b"transfer-encoding", b"chunked")), body(b"abc"))

    assert b"".join(writes).count(b"transfer-encoding: chunked") == 1
    assert writes[-1] == b"3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status", "sent"),
    [(HEAD, 200, b"content-length: 9\r\n\r\n"), (GET, 204, b"HTTP/1.1 204 No Content\r\n\r\n")],
)
async def test_some_responses_have_no_body(request_bytes, status, sent):
    headers = [length(9)] if status == 200 else []
    writes, line = await written(start(*headers, status=status), body(), request=request_bytes)

    assert b"".join(writes).endswith(sent)
    assert await line.send(GET) == [status, status]


@pytest.mark.parametrize(
    ("headers", "request_bytes", "told"),
    [
        ([], GET, False),
        ([], OLD, True),
        ([(b"connection", b"keep-alive, Close")], GET, True),
        ([(b"connection", b"close")], OLD, True),
        ([(b"connection", b"keep-alive")], GET, False),
    ],
)
async def test_the_end_of_the_connection_is_told_once(headers, request_bytes, told):
    writes, line = await written(start(length(0), *headers), body(), request=request_bytes)

    assert b"".join(writes).lower().count(b"close") == told
    assert line.wire.closed == told


@pytest.mark.parametrize(
    "header",
    [
        (b"a b", b"c"), (b"a:", b"c"), (b"", b"c"), (b"a\r\n", b"c"), (b"\xc3\xa4", b"c"),
        (b"a", b"c\r\nd: e"), (b"a", b"c\nd"), (b"a", b"c\x00"), (b"a", b"\x7f"),
        (b"a" * 100 + b" ", b"c"),
    ],
)  # fmt: skip
async def test_a_malformed_header_is_not_sent(header, caplog):
    writes, line = await written(start(length(2), header), body(b"ok"))

    assert writes == []
    assert line.wire.closed
    assert "of the response" in str(caplog.records[0].exc_info[1])


@pytest.mark.parametrize("size", [64, 65, 1000])
async def test_a_name_may_be_long(size):
    writes, _ = await written(start(length(0), (b"A" * size, b"b")), body())

    assert b"\r\n" + b"a" * size + b": b\r\n" in writes[0]


async def test_a_tab_and_other_alphabets_may_be_in_a_value():
    writes, _ = await written(start(length(0), (b"a", b"b\tc \xe4")), body())

    assert b"a: b\tc \xe4\r\n" in writes[0]


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([body(b"ok")], "cannot go on with the message 'http.response.body'"),
        ([start(length(0)), start(length(0))], "the message 'http.response.start'"),
        ([start(length(0)), body(), body()], "the message 'http.response.body'"),
        ([start(length(2)), body(b"long")], "longer than its header says"),
        ([start(length(2)), body(b"s")], "shorter than its header says"),
    ],
)
async def test_a_mistake_of_the_application_is_logged(messages, why, caplog):
    await written(*messages)

    assert why in str(caplog.records[0].exc_info[1])


async def test_an_application_that_fails_before_its_response_is_told_by_500(caplog):
    async def app(scope, receive, send):
        raise ValueError("a mistake")

    line = Line(app)

    assert await line.send(GET) == [500]
    assert line.wire.closed
    assert str(caplog.records[0].exc_info[1]) == "a mistake"


async def test_nothing_is_sent_to_a_client_that_has_left():
    left = asyncio.Event()

    async def app(scope, receive, send):
        await left.wait()
        await send(start(length(2)))
        await send(body(b"ok"))

    line = Line(app)
    await line.send(GET)
    line.wire.close()
    await anyio.lowlevel.checkpoint()
    left.set()

    assert await line.answered() == []


async def test_a_client_that_does_not_read_stops_the_response():
    async def app(scope, receive, send):
        await send(start())
        for _ in range(3):
            await send(body(b"x", more=True))
        await send(body(b""))

    line = Line(app)
    line.protocol.pause_writing()
    await line.send(GET)
    assert line.wire.sent == b""

    line.protocol.resume_writing()
    await line.answered()
    assert line.wire.sent.endswith(b"0\r\n\r\n")
