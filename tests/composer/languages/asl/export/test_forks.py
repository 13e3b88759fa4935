"""Parts that run at the same time, as they are exported: Parallel and Map."""

from __future__ import annotations

import pytest

from tests.kit.asl.exportable import run_exported
from tests.kit.asl.exported_actions import ACTIONS
from xingqiao import composer as c
from xingqiao.composer import path
from xingqiao.composer.languages.asl import ExportError, export


def test_each_part_is_a_branch_in_its_order():
    state = export(c.parallel("a", "b", "text"))["States"]["Parallel"]

    assert state["Type"] == "Parallel"
    assert [branch["StartAt"] for branch in state["Branches"]] == ["a", "b", "text"]


def test_nothing_at_the_same_time_is_an_empty_list():
    machine = export(c.parallel())

    assert [state["Type"] for state in machine["States"].values()] == ["Pass"]
    assert run_exported(c.parallel(), {"n": 1}, ACTIONS).outcome.value == {"value": []}


def test_a_failure_that_is_collected_is_a_result():
    run = run_exported(c.parallel("busy", "b", errors="collect"), {}, ACTIONS)

    assert [set(each) for each in run.outcome.value["value"]] == [{"error"}, {"done"}]


@pytest.mark.parametrize(("policy", "seconds"), [("fail", 0), ("wait", 7.5)])
def test_a_failure_ends_the_others_or_waits_for_them(policy, seconds):
    run = run_exported(c.parallel("busy", "slow", errors=policy), {}, ACTIONS)

    assert run.outcome.value["error"]["Error"] == "Busy"
    assert run.elapsed == seconds


def test_a_map_has_its_concurrency_where_it_has_one():
    bounded = export(c.map("a", items=path("$.l"), concurrency=2))["States"]["Map"]
    free = export(c.map("a", items=path("$.l")))["States"]["Map"]

    assert bounded["MaxConcurrency"] == 2
    assert "MaxConcurrency" not in free


def test_what_is_no_object_is_one_for_each_item():
    run = run_exported(c.map("a", items=path("$.l")), {"l": [{"n": 1}, 7]}, ACTIONS)

    assert [call.params for call in run.invocations] == [{"n": 1}, {"value": 7}]


def test_a_graph_without_an_order_has_its_results_by_their_names():
    run = run_exported(c.graph({"x": "a", "y": "b"}), {"n": 1}, ACTIONS)

    assert run.outcome.value == {"x": {"n": 2, "by": "a"}, "y": {"done": True}}


def test_a_graph_with_an_order_has_no_counterpart():
    with pytest.raises(ExportError, match="no state begins when some branches of another"):
        export(c.graph({"x": "a", "y": c.after("x", "b")}))
