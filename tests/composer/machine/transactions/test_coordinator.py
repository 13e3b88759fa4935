"""The coordinator: conflicts, deadlines, decisions, and who is told."""

from __future__ import annotations

import pytest

from tests.kit.composer.bank import ACCOUNT, SWEEP, TRANSFER, Bank, look
from xingqiao import composer as c
from xingqiao.composer import Success, transaction
from xingqiao.composer.testing import Fail, Never, Simulation, Slow, simulate


def test_a_conflict_is_tried_again_with_the_same_age_after_a_while():
    asked = []

    def answer(params):
        asked.append(params["transaction"])
        if len(asked) < 4:
            return {"vote": "no", "reason": {"code": "Locked"}, "retryable": True}
        return {"vote": "committed", "results": [{}]}

    done = simulate(transaction(look("a")), {}, actions={"account": answer})

    assert done.value == {"value": [{}]}
    assert len({about["id"] for about in asked}) == 4
    assert len({about["started"] for about in asked}) == 1
    assert done.elapsed > 0


def test_it_gives_up_at_last_and_says_that_it_may_be_tried_again():
    conflict = transaction(c.sequence(look("a")), retries=2)

    def answer(params):
        kind = params["transaction"]["kind"]
        return Fail("TransactionConflict") if kind == "work" else {"done": kind}

    done = simulate(conflict, {}, actions={"account": answer})

    assert done.error["code"] == "TransactionAborted"
    assert done.error["retryable"] is True
    assert (
        len([call_ for call_ in done.calls("account") if call_["transaction"]["kind"] == "work"])
        == 3
    )
    caught = c.do(conflict, c.literal({}), errors="TransactionAborted")
    assert simulate(caught, {}, actions={"account": answer}).value == {}


@pytest.mark.parametrize("composition", [TRANSFER, SWEEP])
def test_one_that_is_cancelled_before_it_is_decided_is_aborted(composition):
    kinds = []

    def answer(params):
        kinds.append(params["transaction"]["kind"])
        return Never() if kinds[-1] in ("prepare", "work") else {"done": kinds[-1]}

    done = simulate(composition, {}, actions={"account": answer}, cancel_at=5)

    assert done.outcome.code == "Cancelled"
    assert kinds[-1] == "abort"


def test_one_that_may_be_decided_is_not_disturbed():
    bank = Bank(a=100, b=0)

    def answer(params):
        slow = params["transaction"]["kind"] in ("prepare_commit", "commit")
        return Slow(10, bank(params)) if slow else bank(params)

    cancelled = simulate(TRANSFER, {}, actions={"account": answer}, cancel_at=5)
    assert cancelled.outcome.code == "Cancelled"
    assert "TransactionCommitted" in cancelled.kinds()
    assert bank.balances == {"a": 70, "b": 30}
    late = simulate(c.timeout(15, TRANSFER), {}, actions={"account": answer})
    assert isinstance(late.outcome, Success)  # too late, and not aborted: it says what is true
    assert bank.balances == {"a": 40, "b": 60}


def test_one_that_takes_too_long_before_that_is_aborted_and_times_out():
    answers = {"account": lambda p: Never() if p["transaction"]["kind"] == "prepare" else {}}

    assert simulate(c.timeout(3, TRANSFER), {}, actions=answers).outcome.code == "Timeout"


def test_one_with_too_many_steps_is_aborted_unless_it_is_decided():
    bank = Bank(a=100, b=0)
    actions = {"account": bank}

    early = simulate(TRANSFER, {}, actions=actions, limits=c.Limits(steps=0))
    assert early.error["reason"]["code"] == "LimitExceeded"
    assert bank.at_rest
    assert bank.balances == {"a": 100, "b": 0}
    assert simulate(TRANSFER, {}, actions=actions, limits=c.Limits(steps=1)).value
    assert bank.balances == {"a": 70, "b": 30}


def test_a_decision_can_be_asked_for():
    simulation = Simulation(c.compile(TRANSFER), {f"{ACCOUNT}": Never()}, (), c.Limits())
    simulation.run({})
    execution = simulation._execution
    id = execution.fibers["0"].frames[-1].transaction

    assert c.decision(execution.fibers.values(), id) == "undecided"
    assert c.decision(execution.fibers.values(), "tx-other") == "abort"
    assert not c.decided(execution.fibers.values())
    held = simulate(TRANSFER, {}, actions={"account": Bank(a=100, b=0)})
    assert isinstance(held.outcome, Success)


@pytest.mark.parametrize(("kind", "decision"), [("commit", "commit"), ("abort", "abort")])
def test_a_decision_is_told_until_everybody_knows(kind, decision):
    bank = Bank(a=100, b=0)

    def answer(params):
        if params["transaction"]["kind"] == kind:
            return Never()
        if params["transaction"]["kind"] == "prepare_commit" and kind == "abort":
            return {"vote": "no", "reason": "no"}
        return bank(params)

    simulation = Simulation(c.compile(TRANSFER), {ACCOUNT: answer}, (), c.Limits())
    simulation.run({})
    execution = simulation._execution
    id = execution.fibers["0"].frames[-2].transaction

    assert c.decision(execution.fibers.values(), id) == decision
    assert c.decided(execution.fibers.values()) is (decision == "commit")
