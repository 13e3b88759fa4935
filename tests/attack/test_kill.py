"""Rounds of kill -9, SIGSTOP and SIGTERM under a mixed load: nothing accepted is lost or done twice.

Three loads run at once on one server: journeys (sequences, branches, nested compositions), transactions on
lists by clients that write down what they heard, and transfers of money as sagas of which some fail.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import pytest

from tests.faults.test_transactions import ACCOUNT, SAGA, START
from tests.kit.faults.checker import Read, Txn, check_lists
from tests.kit.faults.journeys import STEPS, Load, durable
from tests.kit.faults.lists import KEYS, LIST, Clients, at_rest, composition, deploy, entity
from tests.kit.infra.servers import AUTH, starting

ACCOUNTS = [f"a{number}" for number in range(5)]
CLIENTS = 2
ROUND_S = 0.8  # under load, before the next signal
STOPPED_S = 0.3
SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)


class Transfers:
    """Moves money between accounts until told to stop; each third transfer fails and is undone."""

    def __init__(self):
        self.url, self.over, self.accepted = "", threading.Event(), {}

    def run(self):
        for number in count():
            if self.over.is_set():
                return
            source, target = ACCOUNTS[number % 5], ACCOUNTS[(number * 3 + 1) % 5]
            params = {"from": source, "to": target, "n": 3, "fails": number % 3 == 0}
            try:
                with httpx.Client(auth=tuple(AUTH.split(":")), timeout=30) as client:
                    path = "/api/v1/namespaces/_/actions/move"
                    answer = client.post(f"{self.url}{path}", json=params)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == 202:
                self.accepted[answer.json()["activationId"]] = number % 3 != 0
            time.sleep(0.02)


@pytest.fixture
def start(tmp_path):
    """Starts servers on one directory; ends whatever still runs afterwards."""
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


class Loads:
    """The three loads on one server, which may be replaced by another on the same directory."""

    def __init__(self, server, folder):
        self.journeys = Load(folder / "data", folder / "runs")
        self.lists, self.transfers = Clients(), Transfers()
        self.kills = []
        self.journeys.deploy(server)
        with server.client() as client:
            deploy(client, "list", entity(LIST))
            deploy(client, "account", entity(ACCOUNT))
            deploy(client, "move", composition(SAGA))
        self.turn_to(server)

    def turn_to(self, server):
        self.lists.url = self.transfers.url = server.url

    def disturbed(self, server, number, start):
        """Sends a signal under load. Returns the server that serves from then on."""
        sending = threading.Thread(target=self.journeys.send, args=(server, 40))
        sending.start()
        time.sleep(ROUND_S)
        if number == signal.SIGSTOP:
            server.process.send_signal(number)
            time.sleep(STOPPED_S)
            server.process.send_signal(signal.SIGCONT)
            sending.join()
            return server
        server.stop(number)
        sending.join()
        if number == signal.SIGKILL:
            done, _ = durable(self.journeys.data)
            self.kills.append((done, Counter(id for id, _, _ in self.journeys.lines())))
        server = start()
        self.turn_to(server)
        return server

    def check_journeys(self, server):
        self.journeys.check_ended(server)
        final = Counter(id for id, _, _ in self.journeys.lines())
        for done, before in self.kills:
            again = {id for id in done if final[id] != before[id]}
            assert not again, f"steps with a durable completion ran again: {again}"
        places = defaultdict(set)
        for id, number, step in self.journeys.lines():
            places[number, step].add(id)
        accepted = {
            (str(number), step) for number in self.journeys.accepted.values() for step in STEPS
        }
        assert accepted <= places.keys()
        assert all(len(ids) == 1 for ids in places.values()), (
            "a step that was repeated had a new id"
        )

    def check_lists(self, client):
        found = {}
        for number in range(KEYS):
            answer = client.get(f"/entities/list/keys/k{number}")
            found[f"k{number}"] = tuple(answer.json().get("state") or ())
        last = time.monotonic_ns()
        reads = tuple(Read(key, values) for key, values in found.items())
        whole = [*self.lists.history, Txn("at the end", reads, "committed", last, last + 1)]
        assert check_lists(whole) == []

    def check_transfers(self, client):
        for id, succeeds in self.transfers.accepted.items():
            record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()
            assert record["response"]["success"] is succeeds, record
        states = [client.get(f"/entities/account/keys/{key}").json() for key in ACCOUNTS]
        assert sum(doc.get("state", START) for doc in states) == START * len(ACCOUNTS)


def test_rounds_of_signals_under_load_lose_nothing_and_repeat_nothing(
    start, tmp_path, scale, figures
):
    server = start()
    loads = Loads(server, tmp_path)
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        working = [pool.submit(loads.lists.run, number) for number in range(CLIENTS)]
        working.append(pool.submit(loads.transfers.run))
        try:
            for number in SIGNALS * scale:
                server = loads.disturbed(server, number, start)
                [future.result() for future in working if future.done()]  # it says why it gave up
        finally:
            loads.lists.over.set()
            loads.transfers.over.set()
    [future.result() for future in working]

    loads.check_journeys(server)
    with server.client() as client:
        at_rest(client)
        loads.check_lists(client)
        loads.check_transfers(client)
    figures(
        signals=len(SIGNALS) * scale,
        journeys=len(loads.journeys.accepted),
        transactions=Counter(txn.status for txn in loads.lists.history),
        transfers=len(loads.transfers.accepted),
    )
