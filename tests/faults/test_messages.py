"""Messages to executions of a server that is killed: what was accepted is received, once and in order."""

from __future__ import annotations

import signal
import threading

import httpx
import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import path, receive, var

COUNT = 60
KEEP = composer.assign(seen={"value": path("$.n"), "rest": var("seen")})
LISTENER = composer.let(
    {"seen": None}, composer.repeat(COUNT, receive("go"), KEEP), composer.select(var("seen"))
)


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


class Sender:
    """Tells an execution numbers, each with an id, and each again until it is accepted."""

    def __init__(self, id):
        self.id, self.accepted, self.client = id, 0, None
        self.stopped = threading.Event()

    def send(self):
        while self.accepted < COUNT:
            try:
                answer = self.client.post(
                    f"/executions/{self.id}/messages/go",
                    params={"message": f"m{self.accepted}"},
                    json={"n": self.accepted},
                )
            except httpx.HTTPError:
                self.stopped.set()
                return
            if answer.status_code == 202:
                self.accepted += 1


def test_what_was_accepted_is_received_once_and_in_order_over_three_kills(start):
    server = start()
    with server.client() as client:
        document = {"exec": {"kind": "composition", "composition": LISTENER.to_json()}}
        client.put("/actions/listener", json=document).raise_for_status()
        id = client.post("/actions/listener").json()["activationId"]
    sender = Sender(id)
    for accepted in (10, 25, 40):
        with server.client() as sender.client:
            sending = threading.Thread(target=sender.send)
            sending.start()
            while sender.accepted < accepted:
                assert sending.is_alive()
            server.stop(signal.SIGKILL)
            sending.join()
        server = start()

    with server.client() as sender.client:
        sender.send()
        record = sender.client.get(f"/activations/{id}", params={"wait": 20_000}).json()

    seen, value = [], record["response"]["result"]
    while value is not None:
        seen.append(value["value"])
        value = value["rest"]
    assert seen == [*reversed(range(COUNT))]
