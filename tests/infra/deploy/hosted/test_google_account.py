"""Requests to Google's APIs: tokens, connections that break, errors."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import closing, contextmanager

import pytest

from tests.kit.deploy.google_cloud import DOCUMENTS, ApiError, GoogleCloud
from xingqiao.infra.deploy.hosted import google_account
from xingqiao.infra.deploy.hosted.google_account import (
    Account,
    GoogleError,
    SettingsError,
    SystemClock,
    host_of,
    setting,
)

DATABASE = "projects/p/databases/d"
COMMIT = f"/v1/{DATABASE}/documents:commit"


@pytest.fixture
def cloud(monkeypatch):
    made = GoogleCloud(["me"], {("me", DOCUMENTS, DATABASE)}, [], lambda: 0)
    for name, value in made.environment("me").items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


@pytest.fixture
def account():
    with closing(Account()) as made:
        yield made


@pytest.fixture
def clock(monkeypatch):
    """The milliseconds that the clock is ahead, in a list."""
    ahead, real = [0], SystemClock.now_ms
    monkeypatch.setattr(SystemClock, "now_ms", staticmethod(lambda: real() + ahead[0]))
    return ahead


def test_one_token_and_one_connection_serve_many_requests(account, cloud):
    for _ in range(5):
        account.post(f"http://{cloud.host}", COMMIT, {"writes": []})

    assert (cloud.calls, cloud.tokens) == (5, 1)
    assert [len(idle) for idle in account._idle.values()] == [
        1,
        1,
    ]  # and one to the metadata server


def test_a_token_is_replaced_a_minute_before_it_expires(account, cloud, clock):
    for ahead_s, tokens in ((0, 1), (3500, 1), (3550, 2)):
        clock[0] = 1000 * ahead_s
        account.post(f"http://{cloud.host}", COMMIT, {"writes": []})
        assert cloud.tokens == tokens


def test_a_token_that_was_withdrawn_is_replaced_once(account, cloud):
    account.post(f"http://{cloud.host}", COMMIT, {"writes": []})
    cloud.withdrawn.add("me")

    account.post(f"http://{cloud.host}", COMMIT, {"writes": []})
    assert cloud.tokens == 2

    cloud.refuse = {"documents": ApiError(401, "UNAUTHENTICATED", "no")}
    account.post(f"http://{cloud.host}", COMMIT, {"writes": []})  # refused once


def test_a_connection_that_was_idle_for_long_is_not_used_again(account, cloud, clock):
    account.post(f"http://{cloud.host}", COMMIT, {"writes": []})
    (used,) = [one for one, _ in account._idle[f"http://{cloud.host}"]]

    clock[0] = google_account.IDLE_MS
    account.post(f"http://{cloud.host}", COMMIT, {"writes": []})

    ((now, _),) = account._idle[f"http://{cloud.host}"]
    assert now is not used
    assert used.sock is None


@contextmanager
def closing_host(answers):
    """A host that closes each connection: it reads the request, and answers the n-th that `answers` has."""
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            for answer in answers:
                connection, _ = server.accept()
                with connection:
                    seen.append(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", seen
        thread.join()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def test_a_request_whose_connection_breaks_is_sent_once_more(account, cloud):
    with closing_host([b"", OK]) as (host, seen):
        assert account.post(host, "/v2/x", {}) == {}

    assert len(seen) == 2


def test_a_commit_whose_connection_breaks_is_not_sent_again(account, cloud):
    with (
        closing_host([b""]) as (host, _),
        pytest.raises(OSError, match="did not answer: RemoteDisconnected"),
    ):
        account.post(host, COMMIT, {}, repeat=False)


def test_a_host_that_is_not_there_is_named(account, cloud):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(OSError, match=f"http://127.0.0.1:{port} did not answer: ConnectionRefused"):
        account.post(f"http://127.0.0.1:{port}", COMMIT, {})


def test_an_error_says_what_was_refused_and_never_the_token(account, cloud):
    cloud.grants.clear()

    with pytest.raises(GoogleError) as raised:
        account.post(f"http://{cloud.host}", COMMIT, {"writes": []})

    assert (raised.value.status, raised.value.reason) == (403, "PERMISSION_DENIED")
    text = f"{COMMIT} was answered 403 PERMISSION_DENIED: me lacks {DOCUMENTS} on {DATABASE}"
    assert str(raised.value).endswith(text)
    assert account._token not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "reason", "text"),
    [
        (json.dumps([{"error": {"status": "ABORTED", "message": "a"}}]), "ABORTED", "a"),
        ("<html>bad gateway</html>", "", "<html>bad gateway</html>"),
        ('{"error": "x"}', "", ""),
        ("[]", "", ""),
        ("x" * 2000, "", "x" * 500),
    ],
)
def test_errors_of_any_form_are_read(body, reason, text):
    error = GoogleError("it", 502, body.encode())

    assert (error.reason, error.text) == (reason, text)


def test_a_function_without_an_account_says_so(account, monkeypatch):
    with closing_host([b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]) as (host, _):
        monkeypatch.setenv("GCE_METADATA_HOST", host.removeprefix("http://"))
        with pytest.raises(GoogleError, match="the metadata server was answered 404"):
            account.post("http://127.0.0.1:1", COMMIT, {})


def test_without_an_emulator_requests_go_to_google_by_https(account, monkeypatch):
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)

    host = host_of("firestore.googleapis.com", "FIRESTORE_EMULATOR_HOST")
    connection = account._connected(host)

    assert (connection.host, connection.port) == ("firestore.googleapis.com", 443)


def test_a_missing_setting_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setenv("XINGQIAO_URL", "")

    with pytest.raises(
        SettingsError, match=r"XINGQIAO_URL is not set: deploy with .*main\.tf\.json"
    ):
        setting("XINGQIAO_URL")
