"""Workers are killed while calls are handed to them: what has not begun is done all the same, and no signal is lost."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, running

CALLS, SIGNALS = 12, 30  # at scale 1

# Writes down which process runs which activation, before anything else.
NOTE = """
import os

def note(file):
    line = f"{os.getpid()} {os.environ['__OW_ACTIVATION_ID']}\\n".encode()
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(out, line)
    os.close(out)
"""
WORK = NOTE + "\ndef main(params):\n    note(params['file'])\n    return {'pid': os.getpid()}\n"
COUNTER = (
    NOTE
    + """
def main(message):
    note(message["params"]["file"])
    return {"state": (message["state"] or 0) + 1, "result": {}}
"""
)


@pytest.fixture
def server(tmp_path):
    with running(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as made:
        yield made


def deploy(client, name, code, **annotations):
    noted = [{"key": key, "value": value} for key, value in annotations.items()]
    body = {"exec": {"kind": "python:3", "code": code}, "annotations": noted}
    assert client.put(f"/actions/{name}", json=body).status_code == 200


def noted(file):
    """Pairs of a process and the activation that it has begun."""
    return [tuple(line.split()) for line in file.read_text().splitlines()] if file.exists() else []


def kill(pid):
    """Kills a worker of this test's server, if it still is one."""
    with suppress(FileNotFoundError, ProcessLookupError):
        if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)


def test_a_call_whose_worker_is_killed_while_idle_succeeds(server, tmp_path, scale, figures):
    file = tmp_path / "ran"
    with server.client() as client:
        deploy(client, "work", WORK)
        failed = 0
        for _ in range(CALLS * scale):
            query = {"blocking": True, "result": True}
            answer = client.post("/actions/work", params=query, json={"file": str(file)})
            failed += answer.status_code != 200
            kill(answer.json()["pid"])

    figures(calls=CALLS * scale, failed=failed)
    assert failed == 0
    assert len(noted(file)) == CALLS * scale


def test_no_signal_is_lost_while_workers_are_killed(server, tmp_path, scale, figures):
    file, over = tmp_path / "ran", threading.Event()
    killed = set()

    def killing():
        while not over.wait(0.02):
            for pid, _ in noted(file)[-1:]:
                if pid not in killed:
                    killed.add(pid)
                    kill(pid)

    killer = threading.Thread(target=killing)
    with server.client() as client:
        deploy(client, "counter", COUNTER, entity=True)
        killer.start()
        ids = [signalled(client, file) for _ in range(SIGNALS * scale)]
        for id in ids:
            client.get(f"/activations/{id}", params={"wait": DEADLINE_S * 1000})
        over.set()
        killer.join()
        letters = client.get("/dead-letters", params={"limit": 200}).json()
        again = sent_again(client)
        state = client.get("/entities/counter/keys/one").json()["state"]

    figures(signals=len(ids), killed=len(killed), letters=len(letters), again=again, counted=state)
    assert {letter["mayHaveRun"] for letter in letters} <= {"unknown"}
    assert state == len(ids)


def signalled(client, file):
    body = {"operation": "add", "params": {"file": str(file)}}
    answer = client.post("/entities/counter/keys/one", params={"signal": True}, json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["activationId"]


def sent_again(client):
    """Sends all dead letters again until there are none. Returns how many that were."""
    again = 0
    while letters := client.get("/dead-letters", params={"limit": 200}).json():
        for letter in letters:
            answer = client.post(f"/dead-letters/{letter['id']}/retry")
            id = answer.json()["activationId"]
            client.get(f"/activations/{id}", params={"wait": DEADLINE_S * 1000})
            again += 1
    return again
