"""Messages as tasks: where they go, when, and how often."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.kit.deploy.google_cloud import ACT_AS, CREATE, TASK_BYTES, ApiError, GoogleCloud
from xingqiao.infra.deploy.hosted import Invocation, Note
from xingqiao.infra.deploy.hosted.changes import ROW_BYTES
from xingqiao.infra.deploy.hosted.google import LONGEST_S, GoogleOutbox
from xingqiao.infra.deploy.hosted.google_account import Account, GoogleError
from xingqiao.infra.deploy.hosted.google_tasks import Site, Tasks
from xingqiao.infra.deploy.hosted.messages import CARRIED_BYTES, MESSAGE_BYTES
from xingqiao.infra.deploy.hosted.user_code import VALUE_BYTES

NOW_MS = 1_700_000_000_000
QUEUES = "projects/p/locations/r/queues/ours-"
SITE = Site(queues=QUEUES, url="https://ours-{function}.run.app", answers="answers", steps="steps")


class Clock:
    @staticmethod
    def now_ms():
        return NOW_MS


@pytest.fixture
def cloud(monkeypatch):
    queues = [f"{QUEUES}conductor", f"{QUEUES}add"]
    grants = {("me", CREATE, queue) for queue in queues}
    grants |= {("me", ACT_AS, "answers"), ("me", ACT_AS, "steps")}
    made = GoogleCloud(["me"], grants, queues, Clock.now_ms)
    for name, value in made.environment("me").items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


@pytest.fixture
def tasks(cloud):
    with closing(Account()) as account:
        yield Tasks(account, SITE, Clock)


def test_a_message_goes_to_its_function_with_the_account_that_may_invoke_it(tasks, cloud):
    tasks.create("conductor", {"n": "ü"})
    tasks.create("add", {"n": 2}, delay_s=900)

    first, second = cloud.tasks.waiting
    assert (first.url, first.account) == ("https://ours-conductor.run.app", "answers")
    assert (json.loads(first.body), first.due_ms) == ({"n": "ü"}, NOW_MS)
    assert (second.url, second.account) == ("https://ours-add.run.app", "steps")
    assert (second.queue, second.due_ms) == (f"{QUEUES}add", NOW_MS + 900_000)


def test_of_one_key_there_is_one_task_and_without_one_there_are_two(tasks, cloud):
    for key in ("a", "b", "a", "", ""):
        tasks.create("add", {}, key=key)

    assert len(cloud.tasks.waiting) == 4


def test_a_task_that_is_refused_is_not_sent(tasks, cloud):
    cloud.refuse = {"/tasks": ApiError(409, "ALREADY_EXISTS", "the queue was deleted")}
    with pytest.raises(GoogleError, match="ALREADY_EXISTS"):
        tasks.create("add", {})

    cloud.refuse = {"/tasks": ApiError(429, "RESOURCE_EXHAUSTED", "slow down")}
    with pytest.raises(GoogleError, match="slow down"):
        tasks.create("add", {}, key="a")
    assert not cloud.tasks.waiting


def test_the_longest_delay_is_one_that_cloud_tasks_takes(tasks, cloud):
    tasks.create("conductor", {}, delay_s=LONGEST_S)
    tasks.create("conductor", {}, delay_s=30 * 24 * 3600)

    with pytest.raises(GoogleError, match="no more than 720h"):
        tasks.create("conductor", {}, delay_s=30 * 24 * 3600 + 1)


@pytest.mark.parametrize(
    "size", [ROW_BYTES + 1_000, MESSAGE_BYTES + 1_000, 2 * VALUE_BYTES + CARRIED_BYTES + 10_000]
)
def test_the_largest_messages_fit(tasks, cloud, size):
    """The state of a part that begins by itself, an action's parameters, an answer with the state."""
    tasks.create("conductor", {"x": "x" * size})

    assert len(cloud.tasks.waiting[0].body) > size


def test_a_message_beyond_the_limit_of_a_task_is_an_error(tasks, cloud):
    with pytest.raises(GoogleError, match="Task size too large"):
        tasks.create("conductor", {"x": "x" * TASK_BYTES})


def test_the_outbox_sends_one_or_many(tasks, cloud):
    outbox = GoogleOutbox(tasks, {"/_/add": "add"})
    outbox.send([Note(message={"n": 0}, delay_s=3, key="n")])
    outbox.send([Invocation(action="/_/add", message={"n": n}, key=f"{n}") for n in range(40)])
    outbox.send([Invocation(action="/_/add", message={"n": n}, key=f"{n}") for n in range(40)])
    outbox.send([])

    assert [one.due_ms for one in cloud.tasks.waiting if one.url.endswith("conductor.run.app")] == [
        NOW_MS + 3000
    ]
    assert sorted(json.loads(one.body)["n"] for one in cloud.tasks.waiting[1:]) == [*range(40)]


def test_an_outbox_that_cannot_send_one_of_many_says_so(tasks, cloud):
    cloud.refuse = {"add/tasks": ApiError(503, "UNAVAILABLE", "try again")}

    with pytest.raises(GoogleError, match="try again"):
        GoogleOutbox(tasks, {"/_/add": "add"}).send(
            [Invocation(action="/_/add", message={"n": n}) for n in range(3)]
        )


def test_an_action_knows_no_account_that_may_invoke_actions(monkeypatch):
    for name in ("QUEUES", "URL", "ANSWERS", "STEPS"):
        monkeypatch.setenv(f"XINGQIAO_{name}", name.lower())

    assert Site.from_environment(steps=False).steps == ""
    assert Site.from_environment(steps=True).steps == "steps"
