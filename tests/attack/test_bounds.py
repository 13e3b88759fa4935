"""Bombs in one namespace beside a bystander in another, who invokes an action of one step."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.kit.infra.servers import AUTH, Server
from xingqiao import composer

ACCOUNT = "arn:aws:states:us-east-1:111111111111:stateMachine"
HERE = ("--auth", AUTH, "--isolation", "process")
API = "/api/v1/namespaces/_"
PYTHON = {"exec": {"kind": "python:3", "code": "def main(params):\n    return params\n"}}
EXPRESS = [{"key": "express", "value": True}]
ASKED = 10  # times the bystander asks, at scale 1
DEADLINE_S = 60  # for an answer: only a hang takes so long
MOST_MEGABYTES = 700
DESCENDANTS, LIVE = 3_000, 6_000  # at scale 1; ten times that is what servers have by default

FIRES = """
import json, os, urllib.request

def main(params):
    for _ in range(2):
        request = urllib.request.Request(
            os.environ["__OW_API_HOST"] + "/api/v1/namespaces/_/triggers/again", b"{}",
            {"Content-Type": "application/json", "Authorization": "Basic " + __import__("base64")
             .b64encode(os.environ["__OW_API_KEY"].encode()).decode()})
        try:
            urllib.request.urlopen(request).read()
        except OSError:
            pass
    return {}
"""


def _four(step):
    return composer.parallel(step, step, step, step)


WIDE = composer.sequence(
    composer.select({"items": list(range(1_000))}),
    composer.map(
        composer.sequence(
            composer.select({"items": list(range(1_000))}),
            composer.map(composer.select({}), items=composer.path("$.items")),
        ),
        items=composer.path("$.items"),
    ),
)
DEEP = composer.sequence("bomb", "bomb")
COUNTING = composer.function(lambda params: {"n": params.get("n", 0) + 1})
COMPOSITIONS = {
    "parallel of itself": _four("bomb"),
    "parallel of itself after a wait": composer.sequence(composer.wait(0.05), _four("bomb")),
    "express parallel of itself": (_four("bomb"), EXPRESS),
    "asynchronous parts": composer.parallel(*[composer.asynchronous("bomb")] * 3),
    "map in map": WIDE,
    "sequence of itself": DEEP,
    "loop of pure data": composer.repeat(10_000_000, composer.select({"a": 1})),
    "loop of inline functions": composer.repeat(10_000_000, COUNTING),
    "retry without delay": composer.retry(1_000_000, "nobody"),
}


def machine():
    """A state machine that starts itself three times."""
    start = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution",
        "Parameters": {"StateMachineArn": f"{ACCOUNT}:bomb", "Input": {}},
        "End": True,
    }
    branches = [{"StartAt": f"Start{n}", "States": {f"Start{n}": start}} for n in range(3)]
    states = {"All": {"Type": "Parallel", "Branches": branches, "End": True}}
    return {"kind": "states", "definition": json.dumps({"StartAt": "All", "States": states})}


class Attacked:
    """A server with two namespaces: one for bombs, one for a bystander."""

    def __init__(self, data, scale):
        self.environment = {
            **os.environ,
            "XINGQIAO_DESCENDANTS": str(DESCENDANTS * min(scale, 16)),
            "XINGQIAO_LIVE": str(LIVE * min(scale, 16)),
        }
        self.data = data
        self.server = Server(data, *HERE, environment=self.environment)
        made = self._operator("PUT", "bystander")
        self.auth = tuple(made["auth"].split(":", 1))
        with self.bystander() as client:
            assert client.put("/actions/one", json=PYTHON).status_code == 200

    def _operator(self, method, name, **options):
        credentials = (self.data / "operator").read_text().strip().split(":", 1)
        url = f"{self.server.url}/api/v1/operator/namespaces/{name}"
        return httpx.request(method, url, auth=tuple(credentials), json={}, **options).json()

    def bystander(self):
        return httpx.Client(base_url=self.server.url + API, auth=self.auth, timeout=DEADLINE_S)

    def attacker(self):
        client = self.server.client()
        client.timeout = DEADLINE_S
        return client

    def asked(self, times):
        """Has the bystander ask so often. Returns how long each answer took, in ms."""
        took = []
        with self.bystander() as client:
            for n in range(times):
                began = time.perf_counter()
                answer = client.post(
                    "/actions/one", params={"blocking": "true", "result": "true"}, json={"n": n}
                )
                took.append((time.perf_counter() - began) * 1000)
                assert (answer.status_code, answer.json()) == (200, {"n": n})
        return sorted(took)

    def megabytes(self):
        pages = Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE") >> 20

    def killed(self):
        """Dies, and is started again."""
        self.server.stop(signal.SIGKILL)
        self.server = Server(self.data, *HERE, environment=self.environment)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory, scale):
    """One server for all bombs, one after the other: what is left of one meets the next."""
    yield from attacked_server(tmp_path_factory.mktemp("attacked"), scale)


@pytest.fixture
def killed(tmp_path, scale):
    """A server that may be killed."""
    yield from attacked_server(tmp_path / "data", scale)


def attacked_server(data, scale):
    made = Attacked(data, scale)
    made.asked(3)  # its worker is warm
    yield made
    code, _ = made.server.stop()
    assert code == 0  # it stops in order, whatever is under way


def judged(attacked, figures, name, times):
    """Asks during an attack; asserts that there are answers and that memory has a bound."""
    took, megabytes = attacked.asked(times), attacked.megabytes()
    figures(
        bomb=name, p50_ms=round(took[len(took) // 2]), max_ms=round(took[-1]), megabytes=megabytes
    )
    assert megabytes < MOST_MEGABYTES


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_whatever_one_namespace_runs_another_is_answered(attacked, scale, figures, name):
    made = COMPOSITIONS[name]
    composition, annotations = made if isinstance(made, tuple) else (made, [])
    with attacked.attacker() as client:
        body = {
            "exec": {"kind": "composition", "composition": composition.to_json()},
            "annotations": annotations,
        }
        deployed(client, body)
        ids = [client.post("/actions/bomb").json()["activationId"] for _ in range(3)]
        judged(attacked, figures, name, ASKED * scale)
        for id in ids:
            client.post(f"/executions/{id}/cancel", params={"terminate": "true"})


def deployed(client, body):
    answer = client.put("/actions/bomb", params={"overwrite": "true"}, json=body)
    assert answer.status_code == 200, answer.text


def test_figures_of_a_quiet_server(attacked, scale, figures):
    judged(attacked, figures, "none", ASKED * scale)


def test_machines_that_start_themselves(attacked, scale, figures):
    with attacked.attacker() as client:
        deployed(client, {"exec": machine()})
        assert client.post("/actions/bomb").status_code == 202
        judged(attacked, figures, "machine that starts itself", ASKED * scale)
        assert client.delete("/actions/bomb").status_code == 200


def test_triggers_that_fire_themselves(attacked, scale, figures):
    with attacked.attacker() as client:
        client.put("/actions/fires", json={"exec": {"kind": "python:3", "code": FIRES}})
        client.put("/triggers/again", json={})
        client.put("/rules/around", json={"trigger": "/_/again", "action": "/_/fires"})
        assert client.post("/triggers/again").status_code == 202
        judged(attacked, figures, "trigger that fires itself", ASKED * scale)
        client.delete("/rules/around")


def test_a_server_that_was_killed_under_a_bomb_answers_others_before_it_has_recovered(
    killed, scale, figures
):
    with killed.attacker() as client:
        waits = composer.sequence(composer.wait(0.2), _four("bomb"))
        body = {"exec": {"kind": "composition", "composition": waits.to_json()}}
        client.put("/actions/bomb", json=body)
        id = client.post("/actions/bomb").json()["activationId"]
        judged(killed, figures, "before the kill", 4 * ASKED * scale)

    killed.killed()

    judged(killed, figures, "after the kill", ASKED * scale)
    with killed.attacker() as client:
        answer = client.post(f"/executions/{id}/cancel", params={"terminate": "true"})
        assert answer.status_code in (202, 409)  # it may have met its bound, and ended
    judged(killed, figures, "after the kill, terminated", ASKED)
