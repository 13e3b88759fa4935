"""`updates`, `on_update` and `until`: what they take, where they may stand, and how they are written."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer as c
from xingqiao.composer import CompositionError, path, var
from xingqiao.composer.testing import simulate

ADD = c.on_update(sets={"n": path("$.n")})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: c.updates("a"), "updates: 'handlers' must name at least one update"),
        (lambda: c.updates("a", **{"a b": ADD}), "has 'a b', which is not the name of an update"),
        (lambda: c.updates("a", **{"a" * 65: ADD}), "which is not the name of an update"),
        (lambda: c.updates("a", add="b"), r"has 'add', which must be on_update\(...\), not 'b'"),
        (lambda: c.updates(7, add=ADD), "updates: 'components' must be a composition"),
        (lambda: c.on_update(validate=path("$.n")), "on_update: 'validate' must be a predicate"),
        (lambda: c.on_update(body=7), "on_update: 'body' must be a composition"),
        (lambda: c.on_update(sets={"a b": 1}), "on_update: 'sets' has 'a b'"),
        (lambda: c.on_update(sets=[1]), "on_update: 'sets' must name at least one variable"),
        (lambda: c.on_update(answer={1}), "on_update: 'answer' is not a template"),
        (lambda: c.until("a"), "until: 'predicate' must be a predicate"),
        (
            lambda: c.parse({"type": "updates", "handlers": {"add": {"reply": 1}}}),
            "must be an object with validate, body, sets, answer",
        ),
        (lambda: c.parse({"type": "updates", "handlers": {"add": 7}}), "must be an object with"),
        (lambda: c.parse({"type": "updates", "handlers": 7}), "'handlers' cannot be read"),
    ],
)
def test_wrong_arguments_are_named(make, text):
    with pytest.raises(CompositionError, match=text):
        make()


def declared(part):
    return c.let({"n": 0}, part)


INNER = c.updates("a", add=ADD)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (c.parallel("a", INNER), "updates: it stands in a branch; move it out"),
        (c.race("a", INNER), "stands in a branch"),
        (c.graph({"x": INNER}), "stands in a branch"),
        (c.map(INNER), "stands in a branch"),
        (c.asynchronous(INNER), r"stands in asynchronous\(...\)"),
        (c.saga(c.step(INNER, undo="b")), "stands in a saga"),
        (c.updates("a", more=c.on_update(body=INNER)), "stands in a handler of updates"),
        (c.until(var("n") > 1), r"until: it must stand in updates\(...\), on the main line"),
        (c.updates(c.parallel(c.until(var("n") > 1)), add=ADD), "until: it must stand in"),
        (c.updates("a", add=c.on_update(body=c.until(var("n") > 1))), "until: it must stand in"),
        (
            c.updates("a", add=c.on_update(body=c.saga(c.step("a", undo="b")))),
            "saga: a handler of updates cannot contain it",
        ),
        (
            c.updates("a", add=c.on_update(body=c.transaction(c.call("account", "k", "add")))),
            "transaction: a handler of updates cannot contain it",
        ),
        (c.mask(INNER), "the handler of 'add' sets 'n', which no `let` around"),
        (c.updates(c.let({"m": 1}, "a"), add=c.on_update(sets={"m": 1})), "sets 'm', which no"),
    ],
)
def test_places_where_they_cannot_stand(part, text):
    with pytest.raises(CompositionError, match=text):
        c.compile(declared(part))


def test_a_transaction_cannot_contain_updates():
    with pytest.raises(CompositionError, match="'updates' cannot stand in a transaction"):
        c.transaction(c.call("account", "k", "add"), c.sequence(INNER))


@pytest.mark.parametrize(
    "part",
    [
        c.let({"n": 1}, c.mask(INNER)),
        c.mask(c.let({"n": 1}, INNER)),
        c.updates(c.saga(c.step("a", undo="b"), c.until(var("n") > 1)), add=ADD),
        c.updates(c.saga(c.step("a", undo="b")), c.transaction(c.call("t", "k", "add")), add=ADD),
        c.updates(c.parallel("a"), c.until(var("n") > 1), add=ADD),
        c.repeat(2, c.do(INNER, "b")),
    ],
)
def test_places_where_they_may_stand(part):
    program = c.compile(declared(part))

    assert program.updates == ("add",)
    assert c.Program.from_json(json.loads(json.dumps(program.to_json())), c.DIALECTS) == program


def test_they_are_written_and_read():
    part = c.updates(
        "a",
        "b",
        add=c.on_update(validate=path("$.n") > 1, body="c", sets={"n": 1}, answer={"n": var("n")}),
        ping=c.on_update(),
    )

    doc = json.loads(json.dumps(part.to_json()))
    assert doc["handlers"]["ping"] == {}
    assert set(doc["handlers"]["add"]) == {"validate", "body", "sets", "answer"}
    assert c.parse(doc) == part
    assert [place for place, _ in part.children()] == [
        "handlers.add.body", "handlers.ping.body", "components[0]", "components[1]",
    ]  # fmt: skip


def test_they_are_drawn():
    made = c.mermaid(
        declared(c.updates(c.until(var("n") >= 3), "a", add=c.on_update(body="check")))
    )

    for text in ("updates add", "on add", "check", "until n ≥ 3"):
        assert text in made


# --- until ----------------------------------------------------------------------------------------


def waiting(predicate, *rest):
    add = c.on_update(sets={"n": path("$.n")})
    return c.let({"n": 0}, c.updates(c.until(predicate), *rest, add=add))


@pytest.mark.parametrize("crash", [(), "every"])
def test_the_main_line_waits_for_a_condition(crash):
    run = simulate(waiting(var("n") >= 2), {"x": 1}, crash=crash,
                   updates=[(1, "add", {"n": 1}), (5, "add", {"n": 2}), (9, "add", {"n": 3})])  # fmt: skip

    assert (run.value, run.elapsed) == ({"x": 1}, 5)


def test_a_condition_that_holds_is_not_waited_for():
    assert simulate(waiting(var("n") == 0)).elapsed == 0


def test_a_condition_that_cannot_be_evaluated_fails_the_part():
    assert simulate(waiting(var("m") == 0)).outcome.code == "ExpressionError"


def test_it_may_be_cancelled_and_time_out():
    assert simulate(waiting(var("n") > 1), cancel_at=5).outcome.code == "Cancelled"
    timed = c.timeout(5, c.let({"n": 0}, c.updates(c.until(var("n") > 1), add=ADD)))
    assert simulate(timed).outcome.code == "Timeout"


def test_each_wait_is_a_step():
    limits = c.Limits(steps=1)
    made = waiting(var("n") > 1, c.until(var("n") > 2))

    run = simulate(made, limits=limits, updates=[(1, "add", {"n": 2})])
    assert run.outcome.code == "LimitExceeded"
