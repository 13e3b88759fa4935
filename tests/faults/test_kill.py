"""What is promised of crashes, on real servers: nothing accepted is lost, nothing done is done again."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict

import httpx
import pytest

from tests.kit.faults.journeys import STEPS, Load, durable
from tests.kit.infra.servers import AUTH, XINGQIAO, starting
from xingqiao import composer
from xingqiao.composer import path

# Writes down that it runs, and never ends.
STUCK = """
import os, time

def main(params):
    with open(params["file"], "a") as file:
        file.write(os.environ["__OW_ACTIVATION_ID"] + " 0 stuck\\n")
    time.sleep(3600)
"""

# Writes down the token by which it can be answered.
ASK = """
import os

def main(params):
    with open(params["file"], "a") as file:
        file.write(os.environ["__OW_COMPLETION_TOKEN"] + " 0 ask\\n")
    return {}
"""


@pytest.fixture
def load(tmp_path):
    return Load(tmp_path / "data", tmp_path / "runs")


@pytest.fixture
def start(load):
    """Starts servers on one directory; ends whatever still runs afterwards."""
    with starting(load.data, "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def kill_under_load(load, server, runs):
    """Kills a server when it has begun so many steps. Returns what was durable, and all runs then."""
    sending = threading.Thread(target=load.send, args=(server, 40))
    sending.start()
    load.until_runs(runs)
    server.stop(signal.SIGKILL)
    sending.join()
    done, ended = durable(load.data)
    assert load.accepted.keys() - ended, "it was killed too late: everything had ended"
    return done, Counter(id for id, _, _ in load.lines())


def test_nothing_accepted_is_lost_and_nothing_done_is_done_again_by_three_kills(load, start):
    server = start()
    load.deploy(server)
    kills = []
    for runs in (25, 75, 125):
        kills.append(kill_under_load(load, server, runs))
        server = start()

    load.check_ended(server)

    final = Counter(id for id, _, _ in load.lines())
    repeatable = set()
    for done, before in kills:
        again = {id for id in done if final[id] != before[id]}
        assert not again, f"steps with a durable completion ran again: {again}"
        repeatable |= before.keys() - done
    places = defaultdict(set)
    for id, number, step in load.lines():
        places[number, step].add(id)
    accepted = {(str(number), step) for number in load.accepted.values() for step in STEPS}
    assert accepted <= places.keys()
    assert all(len(ids) == 1 for ids in places.values()), "a step that was repeated had a new id"
    repeated = {id for id, count in final.items() if count > 1}
    assert repeated, "no kill has hit a step"
    assert repeated <= repeatable


def test_a_server_told_to_stop_under_load_ends_its_steps_and_loses_nothing(load, start):
    server = start()
    load.deploy(server)
    sending = threading.Thread(target=load.send, args=(server, 40))
    sending.start()
    load.until_runs(25)

    code, errors = server.stop(signal.SIGTERM)
    sending.join()
    _, ended = durable(load.data)
    assert code == 0, errors
    assert "Traceback" not in errors
    assert load.accepted.keys() - ended, "it was stopped too late: everything had ended"
    assert set(load.answers) <= {202, 503}

    load.check_ended(start())
    runs = Counter(id for id, _, _ in load.lines())
    assert set(runs.values()) == {1}, "what a server in order leaves behind is not run twice"


def deploy(client, name, exec, **annotations):
    notes = [{"key": key.replace("_", "-"), "value": value} for key, value in annotations.items()]
    answer = client.put(f"/actions/{name}", json={"exec": exec, "annotations": notes})
    assert answer.status_code == 200, answer.text


def test_a_step_that_must_not_run_twice_fails_after_a_kill(load, start):
    server = start()
    with server.client() as client:
        deploy(client, "stuck", {"kind": "python:3", "code": STUCK}, at_most_once=True)
        sequence = composer.do("stuck", composer.select({"handled": path("$.error")}))
        deploy(client, "careful", {"kind": "composition", "composition": sequence.to_json()})
        id = client.post("/actions/careful", json={"file": str(load.runs)}).json()["activationId"]
    load.until_runs(1)
    server.stop(signal.SIGKILL)

    with start().client() as client:
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()
        entries = client.get(f"/executions/{id}/history").json()["entries"]

    text = "The server stopped while the action ran, and it may run only once."
    assert record["response"]["result"] == {"handled": text}
    failures = [entry for entry in entries if entry["type"] == "StepFailed"]
    assert [(entry["code"], entry["value"]) for entry in failures] == [("Lost", text)]
    assert len(load.lines()) == 1


def test_an_action_by_itself_that_must_not_run_twice_fails_after_a_kill(load, start):
    server = start()
    with server.client() as client:
        deploy(client, "stuck", {"kind": "python:3", "code": STUCK}, at_most_once=True)
        id = client.post("/actions/stuck", json={"file": str(load.runs)}).json()["activationId"]
    load.until_runs(1)
    server.stop(signal.SIGKILL)

    with start().client() as client:
        answer = client.get(f"/activations/{id}", params={"wait": 20_000})

    assert answer.status_code == 200, "it was accepted, and is lost"
    record = answer.json()
    assert record["response"]["status"] == "whisk internal error"
    assert "it may run only once" in record["response"]["result"]["error"]
    assert [run[0] for run in load.lines()] == [id]


def test_an_answer_that_was_asked_for_before_a_kill_is_taken_after_it(load, start):
    server = start()
    with server.client() as client:
        deploy(client, "ask", {"kind": "python:3", "code": ASK}, completion="callback")
        sequence = composer.sequence("ask", composer.wait(0.05))
        deploy(client, "patient", {"kind": "composition", "composition": sequence.to_json()})
        id = client.post("/actions/patient", json={"file": str(load.runs)}).json()["activationId"]
        while client.get(f"/executions/{id}").json()["fibers"][0]["waits"] != "answer":
            time.sleep(0.005)
    server.stop(signal.SIGKILL)
    ((token, _, _),) = load.lines()

    second = start()
    answer = httpx.post(f"{second.url}/api/v1/completions/{token}", json={"yes": True})
    assert answer.status_code == 202
    second.stop(signal.SIGKILL)

    third = start()
    with third.client() as client:
        again = client.post(f"{third.url}/api/v1/completions/{token}", json={"yes": False})
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()

    assert again.status_code == 409, "what was answered was durable"
    assert record["response"]["result"] == {"yes": True}
    assert len(load.lines()) == 1


def test_a_second_server_on_one_directory_refuses_in_one_line(load, start):
    server = start()

    second = subprocess.run(
        [XINGQIAO, "serve", "--port", "0", "--data", load.data],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip

    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr.startswith("error: ")
    assert second.stderr.count("\n") == 1
    assert str(load.data) in second.stderr
    with server.client() as client:
        assert client.get("/actions").json() == [], "the first one serves on"
