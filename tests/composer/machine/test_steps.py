"""Steps: what is asked for, and what becomes of the answer."""

from __future__ import annotations

import pytest

from tests.kit.composer.one_step import CONTEXT, INVOKING, PROGRAM
from xingqiao import composer
from xingqiao.composer import (
    Completed,
    Continued,
    Failed,
    advance,
    path,
)
from xingqiao.composer.machine.conductor import reissue
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.testing import simulate
from xingqiao.composer.values import Failure, Success


def test_a_function_sets_only_what_is_declared():
    part = composer.function(lambda params, variables: variables.update(y=1))

    run = simulate(composer.let({"x": 0}, part))

    assert run.error == {"code": "ExpressionError", "message": "no enclosing let declares 'y'"}


def test_dynamic_invokes_what_the_value_names():
    wanted = {"type": "action", "name": "a", "params": {"n": 1}}

    run = simulate(composer.dynamic(), wanted, actions={"a": lambda params: params})

    assert run.value == {"n": 1}
    assert (
        simulate(composer.dynamic(), {"type": "action", "name": "a"}, actions={"a": {}}).value == {}
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"type": "action"},
        {"type": "action", "name": "a b/c/d/e/f"},
        {"type": "action", "name": 7},
        {"type": "sequence", "name": "a"},
        {"type": "action", "name": "a", "params": 7},
    ],
)
def test_dynamic_refuses_what_names_nothing(wanted):
    assert simulate(composer.dynamic(), wanted).outcome.code == "ExpressionError"


def test_what_was_asked_for_dynamically_is_asked_for_again():
    program = composer.compile(composer.dynamic())
    wanted = Fiber(id="0", pc=0, value={"type": "action", "name": "x"})
    waiting = advance(program, wanted, Continued(), CONTEXT).fiber

    assert reissue(program, waiting, CONTEXT).action == "/_/x"


@pytest.mark.parametrize(("errors", "named"), [(ValueError, True), (TypeError, False)])
def test_a_function_that_set_variables_before_it_raised_keeps_its_class(errors, named):
    part = composer.do(lambda params, variables: int("no"), composer.literal({}), errors=errors)

    run = simulate(composer.let({"n": 1}, part), crash="every")

    assert (run.outcome == Success({})) is named


def test_a_step_may_ask_for_whatever_a_path_selects():
    run = simulate(composer.sequence(path("$.n"), "a"), {"n": 7}, actions={"a": lambda p: p})

    assert run.value == {"value": 7}


REMOTE = {"cloud": "aws", "attempts": 1, "took": 30}


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        (Completed(1, {}, remote=REMOTE), "StepSucceeded", {"remote": REMOTE}),
        (
            Completed(1, {"error": "no"}, remote=REMOTE),
            "StepFailed",
            {"code": "ApplicationError", "remote": REMOTE},
        ),
        (
            Failed(1, Failure("Lost", "gone"), "unknown", REMOTE),
            "StepFailed",
            {"code": "Lost", "remote": REMOTE},
        ),
    ],
)
def test_the_history_tells_where_a_step_ran(event, kind, told):
    entries = advance(PROGRAM, INVOKING, event, CONTEXT).entries

    entry = next(entry for entry in entries if entry.kind == kind)
    assert entry.detail.items() >= told.items()
