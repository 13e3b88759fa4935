"""`xingqiao execution update`, against a real server."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import path, var

MAIN = composer.let(
    {"n": 0},
    composer.updates(
        composer.until(var("n") > 99),
        add=composer.on_update(validate=path("$.n") > 0, sets={"n": path("$.n")}, answer=var("n")),
        odd=composer.on_update(validate=path("$.n") > var("gone")),
        slow=composer.on_update(body=composer.wait(3600)),
        bad=composer.on_update(body=composer.raise_error("Full", "no room")),
    ),
)


@pytest.fixture
def id(xingqiao, composition):
    composition("u_main", MAIN)
    return xingqiao("invoke", "u_main", "--json").json["activationId"]


def test_an_execution_is_updated(xingqiao, id):
    assert xingqiao("execution", "update", id, "add", "-p", "n", "7").json == 7
    given = xingqiao(
        "execution", "update", id, "add", "--payload", '{"n": 8}', "--update-id", "u", "--json"
    )
    assert given.json == {
        "executionId": id, "name": "add", "update": "u", "status": "completed", "answer": 8,
    }  # fmt: skip
    assert xingqiao("execution", "update", id, "add", "-p", "n", "9", "--update-id", "u").json == 8

    taken = xingqiao("execution", "update", id, "slow", "--wait", "accepted", "--update-id", "s")
    assert f"{id} has accepted update s" in taken.out + taken.err
    late = xingqiao(
        "execution", "update", id, "slow", "--timeout", "0.01", "--update-id", "s", "--json"
    )
    assert late.json["status"] == "accepted"


def test_what_is_refused_or_fails_says_why(refused, id):
    rejected = refused("execution", "update", id, "add", "-p", "n", "0")
    assert "rejects update 'add': its validator, `on_update(validate=...)` of 'add'" in rejected
    assert "/guest/u_main, does not hold for this payload" in rejected
    assert "Correct the payload and send the update again" in rejected
    unread = refused("execution", "update", id, "odd", "-p", "n", "0")
    assert "/guest/u_main, cannot be evaluated: " in unread
    assert "it has add, odd, slow, bad" in refused("execution", "update", id, "x")
    assert "update bad failed: ApplicationError: " in refused("execution", "update", id, "bad")


def test_a_payload_is_json_and_stands_alone(xingqiao, id):
    both = xingqiao("execution", "update", id, "add", "-p", "n", "1", "--payload", "1")
    wrong = xingqiao("execution", "update", id, "add", "--payload", "{")

    assert (both.code, wrong.code) == (2, 2)
    assert "either --payload or parameters" in both.err
    assert "this is not JSON" in wrong.err
