"""Requests with the standard library alone: what came back, and whether the function may have run."""

from __future__ import annotations

import socket

import anyio
import pytest

from tests.kit.actions.things import StandingClock
from tests.rigs.answers import answer, cut, held, truncated
from tests.rigs.strict_host import strict_host
from xingqiao.adapters import Fault, HttpRequest
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.deploy.elsewhere.plain_egress import PlainEgress

TRACE = {"traceparent": f"00-{'0' * 31}1-{'0' * 15}1-01"}


def sent(
    url, *, method="GET", body=b"", headers=None, within_ms=10_000, most_bytes=1000, **request
):
    clock = SystemClock()
    outgoing = HttpRequest(
        method=method, url=url, body=body, headers={**TRACE, **(headers or {})}, **request
    )

    async def send():
        return await PlainEgress(clock).send(outgoing, clock.now_ms() + within_ms, most_bytes)

    return anyio.run(send)


@pytest.fixture
def host():
    with strict_host() as running:
        yield running


def test_a_response_comes_as_it_is(host):
    host.on("GET", "/a%20b", answer({"n": 1}, status=201, headers={"X-One": "1"}))

    response = sent(f"{host.url}/a%20b?q=1")

    assert (response.status, response.body, response.headers["x-one"]) == (201, b'{"n": 1}', "1")
    assert host.requests[0].query == {"q": "1"}


@pytest.mark.parametrize(("most", "whole"), [(8, True), (7, False)])
def test_a_response_may_be_as_large_as_the_limit(host, most, whole):
    host.on("GET", "/", answer({"n": 1}))

    response = sent(host.url, most_bytes=most)

    assert isinstance(response, Fault) is not whole
    if not whole:
        assert (response.code, response.may_have_run) == ("PayloadTooLarge", "unknown")


@pytest.mark.parametrize(
    ("play", "code"), [(cut(), "Lost"), (truncated({"n": 1}), "Lost"), (held(), "Timeout")]
)
def test_a_broken_response_leaves_it_open_if_the_function_ran(host, play, code):
    host.on("POST", "/", play)

    kind = {"Content-Type": "application/json"}

    fault = sent(f"{host.url}/", method="POST", body=b"{}", headers=kind, within_ms=500)

    assert (fault.code, fault.may_have_run) == (code, "unknown")


def test_a_host_that_does_not_listen_has_not_run_anything():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    fault = sent(f"http://127.0.0.1:{port}/")

    assert (fault.code, fault.may_have_run, fault.transient) == ("Unavailable", "no", True)


@pytest.mark.parametrize(
    ("url", "headers", "code"),
    [
        ("ftp://host/", {}, "InvalidRequest"),
        ("", {}, "InvalidRequest"),
        (None, {"X-A": "a\r\nb"}, "InvalidRequest"),
    ],
)
def test_a_request_that_http_does_not_allow_is_not_sent(host, url, headers, code):
    fault = sent(host.url if url is None else url, headers=headers)

    assert (fault.code, fault.may_have_run) == (code, "no")


def test_nothing_is_sent_after_the_deadline(host):
    fault = sent(host.url, within_ms=0)

    assert (fault.code, fault.may_have_run, host.requests) == ("Timeout", "no", [])


@pytest.mark.parametrize("private", [{"secrets": {"x-key": "k"}}, {"private": True}])
def test_a_secret_goes_without_tls_only_where_that_is_allowed(host, monkeypatch, private):
    assert sent(host.url, **private).code == "Permission"

    host.on("GET", "/", answer({}))
    monkeypatch.setenv("XINGQIAO_EGRESS_ALLOW", "elsewhere, 127.0.0.1")
    assert sent(host.url, **private).status == 200


def test_the_operators_own_address_needs_no_permission(host):
    host.on("GET", "/", answer({}))

    assert sent(host.url, by_operator=True, secrets={"x-key": "k"}).status == 200


def test_nothing_is_only_reached():
    with pytest.raises(AssertionError):
        anyio.run(PlainEgress(StandingClock()).reach, "https://host", 1)
