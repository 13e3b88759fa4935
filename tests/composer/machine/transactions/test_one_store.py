"""Transactions whose host performs them whole: one message, and what comes of each answer."""

from __future__ import annotations

import pytest

from tests.kit.composer.bank import SWEEP, TRANSFER, Bank, look, move
from xingqiao import composer as c
from xingqiao.composer import Limits, Success, call, participant, path, transaction
from xingqiao.composer.testing import Fail, Never, Slow, simulate

HERE = Limits(one_store=True)
COMMITTED = {"vote": "committed", "participants": [[{"balance": 70}], [{"balance": 30}]]}
REFUSED = {"vote": "no", "reason": "insufficient funds", "retryable": False}
CONFLICT = {"vote": "no", "reason": {"code": "Locked"}, "retryable": True}
APART = {"vote": "apart"}


def kinds(done):
    return [message["transaction"]["kind"] for message in done.calls("account")]


def host(bank, *answers):
    """Answers messages for whole transactions in turn, and leaves the others to the bank."""
    left = list(answers)

    def answer(params):
        whole = params["transaction"]["kind"] == "transact"
        return left.pop(0) if whole else bank(params)

    return {"account": answer}


def run(composition, answer, **options):
    return simulate(composition, {}, actions={"account": answer}, limits=HERE, **options)


# --- declared --------------------------------------------------------------------------------------


def test_a_transfer_is_one_message_with_both_sides_in_order():
    done = run(TRANSFER, COMMITTED)

    (message,) = done.calls("account")
    assert message["transaction"]["kind"] == "transact"
    assert message["participants"] == [
        {"action": "/_/account", "key": "a", "operations": [{"operation": "withdraw", "params": {"amount": 30}}]},
        {"action": "/_/account", "key": "b", "operations": [{"operation": "deposit", "params": {"amount": 30}}]},
    ]  # fmt: skip
    assert done.value == {"value": [{"balance": 30}, {"balance": 70}]}
    assert done.kinds().index("TransactionStarted") < done.kinds().index("TransactionCommitted")


def test_the_history_and_the_timeline_name_all_participants():
    done = run(TRANSFER, COMMITTED)

    (told,) = [entry.detail for entry in done.history if "entities" in entry.detail]
    assert told["message"] == "transact"
    assert told["entities"] == [["/_/account", "a"], ["/_/account", "b"]]
    lines = c.timeline([entry.to_json(lambda value: value) for entry in done.history])
    assert [line.label for line in lines][2:-1] == ["transact account a, account b", "committed"]


def test_a_refusal_aborts_and_nobody_need_be_told():
    done = run(TRANSFER, REFUSED)

    assert kinds(done) == ["transact"]
    assert done.error["reason"] == "insufficient funds"
    assert (done.outcome.code, done.error["retryable"]) == ("TransactionAborted", False)
    assert "TransactionAborted" in done.kinds()


def test_a_conflict_is_tried_again_with_the_same_age():
    done = run(TRANSFER, [CONFLICT, CONFLICT, COMMITTED])

    about = [message["transaction"] for message in done.calls("account")]
    assert isinstance(done.outcome, Success)
    assert len({one["id"] for one in about}) == 3
    assert len({one["started"] for one in about}) == 1


@pytest.mark.parametrize("composition", [TRANSFER, SWEEP])
def test_a_host_that_declines_is_asked_participant_by_participant(composition):
    bank = Bank(a=100, b=0)
    done = simulate(composition, {}, actions=host(bank, APART), limits=HERE)
    alone, sole = Bank(a=100, b=0), Limits()
    apart = simulate(composition, {}, actions={"account": alone}, limits=sole)

    assert done.value == apart.value
    assert bank.messages == alone.messages
    assert bank.at_rest


def test_a_step_that_fails_has_had_no_effect():
    done = run(TRANSFER, Fail("InternalError"))

    assert kinds(done) == ["transact"]
    assert done.error["reason"]["code"] == "InternalError"
    assert run(TRANSFER, Fail("NotFound")).error["reason"]["code"] == "NotFound"


@pytest.mark.parametrize("composition", [
    transaction(move("deposit", "b"), move("deposit", "b")),
    transaction(c.sequence(move("deposit", "b"), move("deposit", "b"))),
])  # fmt: skip
def test_one_participant_alone_decides_as_before(composition):
    bank = Bank(b=0)
    done = simulate(composition, {}, actions={"account": bank}, limits=HERE)

    assert bank.messages[-1] == ("b", "prepare_commit")
    assert isinstance(done.outcome, Success)


def test_a_participant_elsewhere_keeps_the_protocol():
    bank = Bank(a=100)
    mixed = transaction(move("withdraw", "a"), participant("prepare", "commit", "abort", {}))
    others = {"prepare": {}, "commit": {}, "abort": {}}
    done = simulate(mixed, {}, actions={"account": bank, **others}, limits=HERE)

    assert bank.messages == [("a", "prepare"), ("a", "commit")]
    assert isinstance(done.outcome, Success)


# --- as it goes --------------------------------------------------------------------------------------


def test_a_transaction_that_worked_as_it_went_commits_by_one_message():
    bank, whole = Bank(a=100, b=0), {"vote": "committed", "participants": [None, None]}
    done = simulate(SWEEP, {}, actions=host(bank, whole), limits=HERE)

    assert kinds(done) == ["work", "work", "work", "transact"]
    assert done.calls("account")[-1]["participants"] == [
        {"action": "/_/account", "key": "a", "number": 2},
        {"action": "/_/account", "key": "b", "number": 1},
    ]
    assert done.value == {"balance": 100}


def test_its_refusal_aborts_it_and_nobody_need_be_told():
    done = simulate(SWEEP, {}, actions=host(Bank(a=100, b=0), REFUSED), limits=HERE)

    assert kinds(done)[-1] == "transact"
    assert done.error["reason"] == "insufficient funds"


def test_its_participants_are_told_when_nobody_has_answered_for_them():
    bank = Bank(a=100, b=0)
    done = simulate(SWEEP, {}, actions=host(bank, Never()), limits=HERE, cancel_at=5)

    assert done.outcome.code == "Cancelled"
    assert kinds(done)[-2:] == ["abort", "abort"]
    assert bank.at_rest


# --- cancelled, timed out, killed ---------------------------------------------------------------


def test_one_that_is_cancelled_before_its_answer_has_no_effect():
    done = run(TRANSFER, Never(), cancel_at=5)

    assert done.outcome.code == "Cancelled"
    assert kinds(done) == ["transact"]
    assert "TransactionAborted" in done.kinds()


def test_one_that_takes_too_long_has_no_effect():
    late = c.timeout(3, TRANSFER)
    done = run(late, Slow(10, COMMITTED))

    assert done.outcome.code == "Timeout"
    assert kinds(done) == ["transact"]


def test_a_step_of_a_saga_that_was_not_answered_is_not_undone():
    """Nothing of it is done: there is nothing to undo."""
    wrapped = c.saga(c.step(TRANSFER, undo="back"))
    done = simulate(wrapped, {}, actions={"account": Never(), "back": {}}, limits=HERE, cancel_at=5)

    assert done.outcome.code == "Cancelled"
    assert done.calls("back") == []


@pytest.mark.parametrize("composition", [TRANSFER, c.sequence("first", TRANSFER)])
def test_it_comes_to_the_same_whenever_the_conductor_dies(composition):
    done = simulate(
        composition, {}, actions={"account": COMMITTED, "first": {}}, limits=HERE, crash="every"
    )

    assert done.value == {"value": [{"balance": 30}, {"balance": 70}]}


# --- executions that a server of an earlier version has begun ------------------------------------


@pytest.mark.parametrize(("composition", "votes", "told"), [
    (TRANSFER, [{"vote": "yes", "results": [{"balance": 70}]}],
     ["prepare_commit", "commit"]),
    (transaction(look("a"), move("deposit", "b")), [{"results": [{"balance": 100}]}],
     ["prepare", "prepare", "commit"]),
    (TRANSFER, [{"vote": "no", "reason": "no", "retryable": False}], []),
])  # fmt: skip
def test_the_vote_that_an_earlier_version_asked_for_is_taken_as_the_first_answer(
    composition, votes, told
):
    """It has recorded the answer of the first participant; a restart asks for the whole, and is told that."""
    bank = Bank(a=100, b=0)
    first = {"key": "a", "transaction": None}

    def answer(params):
        about = params["transaction"]
        if about["kind"] != "transact":
            return bank(params)
        share = params["participants"][0]
        kind = "work" if "results" in votes[0] and "vote" not in votes[0] else "prepare"
        first["transaction"] = {**about, "kind": kind, "number": int(kind == "work")}
        bank({**first, "operations": share["operations"]})
        return votes[0]

    done = run(composition, answer)

    assert kinds(done)[1:] == told
    assert isinstance(done.outcome, Success) == bool(told)


def test_a_single_writer_that_was_asked_before_the_upgrade_has_decided():
    bank = Bank(a=100, b=0)
    reads = transaction(c.sequence(look("a"), call("account", "b", "deposit", {"amount": path("$.balance")})))  # fmt: skip

    def answer(params):
        about = params["transaction"]
        if about["kind"] != "transact":
            return bank(params)
        return bank({"key": "a", "transaction": {**about, "kind": "prepare", "number": 1}})

    done = run(reads, answer)

    assert kinds(done) == ["work", "work", "transact", "prepare_commit"]
    assert bank.balances == {"a": 100, "b": 100}
