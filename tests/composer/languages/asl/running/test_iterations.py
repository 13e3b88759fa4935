"""Iterations of a Map: their items, their inputs, and how many may run and fail."""

from __future__ import annotations

from time import perf_counter

import pytest

from tests.kit.asl.machines import jsonata, ran, task
from tests.kit.asl.maps import MINE, mapped
from xingqiao.composer import Failure, Limits
from xingqiao.composer.machine.dialect import Iterations
from xingqiao.composer.machine.joins import Join
from xingqiao.composer.testing import Fail, Slow

MINE_FAILED, WIDTH = Failure("X", {}), 10_000


def test_items_come_from_the_input_and_results_are_in_their_order():
    run = ran(
        mapped({"I": task(End=True)}, ItemsPath="$.items"), {"items": [3, 1, 2]},
        actions={"/_/fn": lambda n: Slow(n, n * 10)},
    )  # fmt: skip

    assert (run.outcome.value, run.elapsed) == ([30, 10, 20], 3)


def test_an_item_selector_sees_the_item_and_the_whole_input():
    selector = {
        "i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value", "all.$": "$.items", "x": "$$.x",
    }  # fmt: skip
    run = ran(mapped(ItemsPath="$.items", ItemSelector=selector), {"items": ["a"]})

    assert run.outcome.value == [{"i": 0, "v": "a", "all": ["a"], "x": "$$.x"}]


def test_the_context_object_of_an_iteration_has_its_item():
    inner = {"Type": "Pass", "Parameters": {"v.$": "$$.Map.Item.Value"}, "End": True}
    run = ran(mapped({"I": inner}), [7])

    assert run.outcome.value == [{"v": 7}]


def test_items_and_selectors_of_jsonata():
    state = mapped(
        Items="{% $states.input.n %}",
        ItemSelector={"v": "{% $states.context.Map.Item.Value * 2 %}"},
        End=True,
    )

    assert ran(jsonata({"A": state}), {"n": [1, 2]}).outcome.value == [{"v": 2}, {"v": 4}]
    whole = ran(jsonata({"A": mapped(End=True)}), [5])
    assert whole.outcome.value == [5]


def test_a_selector_that_fails_fails_the_iteration():
    run = ran(mapped(ItemSelector={"v.$": "$.missing"}), [1])

    assert run.error["Error"] == "States.Runtime"
    assert "'A' (entered at the event id #2)" in run.error["Cause"]


@pytest.mark.parametrize(("concurrency", "seconds"), [(1, 4), (2, 2), (0, 1)])
def test_so_many_run_at_once(concurrency, seconds):
    run = ran(
        mapped({"I": task(End=True)}, MaxConcurrency=concurrency), [0] * 4,
        actions={"/_/fn": Slow(1, 0)},
    )  # fmt: skip

    assert run.elapsed == seconds


def test_forty_run_at_once_where_nothing_is_said():
    run = ran(mapped({"I": task(End=True)}), [0] * 41, actions={"/_/fn": Slow(1, 0)})

    assert run.elapsed == 2


@pytest.mark.parametrize(("value", "why"), [(1.5, "not a valid integer: 1.5"), (-1, "negative")])
def test_a_concurrency_of_jsonata_is_a_whole_number(value, why):
    state = mapped(Items="{% [1] %}", MaxConcurrency="{% $states.input %}", End=True)
    run = ran(jsonata({"A": state}), value)

    assert why in run.error["Cause"]
    assert ran(jsonata({"A": state}), 2).outcome.value == [1]


def test_a_map_of_too_many_items_is_refused():
    run = ran(mapped(), [0] * 11, limits=Limits(fork_width=10))

    assert run.error["Error"] == "States.Runtime"
    assert "11 items; 10 are allowed" in run.error["Cause"]


def test_a_map_of_no_items_is_an_empty_list():
    assert ran(mapped(), []).outcome.value == []


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, False),
        ({"ToleratedFailureCount": 1}, False),
        ({"ToleratedFailureCount": 2}, True),
        ({"ToleratedFailurePercentage": 49}, False),
        ({"ToleratedFailurePercentage": 50}, True),
        ({"ToleratedFailureCount": 1, "ToleratedFailurePercentage": 100}, False),
    ],
)
def test_so_many_children_may_fail(fields, held):
    run = ran(
        mapped({"I": task(End=True)}, mode="DISTRIBUTED", **fields), [0, 1, 0, 1],
        actions={"/_/fn": lambda n: Fail("X", {"Error": "Mine"}) if n else n},
    )  # fmt: skip

    if held:
        told = [one if one == 0 else (one["Status"], one["Error"]) for one in run.outcome.value]
        assert told == [0, ("FAILED", "Mine"), 0, ("FAILED", "Mine")]
    else:
        assert run.error["Error"] == "States.ExceedToleratedFailureThreshold"


def test_a_tolerance_of_jsonata():
    state = mapped(
        {"I": task(End=True)}, mode="DISTRIBUTED", End=True,
        ToleratedFailurePercentage="{% $states.input.p %}", Items="{% [1, 2] %}",
    )  # fmt: skip
    run = ran(jsonata({"A": state}), {"p": 100}, actions={"/_/fn": MINE})

    assert [one["Status"] for one in run.outcome.value] == ["FAILED", "FAILED"]


def test_a_map_that_tolerates_many_takes_no_longer_for_that():
    spec = Iterations(0, None, WIDTH, MINE_FAILED)
    join = Join(spec, WIDTH, [0] * WIDTH)
    members = join.begin()
    begun = perf_counter()
    for member in members:
        join.end(member, MINE_FAILED, 1)

    assert join.over
    assert perf_counter() - begun < 1  # one that counts them each time takes many seconds
