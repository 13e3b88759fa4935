"""The HTTP face of a bundle: what is asked for, and what is refused with the reason."""

from __future__ import annotations

import json

import pytest
from hosts import Host

import composer
from infra.deploy.hosted import Request, serve

OWN = "0" * 32


@pytest.fixture
def host():
    return Host(composer.sequence("a"), {"a": lambda params: {**params, "done": True}})


def ask(host, method, path, body=b"", **headers):
    request = Request(method=method, path=path, headers=headers, body=body)
    return serve(host.conductor(), host.deployed, host.clock, request)


def test_a_composition_is_begun_and_looked_at(host):
    begun = ask(host, "POST", "/main", b'{"n": 1}')
    assert begun.status == 202
    where = begun.headers["Location"]
    assert where == f"/executions/{begun.body['executionId']}"
    assert ask(host, "GET", where).body["status"] == "running"

    host.follow()

    seen = ask(host, "GET", where)
    assert (seen.status, seen.body["status"]) == (200, "succeeded")
    assert seen.body["result"] == {"n": 1, "done": True}
    assert seen.body["composition"] == "main"


def test_an_execution_is_asked_to_stop(host):
    where = ask(host, "POST", "/main").headers["Location"]

    assert ask(host, "DELETE", where).status == 202
    assert ask(host, "GET", where).body["status"] == "cancelled"
    assert ask(host, "DELETE", where).status == 202, "asked twice it is stopped once"


def test_a_request_that_is_sent_again_means_the_same(host):
    first = ask(host, "POST", "/main", b"{}", **{"idempotency-key": "k"})
    again = ask(host, "POST", "/main", b"{}", **{"idempotency-key": "k"})
    other = ask(host, "POST", "/main", b"{}", **{"idempotency-key": "l"})

    assert first.body == again.body != other.body
    host.follow()
    assert len(host.calls("a")) == 2


def test_without_a_key_each_request_is_one_of_its_own(host):
    assert ask(host, "POST", "/main").body != ask(host, "POST", "/main").body


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", "/main", b"{", 400, "no JSON"),
        ("POST", "/main", b"[1]", 400, "no object"),
        ("POST", "/main", b'{"n": NaN}', 400, "no JSON number"),
        ("POST", "/main", b"[" * 100_000, 400, "no JSON"),
        ("POST", "/main", b"\xff", 400, "no JSON"),
        ("POST", "/main", json.dumps({"n": "x" * 150_000}).encode(), 413, "at most 150000"),
        ("POST", "/other", b"{}", 404, "no composition '/other'"),
        ("POST", "/a", b"{}", 404, "no composition '/a'"),
        ("GET", "/", b"", 404, "no composition"),
        ("POST", "/main/more", b"{}", 404, "no composition"),
        ("GET", "/main", b"", 405, "by POST"),
        ("GET", f"/executions/{OWN}", b"", 404, "no execution"),
        ("GET", "/executions/..%2fx", b"", 404, "no execution"),
        ("DELETE", f"/executions/{OWN}", b"", 404, "no execution"),
        ("PUT", f"/executions/{OWN}", b"", 405, "by GET"),
    ],
)
def test_what_is_refused_says_why(host, method, path, body, status, says):
    answer = ask(host, method, path, body)

    assert answer.status == status
    assert says in answer.body["error"]
    assert host.table.heads == {}
