"""Sagas as they are composed."""

from __future__ import annotations

import pytest

from xingqiao import composer as c
from xingqiao.composer import CompositionError, path, saga, step

PIVOTAL = saga(step("a", undo="undo_a"), step("b", pivot=True), step("c", retriable=True))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: step("a"), "say how its effect is undone"),
        (lambda: step("a", undo="b", pivot=True), "a pivot is neither undone nor retriable: remove 'undo'"),
        (lambda: step("a", pivot=True, retriable=True), "remove 'retriable'"),
        (lambda: step("a", undo="b", no_undo="c"), "give either 'undo' or 'no_undo'"),
        (lambda: step("a", no_undo="c", undo_on_failure=True), "needs an 'undo'"),
        (lambda: step("a", pivot=True, retries=3), "a pivot takes no 'retries'"),
        (lambda: step("a", undo="b", seconds=0), "'seconds' must be a number > 0"),
        (lambda: step("a", undo="b", undo_on_failure=1), "must be True or False"),
        (saga, "give at least one step"),
        (lambda: saga("a", step("a", undo="b")), "'/_/a' may have an effect: make it a step"),
        (lambda: saga(c.when("a", None)), "may have an effect"),
        (lambda: saga(c.call("e", "k", "op")), "'/_/e' may have an effect"),
        (lambda: saga(c.dynamic()), "'dynamic' may have an effect"),
        (lambda: saga(c.asynchronous(c.wait(1))), "'async' may have an effect"),
        (lambda: saga(*PIVOTAL.arguments["components"], step("d", undo="e")), "give every later step retriable"),
        (lambda: saga(step("a", pivot=True), step("b", pivot=True)), "a saga has at most one pivot"),
        (lambda: saga(c.parallel(step("a", pivot=True))), "not in a branch or a loop"),
        (lambda: saga(c.repeat(2, step("a", pivot=True))), "not in a branch or a loop"),
        (lambda: saga(step("a", retriable=True)), "may have to be undone: give it an 'undo'"),
        (lambda: saga(step("a", pivot=True), c.raise_error("x")), "remove the part that raises an error"),
        (lambda: saga(step("a", undo="b"), retry=3), "must be AlwaysRevert"),
        (lambda: saga(step("a", undo="b"), retry=c.Times(0)), "attempts: it must be an int >= 1"),
        (lambda: saga(step("a", undo="b"), retry=c.Times(2, -1)), "a delay of -1"),
        (lambda: saga(step("a", undo="b"), retry=c.ForEach([], "x")), "at least one"),
        (lambda: saga(step("a", undo="b"), retry=c.ForEach([{1}], "x")), "must have JSON values"),
        (lambda: saga(step("a", undo="b"), retry=c.ForEach([1], "error")), "the name of a field"),
        (lambda: saga(step("a", undo="b"), retry=c.ParameterizedForEach(1, "x")), "a path"),
        (lambda: c.compile(step("a", undo="b")), "a step must stand in a saga"),
        (lambda: c.compile(saga(step(step("a", undo="b"), undo="c"))), "a step must stand in a saga"),
    ],
)  # fmt: skip
def test_what_could_not_be_undone_is_refused_when_composing(make, why):
    with pytest.raises(CompositionError, match=why):
        make()


def test_what_has_no_effect_may_stand_between_steps():
    saga(
        c.select({"n": path("$.n")}),
        c.call("e", "k", "look", read=True),
        c.let({"x": 1}, c.assign(x=2), step("a", retriable=True, undo="b")),
        lambda p: p,
        c.wait(1),
        step("a", pivot=True),
        c.parallel(step("b", retriable=True), step("c", retriable=True, no_undo="kept")),
    )


@pytest.mark.parametrize(
    "policy",
    [
        None, c.AlwaysRevert(), c.AlwaysRevertAll(), c.Times(3), c.Times(3, 1.5),
        c.ForEach((1, {"a": 2}), "x"), c.ParameterizedForEach(path("$.hosts"), "x"),
    ],
)  # fmt: skip
def test_a_saga_is_json_and_back(policy):
    made = saga(
        step(
            "a", undo="b", retries=2, delay=0.5, seconds=9, undo_retries=None, undo_on_failure=True
        ),
        step("c", pivot=True),
        step("d", retriable=True),
        retry=policy,
        seconds=99,
    )

    assert c.parse(made.to_json()) == made
    program = c.compile(made)
    assert c.Program.from_json(program.to_json(), c.DIALECTS).hash == program.hash
    assert program.spans
    assert not c.compile(c.sequence("a")).spans
