"""The HTTP face of a bundle: what is asked for, and what is refused with the reason."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.hosts import DiedError, Faults, Host
from xingqiao import composer
from xingqiao.infra.deploy.hosted import Request, serve

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


def test_a_key_with_other_parameters_is_refused(host):
    key = {"idempotency-key": "k"}
    first = ask(host, "POST", "/main", b'{"n": 1, "m": 2}', **key)

    other = ask(host, "POST", "/main", b'{"n": 2}', **key)
    host.follow()
    late = ask(host, "POST", "/main", b'{"n": 2}', **key)

    for refused in (other, late):
        assert refused.status == 422
        assert first.body["executionId"] in refused.body["error"]
        assert "with other parameters" in refused.body["error"]
    again = ask(host, "POST", "/main", b'{ "m": 2, "n": 1 }', **key)
    assert (again.status, again.body) == (202, first.body), "how it is written makes no difference"
    assert len(host.calls("a")) == 1


def test_a_key_that_comes_again_while_the_first_is_being_begun_means_the_same(host):
    """Whoever has begun it may still be about to send its first step, or has died: then it is sent later."""
    host.faults = Faults(die_at=4)  # written, and not sent
    with pytest.raises(DiedError):
        ask(host, "POST", "/main", b"{}", **{"idempotency-key": "k"})
    host.faults = Faults()

    again = ask(host, "POST", "/main", b"{}", **{"idempotency-key": "k"})

    assert again.status == 202
    assert host.calls("a") == []
    host.follow()
    assert ask(host, "GET", again.headers["Location"]).body["status"] == "succeeded"
    assert len(host.calls("a")) == 1


def test_of_two_at_once_with_a_key_one_begins(host):
    others = []
    host.table.meanwhile = [
        lambda: others.append(ask(host, "POST", "/main", b'{"n": 1}', **{"idempotency-key": "k"}))
    ]

    second = ask(host, "POST", "/main", b'{"n": 2}', **{"idempotency-key": "k"})

    assert (others[0].status, second.status) == (202, 422)


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 202), (255, 202), (256, 400)])
def test_a_key_has_a_length(host, length, status):
    asked = ask(host, "POST", "/main", b"{}", **{"idempotency-key": "k" * length})

    assert asked.status == status


def test_without_a_key_each_request_is_one_of_its_own(host):
    assert ask(host, "POST", "/main").body != ask(host, "POST", "/main").body


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", "/main", b"{", 400, "not valid JSON"),
        ("POST", "/main", b"[1]", 400, "must be a JSON object, but it is [1]"),
        ("POST", "/main", b'{"n": NaN}', 400, "not a JSON number"),
        ("POST", "/main", b"[" * 100_000, 400, "not valid JSON"),
        ("POST", "/main", b"\xff", 400, "not valid JSON"),
        ("POST", "/main", json.dumps({"n": "x" * 150_000}).encode(), 413, "at most 150000"),
        ("POST", "/other", b"{}", 404, "composition '/other' does not exist"),
        ("POST", "/a", b"{}", 404, "composition '/a' does not exist"),
        ("GET", "/", b"", 404, "composition '/' does not exist"),
        ("POST", "/main/more", b"{}", 404, "does not exist"),
        ("GET", "/main", b"", 405, "with POST"),
        ("GET", f"/executions/{OWN}", b"", 404, "does not exist; it may have ended"),
        ("GET", "/executions/..%2fx", b"", 404, "does not exist; it may have ended"),
        ("DELETE", f"/executions/{OWN}", b"", 404, "does not exist; it may have ended"),
        ("PUT", f"/executions/{OWN}", b"", 405, "with GET"),
    ],
)
def test_what_is_refused_says_why(host, method, path, body, status, says):
    answer = ask(host, method, path, body)

    assert answer.status == status
    assert says in answer.body["error"]
    assert host.table.heads == {}


# --- a request that waits ------------------------------------------------------------------------


class Waiting:
    """Requests that wait for an execution, which goes on while they do."""

    def __init__(self, host, *, ends_after=2):
        self.host, self.pauses, self._ends_after = host, [], ends_after

    def ask(self, method, path, prefer):
        request = Request(method=method, path=path, headers={"prefer": prefer})
        return serve(
            self.host.conductor(), self.host.deployed, self.host.clock, request, self._pause
        )

    def _pause(self, seconds):
        self.pauses.append(seconds)
        self.host.clock.ms += round(1000 * seconds)
        if len(self.pauses) == self._ends_after:
            self.host.follow()


@pytest.mark.parametrize("prefer", ["wait=10", "respond-async, Wait=10", 'wait="10"; x=1'])
def test_a_call_that_waits_gets_the_result(host, prefer):
    answer = Waiting(host).ask("POST", "/main", prefer)

    assert (answer.status, answer.body["status"], answer.body["result"]) == (
        200, "succeeded", {"done": True},
    )  # fmt: skip
    assert answer.headers["Preference-Applied"] == "wait=10"
    assert answer.headers["Location"] == f"/executions/{answer.body['executionId']}"


def test_one_may_wait_for_an_execution_that_was_begun_before(host):
    where = ask(host, "POST", "/main").headers["Location"]

    assert Waiting(host).ask("GET", where, "wait=10").body["status"] == "succeeded"


def test_a_wait_that_is_over_is_answered_as_if_nobody_had_waited(host):
    waiting = Waiting(host, ends_after=None)

    answer = waiting.ask("POST", "/main", "wait=5")

    assert (answer.status, set(answer.body)) == (202, {"executionId"})
    assert sum(waiting.pauses) == pytest.approx(5)


@pytest.mark.parametrize(("asked", "waited"), [(20, 20), (21, 20), (0, 0)])
def test_a_wait_has_a_limit(host, asked, waited):
    waiting = Waiting(host, ends_after=None)

    waiting.ask("POST", "/main", f"wait={asked}")

    assert sum(waiting.pauses) == pytest.approx(waited)


@pytest.mark.parametrize("prefer", ["", "respond-async", "await=5", "wait=soon"])
def test_who_does_not_ask_to_wait_does_not(host, prefer):
    assert Waiting(host).ask("POST", "/main", prefer).status == 202


def test_what_is_refused_is_refused_at_once(host):
    waiting = Waiting(host)

    assert waiting.ask("POST", "/nobody", "wait=5").status == 404
    assert (
        waiting.ask("DELETE", ask(host, "POST", "/main").headers["Location"], "wait=5").status
        == 202
    )
    assert waiting.pauses == []
