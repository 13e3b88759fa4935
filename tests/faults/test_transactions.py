"""Transactions and sagas on a real server that is killed: the history they leave is serializable."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.kit.faults.checker import Read, Txn, check_lists
from tests.kit.faults.lists import KEYS, LIST, Clients, at_rest, composition, deploy, entity
from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer as c
from xingqiao.composer import call, path, transaction

CLIENTS, START = 6, 100

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
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


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
