"""`xingqiao saga ...` and `xingqiao transaction ...`, against a real server."""

from __future__ import annotations

import io
import json

import pytest

from xingqiao import composer
from xingqiao.composer import saga, step

UNKNOWN = "0" * 32
NOT_FOUND = ": The requested resource does not exist. (404)"
LOOKS = 1000  # each is a request, so that time passes
FAIL = "def main(params):\n    return {'error': {'code': 'Down', 'message': 'no luck'}}\n"
PICKY = """
def main(params):
    return {"kept": params["good"]} if "good" in params else {"error": "not good"}
"""
ACCOUNT = """
def main(args):
    state = {"n": (args["state"] or {"n": 0})["n"] + args["params"].get("n", 1)}
    return {"state": state, "result": state}
"""


@pytest.fixture(autouse=True, scope="module")
def actions(server):
    """Deploys the steps of all sagas here, and the entities of all transactions."""
    with server.client() as client:
        for name, code, entity in (
            ("sa_echo", "def main(params):\n    return params\n", False),
            ("sa_fail", FAIL, False),
            ("sa_picky", PICKY, False),
            ("sa_account", ACCOUNT, True),
        ):
            notes = [{"key": "entity", "value": entity}]
            body = {"exec": {"kind": "python:3", "code": code}, "annotations": notes}
            assert client.put(f"/actions/{name}", json=body).status_code == 200


def refusing(*steps):
    """A saga of these steps, and then one that fails."""
    return saga(*steps, step("sa_fail", no_undo="it refuses"))


TRIP = refusing(step("sa_echo", undo="sa_echo"), step("sa_echo", undo="sa_picky", undo_retries=0))
WIDE = refusing(
    composer.parallel(*[step("sa_echo", undo="sa_picky", undo_retries=0)] * 2),
)
FORWARD = saga(
    step("sa_echo", pivot=True),
    step("sa_picky", retriable=True, retries=0),
    step("sa_echo", retriable=True),
)


@pytest.fixture
def stuck(xingqiao, composition):
    """Starts a saga and waits until it is stuck at so many places. Returns its id."""

    def start(name, made, places=1):
        composition(name, made)
        id = xingqiao("invoke", name, "--json", "-p", "n", "1").json["activationId"]
        stands(xingqiao, id, "stuck", places)
        return id

    return start


def stands(xingqiao, id, status, places=0):
    """Waits until an execution has this status, stuck at this number of places. Returns its document."""
    for _ in range(LOOKS):
        ended = xingqiao("saga", "show", id, "--json")
        found = ended.json if ended.code == 0 else {"status": ended.err, "fibers": []}
        waits = [fiber["waits"] for fiber in found["fibers"]]
        if found["status"] == status and (not places or waits.count("operator") == places):
            return found
    raise AssertionError(f"it has not come to {status}: {found}")


# --- looking -----------------------------------------------------------------------------------


def test_stuck_sagas_are_listed_for_people_and_for_programs(xingqiao, stuck):
    first, second = stuck("sa_first", TRIP), stuck("sa_second", TRIP)

    table = xingqiao("saga", "list", "--limit", "2").out.splitlines()
    page = xingqiao("saga", "list", "--limit", "1", "--skip", "1", "--json").json
    paused = xingqiao("saga", "list", "--status", "paused")

    assert table[0].split() == ["start", "execution", "action", "status"]
    assert [line.split()[2:] for line in table[1:]] == [
        [second, "sa_second", "stuck"],
        [first, "sa_first", "stuck"],
    ]
    assert [doc["executionId"] for doc in page] == [first]
    assert paused.out == "no saga is paused\n"


def test_one_shows_where_it_is_stuck_and_what_can_be_done(xingqiao, stuck):
    id = stuck("sa_shown", TRIP)

    lines = xingqiao("saga", "show", id).out.splitlines()

    assert [line.split() for line in lines[:3]] == [
        ["saga", id],
        ["action", "/guest/sa_shown", "0.0.1"],
        ["status", "stuck"],
    ]
    tried = lines[7].split()
    assert [line.rstrip() for line in lines[4:12]] == [
        "",
        "fiber    0",
        "undo of  components[1]",
        f"tried    /guest/sa_picky  {tried[-1]}",
        'input    {"input": {"n": 1}, "result": {"n": 1}}',
        'error    ApplicationError: "not good"',
        "left     components[0]",
        "",
    ]
    assert [line.split("  # ")[0].rstrip() for line in lines[12:]] == [
        f"xingqiao saga retry {id}",
        f"xingqiao saga resolve {id} --reason R",
        f"xingqiao saga skip {id} --reason R",
    ]
    assert lines[13].endswith(" R  # you have undone it by hand")
    record = xingqiao("activation", "get", tried[-1]).json
    assert record["name"] == "sa_picky"
    xingqiao("saga", "skip", id, "--reason", "tidy")


def test_one_that_is_stuck_after_its_pivot_shows_its_step(xingqiao, stuck):
    id = stuck("sa_forward_shown", FORWARD)

    text = xingqiao("saga", "show", id).out

    assert "\nstep   components[1]" in text
    assert "undo of" not in text
    assert (
        f"xingqiao saga resolve {id} --reason R --result JSON  # you know the step's result" in text
    )


def test_one_that_is_not_stuck_shows_no_more_than_how_it_stands(xingqiao, composition):
    composition("sa_good", saga(step("sa_echo", undo="sa_echo")))
    id = xingqiao("invoke", "sa_good", "--json").json["activationId"]
    stands(xingqiao, id, "succeeded")

    lines = xingqiao("saga", "show", id).out.splitlines()

    assert [line.split()[0] for line in lines] == ["saga", "action", "status", "start"]


# --- helping -----------------------------------------------------------------------------------


def test_an_undo_is_tried_again_until_its_input_is_good(xingqiao, stuck, tmp_path):
    id = stuck("sa_retried", TRIP)
    file = tmp_path / "params.json"
    file.write_text('{"good": 1}')

    same = xingqiao("saga", "retry", id)
    stands(xingqiao, id, "stuck", 1)
    other = xingqiao("saga", "retry", id, "-P", file, "-p", "better", "2", "--json")

    assert same.out.startswith(f"✓ {id} is ")
    assert other.json["executionId"] == id
    stands(xingqiao, id, "failed")
    history = xingqiao("execution", "history", id, "--json").out
    assert '"kept": 1' in history
    assert history.count('"Stuck"') == 2


def test_one_goes_on_without_what_it_is_stuck_at_and_the_reason_stands_in_its_history(
    xingqiao, stuck, refused
):
    id = stuck("sa_skipped", TRIP)

    told = xingqiao("saga", "skip", id, "--reason", "paid back by hand")

    assert told.code == 0
    stands(xingqiao, id, "failed")
    entries = map(json.loads, xingqiao("execution", "history", id, "--json").out.splitlines())
    (entry,) = [entry for entry in entries if entry["type"] == "Resolved"]
    assert (entry["how"], entry["by"], entry["reason"]) == ("skip", "guest", "paid back by hand")
    again = refused("saga", "skip", id, "--reason", "again")
    assert again == f"Execution {id} has ended: it has failed. (409)"


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (['{"shipped": true}'], {"shipped": True}),
        (["5"], {"value": 5}),
        (["by post"], {"value": "by post"}),
        (None, {}),
    ],
)
def test_a_step_after_the_pivot_is_resolved_with_its_result(xingqiao, stuck, result, shown):
    id = stuck("sa_forward", FORWARD)
    given = ["--result", *result] if result else []

    told = xingqiao("saga", "resolve", id, "--reason", "sent by hand", *given, "--json")

    assert told.json["executionId"] == id
    stands(xingqiao, id, "succeeded")
    assert xingqiao("activation", "result", id).json == shown


def test_one_of_several_places_is_helped_by_its_fiber(xingqiao, stuck, refused):
    id = stuck("sa_wide", WIDE, 2)
    fibers = [f["fiber"] for f in stands(xingqiao, id, "stuck", 2)["fibers"] if "undoing" in f]

    text = xingqiao("saga", "show", id).out
    several = refused("saga", "retry", id, "-p", "good", "1")
    elsewhere = refused("saga", "skip", id, "--reason", "so", "--fiber", "elsewhere")

    assert text.count("undo of") == 2
    assert f"xingqiao saga retry {id} --fiber F " in text
    assert f"say in 'fiber' which of {fibers[0]}, {fibers[1]}. (409)" in several
    assert elsewhere == f"Execution {id} is not stuck in fiber elsewhere. (409)"
    xingqiao("saga", "retry", id, "--fiber", fibers[1], "-p", "good", "1")
    left = stands(xingqiao, id, "stuck", 1)
    assert [f["fiber"] for f in left["fibers"] if "undoing" in f] == [fibers[0]]
    xingqiao("saga", "resolve", id, "--reason", "by hand", "--fiber", fibers[0])
    stands(xingqiao, id, "failed")


def test_one_is_cancelled_as_soon_as_it_is_helped(xingqiao, stuck):
    id = stuck("sa_cancelled", TRIP)

    told = xingqiao("saga", "cancel", id)
    shown = xingqiao("saga", "cancel", id, "--json")

    assert told.out == f"✓ {id} is stuck\n"
    assert shown.json["status"] == "stuck"
    xingqiao("saga", "skip", id, "--reason", "by hand")
    stands(xingqiao, id, "cancelled")


@pytest.mark.parametrize("verb", ["show", "retry", "skip", "resolve", "cancel"])
def test_one_that_never_was_is_told(xingqiao, refused, verb):
    reason = ["--reason", "so"] if verb in ("skip", "resolve") else []

    assert refused("saga", verb, UNKNOWN, *reason).endswith("(404)")


def test_a_reason_and_a_result_have_bounds(stuck, refused):
    id = stuck("sa_bounds", TRIP)

    for reason in ("", "r" * 1001):
        assert "'reason' must say why" in refused("saga", "skip", id, "--reason", reason)
    failed = ["--reason", "so", "--result", '{"error": 1}']
    assert "'result' has a member 'error'" in refused("saga", "resolve", id, *failed)


# --- transactions ------------------------------------------------------------------------------


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


# --- misuse ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["saga", "list", "--status", "lost"], "'lost' is not one of"),
        (["saga", "list", "--limit", "201"], "201 is not in the range"),
        (["saga", "show"], "Missing argument 'ID'"),
        (["saga", "skip", "x"], "Missing option '--reason'"),
        (["saga", "resolve", "x"], "Missing option '--reason'"),
        (["saga", "skip", "x", "--reason", "so", "--result", "1"], "No such option"),
        (["saga", "retry", "x", "-p", "n"], "Option '-p' requires 2 arguments"),
        (["saga", "fly"], "No such command 'fly'"),
        (["transaction", "list", "--skip", "-1"], "-1 is not in the range"),
        (["transaction", "commit", "x", "--yes"], "Missing option '--reason'"),
        (["transaction", "abort", "--reason", "so", "--yes"], "Missing argument 'ID'"),
        (["transaction", "fly"], "No such command 'fly'"),
    ],
)
def test_misuse_exits_with_2(refused, arguments, text):
    assert text in refused(*arguments, code=2)
