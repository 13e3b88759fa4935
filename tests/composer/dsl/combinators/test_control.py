"""Sequences, waits, conditions and switches."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path, var
from xingqiao.composer.testing import Fail, simulate


@composer.action
def double(params):
    return {"n": params["n"] * 2}


A = composer.action("a")


def test_what_may_stand_for_a_part():
    parts = composer.sequence(
        None, "a", A, double, lambda params: params, path("$.n") > 1, path("$.n"), var("x")
    ).arguments["components"]

    assert [part.type for part in parts] == [
        "sequence", "action", "action", "action", "function", "predicate", "select", "select",
    ]  # fmt: skip


def test_a_wait_ends_at_an_instant():
    at = datetime(1970, 1, 1, 0, 2, tzinfo=UTC)

    for until in (at, at.isoformat(), 120, path("$.at")):
        run = simulate(composer.wait(until=until), {"at": "1970-01-01T00:02:00Z"})
        assert run.elapsed == 120


def test_eca_runs_the_action_only_if_the_condition_holds():
    ask = composer.eca("ask", "act", otherwise="not")

    def acted(answer):
        return simulate(ask, actions={"ask": answer, "act": {"did": True}, "not": {"did": False}})

    assert acted({"value": 1}).value == {"did": True}
    assert acted({"any": "object"}).value == {"did": True}
    assert acted({"value": 0}).value == {"did": False}
    assert acted(Fail("No")).value == {"did": False}
    assert simulate(composer.eca(path("$.x") == 1, "act"), {"x": 2}).value == {}


def test_a_switch_takes_the_case_that_the_value_equals():
    choose = composer.switch(path("$.n"), {"x": "a"}, default="c")
    pairs = composer.switch("kind", [(None, "a"), ([1], "b")])
    fakes = {"a": {"is": "a"}, "b": {"is": "b"}, "c": {"is": "c"}}

    assert simulate(choose, {"n": "x"}, actions=fakes).value == {"is": "a"}
    assert simulate(choose, {"n": "y"}, actions=fakes).value == {"is": "c"}
    assert simulate(pairs, actions={**fakes, "kind": {"value": [1]}}).value == {"is": "b"}
    assert simulate(pairs, actions={**fakes, "kind": {"value": 3}}).error["code"] == "NoChoice"


WRONG = [
    (lambda: composer.sequence(7), "sequence: 'components' must be a composition, the name of an"),
    (lambda: composer.task(7), "task: a part must be a composition"),
    (composer.wait, "wait: give either 'seconds' or 'until'"),
    (lambda: composer.wait(-1), "wait: 'seconds' must be from 0 to 10 years, not -1"),
    (lambda: composer.wait(1, until="2026-11-21"), "wait: give either 'seconds' or 'until'"),
    (lambda: composer.switch("a", 7), "switch: 'cases' must be a dict, or pairs"),
    (lambda: composer.switch("a", [(1, "b"), (1.0, "c")]), "has 1.0 twice: the second can never be"),
    (lambda: composer.sequence(composer.raise_error("No"), "a"), "part 1 can never be reached"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
