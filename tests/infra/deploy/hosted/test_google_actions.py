"""An action's function: what is run, and what is answered for a delivery that did not end."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.kit.deploy.google_cloud import ACT_AS, CREATE, GoogleCloud
from xingqiao.infra.deploy.hosted import google_actions
from xingqiao.infra.deploy.hosted.google_account import Account, SystemClock
from xingqiao.infra.deploy.hosted.google_actions import wrapped
from xingqiao.infra.deploy.hosted.google_tasks import Site, Tasks

QUEUE = "projects/p/locations/r/queues/ours-conductor"
SITE = Site(
    queues=QUEUE.removesuffix("conductor"),
    url="https://ours-{function}.run.app",
    answers="a",
    steps="",
)
MINUTE = 60_000


class Request:
    """What Flask gives."""

    def __init__(self, message, retries):
        self._data = json.dumps(message).encode()
        self.headers = {} if retries is None else {"X-CloudTasks-TaskRetryCount": str(retries)}

    def get_data(self):
        return self._data


@pytest.fixture
def deliver(monkeypatch, tmp_path):
    """Delivers a message to an action. The outcomes that it has answered with."""
    cloud = GoogleCloud(
        ["me"], {("me", CREATE, QUEUE), ("me", ACT_AS, "a")}, [QUEUE], SystemClock.now_ms
    )
    for name, value in cloud.environment("me").items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "add.py"
    path.write_text("def main(params):\n    return {'n': params['n'] + 1}\n")
    with closing(Account()) as account:
        monkeypatch.setattr(google_actions, "_tasks", lambda: Tasks(account, SITE, SystemClock))

        def delivered(retries, *, late_ms=-MINUTE, past_until_ms=-MINUTE, at_most_once=False):
            now = SystemClock.now_ms()
            message = {
                "token": {"execution": "e", "fiber": "0", "turn": 1}, "params": {"n": 1}, "action": "/_/add",
                "activation": "a", "key": "k", "deadline": now - late_ms, "until": now - past_until_ms,
            }  # fmt: skip
            answer = wrapped(path, "main", at_most_once=at_most_once)(Request(message, retries))
            assert answer == ("", 204)
            return [json.loads(task.body)["outcome"] for task in cloud.tasks.waiting]

        yield delivered
    cloud.close()


@pytest.mark.parametrize("retries", [None, 0, 1])
def test_an_action_runs_and_its_answer_goes_to_the_conductor(deliver, retries):
    assert deliver(retries) == [{"value": {"n": 2}}]


def test_an_action_that_began_twice_and_never_ended_has_crashed(deliver):
    (outcome,) = deliver(2)

    assert (outcome["code"], outcome["error"]["message"]) == (
        "Crashed", "/_/add was started 2 times and never ended",
    )  # fmt: skip


def test_an_action_that_may_run_once_is_not_run_again(deliver):
    (outcome,) = deliver(1, at_most_once=True)

    assert outcome["code"] == "Crashed"
    assert deliver(0, at_most_once=True)[1:] == [{"value": {"n": 2}}]


@pytest.mark.parametrize("at_most_once", [False, True])
def test_an_action_that_was_stopped_at_its_time_limit_has_timed_out(deliver, at_most_once):
    (outcome,) = deliver(1, late_ms=1, at_most_once=at_most_once)

    assert (outcome["code"], outcome["error"]["message"]) == (
        "Timeout", "/_/add did not end within its time limit",
    )  # fmt: skip


def test_a_message_that_the_conductor_no_longer_waits_for_is_dropped(deliver):
    assert deliver(0, late_ms=MINUTE, past_until_ms=1) == []
    assert deliver(0, late_ms=MINUTE, past_until_ms=-MINUTE) == [{"value": {"n": 2}}]


def test_the_tasks_of_a_process_are_made_once(monkeypatch):
    for name in ("QUEUES", "URL", "ANSWERS"):
        monkeypatch.setenv(f"XINGQIAO_{name}", name.lower())
    google_actions._tasks.cache_clear()
    try:
        assert google_actions._tasks() is google_actions._tasks()
    finally:
        google_actions._tasks.cache_clear()
