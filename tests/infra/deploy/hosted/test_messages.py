"""Messages to actions and timers, and the answers that come back."""

from __future__ import annotations

import pytest

from tests.kit.deploy.hosted_actions import ACTIONS
from tests.kit.deploy.hosts import ID, START_MS, Host
from xingqiao import composer


def test_a_timer_that_comes_early_is_sent_on():
    host = Host(composer.sequence(composer.wait(5), "a"), ACTIONS).begin()
    (timer,) = host.answers()

    host.clock.ms += 3_000
    host.conductor().receive(timer)
    assert host.look()["waits"][0]["for"] == "timer"
    host.follow()

    assert host.look()["result"] == {"a": 1}
    assert host.clock.ms == START_MS + 5_000


def test_a_message_says_until_when_the_conductor_waits_for_it():
    host = Host(composer.sequence("never"), ACTIONS, settings={"never": {"timeout_ms": 5_000}})
    host.begin()
    (_, _, invocation) = host.queue[0]

    assert invocation.message["until"] == START_MS + 5_000 + 300_000
    host.clock.ms = invocation.message["until"] - 60_000
    host.conductor().sweep()
    assert len(host.queue) == 1, "it has not given up yet"


def test_a_message_that_nobody_knows_is_dropped(caplog):
    Host(composer.sequence("a"), ACTIONS).conductor().receive({"is": "unheard of"})

    assert "unheard of" in caplog.text


@pytest.mark.parametrize(
    "outcome", [None, {}, {"code": "X"}, {"value": float("nan")}, {"value": "x" * 400_000}]
)
def test_an_answer_that_no_wrapper_makes_is_the_steps_failure(outcome):
    host = Host(composer.do("never", "d"), ACTIONS).begin()
    token = {"execution": ID, "fiber": "0", "turn": 1}

    host.conductor().receive({"is": "completed", "token": token, "outcome": outcome})

    assert "error" in host.follow()["result"]
