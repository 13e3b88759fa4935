"""Updates of executions of a server that is killed: what was accepted is answered, and counts once."""

from __future__ import annotations

import signal

import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import path, var

ADD = composer.on_update(
    body=composer.sequence(composer.retain(composer.wait(1)), path("$.params")),
    sets={"items": {"item": path("$.n"), "rest": var("items")}},
    answer={"first": var("items")},
)
MAIN = composer.let(
    {"items": None, "over": False},
    composer.updates(
        composer.until(var("over").is_true()), add=ADD, end=composer.on_update(sets={"over": True})
    ),
    composer.select(var("items")),
)


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def test_updates_under_way_are_answered_after_a_kill_and_count_once(start):
    server = start()
    with server.client() as client:
        document = {"exec": {"kind": "composition", "composition": MAIN.to_json()}}
        client.put("/actions/main", json=document).raise_for_status()
        id = client.post("/actions/main").json()["activationId"]
        for n in range(5):
            taken = client.post(
                f"/executions/{id}/updates/add", params={"update": f"u{n}", "wait": "accepted"}, json={"n": n}
            )  # fmt: skip
            assert taken.status_code == 202
    assert server.stop(signal.SIGKILL)[0] == -signal.SIGKILL

    with start().client() as client:
        for n in range(5):
            query = {"update": f"u{n}"}
            told = client.post(f"/executions/{id}/updates/add", params=query, json={"n": n})
            assert told.json()["status"] == "completed"
        assert client.post(f"/executions/{id}/updates/end").json()["status"] == "completed"
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()
    found, made = [], record["response"]["result"]
    while made is not None:
        found.append(made["item"])
        made = made["rest"]
    assert sorted(found) == list(range(5))
