"""One connection: what it may send, how long it may take, and how it ends when it does more."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.edge.wires import ADDRESS, Line, answer, echo
from xingqiao.infra.edge.protocol import LINGER_BYTES, LINGER_S, MAX_PIPELINED

GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
ABOVE, BELOW = 1.01, 0.99


def head(*lines):
    return b"\r\n".join((b"GET / HTTP/1.1", *lines, b"", b""))


def post(size, body=b""):
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + body


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "status"), [(300, 200), (301, 414)])
async def test_a_target_has_a_longest_length(length, status):
    line = Line(echo, url_bytes=300)

    assert await line.send(b"GET /" + b"a" * (length - 1) + b" HTTP/1.1\r\nHost: x\r\n\r\n") == [
        status
    ]


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize(("size", "status"), [(2000, 200), (2001, 431)])
async def test_headers_have_a_largest_size_in_one_piece_or_several(size, status, pieces):
    line = Line(echo, header_bytes=2000)
    text = head(b"Host: x", b"A: " + b"a" * (size - len("Hostx") - len("A")))
    step = -(-len(text) // pieces)

    assert await line.send(*(text[i : i + step] for i in range(0, len(text), step))) == [status]


@pytest.mark.parametrize(("count", "status"), [(20, 200), (21, 431)])
async def test_a_request_has_a_largest_count_of_headers(count, status):
    line = Line(echo, header_count=20)

    assert await line.send(head(*(b"A%d: a" % i for i in range(count)))) == [status]


async def test_a_header_that_does_not_end_is_refused_when_it_is_too_long():
    line = Line(echo, header_bytes=2000, url_bytes=300, header_count=16)

    assert await line.send(b"GET / HTTP/1.1\r\nA: ", b"a" * 2000) == []
    assert await line.send(b"a" * 500) == [431]
    assert b"larger than 2000 bytes" in line.wire.sent
    assert line.refused() == {"header_size": 1}
    assert line.wire.ended


@pytest.mark.parametrize("text", [b"\r\n" * 4000, b"POST / HTTP/1.1" + b"\r\nA: a" * 4000])
async def test_what_never_becomes_a_request_is_refused(text):
    line = Line(echo, header_bytes=2000, url_bytes=300, header_count=16)

    assert (await line.send(text))[0] in (400, 431)


async def test_framing_of_chunks_is_bounded_too():
    line = Line(echo, header_bytes=2000, url_bytes=300, header_count=16)
    start = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert await line.send(start, b"1;" + b"a" * 1000 + b"\r\nx\r\n") == []
    assert await line.send(b"1;" + b"a" * 3000) == [400]


async def test_trailers_are_no_headers_and_are_bounded():
    seen = []

    async def app(scope, receive, send):
        await echo(scope, receive, send)
        seen.extend(scope["headers"])

    line = Line(app, header_bytes=2000, url_bytes=300, header_count=16)
    start = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"

    assert await line.send(start + b"Authorization: Basic eA==\r\n\r\n") == [200]
    assert b"authorization" not in dict(seen)
    assert await line.send(start + b"A: ", b"a" * 3000) == [200, 400]


async def test_many_small_chunks_are_no_flood():
    line = Line(echo, header_bytes=2000, url_bytes=300, header_count=16)
    start = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert await line.send(start, *[b"1\r\nx\r\n"] * 5000, b"0\r\n\r\n") == [200]
    assert line.wire.sent.endswith(b"5000")


@pytest.mark.parametrize(("count", "refused"), [(MAX_PIPELINED + 1, 0), (MAX_PIPELINED + 2, 1)])
async def test_requests_that_wait_for_the_one_before_are_limited(count, refused):
    line = Line(echo)
    line.protocol.data_received(GET * count)
    for _ in range(20):
        statuses = await line.answered()

    assert statuses == [200] * (MAX_PIPELINED + 1)
    assert line.refused().get("pipelined", 0) == refused
    assert line.wire.closed == bool(refused)


async def test_what_is_no_http_after_a_request_ends_the_connection_after_its_response():
    line = Line(echo)

    assert await line.send(GET + b"nonsense\r\n\r\n") == [200]
    assert line.wire.closed
    assert line.refused() == {"malformed": 1}


async def test_a_target_that_does_not_end_is_refused_when_it_is_too_long():
    line = Line(echo, header_bytes=2000, url_bytes=300, header_count=16)

    assert await line.send(b"GET /", b"a" * 1000) == []
    assert await line.send(b"a" * 1500) == [414]
    assert line.refused() == {"url_size": 1}


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [b"GET / HT", b"GET / HTTP/1.1\r\nA: a"])
async def test_headers_have_their_time(begun):
    line = Line(echo, header_s=10)
    await line.send(begun)

    assert await line.wait(10 * BELOW) == []
    assert not line.wire.closed
    assert await line.wait(10 * (ABOVE - BELOW)) == [408]
    assert line.refused() == {"header_slow": 1}


async def test_headers_that_trickle_have_no_more_time():
    line = Line(echo, header_s=10)
    await line.send(b"GET / HTTP/1.1\r\n")
    for _ in range(9):
        assert await line.send(b"A: a\r\n") == []
        await line.wait(1)

    assert await line.wait(1.1) == [408]


async def test_a_connection_that_sends_nothing_is_closed_without_a_word():
    line = Line(echo, header_s=10)

    await line.wait(10 * BELOW)
    assert not line.wire.closed
    assert await line.wait(1) == []
    assert line.wire.closed
    assert line.refused() == {"silent": 1}
    assert (line.census.open, line.census.unfinished) == (0, 0)


async def test_a_body_that_does_not_come_is_not_waited_for():
    line = Line(echo, body_s=10)
    await line.send(post(5, b"1234"))

    assert await line.wait(10 * BELOW) == []
    assert await line.wait(1) == [408]
    assert line.refused() == {"body_slow": 1}
    assert (await line.wait(LINGER_S), line.wire.closed) == ([408], True)
    assert line.census.open == 0


@pytest.mark.parametrize(("size", "statuses"), [(1000, [200]), (900, [408])])
async def test_a_body_must_keep_up_with_the_least_rate(size, statuses):
    line = Line(echo, body_s=10, least_rate=1000)
    await line.send(post(100 * size))
    for _ in range(100):
        await line.wait(1)
        await line.send(b"x" * size)

    assert await line.answered() == statuses


async def test_what_was_fast_saves_no_time_for_later():
    line = Line(echo, body_s=10, least_rate=1000)
    await line.send(post(1_000_001), b"x" * 1_000_000)

    assert await line.wait(10 * BELOW) == []
    assert await line.wait(1) == [408]


async def test_a_connection_between_requests_stays_for_a_while():
    line = Line(echo, idle_s=10)
    await line.send(GET)

    await line.wait(10 * BELOW)
    assert await line.send(GET) == [200, 200]
    await line.wait(10 * BELOW)
    assert not line.wire.closed
    await line.wait(1)
    assert line.wire.closed
    assert line.refused() == {}


async def test_when_connections_run_out_those_between_requests_go_first():
    line = Line(echo, idle_s=10, connections=4)
    await line.send(GET)
    others = [line.connection() for _ in range(2)]

    await line.wait(1.1)

    assert line.wire.closed
    assert not any(wire.closed for _, wire in others)


async def test_whoever_waits_for_a_response_is_not_late():
    done = asyncio.Event()

    async def app(scope, receive, send):
        await done.wait()
        await answer(send, b"done")

    line = Line(app, header_s=1, body_s=1, idle_s=1)
    await line.send(GET)
    await line.wait(1000)
    assert not line.wire.closed
    await line.send(GET[:10])
    await line.wait(1000)
    done.set()

    assert await line.answered() == [200]


async def test_a_body_that_comes_after_its_response_is_read_for_a_while():
    async def app(scope, receive, send):
        await answer(send, b"early")

    line = Line(app, body_s=10)
    await line.send(post(1_000_000, b"x"))
    await line.send(b"x" * 500_000)
    assert not line.wire.closed
    await line.wait(10.1)

    assert line.wire.closed


async def test_the_rest_of_an_early_response_s_body_may_be_followed_by_a_request():
    async def app(scope, receive, send):
        await answer(send, b"early")

    line = Line(app, body_s=10, idle_s=5)
    assert await line.send(post(10, b"x")) == [200]
    await line.send(b"x" * 9)

    assert await line.send(GET) == [200, 200]


async def test_a_client_that_does_not_read_is_cut_off():
    line = Line(echo, body_s=10, least_rate=1000)
    await line.send(GET)
    line.wire.stuck = 100_000
    line.protocol.pause_writing()

    await line.wait(10 * BELOW)
    assert not line.wire.aborted
    await line.wait(1)
    assert line.wire.aborted
    assert line.refused() == {"answer_slow": 1}


async def test_a_client_that_reads_fast_enough_is_not_cut_off():
    line = Line(echo, body_s=10, least_rate=1000, idle_s=1000)
    await line.send(GET)
    line.wire.stuck = 100_000
    line.protocol.pause_writing()
    for _ in range(9):
        line.wire.stuck -= 10_000
        await line.wait(10.1)
    assert not line.wire.aborted

    line.protocol.resume_writing()
    await line.wait(100)
    assert not line.wire.aborted


async def test_what_cannot_be_sent_does_not_keep_a_connection_open():
    line = Line(echo, idle_s=5)
    line.wire.stuck = 100
    await line.send(GET)
    await line.wait(5.1)
    assert line.wire.closed
    assert not line.wire.aborted

    await line.wait(LINGER_S)
    assert line.wire.aborted


async def test_whoever_was_refused_and_goes_on_sending_is_read_no_further():
    line = Line(echo, url_bytes=300)
    await line.send(b"GET /" + b"a" * 400 + b" HTTP/1.1\r\n\r\n")

    await line.send(b"a" * LINGER_BYTES)
    assert not line.wire.paused
    await line.send(b"a")
    assert line.wire.paused
    await line.wait(LINGER_S)
    assert line.wire.aborted


# --- unfinished connections ----------------------------------------------------------------------


async def test_a_connection_is_unfinished_until_it_has_sent_a_whole_request():
    line = Line(echo)
    seen = [line.census.unfinished]
    for piece in (GET[:9], GET[9:], post(2), b"12", post(2)):
        await line.send(piece)
        seen.append(line.census.unfinished)
    line.wire.abort()
    await line.answered()

    assert seen == [1, 1, 0, 1, 0, 1]
    assert (line.census.unfinished, line.census.open) == (0, 0)


async def test_an_address_with_too_many_unfinished_requests_begins_no_further():
    line = Line(echo, unfinished_per_address=1)
    await line.send(GET)
    line.connection()
    assert line.census.full(ADDRESS) == "unfinished_per_address"

    assert await line.send(GET[:9]) == [200, 429]
    assert line.refused() == {"unfinished_per_address": 1}
