"""What is promised of crashes, on real servers: nothing accepted is lost, nothing done is done again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import composer
from actions import ActivationRow, ExecutionRow, Query
from composer import path
from infra.stores import SqliteStore
from tests.infra.servers import AUTH, XINGQIAO, Server

SENDERS = 4
MANY = 100_000
STEPS = ("first", "left", "right", "inner", "last")  # of one journey

# Writes down that it runs, takes a while, and adds its name to the trail.
STEP = """
import os, time

def main(params):
    line = f"{os.environ['__OW_ACTIVATION_ID']} {params['n']} NAME\\n"
    file = os.open(params["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)
    time.sleep(0.03)
    return {**params, "trail": [*params["trail"], "NAME"]}
"""

JOURNEY = composer.sequence(
    "first",
    composer.wait(0.05),
    composer.parallel("left", "right"),
    composer.select(
        {
            "n": path("$.value[0].n"),
            "file": path("$.value[0].file"),
            "trail": path("$.value[*].trail[1]"),
        }
    ),
    "nested",
    "last",
)


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


class Load:
    """Deploys journeys, starts them until told to stop, and knows which were accepted."""

    def __init__(self, data, runs):
        self.data, self.runs = data, runs
        self.accepted: dict[str, int] = {}
        self.answers: Counter[int] = Counter()
        self._numbers = iter(range(MANY))
        self._lock = threading.Lock()

    def deploy(self, server):
        documents = {
            name: {"kind": "python:3", "code": STEP.replace("NAME", name)} for name in STEPS
        }
        for name, composition in (("nested", composer.sequence("inner")), ("journey", JOURNEY)):
            documents[name] = {"kind": "composition", "composition": composition.to_json()}
        with server.client() as client:
            for name, document in documents.items():
                answer = client.put(f"/actions/{name}", json={"exec": document})
                assert answer.status_code == 200, answer.text

    def send(self, server, count):
        """Starts `count` journeys at once from several threads; less when the server is gone."""

        def sender(_):
            with server.client() as client:
                for _ in range(count // SENDERS):
                    try:
                        self._one(client)
                    except httpx.TransportError:
                        return  # whether it was accepted is not known, so nothing is promised

        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(sender, range(SENDERS)))

    def _one(self, client):
        with self._lock:
            number = next(self._numbers)
        params = {"n": number, "file": str(self.runs), "trail": []}
        answer = client.post("/actions/journey", json=params)
        with self._lock:
            self.answers[answer.status_code] += 1
            if answer.status_code == 202:
                self.accepted[answer.json()["activationId"]] = number

    def lines(self):
        """Every run so far: activation, number of the journey, step."""
        if not self.runs.exists():
            return []
        return [tuple(line.split()) for line in self.runs.read_text().splitlines()]

    def until_runs(self, count):
        """Waits until so many steps have begun."""
        deadline = time.monotonic() + 60
        while len(self.lines()) < count:
            assert time.monotonic() < deadline, f"{len(self.lines())} of {count} steps have begun"
            time.sleep(0.005)

    def check_ended(self, server):
        """Waits until all that was accepted has ended, and looks at the results."""
        assert self.accepted
        with server.client() as client:
            for id, number in self.accepted.items():
                answer = client.get(f"/activations/{id}", params={"wait": 20_000})
                assert answer.status_code == 200, f"{id} was accepted, and is lost"
                record = answer.json()
                assert record["response"]["success"], record
                assert record["response"]["result"] == {
                    "n": number, "file": str(self.runs), "trail": ["left", "right", "inner", "last"],
                }  # fmt: skip


def durable(data):
    """The ids of activations and executions that a stopped server has on disk as ended."""

    async def read():
        async with SqliteStore(data) as store:
            everything = Query(namespace="guest", limit=MANY)
            done = {row.id for row in await store.find(ActivationRow, everything)}
            rows = await store.find(ExecutionRow, everything)
            return done, {row.id for row in rows if row.ended_ms is not None}

    return asyncio.run(read())


@pytest.fixture
def load(tmp_path):
    return Load(tmp_path / "data", tmp_path / "runs")


@pytest.fixture
def start(load):
    """Starts servers on one directory; ends whatever still runs afterwards."""
    servers = []

    def start_one():
        servers.append(Server(load.data, "--auth", AUTH, "--isolation", "none"))
        return servers[-1]

    yield start_one
    for server in servers:
        if server.process.returncode is None:
            server.stop(signal.SIGKILL)


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
