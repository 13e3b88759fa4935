"""`xingqiao transaction ...`, against a real server."""

from __future__ import annotations

import io
import json

import pytest

from tests.kit.infra.standings import LOOKS, stands
from xingqiao import composer

ACCOUNT = """
def main(args):
    state = {"n": (args["state"] or {"n": 0})["n"] + args["params"].get("n", 1)}
    return {"state": state, "result": state}
"""
NOT_FOUND = ": The requested resource does not exist. (404)"


@pytest.fixture(autouse=True, scope="module")
def account(server):
    """Deploys the entities of all transactions here."""
    body = {
        "exec": {"kind": "python:3", "code": ACCOUNT},
        "annotations": [{"key": "entity", "value": True}],
    }
    with server.client() as client:
        assert client.put("/actions/sa_account", json=body).status_code == 200


@pytest.fixture
def doubtful(xingqiao):
    """Leaves an entity in doubt about a transaction. Returns what sends it further messages."""
    started = int(xingqiao("action", "get", "sa_account", "updated").out)

    def prepare(id, key):
        def send(kind, *more):
            about = {"id": id, "kind": kind, "deadline": started + 300_000, "started": started}
            message = ["-p", "key", json.dumps(key), "-p", "transaction", json.dumps(about), *more]
            return xingqiao("invoke", "sa_account", "--result", *message).json

        operations = [{"operation": "add", "params": {"n": 5}}]
        vote = send("prepare", "-p", "operations", json.dumps(operations))
        assert vote == {"vote": "yes", "results": [{"n": 5}]}
        return send

    return prepare


def listed(xingqiao, id):
    """The listed entries of one transaction: key, state, decision."""
    docs = xingqiao("transaction", "list", "--json").json
    return [
        (doc["key"], doc["state"], doc.get("decision")) for doc in docs if doc["transaction"] == id
    ]


def damaged(server):
    with server.operator() as client:
        lines = client.get(f"{server.url}/metrics").text.splitlines()
    return float(
        next(s for s in lines if s.startswith("xingqiao_transactions_damaged_t")).split()[1]
    )


@pytest.mark.parametrize(
    ("verb", "done", "n"), [("commit", "committed", 6), ("abort", "aborted", 1)]
)
def test_a_transaction_in_doubt_is_listed_and_decided(xingqiao, doubtful, verb, done, n):
    id, key = f"t-{verb}", f"the {verb}/key"
    send = doubtful(id, key)
    table = xingqiao("transaction", "list").out.splitlines()
    assert table[0].split()[:5] == ["since", "transaction", "entity", "key", "state"]
    assert f"{id}" in next(line for line in table if key in line)
    assert listed(xingqiao, id) == [(key, "in doubt", None)]

    told = xingqiao("transaction", verb, id, "--reason", "they say so", "--yes")

    assert told.out == f"✓ {id} is {done} at all entities that were in doubt\n"
    assert listed(xingqiao, id) == [(key, "decided", verb)]
    line = next(s for s in xingqiao("transaction", "list").out.splitlines() if key in s)
    assert line.split()[-5:] == [verb, "guest", "they", "say", "so"]
    assert xingqiao("entity", "call", "sa_account", key, "add", "--json").json == {"n": n}
    assert send(verb) == {"done": verb}
    assert listed(xingqiao, id) == []


def test_another_decision_later_is_listed_as_damage_until_it_is_forgotten(
    xingqiao, server, doubtful, refused
):
    send = doubtful("t-damaged", "d")
    before = damaged(server)
    decided = xingqiao(
        "transaction", "commit", "t-damaged", "--reason", "a guess", "--yes", "--json"
    )
    assert decided.json == {"transaction": "t-damaged", "decision": "commit"}

    send("abort")

    assert listed(xingqiao, "t-damaged") == [("d", "damaged", "commit")]
    assert damaged(server) == before + 1
    forgotten = xingqiao("transaction", "forget", "t-damaged")
    assert forgotten.out == "✓ t-damaged is forgotten\n"
    assert listed(xingqiao, "t-damaged") == []
    assert refused("transaction", "forget", "t-damaged") == f"transactions/t-damaged{NOT_FOUND}"


def test_a_decision_is_confirmed_unless_yes_is_said(xingqiao, doubtful, monkeypatch):
    doubtful("t-asked", "asked")

    for answer in ("n\n", "\n", ""):
        for verb in ("commit", "abort"):
            monkeypatch.setattr("sys.stdin", io.StringIO(answer))
            ended = xingqiao("transaction", verb, "t-asked", "--reason", "so")
            assert ended.code == 130
            assert "the entities disagree permanently" in ended.err
    assert listed(xingqiao, "t-asked") == [("asked", "in doubt", None)]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert xingqiao("transaction", "abort", "t-asked", "--reason", "so").code == 0
    assert listed(xingqiao, "t-asked") == [("asked", "decided", "abort")]
    assert xingqiao("transaction", "forget", "t-asked", "--json").json == {"transaction": "t-asked"}


def test_what_cannot_be_decided_or_forgotten_is_told(xingqiao, doubtful, refused):
    doubtful("t-told", "told")
    decide = ["--reason", "so", "--yes"]

    early = refused("transaction", "forget", "t-told")
    xingqiao("transaction", "commit", "t-told", *decide)
    again = refused("transaction", "abort", "t-told", *decide)

    assert early == "Transaction t-told is in doubt: commit or abort it first. (409)"
    assert again == "Transaction t-told is decided already: commit. (409)"
    assert (
        refused("transaction", "commit", "t-never", *decide) == f"transactions/t-never{NOT_FOUND}"
    )
    assert refused("transaction", "commit", "a/b c%", *decide) == f"transactions/a/b c%{NOT_FOUND}"
    assert "'reason' must say why" in refused(
        "transaction", "commit", "t-told", "--reason", "", "--yes"
    )


def test_one_that_an_execution_here_decides_names_it(xingqiao, action, composition):
    action("sa_echo")
    action("sa_slow")
    xingqiao("action", "update", "sa_slow", "-a", "completion", "callback")
    transfer = composer.transaction(
        composer.call("sa_account", "h", "add", {}),
        composer.participant("sa_slow", "sa_echo", "sa_echo"),
    )
    id = xingqiao("invoke", composition("sa_transfer", transfer), "--json").json["activationId"]
    line = f"is decided by an execution of this server: xingqiao execution get {id}\n"

    assert any(line in xingqiao("transaction", "list").out for _ in range(LOOKS))
    xingqiao("execution", "cancel", id)
    stands(xingqiao, id, "cancelled")
    assert line not in xingqiao("transaction", "list").out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["list", "--skip", "-1"], "-1 is not in the range"),
        (["commit", "x", "--yes"], "Missing option '--reason'"),
        (["abort", "--reason", "so", "--yes"], "Missing argument 'ID'"),
        (["fly"], "No such command 'fly'"),
    ],
)
def test_misuse_exits_with_2(refused, arguments, text):
    assert text in refused("transaction", *arguments, code=2)
