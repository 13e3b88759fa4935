"""How rules judge fires: every condition, with contexts, over every order of a few CloudEvents."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.actions.things import named
from xingqiao.actions.definitions import define_rule
from xingqiao.actions.judging import (
    GIVEN,
    MAX_RESULTS_BYTES,
    WHOLE,
    Member,
    Members,
    RuleState,
    begun,
    judge,
    lapsed,
    place_of,
)

BIN, SHELF = "$.event.data.bin", "$.event.data.shelf"
LARGE = {"op": "ge", "left": {"path": "$.event.data.n"}, "right": {"value": 2}}
CHANGED = {"op": "ne", "left": {"path": "$.event.data.n"}, "right": {"path": "$.context.last"}}
LAST = {"last": {"$path": "$.event.data.n"}}


def rule(condition=True, **more):
    doc = {"trigger": "t", "action": "a", "condition": condition, **more}
    return define_rule(named("r"), doc, None, 1)


def event(bin, shelf="s", n=1):
    return {"type": "counted", "data": {"bin": bin, "shelf": shelf, "n": n}}


class Kept:
    """What is remembered of a rule, as the engine keeps it."""

    def __init__(self, rule):
        self.rule, self.states, self.members = rule, {}, {}

    def judge(self, event, now_ms=0):
        place = place_of(self.rule, event)
        state = self.states.get(place.key, begun(self.rule, place))
        members = self.members.setdefault(place.key, Members())
        verdict = judge(self.rule, state, members, event, now_ms)
        self.states[place.key] = RuleState.from_json(verdict.after.to_json())
        if verdict.joined is not None:
            key, member = verdict.joined
            members.add(key, Member.from_json(member.to_json()))
        return verdict


def reference(condition, events):
    """Which of the events fire, told with a set, a counter and a list."""
    seen, counters, fired_ms, fires = {}, {}, {}, []
    for at_ms, one in events:
        data = one["data"]
        shelf = data["shelf"] if "by" in condition else ""
        if "where" in condition and data["n"] < 2:
            fires.append(False)
        elif "count" in condition:
            counters[shelf] = counters.get(shelf, 0) + 1
            fires.append(counters[shelf] % condition["count"] == 0)
        elif "join" in condition:
            of, bins = condition["join"]["of"], seen.setdefault(shelf, set())
            size = of if isinstance(of, int) else len(of)
            before = len(bins)
            if isinstance(of, int) or data["bin"] in of:
                bins.add(data["bin"])
            fires.append(before < size == len(bins))
        elif "throttle_ms" in condition:
            last = fired_ms.get(shelf)
            fires.append(last is None or at_ms - last >= condition["throttle_ms"])
            fired_ms[shelf] = at_ms if fires[-1] else last
        else:
            fires.append(True)
    return fires


KINDS = [
    {"where": LARGE}, {"count": 1}, {"count": 2}, {"count": 3}, {"throttle_ms": 20},
    {"join": {"of": 2, "member": BIN}}, {"join": {"of": 3, "member": BIN}},
    {"join": {"of": ["a", "b"], "member": BIN}}, {"join": {"of": ["c"], "member": BIN}},
]  # fmt: skip
CONDITIONS = [
    {**kind, **where, **by}
    for kind in KINDS
    for where in ({}, {"where": LARGE})
    for by in ({}, {"by": SHELF})
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
@settings(max_examples=10)
@given(
    st.lists(
        st.builds(event, st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from((1, 2))),
        min_size=1,
        max_size=5,
    )
)
def test_any_order_of_cloudevents_fires_as_the_reference_says(condition, events):
    for order in set(permutations(range(len(events)))):
        timed = [(10 * place, events[index]) for place, index in enumerate(order)]
        kept = Kept(rule(condition))

        assert [kept.judge(one, at).fires for at, one in timed] == reference(condition, timed)


@pytest.mark.parametrize("condition", [{"join": {"of": [*"abcdef"], "member": BIN}}, {"count": 6}])
def test_six_cloudevents_complete_a_condition_once_in_each_of_720_orders(condition):
    for order in permutations("abcdef"):
        kept = Kept(rule(condition))

        assert [kept.judge(event(bin)).fires for bin in order] == [False] * 5 + [True]


def test_without_a_condition_each_fires():
    kept = Kept(rule())

    assert [kept.judge(event("a")).fires for _ in range(3)] == [True] * 3


def test_a_complete_join_is_latched_and_tells_its_results_in_the_order_of_the_list():
    kept = Kept(rule({"join": {"of": ["a", "b"], "member": BIN}}))
    second, first = event("b", n=2), event("a", n=1)

    assert not kept.judge(second).fires
    complete = kept.judge(first)
    again = kept.judge(event("a", n=5))

    results = [first["data"], second["data"]]
    assert complete.params == {GIVEN: {"members": ["a", "b"], "results": results}}
    assert (again.fires, again.joined, again.params) == (False, None, {})


def test_a_join_of_any_members_tells_them_in_the_order_in_which_they_came():
    kept = Kept(rule({"join": {"of": 2, "member": BIN}}))
    kept.judge(event("b"))

    assert kept.judge(event("a")).params[GIVEN]["members"] == ["b", "a"]


def test_a_member_that_comes_again_is_not_written_again():
    kept = Kept(rule({"join": {"of": 3, "member": BIN}, "where": CHANGED}, assign=LAST))
    kept.judge(event("a", n=1))

    again = kept.judge(event("a", n=2))

    assert (again.fires, again.joined) == (False, None)
    assert again.after.context == {"last": 1}


def test_results_that_are_too_large_are_left_out_and_the_members_stay():
    kept = Kept(rule({"join": {"of": 3, "member": BIN}}))
    large = {"type": "t", "data": {"bin": "b", "text": "x" * MAX_RESULTS_BYTES}}

    kept.judge(event("a"))
    joined = kept.judge(large).joined
    complete = kept.judge(event("c"))

    assert joined[1].data is None
    assert complete.params == {GIVEN: {"members": ["a", "b", "c"], "results": None}}


def test_bytes_are_a_result_too():
    kept = Kept(rule({"join": {"of": 1, "member": "$.event.id"}}))

    assert kept.judge({"id": "1", "data_base64": "aGk="}).params[GIVEN]["results"] == ["aGk="]


def test_the_context_is_what_the_last_fire_has_assigned():
    kept = Kept(rule(CHANGED, context={"last": 7}, assign=LAST))

    assert [kept.judge(event("a", n=n)).fires for n in (7, 1, 1, 2)] == [False, True, False, True]
    assert kept.states[WHOLE.key].context == {"last": 2}


def test_each_value_has_its_own_context():
    kept = Kept(rule({"where": CHANGED, "by": SHELF}, assign=LAST))
    shelves = [("x", 1), ("y", 1), ("x", 1), (1, 1), ("1", 1)]

    assert [kept.judge(event("a", shelf, n)).fires for shelf, n in shelves] == [
        True, True, False, True, True,
    ]  # fmt: skip
    assert {state.value for state in kept.states.values()} == {"x", "y", 1, "1"}


@pytest.mark.parametrize("value", [None, [], {}, "x" * 2000])
def test_a_fire_that_belongs_nowhere_says_why(value):
    why = place_of(rule({"count": 2, "by": SHELF}), event("a", value))

    assert why.startswith("condition.by: $.event.data.shelf must lead to a string, number or bool")
    assert place_of(rule({"count": 2, "by": SHELF}), {"data": {}}) == why


def test_a_member_that_is_none_says_why_and_changes_nothing():
    kept = Kept(rule({"join": {"of": 1, "member": BIN}}))

    verdict = kept.judge({"data": {}})

    assert verdict.why.startswith("condition.join.member: $.event.data.bin must lead to a string")
    assert (verdict.fires, verdict.joined, verdict.after) == (False, None, RuleState({}))


def test_a_template_that_cannot_be_filled_says_why_and_changes_nothing():
    kept = Kept(rule({"count": 1}, context={"a": 1}, assign=LAST))

    verdict = kept.judge({"data": {}})

    assert verdict.why.startswith("assign: ")
    assert (verdict.fires, verdict.after) == (False, RuleState({"a": 1}))


def test_only_states_that_are_over_may_be_forgotten():
    throttled, joined = rule({"throttle_ms": 10}), rule({"join": {"of": 1, "member": BIN}})
    assigning = rule({"throttle_ms": 10}, assign=LAST)
    fired = RuleState({}, fired_ms=100)

    assert [lapsed(throttled, fired, now_ms) for now_ms in (99, 109, 110)] == [False, False, True]
    assert not lapsed(throttled, RuleState({}), 500)
    assert not lapsed(assigning, fired, 500)
    assert lapsed(joined, RuleState({}, done=True), 0)
    assert not lapsed(joined, RuleState({}), 0)
    assert not lapsed(rule(), RuleState({}), 0)


# --- rules that were updated ------------------------------------------------------------------------


def updated(kept, condition):
    """The rule has another condition, and remembers what it did."""
    kept.rule = rule(condition)
    return kept


def joining(*of):
    return {"join": {"of": [*of], "member": BIN}}


def test_members_of_the_list_before_an_update_do_not_complete_the_new_one():
    kept = Kept(rule(joining("a", "b", "x")))
    kept.judge(event("a"))
    kept.judge(event("x"))

    updated(kept, joining("b", "c", "x"))

    assert [kept.judge(event(bin)).fires for bin in "bb"] == [False, False]
    verdict = kept.judge(event("c"))
    assert verdict.fires
    assert verdict.params[GIVEN]["members"] == ["b", "c", "x"]


@pytest.mark.parametrize("condition", [True, {"count": 1}, {"throttle_ms": 5}, {"where": LARGE}])
def test_a_rule_whose_join_was_complete_fires_with_another_condition(condition):
    kept = Kept(rule(joining("a")))
    kept.judge(event("a"))
    assert not kept.judge(event("a")).fires

    verdict = updated(kept, condition).judge(event("b", n=2))

    assert verdict.fires
    assert not verdict.after.done
