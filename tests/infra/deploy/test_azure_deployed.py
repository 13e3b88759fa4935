"""A bundle on Azure's own libraries and an emulated storage account: its results, and what runs how often.

No true Functions host can run here: `tests/rigs/azure_host.py` plays it, with the real request types.
"""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from tests.kit.deploy.azure_rig import Azurite, Driver
from tests.kit.deploy.noted_runs import (
    COMPOSITIONS,
    LINE,
    documents,
    each_result,
    runs_in,
    without_runs,
)
from tests.kit.deploy.tables import LAWS
from xingqiao.infra.deploy import Source, bundle
from xingqiao.infra.deploy.azure import storage_of

MUCH = "x" * 100_000  # more than a queue takes

pytestmark = pytest.mark.timeout(600)  # npm and pip install, the first time


class App:
    """The function app, and what its actions have noted."""

    def __init__(self, driver, folder):
        self.driver, self.folder, self.number = driver, folder, 0

    def begin(self, name, **params):
        self.number += 1
        self.noted = self.folder / f"runs_{self.number}"
        body = json.dumps({"runs": str(self.noted), **params})
        answer = self.driver("http", method="POST", path=name, body=body)
        assert answer["status"] == 202, answer
        return answer["body"]["executionId"]

    def run(self, name, *, faults=None, **params):
        """Runs a composition. Its status, its result without the path of notes, and the driver's figures."""
        ended = self.driver("run", execution=self.begin(name, **params), **(faults or {}))
        return ended["seen"]["status"], without_runs(ended["seen"]["result"]), ended

    @property
    def runs(self):
        return runs_in(self.noted)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    storage = Azurite()
    folder = tmp_path_factory.mktemp("bundle")
    bundle("ours", Source(compositions=COMPOSITIONS, actions=documents()), "azure", folder)
    driver = Driver(folder, storage.connection)
    try:
        made = App(driver, tmp_path_factory.mktemp("runs"))
        made.run("line", n=1)  # what is made once is there: tests count requests to the storage
        yield made
    finally:
        driver.close()
        storage.close()


# --- it conducts -----------------------------------------------------------------------------------


@each_result
def test_it_gives_its_result_and_runs_what_it_must(app, name, params, status, result, ran):
    assert app.run(name, **params)[:2] == (status, result)
    assert app.runs[0] == ran


def test_a_value_that_is_too_large_for_a_message_comes_through(app):
    assert app.run("line", n=1, much=MUCH)[:2] == ("succeeded", {"n": 5, "much": MUCH})
    assert app.runs[0] == LINE


def test_members_of_a_map_run_each_by_itself(app):
    app.number += 1
    app.noted = app.folder / f"runs_{app.number}"
    items = [{"runs": str(app.noted), "n": n} for n in range(5)]
    body = json.dumps({"items": items})
    begun = app.driver("http", method="POST", path="each", body=body)["body"]["executionId"]

    ended = app.driver("run", execution=begun)["seen"]

    assert without_runs(ended["result"]) == {"value": [{"n": n} for n in range(1, 6)]}
    assert len(app.runs[1]) == 5


def test_parts_that_begin_by_themselves_take_a_large_state_with_them(app):
    """What is to be sent then takes several rows of the table."""
    status, _, _ = app.run("spawns", n=1)

    assert status == "succeeded"
    assert len(app.runs[0]) == 10


# --- what comes twice, and who dies ----------------------------------------------------------------


@pytest.mark.parametrize(("name", "steps"), [("line", 2), ("fork", 3), ("nested", 3)])
def test_messages_that_come_twice_make_no_further_step(app, name, steps):
    once = app.run(name, n=1)[:2]

    assert app.run(name, faults={"twice": True}, n=1)[:2] == once
    _, keys = app.runs
    assert set(keys.values()) == {2}  # each message to an action came twice, with one key
    assert len(keys) == steps


@pytest.mark.parametrize(("lose", "most"), [(False, {3, 4, 5}), (True, {3, 4})])
def test_a_death_before_any_request_to_the_storage_loses_nothing_and_makes_no_further_step(
    app, lose, most
):
    """The message comes again, or is lost, too; an action whose answer is lost is asked once more."""
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

    # Of a fork both actions run again when neither is known to have been asked.
    assert ran == most


def test_a_message_that_comes_while_another_may_be_sending_is_put_off(app):
    body = json.dumps({"runs": str(app.folder / "put_off")})
    asked = {"method": "POST", "path": "line", "headers": {"Idempotency-Key": "o"}, "body": body}
    app.driver("die", die_at=3, **asked)  # it is written, and nothing is sent
    id = sha256(b"line\no").hexdigest()[:32]

    assert app.driver("conduct", message={"is": "again", "execution": id}) == 1
    app.driver("wait", ms=240_000)
    assert app.driver("run", execution=id)["seen"]["status"] == "succeeded"


@pytest.mark.parametrize("die_at", range(5))
def test_an_execution_that_was_half_begun_is_begun_by_who_asks_again(app, die_at):
    runs = app.folder / f"half_{die_at}"
    asked = {
        "method": "POST", "path": "line", "headers": {"Idempotency-Key": str(runs)},
        "body": json.dumps({"runs": str(runs)}),
    }  # fmt: skip

    assert app.driver("die", die_at=die_at, **asked) == 1
    answer = app.driver("http", **asked)

    assert answer["status"] == 202, "also while who has written it may still be about to send"
    ended = app.driver("run", execution=answer["body"]["executionId"])["seen"]
    assert (ended["status"], without_runs(ended["result"])) == ("succeeded", {"n": 3})
    assert len(set(runs.read_text().splitlines())) == 2


def test_the_table_keeps_the_laws(app):
    kept = app.driver("laws")

    assert set(kept) == {law.__name__ for law in LAWS}
    assert not any(kept.values()), kept


# --- HTTP ------------------------------------------------------------------------------------------


def test_an_execution_is_begun_once_for_a_key_and_told_of(app):
    headers, body = {"Idempotency-Key": "k"}, json.dumps({"runs": str(app.folder / "keyed")})
    asked = {"method": "POST", "path": "line", "headers": headers, "body": body}
    first, second = app.driver("http", **asked), app.driver("http", **asked)

    id = first["body"]["executionId"]
    assert first["headers"]["Location"] == f"/executions/{id}"
    assert second["body"] == first["body"]
    standing = app.driver("http", method="GET", path=f"executions/{id}")["body"]
    assert (standing["status"], standing["waits"][0]["for"]) == ("running", "/_/add")
    app.driver("run", execution=id)
    assert len((app.folder / "keyed").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("POST", "nobody", "{}", 404, "composition 'nobody' does not exist"),
        ("POST", "add", "{}", 404, "composition 'add' does not exist"),
        ("POST", "line", "{", 400, "the body is not valid JSON"),
        ("POST", "line", "[]", 400, "the body must be a JSON object"),
        ("GET", "line", "", 405, "method GET is not allowed"),
        ("GET", "executions/" + "0" * 32, "", 404, "execution '000"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_would_do(app, method, path, body, status, error):
    answer = app.driver("http", method=method, path=path, body=body)

    assert answer["status"] == status
    assert error in answer["body"]["error"]


def test_an_execution_is_stopped(app):
    id = app.begin("late")

    assert app.driver("http", method="DELETE", path=f"executions/{id}")["status"] == 202
    assert app.driver("run", execution=id)["seen"]["status"] == "cancelled"


# --- the app ---------------------------------------------------------------------------------------


def test_functions_are_bound_to_what_triggers_them(app):
    bound = {
        name: [(one["type"], one.get("queueName") or one.get("route") or one.get("schedule"),
                one.get("connection") or one.get("authLevel"))
               for one in function["bindings"] if one["direction"] == "IN"]
        for name, function in app.driver("bindings").items()
    }  # fmt: skip

    assert json.loads(json.dumps(bound)) == {
        "http": [["httpTrigger", "{*path}", "FUNCTION"]],
        "conductor": [["queueTrigger", f"{storage_of('ours')}-completions", "AzureWebJobsStorage"]],
        "action": [["queueTrigger", f"{storage_of('ours')}-actions", "AzureWebJobsStorage"]],
        "sweep": [["timerTrigger", "0 * * * * *", None]],
    }


def test_nothing_is_left_of_what_ended_long_ago(app):
    app.run("line", n=1, much=MUCH)

    app.driver("wait", ms=9 * 24 * 3600 * 1000)
    app.driver("wait", ms=3600 * 1000)

    assert app.driver("left") == {"executions": 0, "due": 0, "large": 0}
