"""Transactions and sagas on a real server that is killed: the history they leave is serializable."""

from __future__ import annotations

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import inf

import httpx
import pytest

import composer as c
from composer import call, path, transaction
from tests.faults.checker import Append, Read, Txn, check_lists
from tests.infra.servers import AUTH, Server

CLIENTS, KEYS, START = 6, 4, 100

LIST = """
def main(message):
    seen = message["state"] or []
    if message["operation"] == "append":
        return {"state": [*seen, message["params"]["value"]]}
    return {"result": {"list": seen}}
"""
ACCOUNT = """
def main(message):
    balance = 100 if message["state"] is None else message["state"]
    amount = message["params"].get("amount", 0)
    if message["operation"] == "withdraw":
        if balance < amount:
            return {"error": "insufficient funds"}
        balance -= amount
    elif message["operation"] == "deposit":
        balance += amount
    return {"state": balance, "result": {"balance": balance}}
"""


def moved(operation, whose, inside=""):
    return call("account", path(f"$.{inside}{whose}"), operation, {"amount": path(f"$.{inside}n")})


SAGA = c.saga(
    c.step(c.merge(moved("withdraw", "from")), undo=moved("deposit", "from", "input.")),
    c.step(c.merge(moved("deposit", "to")), undo=moved("withdraw", "to", "input.")),
    c.when(path("$.fails") == True, c.step("nobody", no_undo="it fails")),  # noqa: E712  an expression
)


@pytest.fixture
def start(tmp_path):
    """Starts servers on one directory; ends whatever still runs afterwards."""
    servers = []

    def start_one():
        servers.append(Server(tmp_path / "data", "--auth", AUTH, "--isolation", "none"))
        return servers[-1]

    yield start_one
    for server in servers:
        if server.process.returncode is None:
            server.stop(signal.SIGKILL)


def deploy(client, name, document):
    answer = client.put(f"/actions/{name}", params={"overwrite": "true"}, json=document)
    assert answer.status_code == 200, answer.text


def entity(code):
    notes = [{"key": "entity", "value": True}]
    return {"exec": {"kind": "python:3", "code": code}, "annotations": notes}


def composition(part):
    return {"exec": {"kind": "composition", "composition": part.to_json()}}


class Clients:
    """Sends transactions on lists until told to stop, and writes down what came of them."""

    def __init__(self):
        self.url, self.history, self.lock = "", [], threading.Lock()
        self.numbers, self.over = iter(range(100_000)), threading.Event()
        self.chance = random.Random(7)

    def plan(self):
        with self.lock:
            number = next(self.numbers)
            operations = [
                (self.chance.choice(("append", "read")), f"k{self.chance.randrange(KEYS)}")
                for _ in range(self.chance.randint(1, 3))
            ]
        return number, [(verb, key, number * 10 + at) for at, (verb, key) in enumerate(operations)]

    def run(self, _):
        while not self.over.is_set():
            number, operations = self.plan()
            began = time.monotonic_ns()
            params = {f"v{at}": value for at, (_, _, value) in enumerate(operations)}
            shape = "_".join(f"{verb[0]}{key}" for verb, key, _ in operations)
            try:
                with httpx.Client(auth=tuple(AUTH.split(":")), timeout=30) as client:
                    base = f"{self.url}/api/v1/namespaces/_"
                    part = transaction(*map(self.listed, operations, range(9)))
                    if number % 2:
                        kept = [c.merge(self.listed(one, at), c.select({f"r{at}": path("$")}))
                                for at, one in enumerate(operations)]  # fmt: skip
                        part, shape = transaction(c.sequence(*kept)), f"i_{shape}"
                    known = client.put(
                        f"{base}/actions/t_{shape}",
                        params={"overwrite": "true"}, json=composition(part),
                    )  # fmt: skip
                    answer = client.post(
                        f"{base}/actions/t_{shape}", params={"blocking": "true", "result": "true"},
                        json=params,
                    )  # fmt: skip
                    assert known.status_code in (200, 409)
            except httpx.TransportError:
                self.heard(number, operations, None, began)
                time.sleep(0.05)
                continue
            self.heard(number, operations, answer, began)

    @staticmethod
    def listed(operation, at):
        verb, key, _ = operation
        if verb == "append":
            return call("list", key, "append", {"value": path(f"$.v{at}")})
        return call("list", key, "read", {}, read=True)

    def heard(self, number, operations, answer, began):
        ended, status = time.monotonic_ns(), "unknown"
        if answer is not None and answer.status_code == 200:
            status = "committed"
        elif answer is not None and answer.status_code == 502:
            status = "aborted"
        done = []
        for at, (verb, key, value) in enumerate(operations):
            if verb == "append":
                done.append(Append(key, value))
            elif status == "committed":
                results = answer.json().get("value")
                result = results[at] if results is not None else answer.json()[f"r{at}"]
                done.append(Read(key, tuple(result["list"])))
        with self.lock:
            txn = Txn(
                str(number), tuple(done), status, began, inf if status == "unknown" else ended
            )
            self.history.append(txn)


def at_rest(client):
    """Waits until nothing is under way and nothing in doubt."""
    deadline = time.monotonic() + 60
    while True:
        running = client.get("/executions", params={"status": "running", "limit": 1}).json()
        if not running and not client.get("/transactions").json():
            return
        assert time.monotonic() < deadline, running
        time.sleep(0.05)


def test_the_history_is_serializable_in_real_time_though_the_server_is_killed_twice(start):
    server, clients = start(), Clients()
    with server.client() as client:
        deploy(client, "list", entity(LIST))
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients.url = server.url
        working = [pool.submit(clients.run, number) for number in range(CLIENTS)]
        for committed in (60, 120, 180):
            while sum(txn.status == "committed" for txn in clients.history) < committed:
                assert not any(future.done() for future in working)
                time.sleep(0.01)
            if committed < 180:
                server.stop(signal.SIGKILL)
                server = start()
                clients.url = server.url
        clients.over.set()
    [future.result() for future in working]

    with server.client() as client:
        at_rest(client)
        found = {}
        for number in range(KEYS):
            answer = client.get(f"/entities/list/keys/k{number}")
            found[f"k{number}"] = tuple(answer.json().get("state") or ())
    last = time.monotonic_ns()
    reads = tuple(Read(key, values) for key, values in found.items())
    history = [*clients.history, Txn("at the end", reads, "committed", last, last + 1)]
    assert {txn.status for txn in history} >= {"committed", "unknown"}
    assert check_lists(history) == []


def test_money_is_neither_made_nor_lost_by_sagas_though_the_server_is_killed(start):
    server = start()
    accounts = [f"a{number}" for number in range(5)]
    with server.client() as client:
        deploy(client, "account", entity(ACCOUNT))
        deploy(client, "move", composition(SAGA))
        ids = []
        for number in range(60):
            source, target = accounts[number % 5], accounts[(number * 3 + 1) % 5]
            params = {"from": source, "to": target, "n": 3, "fails": number % 3 == 0}
            answer = client.post("/actions/move", json=params)
            assert answer.status_code == 202
            ids.append(answer.json()["activationId"])
    server.stop(signal.SIGKILL)

    with start().client() as client:
        ended = [client.get(f"/activations/{id}", params={"wait": 20_000}).json() for id in ids]
        states = [client.get(f"/entities/account/keys/{key}").json() for key in accounts]
        executions = client.get("/executions", params={"limit": 200}).json()

    assert [doc["response"]["success"] for doc in ended] == [
        number % 3 != 0 for number in range(60)
    ]
    assert sum(doc["state"] for doc in states) == START * len(accounts)
    assert {doc["status"] for doc in executions} == {"succeeded", "failed"}


SCRIPT = """
function main({ state, operation, params }) {
  const total = (state || 0) + (operation === 'add' ? params.n : 0)
  return params.n < 0 ? { error: 'less' } : { state: total, result: { total } }
}
"""


def test_entities_of_different_languages_take_part_in_one_transaction(start):
    both = transaction(
        call("script", "k", "add", {"n": path("$.n")}), call("list", "k", "append", {"value": 1})
    )
    with start().client() as client:
        deploy(client, "list", entity(LIST))
        document = entity(SCRIPT)
        deploy(client, "script", {**document, "exec": {"kind": "nodejs:20", "code": SCRIPT}})
        deploy(client, "both", composition(both))
        asked = {"params": {"blocking": "true", "result": "true"}}
        done = client.post("/actions/both", **asked, json={"n": 3})
        refused = client.post("/actions/both", **asked, json={"n": -1})
        states = [
            client.get(f"/entities/{type}/keys/k").json()["state"] for type in ("script", "list")
        ]

    assert done.json() == {"value": [{"total": 3}, {}]}
    assert (refused.status_code, refused.json()["error"]["reason"]) == (502, "less")
    assert states == [3, [1]]
