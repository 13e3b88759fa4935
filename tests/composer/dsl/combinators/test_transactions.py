"""Transactions as they are composed."""

from __future__ import annotations

import pytest

from tests.kit.composer.bank import SWEEP, TRANSFER, Bank, look
from xingqiao import composer as c
from xingqiao.composer import CompositionError, call, path, transaction
from xingqiao.composer.machine.transactions.coordinator import MAX_PARTICIPANTS
from xingqiao.composer.testing import simulate


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (transaction, "give at least one call"),
        (lambda: transaction(look("a"), seconds=61), "at most 60"),
        (lambda: transaction(look("a"), seconds=0), "must be a number > 0"),
        (lambda: transaction(look("a"), conflict="fight"), "must be one of 'wait', 'nowait'"),
        (lambda: transaction(c.sequence("a")), "'action' cannot stand in a transaction"),
        (lambda: transaction(c.parallel(look("a"))), "'parallel' cannot stand in a transaction"),
        (lambda: transaction(c.sequence(TRANSFER)), "'transaction' cannot stand in a transaction"),
        (lambda: transaction(c.sequence(lambda p: p)), "'function' cannot stand in a transaction"),
        (
            lambda: transaction(call("e", "k", "o", expected_version=1)),
            "has no use in a transaction",
        ),
        (
            lambda: c.compile(c.participant("p", "k", "x")),
            "a participant must stand in a transaction",
        ),
        (lambda: call("e", "k", ""), "'operation' must be the name"),
        (lambda: call("", "k", "o"), "is not an action name"),
        (lambda: call("e", "k", "o", read=1), "must be True or False"),
    ],
)
def test_what_cannot_be_a_transaction_is_refused(make, why):
    with pytest.raises(CompositionError, match=why):
        make()


@pytest.mark.parametrize("composition", [TRANSFER, SWEEP, transaction(
    c.participant("p", "k", "x"), look("a"), retries=0, seconds=5), c.signal("e", "k", "o", after=5),
    transaction(c.sequence(look("a")), conflict="nowait"), call("e", path("$.k"), "o", expected_version=3),
    c.semantic_lock([("e", "k"), ("e", path("$.k"))], look("a"))])  # fmt: skip
def test_it_is_json_and_back(composition):
    assert c.parse(composition.to_json()) == composition
    program = c.compile(composition)
    assert c.Program.from_json(program.to_json(), c.DIALECTS).hash == program.hash


def test_a_transaction_has_so_many_participants():
    def of(number):
        return [look(f"k{n:03}") for n in range(number)]

    bank = Bank()
    assert simulate(transaction(*of(MAX_PARTICIPANTS)), {}, actions={"account": bank}).value
    for parts in (of(MAX_PARTICIPANTS + 1), [c.sequence(*of(MAX_PARTICIPANTS + 1))]):
        done = simulate(transaction(*parts), {}, actions={"account": Bank()})
        reason = done.error.get("reason", done.error)
        assert reason["code"] == "LimitExceeded"
