"""The checker of histories: it finds each anomaly, and reports none that is not there."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from random import Random

import pytest

from tests.kit.faults.checker import (
    Append,
    Get,
    Put,
    Read,
    Txn,
    check_lists,
    check_registers,
)

MANY = 5_000
HISTORIES = 1_000
KEYS = "xyz"


def txn(id, *operations, status="committed", at=(0, 100)):
    return Txn(id, operations, status, *at)


def kinds(anomalies):
    return {anomaly.kind for anomaly in anomalies}


X1, X2, Y1, Y2 = Append("x", 1), Append("x", 2), Append("y", 1), Append("y", 2)


def x(*values):
    return Read("x", values)


def y(*values):
    return Read("y", values)


LISTS = {
    "a read forgets what the transaction appended": ({"internal"}, [txn("a", X1, x())]),
    "a read has what the transaction appends later": ({"internal"}, [txn("a", x(1), X1)]),
    "a read is not repeatable": ({"internal", "G-single"}, [txn("a", x(), x(1)), txn("b", X1)]),
    "something comes after an own append": (
        {"internal", "G1c"},
        [txn("a", X1, x(1, 2)), txn("b", X2)],
    ),
    "aborted read": ({"G1a"}, [txn("a", X1, status="aborted"), txn("b", x(1))]),
    "intermediate read": ({"G1b", "G-single"}, [txn("a", X1, X2), txn("b", x(1))]),
    "two orders of one list": (
        {"incompatible-order"},
        [txn("a", X1), txn("b", X2), txn("c", x(1, 2)), txn("d", x(2, 1))],
    ),
    "an append is lost from the middle": (
        {"incompatible-order"},
        [txn("a", X1), txn("b", X2), txn("c", x(1)), txn("d", x(2))],
    ),
    "a transaction's appends in another order": (
        {"incompatible-order"},
        [txn("a", X1, X2), txn("b", Append("x", 3)), txn("c", x(2, 1, 3))],
    ),
    "a value twice": ({"duplicate"}, [txn("a", X1), txn("b", x(1, 1))]),
    "a value nobody wrote": ({"unknown-value"}, [txn("a", x(7))]),
    "lost update, both appends kept": (
        {"lost-update", "G-single"},
        [txn("a", x(), X1), txn("b", x(), X2), txn("c", x(1, 2))],
    ),
    "lost update, one append lost": (
        {"lost-update", "G-single"},
        [txn("a", x(), X1), txn("b", x(), X2), txn("c", x(2))],
    ),
    "lost update that nobody has read": (
        {"lost-update", "G2"},
        [txn("a", x(), X1), txn("b", x(), X2)],
    ),
    "dirty write": ({"G0"}, [txn("a", X1, Y1), txn("b", X2, Y2), txn("c", x(1, 2), y(2, 1))]),
    "a write between two of a transaction": (
        {"G0"},
        [txn("a", X1, X2), txn("b", Append("x", 3)), txn("c", x(1, 3, 2))],
    ),
    "circular information flow": ({"G1c"}, [txn("a", X1, y(2)), txn("b", Y2, x(1))]),
    "read skew": ({"G-single"}, [txn("a", X1, Y1), txn("b", x(1), y())]),
    "an append overtaken by who has read of it": (
        {"G1c"},
        [txn("a", X1, Y1), txn("b", y(1), X2), txn("c", x(2, 1))],
    ),
    "write skew": ({"G2"}, [txn("a", y(), X1), txn("b", x(), Y2)]),
    "long fork": (
        {"G2"},
        [txn("a", X1), txn("b", Y1), txn("c", x(1), y()), txn("d", x(), y(1))],
    ),
    "stale read": ({"G-single-realtime"}, [txn("a", X1, at=(0, 1)), txn("b", x(), at=(2, 3))]),
    "a read from the future": (
        {"G1c-realtime"},
        [txn("a", X1, at=(2, 3)), txn("b", x(1), at=(0, 1))],
    ),
    "appends against time": (
        {"G0-realtime"},
        [txn("a", X1, at=(0, 1)), txn("b", X2, at=(2, 3)), txn("c", x(2, 1))],
    ),
    "two stale reads by way of one that takes long": (
        {"G2-realtime"},
        [txn("a", Y1, at=(0, 1)), txn("b", X1, y(), at=(0, 9)), txn("c", x(), at=(2, 3))],
    ),
}

P1, P2, Q1, Q2 = Put("x", 1), Put("x", 2), Put("y", 1), Put("y", 2)


def gx(value=None):
    return Get("x", value)


def gy(value=None):
    return Get("y", value)


REGISTERS = {
    "a get forgets what the transaction put": ({"internal"}, [txn("a", P1, gx())]),
    "a get has what the transaction puts later": ({"internal"}, [txn("a", gx(1), P1)]),
    "a get is not repeatable": ({"internal", "G-single"}, [txn("a", gx(), gx(1)), txn("b", P1)]),
    "aborted read": ({"G1a"}, [txn("a", P1, status="aborted"), txn("b", gx(1))]),
    "intermediate read": ({"G1b"}, [txn("a", P1, P2), txn("b", gx(1))]),
    "a value nobody wrote": ({"unknown-value"}, [txn("a", gx(7))]),
    "lost update": ({"lost-update", "G2"}, [txn("a", gx(), P1), txn("b", gx(), P2)]),
    "lost update of a later version": (
        {"lost-update", "G2"},
        [txn("a", P1), txn("b", gx(1), P2), txn("c", gx(1), Put("x", 3))],
    ),
    "dirty write": (
        {"G0"},
        [txn("a", gx(), P1, gy(2), Put("y", 3)), txn("b", gy(), Q2, gx(1), Put("x", 4))],
    ),
    "circular information flow": ({"G1c"}, [txn("a", P1, gy(2)), txn("b", Q2, gx(1))]),
    "read skew": ({"G-single"}, [txn("a", P1, Q1), txn("b", gx(1), gy())]),
    "read skew of a later version": (
        {"G-single"},
        [txn("a", P1, Q1), txn("b", gx(1), P2, gy(1), Q2), txn("c", gx(1), gy(2))],
    ),
    "write skew": ({"G2"}, [txn("a", gy(), P1), txn("b", gx(), Q2)]),
    "long fork": (
        {"G2"},
        [txn("a", P1), txn("b", Q1), txn("c", gx(1), gy()), txn("d", gx(), gy(1))],
    ),
    "stale read of nothing": (
        {"G-single-realtime"},
        [txn("a", P1, at=(0, 1)), txn("b", gx(), at=(2, 3))],
    ),
    "stale read": (
        {"G-single-realtime"},
        [txn("a", P1, at=(0, 1)), txn("b", P2, at=(2, 3)), txn("c", gx(1), at=(4, 5))],
    ),
    "a read from the future": (
        {"G1c-realtime"},
        [txn("a", P1, at=(2, 3)), txn("b", gx(1), at=(0, 1))],
    ),
    "puts against time": (
        {"G0-realtime"},
        [txn("a", gx(), P1, at=(2, 3)), txn("b", gx(1), P2, at=(0, 1))],
    ),
}


@pytest.mark.parametrize(("expected", "history"), LISTS.values(), ids=LISTS)
def test_an_anomaly_of_lists_is_found(expected, history):
    assert kinds(check_lists(history)) == expected


@pytest.mark.parametrize(("expected", "history"), REGISTERS.values(), ids=REGISTERS)
def test_an_anomaly_of_registers_is_found(expected, history):
    assert kinds(check_registers(history)) == expected


def test_an_anomaly_names_who_is_in_it_in_the_order_of_the_cycle():
    [found] = check_lists(LISTS["read skew"][1])

    assert found.txns == ("b", "a")
    assert found.text == "each before the next: rw(y) wr(x)"


@pytest.mark.parametrize("kind", ["stale read", "a read from the future", "appends against time"])
def test_without_real_time_an_order_against_it_is_none_the_worse(kind):
    assert check_lists(LISTS[kind][1], realtime=False) == []


CLEAN = {
    "nothing": [],
    "appends that nobody reads": [txn("a", X1), txn("b", X2), txn("c", x(), Y1)],
    "one after another": [
        txn("a", x(), X1, x(1), at=(0, 1)),
        txn("b", X2, x(1, 2), Y2, at=(2, 3)),
        txn("c", y(2), x(1, 2), at=(4, 5)),
    ],
    "a read at the same time as an append": [
        txn("a", X1, at=(0, 9)),
        txn("b", x(), at=(1, 2)),
        txn("c", x(1), at=(3, 4)),
    ],
    "one began at the moment at which another ended": [
        txn("a", X1, at=(0, 5)),
        txn("b", x(), at=(5, 9)),
    ],
    "an own intermediate read": [txn("a", X1, x(1), X2, x(1, 2))],
    "an aborted one saw what never was": [txn("a", X1, x(7, 7), status="aborted"), txn("b", x())],
}


@pytest.mark.parametrize("history", CLEAN.values(), ids=CLEAN)
def test_a_good_history_of_lists_has_no_anomaly(history):
    assert check_lists(history) == []


def test_a_good_history_of_registers_has_no_anomaly():
    history = [
        txn("a", gx(), P1, gx(1), Q1, at=(0, 3)),
        txn("b", gx(1), P2, at=(2, 5)),
        txn("c", gx(1), at=(2, 5)),
        txn("d", Put("x", 3), gy(1), at=(6, 7)),
        txn("e", gx(3), at=(8, 9)),
    ]

    assert check_registers(history) == []


def test_an_unknown_one_that_nobody_read_did_not_happen():
    assert check_lists([txn("a", X1, x(9), status="unknown"), txn("b", x())]) == []


def test_an_unknown_one_that_was_read_happened_and_so_must_fit():
    history = [txn("a", X1, Y1, status="unknown"), txn("b", x(1), y())]

    assert kinds(check_lists(history)) == {"G-single"}


def test_an_unknown_one_happened_if_an_unknown_one_that_happened_has_read_it():
    history = [
        txn("a", X1, Append("z", 1), status="unknown"),
        txn("b", x(1), Y1, status="unknown"),
        txn("c", y(1), Read("z", ())),
    ]

    assert kinds(check_lists(history)) == {"G-single"}


def test_an_unknown_one_may_take_effect_long_after_it_was_given_up():
    history = [
        txn("a", X1, status="unknown", at=(0, 1)),
        txn("b", x(), at=(2, 3)),
        txn("c", x(1), at=(4, 5)),
    ]

    assert check_lists(history) == []


@pytest.mark.parametrize(
    ("check", "history", "message"),
    [
        (check_lists, [txn("a", P1)], "other workload"),
        (check_registers, [txn("a", x())], "other workload"),
        (check_lists, [txn("a", X1), txn("b", X1)], "not a new value"),
        (check_registers, [txn("a", Put("x", None))], "not a new value"),
        (check_lists, [txn("a", X1, at=(3, 2))], "ended at 2"),
    ],
)
def test_what_cannot_be_checked_is_refused(check, history, message):
    with pytest.raises(ValueError, match=message):
        check(history)


# Small histories by chance, against a search of every serial order.


def explained(history, *, realtime):
    """Whether some serial order explains it: all that committed, and any of the unknown."""
    committed = frozenset(t for t in history if t.status == "committed")
    possible = [t for t in history if t.status != "aborted"]

    def search(state, done):
        if committed <= done:
            return True
        missing = committed - done
        return any(
            (after := run(state, t)) is not None and search(after, done | {t})
            for t in possible
            if t not in done and not (realtime and any(m.ended < t.began for m in missing - {t}))
        )

    return search({}, frozenset())


def run(state, transaction):
    """The state after a transaction, or None if it has not seen what it would have seen."""
    state = dict(state)
    for op in transaction.operations:
        match op:
            case Append(key, value):
                state[key] = (*state.get(key, ()), value)
            case Put(key, value):
                state[key] = value
            case Read(key, values) if values != state.get(key, ()):
                return None
            case Get(key, value) if value != state.get(key):
                return None
    return state


class Lists:
    check = staticmethod(check_lists)
    write, read, nothing = Append, Read, ()
    seen = attrgetter("values")

    @staticmethod
    def apply(old, value):
        return (*old, value)

    @staticmethod
    def spoil(random, values):
        longer = (*values, random.randint(1, 12))
        return random.choice([values[:-1], values[1:], values[::-1], (), longer])


class Registers:
    check = staticmethod(check_registers)
    write, read, nothing = Put, Get, None
    seen = attrgetter("value")

    @staticmethod
    def apply(old, value):
        return value

    @staticmethod
    def spoil(random, value):
        return random.choice([None, random.randint(1, 12)])


def drawn(random):
    """What up to four transactions are going to do: keys, and a new value for each write."""
    value = iter(range(1, 99))
    keys = KEYS[: random.randint(2, 3)]
    return [
        [
            (random.choice(keys), next(value) if random.random() < 0.5 else None)
            for _ in range(random.randint(1, 4))
        ]
        for _ in range(random.randint(2, 4))
    ]


def perform(workload, view, key, value):
    if value is None:
        return workload.read(key, view.get(key, workload.nothing))
    view[key] = workload.apply(view.get(key, workload.nothing), value)
    return workload.write(key, value)


def ending(workload, random, state, history):
    """Half of the histories end with a transaction that reads all there is."""
    reads = tuple(perform(workload, state, key, None) for key in KEYS)
    return [*history, txn("last", *reads, at=(500, 501))] if random.random() < 0.5 else history


def serial(workload, random):
    """One after another, and each in some time around its turn; unknown ones happen or do not."""
    state, history = {}, []
    for turn, plan in enumerate(drawn(random)):
        status = random.choices(["committed", "unknown", "aborted"], [8, 1, 1])[0]
        view = dict(state)
        operations = [perform(workload, view, *step) for step in plan]
        if status == "committed" or (status == "unknown" and random.random() < 0.5):
            state = view
        at = (10 * turn - random.randint(0, 15), 10 * turn + random.randint(0, 15))
        history.append(txn(f"t{turn}", *operations, status=status, at=at))
    return ending(workload, random, state, history)


def spoiled(workload, random):
    """A serial history with something wrong in it: some reads, or how one ended."""
    history = serial(workload, random)
    at = random.randrange(len(history))
    old = history[at]
    operations = [
        workload.read(op.key, workload.spoil(random, workload.seen(op)))
        if isinstance(op, workload.read) and random.random() < 0.6
        else op
        for op in old.operations
    ]
    status = random.choice(["committed", "committed", old.status, "aborted"])
    history[at] = txn(old.id, *operations, status=status, at=(old.began, old.ended))
    return history


def unlocked(workload, random):
    """Each step at once on the one state, in any order; whoever aborts takes nothing back."""
    state, plans = {}, drawn(random)
    turns = [turn for turn, plan in enumerate(plans) for _ in plan]
    random.shuffle(turns)
    done = [[] for _ in plans]
    times = [[] for _ in plans]
    for now, turn in enumerate(turns):
        times[turn].append(now)
        done[turn].append(perform(workload, state, *plans[turn][len(done[turn])]))
    history = [
        txn(
            f"t{turn}",
            *operations,
            status=random.choices(["committed", "unknown", "aborted"], [8, 1, 1])[0],
            at=(times[turn][0], times[turn][-1]),
        )
        for turn, operations in enumerate(done)
    ]
    return ending(workload, random, state, history)


def snapshots(workload, random):
    """Each reads what was there when it began and writes when it ends, whoever wrote meanwhile."""
    plans = drawn(random)
    moments = [*range(len(plans))] * 2
    random.shuffle(moments)
    state, began, history = {}, {}, []
    for now, turn in enumerate(moments):
        if turn not in began:
            began[turn] = now, dict(state)
            continue
        start, view = began[turn]
        operations = [perform(workload, view, *step) for step in plans[turn]]
        for key, value in plans[turn]:
            if value is not None:
                perform(workload, state, key, value)
        history.append(txn(f"t{turn}", *operations, at=(start, now)))
    return ending(workload, random, state, history)


@pytest.mark.parametrize("workload", [Lists, Registers])
def test_what_ran_one_after_another_has_no_anomaly(workload):
    for seed in range(HISTORIES):
        history = serial(workload, Random(seed))

        assert workload.check(history) == [], (seed, history)


@pytest.mark.parametrize("realtime", [False, True])
@pytest.mark.parametrize("way", [spoiled, unlocked, snapshots])
def test_lists_have_an_anomaly_exactly_if_no_serial_order_explains_them(way, realtime):
    answers = Counter()
    for seed in range(HISTORIES):
        history = way(Lists, Random(seed))
        found = check_lists(history, realtime=realtime)
        answers[bool(found)] += 1

        assert bool(found) != explained(history, realtime=realtime), (seed, history, found)
    assert min(answers[True], answers[False]) > HISTORIES / 10


@pytest.mark.parametrize("way", [spoiled, unlocked, snapshots])
def test_an_anomaly_is_one_of_real_time_exactly_if_it_is_none_without(way):
    for seed in range(HISTORIES):
        history = way(Lists, Random(seed))
        timeless = {kind for kind in kinds(check_lists(history)) if "realtime" not in kind}

        assert bool(timeless) != explained(history, realtime=False), (seed, history)


@pytest.mark.parametrize("realtime", [False, True])
@pytest.mark.parametrize("way", [spoiled, unlocked, snapshots])
def test_registers_have_an_anomaly_only_if_no_serial_order_explains_them(way, realtime):
    """The order of versions is not always known, so that not every wrong history is found."""
    answers = Counter()
    for seed in range(HISTORIES):
        history = way(Registers, Random(seed))
        found = check_registers(history, realtime=realtime)
        wrong = not explained(history, realtime=realtime)
        answers[wrong, bool(found)] += 1

        assert wrong or not found, (seed, history, found)
    assert answers[True, True] > answers[True, False]


# Large histories: a lock held from each transaction's turn on, some running at the same time.


def large(workload):
    random = Random(0)
    state, history, value = {}, [], iter(range(1, 9 * MANY))
    for turn in range(MANY):
        steps = [(f"k{random.randrange(10)}", random.random() < 0.4) for _ in range(4)]
        operations = [
            perform(workload, state, key, next(value) if writes else None) for key, writes in steps
        ]
        at = (10 * turn - random.randint(0, 200), 10 * turn + random.randint(0, 200))
        history.append(txn(f"t{turn}", *operations, at=at))
    return history


@pytest.mark.timeout(20)
@pytest.mark.parametrize("workload", [Lists, Registers])
def test_a_long_history_is_checked_and_one_stale_read_is_found_in_it(workload):
    history = large(workload)
    assert workload.check(history) == []

    stale = workload.read("k0", workload.nothing)
    assert kinds(workload.check([*history, txn("late", stale, at=(10**6, 10**6))])) == {
        "G-single-realtime"
    }
