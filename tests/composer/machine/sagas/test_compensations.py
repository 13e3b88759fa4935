"""Compensations: what is undone, in what order, and by whom."""

from __future__ import annotations

from tests.kit.composer.sagas import STEPS, fakes, names, undone
from xingqiao import composer as c
from xingqiao.composer import Failure, path, saga, step
from xingqiao.composer.testing import Fail, Slow, simulate


def test_what_is_done_is_undone_in_reverse_with_input_and_result():
    run = simulate(STEPS, {"n": 1}, actions=fakes(c=Fail("Full")))

    assert run.outcome == Failure("Full", {"code": "Full", "message": "simulated"})
    assert names(run) == ["a", "b", "c", "undo_b", "undo_a"]
    assert run.calls("undo_a") == [{"input": {"n": 1}, "result": {"a": 1}}]
    assert run.calls("undo_b") == [{"input": {"a": 1}, "result": {"b": 1}}]
    assert run.kinds()[-4:] == ["StepSucceeded", "StepUndone", "Compensated", "ExecutionFailed"]


def test_a_failed_step_is_undone_when_asked_to():
    tried = saga(step("a", undo="undo_a", undo_on_failure=True))

    run = simulate(tried, {"n": 1}, actions=fakes(a=Fail("Full")))

    assert run.calls("undo_a") == [{"input": {"n": 1}, "error": run.error}]


def test_a_step_that_needs_no_undo_has_none():
    run = simulate(
        saga(step("a", no_undo="it only reads"), step("b", undo="undo_b")),
        {},
        actions=fakes(b=Fail("Timeout")),
    )

    assert undone(run) == ["b"]


def test_branches_are_undone_beside_each_other_before_what_was_before_them():
    forked = saga(
        step("a", undo="undo_a"),
        c.parallel(
            step("b", undo="undo_b"),
            c.sequence(step("c", undo="undo_c"), step("d", undo="undo_d")),
        ),
        step("e", undo="undo_e"),
    )
    slow = {"undo_d": Slow(5, {}), "undo_c": Slow(5, {}), "undo_b": Slow(3, {})}
    run = simulate(forked, {}, actions=fakes(**slow, e=Fail("Full")) | {"undo_e": {}})

    assert sorted(undone(run)[:2]) == ["b", "d"]
    assert undone(run)[2:] == ["c", "a"]
    assert run.elapsed == 10
    again = simulate(forked, {}, actions=fakes(e=Fail("Full")) | {"undo_e": {}}, crash="every")
    assert again.outcome == run.outcome
    assert sorted(undone(again)) == ["a", "b", "c", "d"]


def test_a_branch_that_fails_has_the_others_undone():
    forked = saga(c.parallel(step("a", undo="undo_a"), step("b", undo="undo_b")))
    run = simulate(forked, {}, actions=fakes(a=Slow(1, {}), b=Slow(2, Fail("Full"))))

    assert undone(run) == ["a"]
    late = simulate(forked, {}, actions=fakes(a=Slow(9, {}), b=Slow(2, Fail("Full"))))
    assert undone(late) == ["a"]  # it was under way: nobody knows


def test_a_map_has_each_of_its_items_undone():
    mapped = saga(c.map(step("a", undo="undo_a")), step("b", no_undo="it fails"))
    run = simulate(
        mapped, {"value": [{"n": 1}, {"n": 2}]}, actions=fakes(b=Fail("Full")), crash="every"
    )

    undos = {call["input"]["n"] for call in run.calls("undo_a")}
    assert undos == {1, 2}


def test_loops_conditions_and_retries_are_undone_step_by_step():
    looped = saga(
        c.repeat(2, step("a", undo="undo_a")),
        c.when(path("$.a") == 1, step("b", undo="undo_b"), step("d", undo="undo_d")),
        c.do(step("c", undo="undo_c"), c.literal({"caught": True})),
        step("e", no_undo="it fails"),
    )
    run = simulate(looped, {}, actions=fakes(c=Fail("Full"), e=Fail("No")))

    assert [call.action.rpartition("/")[2] for call in run.invocations][-3:] == [
        "undo_b", "undo_a", "undo_a",
    ]  # fmt: skip


def test_a_saga_may_be_anything_that_a_composition_is():
    caught = c.do(STEPS, lambda p: {"caught": p["error"]["code"]})
    run = simulate(c.map(caught), {"value": [1, 2]}, actions=fakes(c=Fail("Full")))

    assert run.value == {"value": [{"caught": "Full"}] * 2}
    assert len(run.calls("undo_a")) == 2
    ensured = simulate(c.ensure(STEPS, "d"), {}, actions=fakes(c=Fail("Full")))
    assert names(ensured)[-2:] == ["undo_a", "d"]


def test_a_saga_in_a_saga_is_undone_with_it_though_it_has_succeeded():
    outer = saga(step("a", undo="undo_a"), saga(step("b", undo="undo_b")), step("c", undo="undo_c"))
    run = simulate(outer, {}, actions=fakes(c=Fail("Full")))

    assert undone(run) == ["b", "a"]


def test_a_saga_that_is_a_step_is_undone_as_the_step_says():
    inner = saga(step("b", undo="undo_b"))
    outer = saga(step(inner, undo="undo_d"), step("c", undo="undo_c"))
    run = simulate(outer, {}, actions=fakes(c=Fail("Full")))

    assert undone(run) == ["d"]
    branches = saga(step(c.parallel(inner, "a"), undo="undo_d"), step("c", undo="undo_c"))
    assert undone(simulate(branches, {}, actions=fakes(c=Fail("Full")))) == ["d"]


def test_who_loses_a_race_is_undone_with_the_saga():
    raced = saga(
        c.race(
            step("a", undo="undo_a"), c.sequence(step("b", undo="undo_b"), "wait" and c.wait(9))
        ),
        step("c", no_undo="it fails"),
    )
    run = simulate(raced, {}, actions=fakes(a=Slow(5, {}), c=Fail("Full")))

    assert sorted(undone(run)) == ["a", "b"]
