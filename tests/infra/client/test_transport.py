"""Requests that are sent again where that is safe, and the errors of those that are not."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from dataclasses import replace

import anyio
import pytest

from tests.kit.client.wires import Scripted, scripted
from tests.kit.edge.certificates import Authority
from xingqiao.actions import (
    ConflictError,
    ForbiddenError,
    InDoubtError,
    InvalidError,
    NotEndedError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    UnauthorizedError,
    UnavailableError,
)
from xingqiao.client import PlaceError, UnreachedError, connect
from xingqiao.infra.client.places import Place
from xingqiao.infra.client.transport import Patience, Transport
from xingqiao.infra.client.wire import Request

AUTH = "uuid:a-secret-key"
OK = (200, {}, {"n": 1})
READS = Request(method="GET", path="/p", repeatable=True)
REPEATABLE = Request(method="POST", path="/p", body={}, repeatable=True)
ONCE = Request(method="POST", path="/p", body={})


def place(url):
    return Place(url=url, auth=AUTH, ca=None, url_from="url", auth_from="auth")


class Asking:
    """A transport whose time passes in its pauses only; they are written down."""

    def __init__(self, url, seconds=60.0):
        self.pauses = []
        patience = Patience(seconds=seconds, pause=self._pause, now=lambda: sum(self.pauses))
        self.transport = Transport(place(url), patience)

    async def _pause(self, seconds):
        self.pauses.append(seconds)
        await anyio.lowlevel.checkpoint()


async def asked(server, request, seconds=60.0):
    """Sends a request. Returns the answer's document and the pauses."""
    made = Asking(server.url, seconds)
    async with made.transport:
        return (await made.transport.ask(request)).document, made.pauses


async def test_a_request_has_credentials_and_its_body():
    async with scripted(OK) as server:
        document, pauses = await asked(server, REPEATABLE)

    [(method, target, headers, body)] = server.requests
    assert (document, pauses) == ({"n": 1}, [])
    assert (method, target, body) == ("POST", "/p", {})
    assert headers["authorization"].startswith("basic ")
    assert headers["user-agent"] == "xingqiao"


async def test_a_connection_is_kept():
    async with scripted(OK, OK) as server:
        made = Asking(server.url)
        async with made.transport:
            await made.transport.ask(READS)
            await made.transport.ask(ONCE)

    assert (len(server.requests), server.connections) == (2, 1)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_definition_that_may_not_be_sent_twice_has_a_new_connection(method):
    """The server may have been killed since the last request: nobody knows before a connection is used."""
    async with scripted(OK, OK) as server:
        made = Asking(server.url)
        async with made.transport:
            await made.transport.ask(READS)
            await made.transport.ask(Request(method=method, path="/p", body={}))

    assert (len(server.requests), server.connections) == (2, 2)


@pytest.mark.parametrize("request_", [READS, REPEATABLE])
async def test_what_may_be_repeated_is_sent_again_when_its_answer_is_lost(request_):
    async with scripted(*[None] * 9, OK) as server:
        document, pauses = await asked(server, request_)

    assert document == {"n": 1}
    assert pauses
    assert max(pauses) <= 5


async def test_what_may_not_be_repeated_is_in_doubt_when_its_answer_is_lost():
    async with scripted(None, OK) as server:
        with pytest.raises(InDoubtError, match="was closed without a response"):
            await asked(server, ONCE)

    assert len(server.requests) == 1


async def test_what_was_not_sent_is_sent_again_whatever_it_is(unused_port):
    made = Asking(f"http://127.0.0.1:{unused_port}")
    async with made.transport:
        with pytest.raises(UnreachedError, match=r"cannot be reached.*The URL comes from url"):
            await made.transport.ask(ONCE)

    assert 50 < sum(made.pauses) <= 60


@pytest.fixture
async def unused_port():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_a_read_that_is_given_up_is_not_in_doubt():
    async with scripted(None, None) as server:
        with pytest.raises(UnreachedError) as error:
            await asked(server, READS, seconds=0)

    assert not isinstance(error.value, InDoubtError)


@pytest.mark.parametrize(
    ("status", "request_", "again"),
    [
        (429, ONCE, True), (429, READS, True),
        (503, ONCE, False), (503, READS, True), (503, REPEATABLE, True),
        (409, REPEATABLE, False), (500, REPEATABLE, False),
    ],
)  # fmt: skip
async def test_a_server_says_when_to_come_again(status, request_, again):
    async with scripted((status, {"Retry-After": "7"}, {"error": "later"}), OK) as server:
        if again:
            assert await asked(server, request_) == ({"n": 1}, [7.0])
        else:
            with pytest.raises(RefusedError, match="later"):
                await asked(server, request_)


async def test_a_server_that_says_no_time_is_not_asked_again():
    async with scripted((429, {}, {"error": "too many"}), OK) as server:
        with pytest.raises(ThrottledError, match="too many"):
            await asked(server, READS)


async def test_patience_ends():
    async with scripted((503, {"Retry-After": "7"}, {"error": "later"})) as server:
        with pytest.raises(UnavailableError, match="later"):
            await asked(server, READS, seconds=6)


@pytest.mark.parametrize(
    ("status", "document", "kind"),
    [
        (400, {"error": "no"}, InvalidError),
        (401, {"error": "no"}, UnauthorizedError),
        (403, {"error": "no"}, ForbiddenError),
        (404, {"error": "no"}, NotFoundError),
        (404, {"error": "no", "code": "NotEnded"}, NotEndedError),
        (409, {"error": "no", "code": "unknown to us"}, ConflictError),
        (418, {"error": "no"}, RefusedError),
        (500, {"error": "no"}, InDoubtError),
    ],
)
async def test_refusals_are_the_errors_of_an_embedded_engine(status, document, kind):
    async with scripted((status, {}, document)) as server:
        with pytest.raises(RefusedError, match="no") as error:
            await asked(server, ONCE)

    assert type(error.value) is kind
    assert error.value.code == document.get("code", "")
    assert "a-secret-key" not in str(error.value)


async def test_a_server_that_does_not_know_whether_a_call_runs_is_in_doubt():
    headers = {"x-openwhisk-activation-id": "a1"}
    async with scripted((503, headers, {"error": "may run"})) as server:
        with pytest.raises(InDoubtError) as error:
            await asked(server, ONCE)

    assert error.value.activation == "a1"


async def test_another_server_is_recognised():
    async with scripted((200, {}, b"<html>"), (302, {"Location": "/x"}, b"")) as server:
        for _ in range(2):
            with pytest.raises(PlaceError, match="is not JSON: check that url names a Xingqiao"):
                await asked(server, READS)

    assert [target for _, target, _, _ in server.requests] == ["/p", "/p"]


async def test_a_request_that_is_cancelled_closes_its_connection():
    async with scripted(Scripted.HELD) as server:
        made = Asking(server.url)
        async with made.transport:
            task = asyncio.ensure_future(made.transport.ask(READS, wait_s=60))
            while not server.requests:
                await anyio.lowlevel.checkpoint()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.gone.wait()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://server", "must begin with http:// or https://"),
        ("http://", "must begin with"),
        ("http://server:port", "must begin with"),
        ("http://u:password@server", "has credentials: give them with auth"),
    ],
)
def test_a_url_that_is_not_valid_is_refused(url, text):
    with pytest.raises(PlaceError, match=text) as error:
        connect(url, AUTH)

    assert "password" not in str(error.value)


def test_certificates_that_cannot_be_read_are_named():
    with pytest.raises(PlaceError, match=r"ca: nowhere\.pem cannot be read"):
        connect("https://server", AUTH, ca="nowhere.pem")


async def test_a_closed_client_says_so():
    connecting = connect("http://127.0.0.1:1", AUTH)
    async with connecting as x:
        assert "a-secret-key" not in repr(connecting) + repr(x)

    with pytest.raises(InvalidError, match="The client is closed"):
        await x.invoke("a")


# --- TLS, and what the command line loads ----------------------------------------------------------


@pytest.fixture
async def secured(tmp_path):
    """A server with a certificate of an authority that nobody trusts yet: its URL, and the authority's file."""
    authority = Authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.certificate("server"))
    made = Scripted()
    made.answers = [OK]
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", str(authority.ca)


async def test_a_certificate_file_is_trusted(secured):
    url, ca = secured

    async with Transport(replace(place(url), ca=ca), Patience()) as transport:
        assert (await transport.ask(READS)).document == {"n": 1}


async def test_a_certificate_that_is_not_trusted_is_an_error_at_once(secured):
    url, _ = secured
    made = Asking(url)

    async with made.transport:
        with pytest.raises(UnreachedError, match=r"Give the PEM file.*with ca or XINGQIAO_CA"):
            await made.transport.ask(READS)

    assert made.pauses == []


@pytest.mark.parametrize("module", ["main", "executions", "actions", "client"])
def test_the_command_line_does_not_load_the_asynchronous_client(module):
    code = (
        f"import sys, xingqiao.infra.cli.{module}; print({{'aiohttp', 'yarl'}} & {{*sys.modules}})"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "set()\n"


async def test_patience_begins_with_the_first_failure():
    """A request that the server lets wait may be cut after a minute: that was no minute of failures."""
    async with scripted(None, OK) as server:
        patience = Patience(seconds=30, now=lambda: 100 * len(server.requests), pause=_at_once)
        async with Transport(place(server.url), patience) as transport:
            assert (await transport.ask(REPEATABLE, wait_s=60)).document == {"n": 1}

    assert len(server.requests) == 2


async def _at_once(_):
    await anyio.lowlevel.checkpoint()
