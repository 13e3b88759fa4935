"""The functions `http` and `conductor`, called in this process as Flask calls them."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.kit.deploy.google_cloud import ACT_AS, CREATE, DOCUMENTS, ApiError, GoogleCloud
from xingqiao import composer
from xingqiao.composer import compile
from xingqiao.infra.deploy.hosted.google import SWEEP, Host
from xingqiao.infra.deploy.hosted.google_account import SettingsError, SystemClock

DATABASE = "projects/p/databases/ours"
QUEUES = "projects/p/locations/r/queues/ours-"
KEY = {"Idempotency-Key": "k"}


class Clock:
    """The machine's time, and what has been added to it."""

    ahead_ms = 0

    def now_ms(self):
        return SystemClock.now_ms() + self.ahead_ms


class Request:
    def __init__(self, method, path, body=b"", headers=None):
        self.method, self.path, self.headers, self._body = method, path, headers or {}, body

    def get_data(self):
        return self._body


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cloud(monkeypatch, clock):
    queues = [f"{QUEUES}conductor", f"{QUEUES}add-1"]
    grants = {("me", DOCUMENTS, DATABASE), ("me", ACT_AS, "answers"), ("me", ACT_AS, "steps")}
    made = GoogleCloud(
        ["me"], grants | {("me", CREATE, queue) for queue in queues}, queues, clock.now_ms
    )
    settings = {
        "XINGQIAO_DATABASE": DATABASE, "XINGQIAO_QUEUES": QUEUES, "XINGQIAO_ANSWERS": "answers",
        "XINGQIAO_URL": "https://ours-{function}.run.app", "XINGQIAO_STEPS": "steps",
    }  # fmt: skip
    for name, value in {**settings, **made.environment("me")}.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path):
    program = compile(composer.sequence("add", composer.wait(3600)))
    document = {
        "programs": {"/_/main": program.to_json()}, "actions": {"/_/add": {}}, "functions": {"/_/add": "add-1"},
    }  # fmt: skip
    (tmp_path / "deployed.json").write_text(json.dumps(document))
    return tmp_path


@pytest.fixture
def host(folder, cloud, clock):
    made = Host(folder, clock)
    with closing(made._table._account):
        yield made


def begin(host):
    return host.answer(Request("POST", "/main", b"{}", KEY))


def answered(message, value):
    return json.dumps(
        {"is": "completed", "token": message["token"], "outcome": {"value": value}}
    ).encode()


def test_a_step_is_a_task_for_the_function_of_its_action(host, cloud):
    body, status, headers = begin(host)

    assert (status, headers["Location"]) == (202, f"/executions/{json.loads(body)['executionId']}")
    (task,) = cloud.tasks.waiting
    assert (task.url, json.loads(task.body)["action"]) == ("https://ours-add-1.run.app", "/_/add")


def test_an_answer_advances_the_execution_to_its_timer(host, cloud):
    begin(host)
    step = json.loads(cloud.tasks.waiting.pop().body)

    body, status, _ = host.conduct(Request("POST", "/", answered(step, {"n": 1})))

    assert (body, status) == ("{}", 200)
    (timer,) = cloud.tasks.waiting
    assert json.loads(timer.body)["is"] == "timer"
    assert timer.url == "https://ours-conductor.run.app"


def test_who_comes_while_another_may_be_sending_is_told_when_to_come_again(host, cloud):
    """A task is; a caller that begins the execution once more is answered at once."""
    cloud.refuse = {"/tasks": ApiError(503, "UNAVAILABLE", "try again")}
    _, status, _ = begin(host)
    assert status == 500
    body, status, _ = begin(host)
    assert status == 202

    id = json.loads(body)["executionId"]
    again = json.loads(cloud.tasks.waiting[-1].body)
    assert (again["is"], again["execution"]) == ("again", id)

    _, status, headers = host.conduct(
        Request("POST", "/", json.dumps({**again, "again": 50}).encode())
    )
    assert (status, headers["Retry-After"]) == (503, "41")


def test_what_a_task_cannot_do_is_an_error_and_so_the_task_comes_again(host, cloud):
    begin(host)
    step = json.loads(cloud.tasks.waiting.pop().body)
    cloud.refuse = {":commit": ApiError(503, "UNAVAILABLE", "try again")}

    with pytest.raises(Exception, match="503 UNAVAILABLE"):
        host.conduct(Request("POST", "/", answered(step, {})))


def test_the_sweep_does_what_is_due_and_removes_what_is_old(host, cloud, clock):
    begin(host)
    cloud.tasks.waiting.clear()

    for minutes, tasks in (
        (4, 0),
        (7, 1),
        (20, 1),
    ):  # the answer never comes: asked again, and given up
        clock.ahead_ms = minutes * 60_000
        assert host.conduct(Request("POST", SWEEP))[1] == 200
        assert len(cloud.tasks.waiting) == tasks
    clock.ahead_ms += 8 * 24 * 3600 * 1000
    assert host.conduct(Request("POST", SWEEP))[1] == 200

    heads = [name for name in cloud.firestore.documents if name.endswith(":head")]
    assert len(heads) == 1  # of the program


@pytest.mark.parametrize("name", ["DATABASE", "QUEUES", "URL", "ANSWERS", "STEPS"])
def test_a_function_without_its_settings_does_not_start(folder, cloud, monkeypatch, name):
    monkeypatch.delenv(f"XINGQIAO_{name}")

    with pytest.raises(SettingsError, match=f"XINGQIAO_{name} is not set"):
        Host(folder)
