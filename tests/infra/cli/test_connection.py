"""The connection of the command line to a server."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.kit.edge.certificates import Authority
from xingqiao.infra.cli.connection import FAILURES, Connection, ProxyError
from xingqiao.infra.client import basic, target

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked, and keeps the connection unless the path says otherwise."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        text = f"{self.command} {self.path} {self.rfile.read(length).decode()}".encode()
        self.server.asked.append((self.client_address[1], self.path, dict(self.headers)))
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("X-Kind", "echo")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.close_connection = "last" in self.path

    do_POST = do_GET  # noqa: N815  the server calls it by this name

    def do_CONNECT(self):
        """A tunnel, as a proxy makes it."""
        self.server.asked.append((self.client_address[1], self.path, dict(self.headers)))
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_copy, args=(there, self.connection))
            back.start()
            _copy(self.connection, there)
            back.join()
        self.close_connection = True

    def log_message(self, *args):
        pass


def _copy(source, sink):
    with suppress(OSError):  # the other direction has closed both
        while received := source.recv(1 << 16):
            sink.sendall(received)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def serving(context=None):
    """An echo, with what it is asked in `asked`: (port of the client, path, headers)."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.asked = []
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        scheme = "http" if context is None else "https"
        server.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def connected(url, context=None):
    connection = Connection(url, timeout_s=5, context=context)
    try:
        yield connection
    finally:
        connection.close()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def trusting(authority):
    return ssl.create_default_context(cafile=authority.ca)


@pytest.fixture
def secure(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certificate("server"))
    return context


def test_a_request_has_its_method_target_body_and_headers():
    with serving() as server, connected(f"{server.url}/base/") as connection:
        asked = connection.request("POST", "/a?b=c", b"body", {"X-Mine": "1"})

    assert (asked.status, asked.content) == (200, b"POST /base/a?b=c body")
    assert asked.headers["x-kind"] == "echo"
    assert server.asked[0][2]["X-Mine"] == "1"


def test_requests_share_a_connection_until_the_server_closes_it():
    with serving() as server, connected(server.url) as connection:
        for path in ("/1", "/missing", "/last"):
            connection.request("GET", path, None, {})
        while not _is_closed(connection):
            pass
        connection.request("GET", "/4", None, {})

    first, second, third, fourth = (port for port, _, _ in server.asked)
    assert first == second == third != fourth


def _is_closed(connection):
    return connection._http.sock is None or connection._http.sock.recv(1, socket.MSG_PEEK) == b""


def test_a_server_that_does_not_answer_in_http_is_a_failure():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            accepted, _ = listening.accept()
            with accepted:
                accepted.recv(1 << 16)
                accepted.sendall(b"220 mail.example\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with connected(url) as connection, pytest.raises(FAILURES, match="220 mail"):
            connection.request("GET", "/", None, {})
        thread.join()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("127.0.0.1:3233", "must begin with http"),
        ("ftp://127.0.0.1", "must begin with http"),
        ("http://", "names no host"),
        ("http://a:b", "Port could not be cast"),
        ("http://a:70000", "Port out of range"),
    ],
)
def test_an_url_of_no_server_is_refused(url, why):
    with pytest.raises(ValueError, match=why):
        Connection(url, timeout_s=1, context=None)


def test_a_path_and_a_query_are_encoded_once():
    assert target("/a b/ö?/%2E/x@y", {}) == "/a%20b/%C3%B6%3F/%2E/x@y"
    assert target("/a", {"n": "1 2", "q": "a&b"}) == "/a?n=1%202&q=a%26b"


def test_credentials_may_have_any_characters():
    assert basic("user", "wröng") == "Basic dXNlcjp3csO2bmc="


# --- TLS -------------------------------------------------------------------------------------------


def test_a_certificate_must_be_trusted(secure, trusting):
    with serving(secure) as server:
        with connected(server.url, trusting) as connection:
            assert connection.request("GET", "/", None, {}).status == 200
        with (
            connected(server.url) as connection,
            pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            connection.request("GET", "/", None, {})


# --- proxies ---------------------------------------------------------------------------------------


def test_a_proxy_of_the_environment_gets_the_whole_url_and_its_credentials(monkeypatch):
    with serving() as proxy:
        place = proxy.url.removeprefix("http://")
        monkeypatch.setenv("http_proxy", f"http://us%40er:key@{place}")
        with connected("http://xingqiao.example:3233/base") as connection:
            asked = connection.request("GET", "/a", None, {})

    ((_, path, headers),) = proxy.asked
    assert asked.status == 200
    assert path == "http://xingqiao.example:3233/base/a"
    assert headers["Host"] == "xingqiao.example:3233"
    assert headers["Proxy-Authorization"] == basic("us@er", "key")


def test_https_goes_through_a_tunnel_of_the_proxy(monkeypatch, secure, trusting):
    with serving() as proxy, serving(secure) as server:
        monkeypatch.setenv("https_proxy", proxy.url)
        with connected(server.url, trusting) as connection:
            asked = connection.request("GET", "/a", None, {})

    assert asked.content == b"GET /a "
    assert [path for _, path, _ in proxy.asked] == [server.url.removeprefix("https://")]
    assert [path for _, path, _ in server.asked] == ["/a"]


def test_a_host_that_needs_no_proxy_is_reached_directly(monkeypatch):
    with serving() as server, connected_without(monkeypatch, server.url) as connection:
        assert connection.request("GET", "/a", None, {}).content == b"GET /a "


def connected_without(monkeypatch, url):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return connected(url)


def test_a_proxy_that_speaks_another_protocol_is_refused(monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://user:secret@127.0.0.1:1080")

    with pytest.raises(ProxyError, match="must be http://HOST:PORT") as refused:
        Connection("http://xingqiao.example", timeout_s=1, context=None)

    assert "the proxy '127.0.0.1:1080'" in str(refused.value)
    assert "secret" not in str(refused.value)
