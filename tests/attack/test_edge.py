"""Whoever may connect tries to stop the server for the others: none needs a key for this.

Attackers connect from 127.0.0.1, a bystander from 127.0.0.2, where the machine has that address.
"""

from __future__ import annotations

import os
import random
import re
import selectors
import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.kit.infra.servers import AUTH, DEADLINE_S, USER, running
from xingqiao.infra.edge import raise_descriptors

OPTIONS = ("--auth", AUTH, "--isolation", "process")
PIECE = b"a" * (1 << 18)
LOOKS = 3000  # each is a request, so that time passes
STRICT = {
    "XINGQIAO_HEADER_S": "2",
    "XINGQIAO_BODY_S": "2",
    "XINGQIAO_UNAUTHENTICATED_BYTES": str(1 << 20),
}


@pytest.fixture(autouse=True)
def _descriptors(scale):
    """As many connections as an attack makes."""
    raise_descriptors(1024 + 200 * scale)


@contextmanager
def attacked(data, descriptors=None, **settings):
    environment = {**os.environ, **STRICT, **settings}
    with running(data, *OPTIONS, environment=environment, descriptors=descriptors) as server:
        yield server


@pytest.fixture
def elsewhere():
    """An address of this machine that no attacker has."""
    try:
        socket.create_server(("127.0.0.2", 0)).close()
    except OSError:
        return None
    return "127.0.0.2"


def bystander(server, elsewhere, **options):
    transport = httpx.HTTPTransport(local_address=elsewhere)
    return httpx.Client(base_url=server.url, transport=transport, timeout=DEADLINE_S, **options)


def connected(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=DEADLINE_S)


def answered(connection):
    """The whole of the next response on a connection."""
    said = b""
    while True:
        head, _, body = said.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\ncontent-length: (\d+)", head)
        if length is not None and len(body) >= int(length[1]):
            return said
        more = connection.recv(1 << 16)
        assert more, said
        said += more


def figures_of(server):
    with server.operator() as operator:
        text = operator.get(f"{server.url}/metrics").text
    found = re.findall(
        r'^xingqiao_(?:refused_total\{reason="(\w+)"\}|(\w+)) (\S+)$', text, re.MULTILINE
    )
    return {reason or name: float(value) for reason, name, value in found}


def left(client, sockets):
    """Waits until the server has closed all of these. Returns what it has said on each."""
    said = dict.fromkeys(sockets, b"")
    with selectors.DefaultSelector() as is_open:
        for connection in sockets:
            is_open.register(connection, selectors.EVENT_READ)
        for _ in range(LOOKS):
            for key, _ in is_open.select(0.01):
                try:
                    data = key.fileobj.recv(1 << 16)
                except ConnectionError:
                    data = b""
                said[key.fileobj] += data
                if not data:
                    is_open.unregister(key.fileobj)
            if not is_open.get_map():
                return list(said.values())
            client.get("/ping")
        raise AssertionError(f"{len(is_open.get_map())} connections are still open")


def test_an_endless_header_ends_soon_and_stops_nobody(tmp_path, scale, figures, elsewhere):
    pieces = 40 * scale  # of 256 KiB: 10 MB, or at full size 200
    with attacked(tmp_path / "data") as server, bystander(server, elsewhere) as client:
        with connected(server) as attacker:
            attacker.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nEndless: ")
            sent, waits = 0, []
            try:
                for _ in range(pieces):
                    attacker.sendall(PIECE)
                    sent += len(PIECE)
                    answer = client.get("/health")
                    assert answer.status_code == 200
                    waits.append(answer.elapsed.total_seconds())
            except ConnectionError:
                pass
            left(client, [attacker])
        assert figures_of(server)["header_size"] == 1
        assert client.get("/health").status_code == 200

    slowest_ms = round(max(waits, default=0) * 1000, 1)
    figures(sent_mb=sent / 1e6, of_mb=pieces * len(PIECE) / 1e6, slowest_other_ms=slowest_ms)


def test_slow_connections_are_closed_and_others_are_answered_meanwhile(
    tmp_path, scale, figures, elsewhere
):
    begun = (
        b"",
        b"GET / HTTP/1.1\r\nHost: x",
        b"POST /api/v1/completions/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1",
        b"POST /api/v1/completions/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5",
    )
    count = 100 * scale
    with (
        attacked(tmp_path / "data", XINGQIAO_UNFINISHED_PER_ADDRESS="10000") as server,
        bystander(server, elsewhere) as client,
        ExitStack() as stack,
    ):
        attackers = []
        for i in range(count):
            attackers.append(stack.enter_context(connected(server)))
            attackers[-1].sendall(begun[i % len(begun)])
        answer = client.get("/health")
        assert answer.status_code == 200
        said = left(client, attackers)
        seen = figures_of(server)
        _, errors = server.stop()

    assert {tuple(re.findall(rb"HTTP/1.1 (\d+)", text)) for text in said} == {(), (b"408",)}
    slow = ("silent", "header_slow", "body_slow")
    assert all(seen[reason] for reason in slow)
    assert sum(seen[reason] for reason in slow) == count
    assert len([line for line in errors.splitlines() if "refused: " in line]) < count
    assert "Traceback" not in errors
    waited_ms = round(answer.elapsed.total_seconds() * 1000, 1)
    figures(connections=count, closed=len(said), other_waited_ms=waited_ms)


def test_one_address_does_not_take_all_connections(tmp_path, scale, figures, elsewhere):
    if elsewhere is None:
        pytest.skip("this machine has one loopback address only")
    count = 60 * scale
    with (
        attacked(tmp_path / "data", descriptors=400, XINGQIAO_WORKERS="4", XINGQIAO_CONNECTIONS="40",
                 XINGQIAO_HEADER_S="20") as server,
        bystander(server, elsewhere) as client,
        ExitStack() as stack,
    ):  # fmt: skip
        for _ in range(count):
            attacker = stack.enter_context(connected(server))
            attacker.sendall(b"GET /")
            assert client.get("/health").status_code == 200
        stack.close()
        _, errors = server.stop()

    (line, *_) = [line for line in errors.splitlines() if "refused: " in line]
    assert "connections beyond the limit on unfinished ones of one address" in line
    assert "most often 127.0.0.1 (" in line
    figures(connections=count, allowed_per_address=20)


def test_few_descriptors_lock_nobody_out(tmp_path, scale, figures, elsewhere):
    if elsewhere is None:
        pytest.skip("this machine has one loopback address only")
    count = 100 * scale
    with (
        attacked(tmp_path / "data", descriptors=220, XINGQIAO_WORKERS="4") as server,
        bystander(server, elsewhere, auth=(USER, AUTH.partition(":")[2])) as client,
        ExitStack() as stack,
    ):
        limit = figures_of(server)["connections_limit"]
        for _ in range(count):
            stack.enter_context(connected(server))
        body = {"exec": {"kind": "python:3", "code": "def main(params):\n    return {'n': 1}\n"}}
        action = "/api/v1/namespaces/_/actions/a"
        assert client.put(action, json=body).status_code == 200
        assert client.get(action).json()["exec"]["code"] == body["exec"]["code"]
        stack.close()
        _, errors = server.stop()

    assert limit == 220 - 128 - 4 * 8
    assert "connections are limited to 60 in place of 10000" in errors
    assert "Traceback" not in errors
    figures(connections=count, descriptors=220, limit=limit)


def test_whoever_does_not_read_is_cut_off(tmp_path, scale, figures, elsewhere):
    with (
        attacked(tmp_path / "data", XINGQIAO_LEAST_RATE=str(1 << 20)) as server,
        bystander(server, elsewhere, auth=tuple(AUTH.split(":"))) as client,
        ExitStack() as stack,
    ):
        body = {
            "exec": {"kind": "python:3", "code": "def main(params):\n    return params\n"},
            "annotations": [{"key": "about", "value": "x" * 900_000}],
        }
        path = "/api/v1/namespaces/_/actions/large"
        assert client.put(path, json=body).status_code == 200
        key = httpx.Request("GET", server.url).headers["host"]
        basic = httpx.BasicAuth(*AUTH.split(":"))._auth_header
        request = f"GET {path} HTTP/1.1\r\nHost: {key}\r\nAuthorization: {basic}\r\n\r\n"
        for _ in range(2 * scale):
            attacker = stack.enter_context(connected(server))
            attacker.sendall(request.encode() * 16)
        for _ in range(LOOKS):
            assert client.get("/ping").status_code == 200
            seen = figures_of(server)
            if seen["answer_slow"] == 2 * scale:
                break

    assert seen["answer_slow"] == 2 * scale
    figures(connections=2 * scale, cut_off=seen["answer_slow"])


def test_garbage_after_requests_ends_in_order(tmp_path, scale, figures, elsewhere):
    chance = random.Random(7)
    good = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
    count, statuses = 40 * scale, {}
    with attacked(tmp_path / "data") as server, bystander(server, elsewhere) as client:
        for _ in range(count):
            before = chance.randrange(4)
            with connected(server) as attacker:
                attacker.sendall(good * before + b"\x00" + chance.randbytes(chance.randrange(3000)))
                (said,) = left(client, [attacker])
            found = re.findall(rb"HTTP/1.1 (\d+)", said)
            assert found == ([b"200"] * before if before else [b"400"]), said
            statuses[before] = statuses.get(before, 0) + 1
        assert client.get("/health").status_code == 200
        _, errors = server.stop()

    assert "Traceback" not in errors
    figures(connections=count)


def head(size, service="lambda", user=USER):
    """The head of a request that is signed with a wrong key."""
    path = {"lambda": "/2015-03-31/functions", "states": "/"}[service]
    request = AWSRequest("POST", f"http://x{path}", data=b"")
    SigV4Auth(Credentials(user, "a-wrong-key"), service, "us-east-1").add_auth(request)
    signed = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{signed}Content-Length: {size}\r\n\r\n".encode()


def test_whoever_is_not_known_is_refused_before_the_body_is_read(tmp_path):
    with attacked(tmp_path / "data") as server:
        for service, status in (("lambda", b"403"), ("states", b"400")):
            with connected(server) as attacker:
                attacker.sendall(head(8_000_000, service, "nobody-known"))
                answer = answered(attacker)
            assert answer.startswith(b"HTTP/1.1 " + status), answer
            assert b"UnrecognizedClientException" in answer
            with connected(server) as attacker:  # known, so that it would have to be read
                attacker.sendall(head(8_000_000, service))
                assert answered(attacker).startswith(b"HTTP/1.1 503")


def test_large_bodies_of_nobody_known_do_not_fill_the_memory(tmp_path, scale, figures, elsewhere):
    with (
        attacked(tmp_path / "data", XINGQIAO_BODY_S="30") as server,
        bystander(server, elsewhere) as client,
        ExitStack() as stack,
    ):
        before = _peak_kb(server)
        with connected(server) as one:  # as much as fits, and a wrong signature
            one.sendall(head(1 << 20) + b"x" * (1 << 20))
            assert answered(one).startswith(b"HTTP/1.1 403")
        holding = stack.enter_context(connected(server))
        holding.sendall(head(1 << 20) + b"x" * (1 << 19))
        for _ in range(LOOKS):
            if figures_of(server)["bodies_bytes"] == (1 << 19) - (1 << 16):
                break
        for _ in range(10 * scale):
            attacker = stack.enter_context(connected(server))
            attacker.sendall(head(30_000_000) + b"x" * (1 << 16))
            answer = answered(attacker)
            assert answer.startswith(b"HTTP/1.1 503"), answer
            assert b"ServiceException" in answer
        assert client.get("/health").status_code == 200
        small = head(100) + b"x" * 100
        with connected(server) as one:  # a small body is read whatever others send
            one.sendall(small)
            assert answered(one).startswith(b"HTTP/1.1 403")
        seen = figures_of(server)
        grown = _peak_kb(server) - before

    assert seen["bodies"] == 10 * scale
    figures(bodies=10 * scale, of_mb=30, memory_grew_mb=grown / 1000)


def _peak_kb(server):
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        return 0
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
