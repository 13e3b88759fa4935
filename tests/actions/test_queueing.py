"""Which task is handed out next: priority, order, shares by key, and limits."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xingqiao.actions.queueing import MANY, Backlog, Rules, Waiting
from xingqiao.composer import UNBOUND, Bound

MINUTE_MS = 60_000


def filled(*tasks, rules=None):
    """A backlog with tasks in their order: each a dict of fields beside id and order."""
    backlog = Backlog(rules)
    for order, fields in enumerate(tasks):
        backlog.add(Waiting(f"t{order}", order, **fields))
    return backlog


def taken(backlog, now_ms=0, version="", most=1000):
    """The ids of all that may go now."""
    found = []
    while len(found) < most and (task := backlog.take(now_ms, version)) is not None:
        found.append(task.id)
    return found


# --- order and priority ------------------------------------------------------------------------


def test_the_first_come_goes_first():
    backlog = filled({}, {}, {})

    assert taken(backlog) == ["t0", "t1", "t2"]
    assert (len(backlog), backlog.under_way) == (0, 3)


def test_the_highest_priority_goes_first_and_order_holds_within_one():
    backlog = filled({"priority": 5}, {"priority": 1}, {}, {"priority": 1}, {"priority": 5})

    assert taken(backlog) == ["t1", "t3", "t2", "t0", "t4"]


def test_a_task_that_comes_back_has_its_old_place():
    backlog = filled({}, {}, {})
    first = backlog.take(0)
    backlog.ended(first.id)
    backlog.add(first)

    assert taken(backlog) == ["t0", "t1", "t2"]


def test_tasks_that_are_added_out_of_order_go_in_order():
    """A recovery finds them in any order."""
    backlog = Backlog()
    for order in (3, 1, 2, 0):
        backlog.add(Waiting(f"t{order}", order))

    assert taken(backlog) == ["t0", "t1", "t2", "t3"]


def test_a_removed_task_is_not_handed_out():
    backlog = filled({}, {"key": "a"}, {})
    backlog.remove("t0")
    backlog.remove("t1")
    backlog.remove("t9")

    assert taken(backlog) == ["t2"]


# --- versions ----------------------------------------------------------------------------------


def test_a_task_for_a_version_goes_to_a_worker_of_it_only():
    backlog = filled({"version": "v2"}, {}, {"version": "v1"})

    assert taken(backlog, version="v1") == ["t1", "t2"]
    assert taken(backlog) == []
    assert taken(backlog, version="v2") == ["t0"]


# --- shares ------------------------------------------------------------------------------------


def test_keys_have_their_turns():
    backlog = filled(*[{"key": "a"}] * 3, {"key": "b"}, {"key": "c"})

    assert taken(backlog) == ["t0", "t3", "t4", "t1", "t2"]


def test_a_turn_is_as_long_as_the_weight_of_its_key():
    rules = Rules(weights={"a": 2})
    backlog = filled(*[{"key": "a"}] * 4, *[{"key": "b"}] * 3, rules=rules)

    assert taken(backlog) == ["t0", "t1", "t4", "t2", "t3", "t5", "t6"]


@given(
    weights=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), min_size=1),
    tasks=st.lists(st.sampled_from("abcd"), max_size=60),
)
def test_no_key_starves(weights, tasks):
    """Between two tasks of a key that has more, each other key has at most its weight."""
    backlog = filled(*[{"key": key} for key in tasks], rules=Rules(weights=weights))
    keys = [tasks[int(id[1:])] for id in taken(backlog)]

    assert Counter(keys) == Counter(tasks)
    left, since = Counter(tasks), {key: Counter() for key in tasks}
    for key in keys:
        for other, waited in since.items():
            if left[other] and other != key:
                waited[key] += 1
                assert waited[key] <= weights.get(key, 1)
        left[key] -= 1
        since[key].clear()


# --- limits that wait --------------------------------------------------------------------------


def test_no_more_than_concurrent_are_under_way():
    backlog = filled({}, {}, {}, rules=Rules(Bound(concurrent=2)))

    assert taken(backlog) == ["t0", "t1"]
    assert backlog.next_ms is None
    backlog.ended("t0")
    assert taken(backlog) == ["t2"]


def test_a_key_at_its_limit_does_not_hold_up_the_others():
    rules = Rules(each_key=Bound(concurrent=1))
    backlog = filled({"key": "a"}, {"key": "a"}, {"key": "b"}, {"key": "b"}, rules=rules)

    assert taken(backlog) == ["t0", "t2"]
    backlog.ended("t2")
    assert taken(backlog) == ["t3"]
    backlog.ended("t0")
    assert taken(backlog) == ["t1"]


def test_an_action_at_its_limit_does_not_hold_up_the_others():
    one = Bound(concurrent=1)
    limited = {"action": "slow", "bound": one}
    keyed = {"action": "each", "bound": one, "keyed": True}
    backlog = filled(
        limited, limited, {"action": "free"}, {**keyed, "key": "a"}, {**keyed, "key": "b"},
        {**keyed, "key": "a"},
    )  # fmt: skip

    assert sorted(taken(backlog)) == ["t0", "t2", "t3", "t4"]
    backlog.ended("t0")
    backlog.ended("t3")
    assert sorted(taken(backlog)) == ["t1", "t5"]


def test_a_rate_lets_tasks_pass_evenly_and_tells_when():
    backlog = filled({}, {}, {}, rules=Rules(Bound(per_minute=6)))

    assert taken(backlog, 0) == ["t0"]
    assert backlog.next_ms == 10_000
    assert taken(backlog, 9_999) == []
    assert taken(backlog, 10_000) == ["t1"]
    assert taken(backlog, 60_000, most=5) == ["t2"]


def test_a_rate_gathers_a_seconds_share():
    backlog = filled(*[{}] * 20, rules=Rules(Bound(per_minute=300)))

    assert len(taken(backlog, 0)) == 1  # a start of the server is no reason for a burst
    assert len(taken(backlog, 5_000)) == 5


def test_a_clock_that_goes_back_lets_nothing_pass():
    backlog = filled({}, {}, rules=Rules(Bound(per_minute=60)))

    assert taken(backlog, 5_000) == ["t0"]
    assert taken(backlog, 0) == []
    assert taken(backlog, 6_000) == ["t1"]


BOUNDS = st.builds(
    Bound,
    concurrent=st.none() | st.integers(1, 4),
    per_minute=st.none() | st.integers(1, 300),
)
EVENTS = st.lists(
    st.tuples(st.sampled_from(["add", "end", "wait"]), st.sampled_from("ab"), st.integers(1, 4000)),
    max_size=80,
)


class Run:
    """A queue with all kinds of limits, and what has gone through it."""

    def __init__(self, whole, each, own):
        self.backlog, self.now_ms = Backlog(Rules(whole, each)), 0
        self.whole, self.each, self.own = whole, each, own
        self.under_way, self.begun, self.added = [], [], []

    def happens(self, what, key, ms):
        if what == "add":
            task = Waiting(f"t{len(self.added)}", len(self.added), 3, key, "", "act", self.own)
            self.added.append(task.id)
            self.backlog.add(task)
        elif what == "end" and self.under_way:
            self.backlog.ended(self.under_way.pop(0).id)
        elif what == "wait":
            self.now_ms += ms
        while (task := self.backlog.take(self.now_ms)) is not None:
            self.under_way.append(task)
            self.begun.append((self.now_ms, task))

    def check(self):
        for bound in (self.whole, self.own):
            _check(bound, self.under_way, self.begun)
        for one in "ab":
            of_key = [task for task in self.under_way if task.key == one]
            _check(self.each, of_key, self.begun_of(one))

    def begun_of(self, key):
        return [(at, task) for at, task in self.begun if task.key == key]

    def finish(self):
        for _ in range(3 * len(self.added)):
            while self.under_way:
                self.backlog.ended(self.under_way.pop().id)
            self.happens("wait", "", MINUTE_MS)


@settings(max_examples=200)
@given(whole=BOUNDS, each=BOUNDS, own=BOUNDS, events=EVENTS)
def test_no_limit_is_ever_exceeded_and_all_go_in_the_end(whole, each, own, events):
    run = Run(whole, each, own)
    for event in events:
        run.happens(*event)
        run.check()
    run.finish()

    assert sorted(task.id for _, task in run.begun) == sorted(run.added)
    for one in "ab":  # in order within a key
        orders = [task.order for _, task in run.begun_of(one)]
        assert orders == sorted(orders)


def _check(bound, under_way, begun):
    if bound.concurrent is not None:
        assert len(under_way) <= bound.concurrent
    if bound.per_minute is None:
        return
    for n, (first_ms, _) in enumerate(begun):
        for count, (last_ms, _) in enumerate(begun[n:], start=1):
            come = (last_ms - first_ms) * bound.per_minute / MINUTE_MS
            assert count <= bound.burst + come + 1e-6


# --- changes, restarts, memory -----------------------------------------------------------------


def test_tasks_that_were_handed_out_before_a_restart_count():
    backlog = Backlog(Rules(Bound(concurrent=2, per_minute=60)))
    backlog.resumed(Waiting("old", 0), 0)
    backlog.add(Waiting("new", 1))
    backlog.add(Waiting("newer", 2))

    assert taken(backlog) == ["new"]
    backlog.ended("old")
    assert taken(backlog, 1_000) == ["newer"]


def test_new_rules_count_what_is_under_way():
    backlog = filled({}, {}, {}, {})
    assert taken(backlog, most=2) == ["t0", "t1"]

    backlog.change(Rules(Bound(concurrent=2)), 0)
    assert taken(backlog) == []
    backlog.ended("t0")
    assert taken(backlog) == ["t2"]
    backlog.change(Rules(), 0)
    assert taken(backlog) == ["t3"]
    backlog.remove("t1")
    assert backlog.under_way == 2


def test_a_group_whose_tasks_have_gone_while_it_waited_is_forgotten():
    rules = Rules(each_key=Bound(concurrent=1))
    backlog = filled({"key": "a"}, {"key": "a"}, rules=rules)
    assert taken(backlog) == ["t0"]
    backlog.remove("t1")
    backlog.ended("t0")

    assert taken(backlog) == []
    backlog.add(Waiting("t3", 3, key="a"))
    assert taken(backlog) == ["t3"]


def test_limits_of_keys_that_nothing_uses_are_forgotten():
    backlog = Backlog(Rules(each_key=Bound(concurrent=1, per_minute=600)))
    backlog.add(Waiting("used", 0, key="used"))
    assert taken(backlog) == ["used"]
    for order in range(1, 3 * MANY):
        backlog.add(Waiting(f"t{order}", order, key=f"k{order}"))
        backlog.ended(backlog.take(order * 1_000).id)

    assert len(backlog._gates) <= MANY
    backlog.add(Waiting("next", 0, key="used"))
    assert taken(backlog, 4 * MANY * 1_000) == []  # its limit is not forgotten


@pytest.mark.parametrize(
    ("bound", "burst"), [(UNBOUND, 1), (Bound(per_minute=59), 1), (Bound(per_minute=180), 3)]
)
def test_a_burst_is_a_seconds_share(bound, burst):
    assert bound.burst == burst


def test_a_gate_that_was_just_made_is_not_forgotten_before_it_is_entered():
    """Each task has two gates: the second one begins the search for those that nobody uses."""
    backlog = Backlog(Rules(Bound(concurrent=9 * MANY), Bound(concurrent=1)))
    tasks = [
        Waiting(f"t{n}", n, key=f"k{n}", action="a", bound=Bound(concurrent=1), keyed=True)
        for n in range(2 * MANY)
    ]
    for task in tasks:
        backlog.resumed(task, 0)
    backlog.change(Rules(each_key=Bound(concurrent=1, per_minute=600)), 0)
    for task in tasks:
        backlog.ended(task.id)
        backlog.add(task)

    assert len(taken(backlog, MINUTE_MS, most=3 * MANY)) == 2 * MANY
