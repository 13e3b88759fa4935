"""Limits in the machine: a fiber asks, stands in line, holds a slot as long as its frame stands, and says so."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import (
    Acquired,
    Bound,
    Completed,
    Execution,
    Limits,
    LinedUp,
    Success,
    asked,
    path,
)
from xingqiao.composer.machine.acquiring import MAX_KEY
from xingqiao.composer.machine.commands import Acquire
from xingqiao.composer.machine.frames import Slot
from xingqiao.composer.machine.redrive import redrive
from xingqiao.composer.machine.slots import acquire_again
from xingqiao.composer.machine.waits import Acquiring
from xingqiao.composer.testing import Fail, Never, Slow, simulate

CRASHES = pytest.mark.parametrize("crash", [(), "every"])
PART = composer.limit("a", concurrent=2, name="api", key=path("$.t"))


def begun(part=PART, params=None):
    execution = Execution("e" * 32, composer.compile(part), Limits())
    return execution, execution.begin({"t": "x"} if params is None else params, 0)


def held(execution):
    return [
        (each.turn, each.limit, each.holds)
        for fiber in execution.fibers.values()
        for each in asked(execution.program, fiber)
    ]


def test_a_fiber_asks_for_a_slot_and_has_it_as_long_as_its_part_runs():
    execution, changes = begun()
    assert changes.commands == [("0", Acquire(1, "api", "x", Bound(2), ""))]
    fiber = execution.fibers["0"]
    assert (fiber.wait, fiber.limited, fiber.active) == (Acquiring("x"), True, True)

    changes = execution.deliver("0", Acquired(1, "api", 7), 5)
    assert [entry.kind for entry in changes.entries] == ["LimitEntered", "StepScheduled"]
    fiber = execution.fibers["0"]
    assert fiber.frames == (Slot("api", "x", 1, 7, 0),)
    assert held(execution) == [(1, "api", True)]
    assert execution.deliver("0", Completed(2, {}), 9).outcome == Success({})


def test_one_that_must_wait_knows_its_place():
    execution, _ = begun()
    changes = execution.deliver("0", LinedUp(1, "api", 9, 3), 5)
    (entry,) = changes.entries
    assert (entry.kind, entry.detail) == (
        "LimitAwaited", {"limit": "api", "key": "x", "path": "", "before": 3},
    )  # fmt: skip
    assert execution.fibers["0"].wait == Acquiring("x", "api", 9, 5)
    assert held(execution) == [(1, "api", False)]


@pytest.mark.parametrize("event", [LinedUp(2, "api", 9), Acquired(2, "api")])
def test_an_answer_for_another_turn_is_stale(event):
    execution, _ = begun()
    assert execution.deliver("0", event, 5).stale
    execution.deliver("0", Acquired(1, "api"), 5)
    assert execution.deliver("0", Acquired(1, "api"), 5).stale


@pytest.mark.parametrize(
    ("key", "made"),
    [("k", "k"), (7, "7"), (True, "True"), (1.5, "1.5"), ("x" * MAX_KEY, "x" * MAX_KEY)],
)
def test_a_key_is_a_text(key, made):
    _, changes = begun(params={"t": key})
    assert changes.commands[0][1].key == made


@pytest.mark.parametrize("key", [None, {}, [], "x" * (MAX_KEY + 1)])
def test_a_key_that_is_no_text_fails(key):
    _, changes = begun(params={"t": key})
    assert changes.outcome.code == "ExpressionError"
    assert "'key' must make a text" in changes.outcome.message


def test_a_key_that_is_missing_fails():
    _, changes = begun(params={})
    assert changes.outcome.code == "ExpressionError"


def test_the_limit_of_steps_counts_for_slots():
    part = composer.limit(composer.limit("a", concurrent=1), concurrent=1)
    run = simulate(part, actions={"a": {}}, limits=Limits(steps=1))
    assert run.error["code"] == "LimitExceeded"
    assert run.kinds().count("LimitEntered") == 1


def test_a_fiber_that_waits_for_nothing_of_this_asks_for_nothing():
    execution, _ = begun(composer.sequence("a"))
    fiber = execution.fibers["0"]
    assert acquire_again(execution.program, [fiber]) == []
    assert (held(execution), fiber.limited) == ([], False)


# --- in simulations ------------------------------------------------------------------------------


@CRASHES
def test_branches_take_turns(crash):
    part = composer.map(composer.limit("a", concurrent=2), items=[*range(5)])
    run = simulate(part, actions={"a": lambda params: params}, crash=crash)
    assert [item["value"] for item in run.value["value"]] == [*range(5)]
    if not crash:
        assert run.kinds().count("LimitEntered") == 5


def test_slots_are_given_in_order_and_given_back():
    part = composer.map(composer.limit("a", concurrent=2), items=[*range(5)])
    run = simulate(part, actions={"a": Slow(10, {})})
    assert [(i.at, i.params["value"]) for i in run.invocations] == [
        (0, 0), (0, 1), (10, 2), (10, 3), (20, 4),
    ]  # fmt: skip
    befores = [e.detail["before"] for e in run.history if e.kind == "LimitAwaited"]
    assert befores == [0, 1, 2]


def test_a_rate_in_virtual_time():
    part = composer.map(composer.limit("a", per_minute=30), items=[*range(4)])
    run = simulate(part, actions={"a": Slow(60, {})})
    assert [i.at for i in run.invocations] == [0, 2, 4, 6]


@CRASHES
def test_a_rate_counts_over_the_runs_of_a_chain(crash):
    again = composer.when(path("$.n") < 4, composer.continue_as_new())
    part = composer.limit(composer.sequence("a", again), per_minute=1)
    run = simulate(part, {"n": 0}, actions={"a": lambda p: {"n": p["n"] + 1}}, crash=crash)
    assert (run.value, len(run.continued), run.elapsed) == ({"n": 4}, 3, 180)


@CRASHES
def test_the_next_run_of_a_chain_asks_for_its_own_slot(crash):
    again = composer.when(path("$.n") < 4, composer.continue_as_new())
    part = composer.limit(composer.sequence("a", again), concurrent=1)
    run = simulate(part, {"n": 0}, actions={"a": lambda p: {"n": p["n"] + 1}}, crash=crash)
    assert (run.value, len(run.continued), run.elapsed) == ({"n": 4}, 3, 0)


def test_a_limit_of_one_name_is_one_limit_and_keys_are_apart():
    one, two = (composer.limit("a", name="api", concurrent=1, key=path("$.k")) for _ in range(2))
    given = composer.literal({"k": "x"})
    other = composer.sequence(composer.literal({"k": "y"}), two)
    part = composer.parallel(composer.sequence(given, one), composer.sequence(given, two), other)
    run = simulate(part, actions={"a": Slow(10, {})})
    assert sorted(i.at for i in run.invocations) == [0, 0, 10]


@CRASHES
def test_a_slot_is_given_back_by_a_failure(crash):
    part = composer.limit("a", concurrent=1, name="api")
    fails = composer.limit("b", concurrent=1, name="api").catch(composer.literal({}))
    run = simulate(
        composer.parallel(fails, part), actions={"a": {}, "b": Slow(5, Fail("No"))}, crash=crash
    )
    assert len(run.value["value"]) == 2


@CRASHES
def test_a_timeout_bounds_the_wait_and_frees_the_place(crash):
    holds = composer.timeout(50, composer.limit("a", concurrent=1, name="api")).catch(
        composer.literal({})
    )
    late = composer.timeout(5, composer.limit("b", concurrent=1, name="api")).catch(
        composer.literal({})
    )
    third = composer.sequence(composer.wait(1), composer.limit("c", concurrent=1, name="api"))
    run = simulate(
        composer.parallel(holds, late, third), actions={"a": Never(), "b": {}, "c": {}}, crash=crash
    )
    assert run.elapsed == 50
    assert [i.action for i in run.invocations][-1] == "/_/c"
    assert not run.calls("b")


def test_a_cancelled_execution_leaves_its_line():
    part = composer.limit("b", concurrent=1, name="api")
    run = simulate(
        composer.parallel(composer.limit("a", concurrent=1, name="api"), part),
        actions={"a": Never(), "b": {}},
        cancel_at=3,
    )
    assert run.error["code"] == "Cancelled"


# --- redrive -------------------------------------------------------------------------------------


def stored(run):
    return [entry.to_json(lambda value: value) for entry in run.history]


def test_a_redrive_stands_inside_the_limit_again():
    part = composer.limit("a", "b", concurrent=1, name="api")
    run = simulate(part, actions={"a": {"n": 1}, "b": Fail("No")})
    execution, changes = redrive("e" * 32, composer.compile(part), stored(run), Limits(), 9)
    assert held(execution) == [(1, "api", True)]
    ((_, command),) = changes.commands
    assert (command.action, command.params) == ("/_/b", {"n": 1})


def test_a_redrive_of_one_that_waited_asks_again():
    held_by = composer.limit("a", concurrent=1, name="api")
    part = composer.parallel(held_by, composer.limit("b", concurrent=1, name="api"))
    run = simulate(part, actions={"a": Never(), "b": {}}, cancel_at=3)
    execution, changes = redrive("e" * 32, composer.compile(part), stored(run), Limits(), 9)
    kinds = [type(command).__name__ for _, command in changes.commands]
    assert sorted(kinds) == ["Acquire", "Invoke"]
    (waits,) = [f.wait for f in execution.fibers.values() if type(f.wait) is Acquiring]
    assert waits == Acquiring("")
