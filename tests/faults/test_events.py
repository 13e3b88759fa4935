"""CloudEvents to a server that is killed: what was accepted fires its triggers, once."""

from __future__ import annotations

import signal
import threading

import httpx
import pytest

from tests.kit.infra.servers import AUTH, starting

COUNT, BATCH = 60, 5
CODE = {"exec": {"kind": "python:3", "code": "def main(params):\n    return {'n': params['n']}"}}


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


class Sender:
    """Sends batches of CloudEvents, each again until the server has accepted it."""

    def __init__(self, source, type):
        self.source, self.type = source, type
        self.accepted, self.new, self.client = 0, 0, None

    def send(self):
        while self.accepted < COUNT:
            batch = [
                {
                    "specversion": "1.0", "id": str(n), "source": self.source, "type": self.type,
                    "data": {"n": n},
                }
                for n in range(self.accepted, self.accepted + BATCH)
            ]  # fmt: skip
            try:
                answer = self.client.post(
                    "/events",
                    json=batch,
                    headers={"Content-Type": "application/cloudevents-batch+json"},
                )
            except httpx.HTTPError:
                return
            if answer.status_code == 202:
                counts = answer.json()
                assert counts["accepted"] + counts["duplicates"] == BATCH
                self.accepted += BATCH


def fires(client, name):
    """The numbers that a trigger has fired with, by source, as its activations say."""
    found = {}
    for skip in range(0, 2 * COUNT + 1, 50):
        query = {"name": name, "docs": "true", "limit": 50, "skip": skip}
        for record in client.get("/activations", params=query).raise_for_status().json():
            result = record["response"]["result"]
            source = result.get("__ow_event", {}).get("source", "")
            found.setdefault(source, []).append(result["n"])
    return {source: sorted(numbers) for source, numbers in found.items()}


def test_what_was_accepted_fires_its_triggers_once_over_three_kills(start):
    server = start()
    with server.client() as client:
        client.put("/actions/work", json=CODE).raise_for_status()
        for name, filter in (
            ("placed", {"exact": {"type": "placed"}}),
            ("every", {"prefix": {"source": "/"}}),
        ):
            client.put(f"/triggers/{name}", json={"filter": filter}).raise_for_status()
        links = {"trigger": "/_/placed", "action": "/_/work"}
        client.put("/rules/placed-work", json=links).raise_for_status()
        client.put("/rules/every-work", json={**links, "trigger": "/_/every"}).raise_for_status()
    senders = [Sender("/a", "placed"), Sender("/b", "paid")]
    for accepted in (10, 25, 40):
        with server.client() as client:
            tasks = [threading.Thread(target=sender.send) for sender in senders]
            for sender, task in zip(senders, tasks, strict=True):
                sender.client = client
                task.start()
            while min(sender.accepted for sender in senders) < accepted:
                assert any(task.is_alive() for task in tasks)
            server.stop(signal.SIGKILL)
            for task in tasks:
                task.join()
        server = start()

    with server.client() as client:
        for sender in senders:
            sender.client = client
            sender.send()
        last = {"type": "last", "source": "/last"}
        client.post("/events", params={**last, "wait": "effects"}, json={"n": 0}).raise_for_status()
        every, placed = fires(client, "every"), fires(client, "placed")

    assert every == {
        "/a": [*range(COUNT)], "/b": [*range(COUNT)], "/last": [0],
    }  # fmt: skip
    assert placed == {"/a": [*range(COUNT)]}
