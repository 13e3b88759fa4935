"""`xingqiao saga ...`, against a real server."""

from __future__ import annotations

import json

import pytest

from tests.kit.infra.standings import stands
from xingqiao import composer
from xingqiao.composer import saga, step

UNKNOWN = "0" * 32
FAIL = "def main(params):\n    return {'error': {'code': 'Down', 'message': 'no luck'}}\n"
PICKY = """
def main(params):
    return {"kept": params["good"]} if "good" in params else {"error": "not good"}
"""


@pytest.fixture(autouse=True, scope="module")
def actions(server):
    """Deploys the steps of all sagas here."""
    with server.client() as client:
        for name, code in (
            ("sa_echo", "def main(params):\n    return params\n"),
            ("sa_fail", FAIL),
            ("sa_picky", PICKY),
        ):
            body = {"exec": {"kind": "python:3", "code": code}}
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
    ],
)
def test_misuse_exits_with_2(refused, arguments, text):
    assert text in refused(*arguments, code=2)
