"""`xingqiao batch ...`, against a real server."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.infra.cli.batches import bar


@pytest.fixture
def waiting(xingqiao, composition):
    """Three executions that wait, of an action of this test's own. Returns a filter that finds them."""

    def start(name):
        composition(name, composer.sequence(composer.receive("go"), composer.literal({"n": 1})))
        for _ in range(3):
            assert xingqiao("invoke", name).code == 0
        return f"action = '{name}' and status = 'running'"

    return start


def test_a_dry_run_counts_and_creates_nothing(xingqiao, waiting):
    where = waiting("ba_dry")

    told = xingqiao("batch", "create", "cancel", "--where", where, "--dry-run")
    as_json = xingqiao("batch", "create", "cancel", "--where", where, "--dry-run", "--json")

    assert (told.code, told.out) == (0, "cancel: 3 executions\n")
    assert as_json.json == {"matched": 3}
    assert xingqiao("execution", "count", "--where", where).out == "3\n"


def test_a_batch_is_followed_shown_and_listed(xingqiao, waiting):
    where = waiting("ba_follow")

    followed = xingqiao(
        "batch", "create", "tell", "--where", where, "--message", "go", "--payload", '{"n": 1}',
        "--per-second", "100", "--reason", "they wait", "--id", "ba-1", "--follow",
    )  # fmt: skip

    assert followed.code == 0, followed.err
    assert followed.out == (
        f"ba-1: tell where {where}, succeeded\n3 done, 0 failed, 0 changed, 0 gone of 3\n"
    )
    assert xingqiao("batch", "get", "ba-1").out == followed.out
    found = xingqiao("batch", "get", "ba-1", "--json").json
    assert (found["with"], found["reason"]) == ({"name": "go", "payload": {"n": 1}}, "they wait")
    line = xingqiao("batch", "list", "--limit", "1").out
    assert "ba-1" in line
    assert "they wait" in line
    assert xingqiao("batch", "list", "--status", "failed", "--json").json == []


def test_failures_are_shown_and_are_the_exit_code(xingqiao, waiting):
    where = waiting("ba_fail")

    started = xingqiao("batch", "create", "delete", "--where", where, "--id", "ba-2")
    shown = xingqiao("batch", "get", "ba-2", "--follow")

    assert started.out == "✓ the batch ba-2 has started: delete, 3 executions\n"
    assert shown.code == 1
    assert "0 done, 3 failed, 0 changed, 0 gone of 3" in shown.out
    assert shown.out.count("cancel or terminate it first") == 3


def test_executions_that_have_ended_are_deleted(xingqiao, waiting):
    where = waiting("ba_gone")
    assert xingqiao("batch", "create", "terminate", "--where", where, "--follow").code == 0
    ended = where.replace("running", "cancelled")
    (first, *_) = xingqiao("execution", "list", "--where", ended, "--json").json

    deleted = xingqiao("batch", "create", "delete", "--where", ended, "--follow")

    assert "3 done, 0 failed, 0 changed, 0 gone of 3" in deleted.out
    assert xingqiao("execution", "count", "--where", "action = 'ba_gone'").out == "0\n"
    for command in ("get", "history"):
        assert xingqiao("execution", command, first["executionId"]).code == 5


def test_a_batch_is_cancelled(xingqiao, waiting):
    where = waiting("ba_cancel")
    begun = xingqiao(
        "batch", "create", "cancel", "--where", where, "--per-second", "0.01", "--json"
    )
    id = begun.json["executionId"]

    assert xingqiao("batch", "cancel", id).out == f"✓ the batch {id} is cancelled\n"
    assert xingqiao("batch", "get", id, "--follow").code == 1
    again = xingqiao("batch", "cancel", id, "--json")
    assert (again.code, "has ended" in again.err) == (1, True)


def test_an_id_may_have_any_characters(xingqiao, waiting):
    where, id = waiting("ba_id"), "team/b 1%"
    begun = xingqiao(
        "batch", "create", "cancel", "--where", where, "--per-second", "0.01", "--id", id
    )

    assert (begun.code, begun.err) == (0, "")
    assert xingqiao("batch", "get", id, "--json").json["id"] == id
    assert xingqiao("batch", "cancel", id).code == 0
    followed = xingqiao("batch", "get", id, "--follow")
    assert (followed.code, followed.out.startswith(f"{id}: cancel where ")) == (1, True)


@pytest.mark.parametrize(
    ("options", "details"),
    [
        (("reset", "--to", "first", "--messages", "drop"), {"to": "first", "messages": "drop"}),
        (("reset", "--step", "charge"), {"to": {"step": "charge"}}),
        (("annotate", "--memo", '{"n": 1}'), {"memo": {"n": 1}}),
        (("redrive",), None),
    ],
)
def test_options_become_the_details_of_the_operation(xingqiao, options, details):
    made = xingqiao("batch", "create", *options, "--where", "action = 'ba_none'", "--json")

    assert (made.json.get("with"), made.json["matched"]) == (details, 0)
    cancelled = xingqiao("batch", "cancel", made.json["executionId"], "--json")
    assert cancelled.code in (0, 1)


def test_what_does_not_fit_is_refused(xingqiao):
    create = ("batch", "create")
    where = ("--where", "status = 'failed'")
    both = xingqiao(*create, "reset", *where, "--to", "1", "--step", "a")
    missing = xingqiao(*create, "tell", *where)
    malformed = xingqiao(*create, "cancel", "--where", "custmer = 1")

    assert (both.code, "either --to or --step" in both.err) == (2, True)
    assert (missing.code, "'with.name' is missing" in missing.err) == (1, True)
    assert (malformed.code, "at 0: no attribute 'custmer'" in malformed.err) == (1, True)
    assert xingqiao(*create, "stop", *where).code == 2


@pytest.mark.parametrize(
    ("counts", "matched", "shown"),
    [
        ((0, 0, 0, 0), 10, "░" * 30 + " 0 of 10 (running)"),
        ((3, 1, 1, 0), 10, "█" * 15 + "░" * 15 + " 5 of 10, 1 failed (running)"),
        ((9, 0, 3, 0), 10, "█" * 30 + " 12 of 10 (running)"),
        ((0, 0, 0, 0), 0, "█" * 30 + " 0 of 0 (running)"),
    ],
)
def test_a_bar_shows_the_progress(counts, matched, shown):
    named = dict(zip(("done", "failed", "changed", "gone"), counts, strict=True))

    assert bar(json.loads(json.dumps({**named, "matched": matched, "status": "running"}))) == shown
