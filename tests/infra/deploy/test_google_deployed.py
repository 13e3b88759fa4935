"""A bundle on Google Cloud: its results, and what runs how often.

Google's functions-framework runs the functions; `tests/kit/deploy/google_rig.py` deploys them on loopback.
"""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from tests.kit.deploy import noted_runs
from tests.kit.deploy.firestore_emulator import firestore_emulator
from tests.kit.deploy.google_cloud import ApiError
from tests.kit.deploy.google_rig import World
from tests.kit.deploy.noted_runs import ACTIONS, LINE, documents, each_result, runs_in, without_runs
from xingqiao import composer
from xingqiao.infra.deploy import Source, bundle

COMPOSITIONS = {
    **noted_runs.COMPOSITIONS,
    "month": composer.sequence(composer.wait(20 * 24 * 3600), "add"),
    "quarter": composer.sequence(composer.wait(90 * 24 * 3600), "add"),
    "one": composer.sequence("add"),
    "two": composer.sequence("add", "add"),
}
MUCH = "x" * 140_000
DAY_MS = 24 * 3600 * 1000

pytestmark = pytest.mark.timeout(600)  # pip installs, the first time


class App:
    """The functions, and what the actions have noted."""

    def __init__(self, world, folder):
        self.world, self.folder, self.number = world, folder, 0

    def note(self):
        self.number += 1
        self.noted = self.folder / f"runs_{self.number}"
        return str(self.noted)

    def begin(self, name, **params):
        body = json.dumps({"runs": self.note(), **params})
        answer = self.world.http("POST", name, body=body)
        assert answer["status"] == 202, answer
        return answer["body"]["executionId"]

    def run(self, name, *, faults=None, **params):
        """Runs a composition. Its status, its result without the path of notes, and the figures."""
        ended = self.world.run(self.begin(name, **params), **(faults or {}))
        return ended["seen"]["status"], without_runs(ended["seen"]["result"]), ended

    @property
    def runs(self):
        return runs_in(self.noted)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    bundle("ours", Source(compositions=COMPOSITIONS, actions=documents()), "google", folder)
    world = World(folder, tmp_path_factory.mktemp("functions"))
    try:
        made = App(world, tmp_path_factory.mktemp("runs"))
        made.run("line", n=1)  # the program is stored once: tests count requests
        yield made
    finally:
        world.close()


@pytest.fixture(scope="module")
def app_on_emulator(tmp_path_factory):
    """The same with Google's own emulator of Firestore."""
    folder = tmp_path_factory.mktemp("bundle")
    bundle("ours", Source(compositions=COMPOSITIONS, actions=documents()), "google", folder)
    with firestore_emulator() as host:
        world = World(folder, tmp_path_factory.mktemp("functions"), firestore=host)
        try:
            yield App(world, tmp_path_factory.mktemp("runs"))
        finally:
            world.close()


# --- it conducts -----------------------------------------------------------------------------------


@each_result
def test_it_gives_its_result_and_runs_what_it_must(app, name, params, status, result, ran):
    assert app.run(name, **params)[:2] == (status, result)
    assert app.runs[0] == ran


def test_a_value_that_is_too_large_for_a_message_comes_through(app):
    assert app.run("line", n=1, much=MUCH)[:2] == ("succeeded", {"n": 5, "much": MUCH})
    assert app.runs[0] == LINE


def test_members_of_a_map_run_each_by_itself(app):
    runs = app.note()
    items = [{"runs": runs, "n": n} for n in range(5)]
    begun = app.world.http("POST", "each", body=json.dumps({"items": items}))["body"]["executionId"]

    ended = app.world.run(begun)["seen"]

    assert without_runs(ended["result"]) == {"value": [{"n": n} for n in range(1, 6)]}
    assert len(app.runs[1]) == 5


def test_parts_that_begin_by_themselves_take_a_large_state_with_them(app):
    status, _, _ = app.run("spawns", n=1)

    assert status == "succeeded"
    assert len(app.runs[0]) == 10


def test_a_timer_of_weeks_is_a_task_and_fires_to_the_second(app):
    begun = app.begin("month")
    started = app.world.now_ms()

    ended = app.world.run(begun)

    assert ended["seen"]["status"] == "succeeded"
    assert 20 * DAY_MS <= app.world.now_ms() - started < 20 * DAY_MS + 60_000


def test_a_timer_beyond_what_a_task_can_wait_is_fired_by_the_sweep(app):
    begun = app.begin("quarter")
    assert not app.world.cloud.tasks.waiting

    app.world.wait(89 * DAY_MS)
    assert not app.world.step()
    app.world.wait(DAY_MS + 60_000)

    assert app.world.run(begun)["seen"]["status"] == "succeeded"


def test_a_step_of_a_sequence_costs_what_the_documentation_says(app):
    """Two tasks; three documents written and two deleted; none read."""

    def cost(name):
        app.world.cloud.firestore.billed.clear()
        tasks = len(app.world.cloud.tasks.names)
        app.run(name, n=1)
        billed = app.world.cloud.firestore.billed
        return (
            len(app.world.cloud.tasks.names) - tasks,
            billed["write"],
            billed["delete"],
            billed["read"],
        )

    for name in ("one", "two"):
        app.run(name)  # its program is stored once

    tasks, writes, deletes, reads = (b - a for a, b in zip(cost("one"), cost("two"), strict=True))
    assert (tasks, writes, deletes, reads) == (2, 3, 2, 0)


# --- what comes twice, and who dies ----------------------------------------------------------------


@pytest.mark.parametrize(("name", "steps"), [("line", 2), ("fork", 3), ("nested", 3)])
def test_tasks_that_come_twice_make_no_further_step(app, name, steps):
    once = app.run(name, n=1)[:2]

    assert app.run(name, faults={"twice": True}, n=1)[:2] == once
    _, keys = app.runs
    assert set(keys.values()) == {2}  # each task of an action came twice, with one key
    assert len(keys) == steps


@pytest.mark.parametrize("lose", [False, True])
def test_a_kill_before_any_request_to_google_loses_nothing_and_makes_no_further_step(app, lose):
    """The task comes again, or is lost, too; an action whose answer is lost is asked once more."""
    status, result, whole = app.run("fork")
    ran = set()

    for die_at in range(whole["calls"]):
        died = app.run("fork", faults={"die_at": die_at, "lose": lose})
        assert died[:2] == (status, result), die_at
        assert died[2]["deaths"] == 1, die_at
        names, keys = app.runs
        assert len(keys) == 3, die_at
        assert max(keys.values()) <= 2, die_at
        ran.add(len(names))

    assert ran == {3, 4}


@pytest.mark.parametrize("die_at", range(3))
def test_an_execution_that_was_half_begun_is_begun_by_who_asks_again(app, die_at):
    runs = app.folder / f"half_{die_at}"
    asked = {
        "method": "POST", "path": "line", "headers": {"Idempotency-Key": str(runs)},
        "body": json.dumps({"runs": str(runs)}),
    }  # fmt: skip

    app.world.cloud.calls, app.world.die_at = 0, die_at
    assert app.world.http(**asked) is None
    answer = app.world.http(**asked)

    assert answer["status"] == 202, "also while who has written it may still be about to send"
    ended = app.world.run(answer["body"]["executionId"])["seen"]
    assert (ended["status"], without_runs(ended["result"])) == ("succeeded", {"n": 3})
    assert len(set(runs.read_text().splitlines())) == 2


def test_an_execution_whose_first_task_was_never_made_is_found_by_the_sweep(app):
    runs = app.folder / "swept"
    asked = {
        "method": "POST", "path": "line", "headers": {"Idempotency-Key": "swept"},
        "body": json.dumps({"runs": str(runs)}),
    }  # fmt: skip
    app.world.cloud.calls, app.world.die_at = 0, 3  # it is written, and nothing is sent
    assert app.world.http(**asked) is None
    assert not app.world.cloud.tasks.waiting

    app.world.wait(240_000)

    assert len(app.world.cloud.tasks.waiting) == 1
    id = sha256(b"line\nswept").hexdigest()[:32]
    assert app.world.run(id)["seen"]["status"] == "succeeded"


def test_a_task_that_was_made_is_not_made_again_by_who_did_not_know(app):
    """A conductor was killed between the task and the note that it is made: the action runs once."""
    begun = app.begin("line", n=1)
    app.world.cloud.calls, app.world.die_at = (
        0,
        3,
    )  # the answer's commit, the next task, and then the note of it
    while not app.world.deaths:
        assert app.world.step()

    app.world.wait(240_000)

    app.world.deaths = 0
    assert app.world.run(begun)["seen"]["status"] == "succeeded"
    assert app.runs[0] == LINE


@pytest.mark.parametrize("part", [":commit", "/tasks"])
def test_what_google_refuses_for_now_is_done_later(app, part):
    begun = app.begin("line", n=1)
    app.world.cloud.refuse = {part: ApiError(503, "UNAVAILABLE", "try again")}

    assert app.world.run(begun)["seen"]["status"] == "succeeded"


def test_on_googles_emulator_the_results_are_the_same(app, app_on_emulator):
    for name in ("line", "branches", "again", "handled", "finished", "fork", "late", "nested"):
        assert app_on_emulator.run(name, n=2)[:2] == app.run(name, n=2)[:2], name
        assert app_on_emulator.runs[0] == app.runs[0], name


@pytest.mark.parametrize("die_at", range(3))
def test_on_googles_emulator_a_kill_between_commit_and_task_loses_nothing(app_on_emulator, die_at):
    """Firestore's requests do not count here: a process is killed before its n-th task."""
    once = app_on_emulator.run("fork")[:2]

    for twice in (False, True):
        died = app_on_emulator.run("fork", faults={"die_at": die_at, "twice": twice})
        assert (died[:2], died[2]["deaths"]) == (once, 1)
        _, keys = app_on_emulator.runs
        assert len(keys) == 3


# --- HTTP ------------------------------------------------------------------------------------------


def test_an_execution_is_begun_once_for_a_key_and_told_of(app):
    headers, body = {"Idempotency-Key": "k"}, json.dumps({"runs": str(app.folder / "keyed")})
    asked = {"method": "POST", "path": "line", "headers": headers, "body": body}
    first, second = app.world.http(**asked), app.world.http(**asked)

    id = first["body"]["executionId"]
    assert first["headers"]["Location"] == f"/executions/{id}"
    assert second["body"] == first["body"]
    standing = app.world.http("GET", f"executions/{id}")["body"]
    assert (standing["status"], standing["waits"][0]["for"]) == ("running", "/_/add")
    app.world.run(id)
    assert len((app.folder / "keyed").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("POST", "nobody", "{}", 404, "composition '/nobody' does not exist"),
        ("POST", "add", "{}", 404, "composition '/add' does not exist"),
        ("POST", "line", "{", 400, "the body is not valid JSON"),
        ("POST", "line", "[]", 400, "the body must be a JSON object"),
        ("POST", "line", json.dumps({"x": "x" * 150_000}), 413, "at most 150000 are allowed"),
        ("GET", "line", "", 405, "method GET is not allowed"),
        ("GET", "executions/" + "0" * 32, "", 404, "execution '000"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_would_do(app, method, path, body, status, error):
    answer = app.world.http(method, path, body=body)

    assert answer["status"] == status
    assert error in answer["body"]["error"]


def test_a_beginning_that_fails_says_that_it_may_be_repeated(app):
    app.world.cloud.refuse = {":commit": ApiError(503, "UNAVAILABLE", "try again")}

    answer = app.world.http("POST", "line", body="{}")

    assert answer["status"] == 500
    assert "the same Idempotency-Key" in answer["body"]["error"]


def test_an_execution_is_stopped(app):
    id = app.begin("late")

    assert app.world.http("DELETE", f"executions/{id}")["status"] == 202
    assert app.world.run(id)["seen"]["status"] == "cancelled"


# --- the project -----------------------------------------------------------------------------------


def test_nobody_may_do_what_is_not_his(app):
    """As `main.tf.json` grants it: the other tests do all that must be allowed."""
    grants = app.world.cloud.grants
    does = {
        who: {(what, of.rpartition("/")[2]) for one, what, of in grants if one == who}
        for who, _, _ in grants
    }

    create, act, invoke = (
        "cloudtasks.tasks.create",
        "iam.serviceAccounts.actAs",
        "run.routes.invoke",
    )
    functions = [f"ours-{name.replace('_', '-')}" for name in ACTIONS]
    assert does == {
        "caller": {(invoke, "ours-http")},
        "conductor": {
            ("datastore.entities.*", "ours"), (act, "answers"), (act, "steps"), (create, "ours-conductor"),
            *((create, queue) for queue in functions),
        },
        "actions": {(create, "ours-conductor"), (act, "answers")},
        "answers": {(invoke, "ours-conductor")},
        "steps": {(invoke, function) for function in functions},
    }  # fmt: skip
    assert app.world.http("POST", "line", body="{}", who="steps")["status"] == 403


def test_nothing_is_left_of_what_ended_long_ago(app):
    app.run("fork", n=1, much=MUCH)

    app.world.wait(9 * DAY_MS)

    documents = app.world.cloud.firestore.documents
    programs = [
        name.removesuffix("head")
        for name, one in documents.items()
        if one["fields"].get("about", {}).get("stringValue", "").startswith('{"program"')
    ]
    assert [name for name in documents if not name.startswith(tuple(programs))] == []
