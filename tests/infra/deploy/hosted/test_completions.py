"""Steps that answer later: their result comes by their completion token, over HTTP."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.hosts import Faults, Host, result
from xingqiao import composer
from xingqiao.composer.testing import Fail
from xingqiao.infra.deploy.hosted import Request, serve
from xingqiao.infra.deploy.hosted.action_message import completion_token

YEAR_MS = 365 * 24 * 3_600_000


class Approvals(Host):
    """A bundle with an action `ask` that answers later."""

    def __init__(self, composition, *, ask=lambda _: {"ignored": True}, faults=None):
        settings = {"ask": {"answers_later": True, "timeout_ms": 1000}}
        actions = {"ask": ask, "a": lambda params: {**params, "a": True}}
        super().__init__(composition, actions, settings=settings, faults=faults)

    def complete(self, token, body):
        request = Request(
            method="POST", path=f"/completions/{token}", body=json.dumps(body).encode()
        )
        return serve(self.conductor(), self.deployed, self.clock, request)

    @property
    def tokens(self):
        return [wait["token"] for wait in self.look()["waits"] if wait["for"] == "/_/ask"]


def begun(composition, **options):
    host = Approvals(composition, **options)
    host.run({})
    return host


def test_a_step_waits_until_it_is_completed():
    host = begun(composer.sequence("ask", "a"))

    assert host.look()["status"] == "running"
    (token,) = host.tokens
    assert host.complete(token, {"approved": True}).status == 202
    assert result(host.follow()) == ("succeeded", {"approved": True, "a": True})
    assert len(host.calls("ask")) == 1


def test_it_waits_longer_than_its_action_may_run():
    host = begun(composer.sequence("ask"))

    host.clock.ms += YEAR_MS
    host.follow(until_s=3 * 365 * 24 * 3600)

    assert host.look()["status"] == "running"
    assert len(host.calls("ask")) == 1


def test_a_result_with_an_error_is_a_failure():
    host = begun(composer.do("ask", composer.literal({"refused": True})))

    assert host.complete(host.tokens[0], {"error": "no"}).status == 202
    assert result(host.follow()) == ("succeeded", {"refused": True})


def test_an_action_that_fails_does_not_wait():
    host = begun(composer.sequence("ask"), ask=lambda _: {"error": "nobody to ask"})

    assert result(host.look()) == ("failed", {"error": "nobody to ask"})


def test_a_token_completes_its_own_step_and_once():
    host = begun(composer.parallel("ask", "ask"))
    first, second = host.tokens

    assert host.complete(second, {"n": 2}).status == 202
    assert host.complete(second, {"n": 3}).status == 404
    assert host.complete(first, {"n": 1}).status == 202
    assert result(host.follow()) == ("succeeded", {"value": [{"n": 1}, {"n": 2}]})
    assert host.complete(first, {"n": 1}).status == 404


def test_a_timeout_ends_the_wait():
    host = begun(composer.timeout(60, "ask"))

    status, error = result(host.look())
    assert (status, error["error"]["code"]) == ("failed", "Timeout")


def test_an_action_that_answers_by_itself_is_not_completed_from_outside():
    host = Approvals(composer.sequence("a"))
    host.begin()
    token = completion_token({"execution": host.look()["executionId"], "fiber": "0", "turn": 1})

    assert host.complete(token, {}).status == 404
    assert result(host.follow()) == ("succeeded", {"a": True})


@pytest.mark.parametrize("token", ["x", "0" * 32 + "-1-0", "0" * 32 + "-1-", "../executions"])
def test_a_token_that_names_no_step_says_so(token):
    answer = begun(composer.sequence("ask")).complete(token, {})

    assert answer.status == 404


def test_a_body_that_is_not_an_object_is_refused():
    host = begun(composer.sequence("ask"))

    assert host.complete(host.tokens[0], [1]).status == 400
    assert host.look()["status"] == "running"


@pytest.mark.parametrize("die_at", range(6))
def test_a_conductor_that_dies_while_it_completes_loses_nothing(die_at):
    from tests.kit.deploy.hosts import DiedError

    host = begun(composer.sequence("ask", "a"))
    (token,) = host.tokens
    host.faults = Faults(die_at=die_at)
    try:
        host.complete(token, {"approved": True})
    except DiedError:
        host.faults = Faults()
        host.complete(token, {"approved": True}) if host.tokens else None
    host.faults = Faults()

    assert result(host.follow()) == ("succeeded", {"approved": True, "a": True})


def test_a_failing_fake_is_told_by_its_code():
    host = begun(
        composer.do("ask", composer.literal({"late": True}), errors="Crashed"),
        ask=type("F", (), {"__call__": lambda self, _: Fail("Crashed", "x")})(),
    )

    assert result(host.look()) == ("succeeded", {"late": True})
