"""`xingqiao execution query`, against a real server."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import path, var

MAIN = composer.queries(
    composer.let({"left": 2}, composer.wait(3600)), seen={"left": var("left"), "n": path("$.n")}
)


@pytest.fixture
def id(xingqiao, composition):
    composition("q_main", MAIN)
    return xingqiao("invoke", "q_main", "--json", "-p", "n", "1").json["activationId"]


def test_an_execution_is_asked_and_lists_its_queries(xingqiao, id):
    assert xingqiao("execution", "query", id, "seen").json == {"left": 2, "n": 1}
    assert xingqiao("execution", "query", id).out.split() == [
        "seen",
        "$fibers",
        "$inbox",
        "$variables",
    ]
    assert xingqiao("execution", "query", id, "--json").json[0] == "seen"

    ended = xingqiao("execution", "terminate", id)
    assert ended.code == 0, ended.err

    answer = {"answer": {"left": 2, "n": None}, "status": "cancelled"}
    assert xingqiao("execution", "query", id, "seen", "--json").json == answer
    assert json.loads(xingqiao("execution", "query", id, "$variables").out) == {"left": 2}


def test_an_execution_is_asked_by_the_id_that_its_user_gave_it(xingqiao, composition):
    started = xingqiao("invoke", composition("q_named", MAIN), "-p", "n", "2", "--id", "orders/7 b")
    assert started.code == 0, started.err

    assert xingqiao("execution", "query", "orders/7 b", "seen").json == {"left": 2, "n": 2}


def test_what_is_refused_says_why(xingqiao, refused, id):
    xingqiao("execution", "terminate", id)

    assert "it has seen, $fibers" in refused("execution", "query", id, "state")
    assert "has ended" in refused("execution", "query", id, "seen", "--reject", "closed")
