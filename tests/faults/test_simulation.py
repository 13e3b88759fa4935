"""Transactions and sagas in a world that loses, doubles and delays messages and dies at any commit.

Each number below is a seed; a failing one replays exactly: `workloads.transfers(seed)` and so on return
what is wrong.
"""

from __future__ import annotations

import itertools
import os

import pytest

from tests.kit.faults import workloads
from tests.kit.faults.simulator import Faults, Without, World
from xingqiao.composer.freezing import changed
from xingqiao.composer.machine import operations
from xingqiao.composer.machine.instructions import Compensate
from xingqiao.composer.machine.sagas.compensations import Undo

pytestmark = pytest.mark.no_cover  # it takes three times as long when every line is counted

MORE = int(os.environ.get("MORE", "1"))  # times as many worlds: `make attack` runs 8 times as many
CHUNK = 25


def chunks(worlds):
    return range(0, worlds * MORE, CHUNK)


def wrong(workload, seeds, **options):
    """What is wrong with the first world in which something is."""
    for seed in seeds:
        if found := workload(seed, **options):
            return seed, found
    return None


@pytest.mark.parametrize("first", chunks(150))
def test_transfers_are_atomic_and_audits_see_all_the_money(first):
    assert wrong(workloads.transfers, range(first, first + CHUNK)) is None


@pytest.mark.parametrize("first", chunks(100))
def test_histories_are_serializable_in_real_time(first):
    assert wrong(workloads.lists, range(first, first + CHUNK)) is None


@pytest.mark.parametrize("first", chunks(250))
def test_sagas_are_all_done_or_all_undone_in_reverse(first):
    assert wrong(workloads.sagas, range(first, first + CHUNK)) is None


@pytest.mark.parametrize("first", chunks(50))
def test_registers_are_serializable_in_real_time(first):
    assert wrong(workloads.registers, range(first, first + CHUNK)) is None


def test_histories_are_serializable_without_waiting():
    assert wrong(workloads.lists, range(40), conflict="nowait") is None


def test_many_who_want_the_same_all_come_to_an_end():
    for seed in range(5):
        assert workloads.lists(seed, workloads.KIND, count=60, keys=1) == []
        assert workloads.transfers(seed, workloads.KIND, count=60, accounts=2) == []


# --- every place at which something can die ----------------------------------------------------


def commits_of(workload, **options):
    """How many commits, before and after, a world without faults goes through."""
    seen = []
    made = World.__post_init__

    def watched(world):
        made(world)
        seen.append(world)

    World.__post_init__ = watched
    try:
        assert workload(1, workloads.KIND, **options) == []
    finally:
        World.__post_init__ = made
    return next(seen[0].commits)


@pytest.mark.parametrize(
    "workload", [workloads.transfers, workloads.lists, workloads.registers, workloads.sagas]
)
def test_one_that_dies_anywhere_is_taken_up(workload):
    for at in range(commits_of(workload, count=2)):
        faults = Faults(lose=0, double=0, crash=0, crash_at=frozenset({at}))
        assert workload(1, faults, count=2) == [], f"dead at commit {at}"


@pytest.mark.parametrize("workload", [workloads.transfers, workloads.sagas])
def test_two_that_die_anywhere_are_taken_up(workload):
    commits = commits_of(workload, count=1)
    for pair in itertools.combinations(range(commits + 4), 2):
        faults = Faults(lose=0, double=0, crash=0, crash_at=frozenset(pair))
        assert workload(1, faults, count=1) == [], f"dead at commits {pair}"


# --- the checkers find what they are for -------------------------------------------------------


def test_without_locks_it_is_seen():
    assert wrong(workloads.transfers, range(40), without=Without(locks=True)) is not None
    assert wrong(workloads.lists, range(40), without=Without(locks=True)) is not None
    assert wrong(workloads.registers, range(40), without=Without(locks=True)) is not None


def test_without_the_decision_logged_it_is_seen():
    assert wrong(workloads.transfers, range(300), without=Without(decisions=True)) is not None


@pytest.mark.parametrize("workload", [workloads.transfers, workloads.lists, workloads.sagas])
def test_without_tokens_it_is_seen(workload):
    assert wrong(workload, range(60), without=Without(tokens=True)) is not None


def test_without_reverse_order_it_is_seen(monkeypatch):
    reverse = operations.OPERATIONS[Compensate]

    def forwards(cursor, instruction):
        frame = cursor.frames[-1]
        if len(frame.left) > 1 and isinstance(frame.left[-1], Undo):
            first, *rest = frame.left
            cursor.replace(frame, changed(frame, left=(*rest, first)))
        return reverse(cursor, instruction)

    monkeypatch.setitem(operations.OPERATIONS, Compensate, forwards)

    assert wrong(workloads.sagas, range(60)) is not None
