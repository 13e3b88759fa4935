"""What a kill -9 does to a call of a function elsewhere that was under way: by what the action says of itself."""

from __future__ import annotations

import signal

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, starting
from tests.rigs.answers import answer, held
from tests.rigs.strict_host import strict_host
from xingqiao import composer
from xingqiao.composer import path

ENVIRONMENT = {"XINGQIAO_EGRESS_ALLOW": "127.0.0.1"}


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts servers on one directory; ends whatever still runs afterwards."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "process") as start_one:
        yield start_one


@pytest.fixture
def host():
    with strict_host() as found:
        yield found


def deploy(client, host, *, method="POST", **notes):
    listed = [{"key": key, "value": value} for key, value in notes.items()]
    exec = {"kind": "http", "function": f"{host.url}/charge", "method": method}
    sequence = composer.do("charge", composer.select({"handled": path("$.error")}))
    documents = {"charge": exec, "order": {"kind": "composition", "composition": sequence.to_json()}}  # fmt: skip
    for name, exec in documents.items():
        given = {"exec": exec, "annotations": listed if name == "charge" else []}
        client.put(f"/actions/{name}", json=given).raise_for_status()


def killed_while_it_runs(start, host, **how):
    """Starts a composition, kills the server while its function runs. What is known of it after a restart."""
    slow = held({"charged": 1})
    host.on(how.get("method", "POST"), "/charge", slow, answer({"charged": 2}))
    server = start()
    with server.client() as client:
        deploy(client, host, **how)
        id = client.post("/actions/order", json={}).json()["activationId"]
    assert slow.reached.wait(DEADLINE_S)
    server.stop(signal.SIGKILL)
    slow.release()

    with start().client() as client:
        record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()
        entries = client.get(f"/executions/{id}/history").json()["entries"]
    keys = [seen.headers["idempotency-key"] for seen in host.requests]
    return record["response"]["result"], entries, keys


def test_a_function_that_says_nothing_is_not_invoked_again_and_its_step_is_lost(start, host):
    result, entries, keys = killed_while_it_runs(start, host)

    assert "may or may not have run" in result["handled"]
    assert "'idempotent'" in result["handled"], "it says what to do"
    assert [entry["code"] for entry in entries if entry["type"] == "StepFailed"] == ["Lost"]
    assert len(keys) == 1


def test_one_that_is_declared_idempotent_is_invoked_again_with_the_same_key(start, host):
    result, entries, keys = killed_while_it_runs(start, host, idempotent=True)

    assert result == {"charged": 2}
    assert [entry for entry in entries if entry["type"] == "StepFailed"] == []
    assert (len(keys), len(set(keys))) == (2, 1)


def test_a_method_that_only_reads_may_be_asked_again(start, host):
    result, _, keys = killed_while_it_runs(start, host, method="GET")

    assert result == {"charged": 2}
    assert (len(keys), len(set(keys))) == (2, 1)
