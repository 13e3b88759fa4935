"""Policies of sagas: what is tried again, with what, and what is refused."""

from __future__ import annotations

import pytest

from tests.kit.composer.sagas import OK, fakes, undone
from xingqiao import composer as c
from xingqiao.composer import CompositionError, path, saga, step
from xingqiao.composer.testing import Fail, simulate


def test_times_tries_the_whole_saga_again():
    policy = saga(step("a", undo="undo_a"), step("b", undo="undo_b"), retry=c.Times(3, delay=2))
    run = simulate(policy, {}, actions=fakes(b=[Fail("x"), Fail("y"), OK]), crash="every")

    assert (run.value, run.elapsed) == (OK, 4.0)
    assert len({invoked.activation for invoked in run.invocations if "/a" in invoked.action}) == 3
    spent = simulate(policy, {}, actions=fakes(b=Fail("x")))
    assert (spent.error["code"], len(spent.calls("undo_a"))) == ("x", 3)


def test_for_each_tries_one_value_after_the_other():
    policy = saga(step("a", undo="undo_a"), retry=c.ForEach(["x", "y", "z"], into="host"))

    def answer(params):
        return {"at": params["host"]} if params["host"] == "y" else Fail("Down")

    run = simulate(policy, {"n": 1}, actions=fakes(a=answer), crash="every")
    assert run.value == {"at": "y"}
    none = simulate(policy, {}, actions=fakes(a=Fail("Down")))
    assert [call["host"] for call in none.calls("a")] == ["x", "y", "z"]


def test_parameterized_for_each_takes_them_from_the_input():
    policy = saga(
        step("a", undo="undo_a"), retry=c.ParameterizedForEach(path("$.hosts"), into="host")
    )
    run = simulate(policy, {"hosts": [1, 2]}, actions=fakes(a=[Fail("x"), OK]))

    assert [call["host"] for call in run.calls("a")] == [1, 2]
    for params in ({}, {"hosts": []}, {"hosts": 1}):
        assert simulate(policy, params, actions=fakes()).outcome.code == "ExpressionError"


def test_revert_goes_on_to_the_saga_outside_and_asks_its_policy():
    inner = saga(step("b", undo="undo_b"), retry=c.AlwaysRevert())
    outer = saga(step("a", undo="undo_a"), inner, retry=c.Times(2))
    run = simulate(outer, {}, actions=fakes(b=[Fail("x"), OK]))

    assert (run.value, len(run.calls("a"))) == (OK, 2)


def test_revert_all_is_no_others_to_try_again_or_to_catch():
    inner = saga(step("b", undo="undo_b"), retry=c.AlwaysRevertAll())
    outer = saga(step("a", undo="undo_a"), c.retry(5, inner), retry=c.Times(5))
    run = simulate(outer, {}, actions=fakes(b=Fail("No")))

    assert (run.outcome.code, run.error["code"]) == ("RevertAll", "No")
    assert (len(run.calls("a")), undone(run)) == (1, ["a"])


def test_a_policy_that_is_none_of_ours_is_refused():
    document = saga(step("a", undo="b")).to_json()
    assert c.parse({**document, "retry": {"policy": "AlwaysRevert"}}) == c.parse(document)
    with pytest.raises(CompositionError, match="is not a policy"):
        c.parse({**document, "retry": {"policy": "Never"}})


@pytest.mark.parametrize("values", [5, "abc", {"a": 1}])
def test_values_to_try_are_a_list(values):
    with pytest.raises(CompositionError, match="must have a list of values, not "):
        saga(step("a", undo="b"), retry=c.ForEach(values, "x"))
