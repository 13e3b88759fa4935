"""Participants that are no entities prepare and commit by actions."""

from __future__ import annotations

from tests.kit.composer.bank import Bank, move
from xingqiao import composer as c
from xingqiao.composer import Success, path, transaction
from xingqiao.composer.testing import Fail, simulate


def with_other(**answers):
    bank = Bank(a=100, b=0)
    fakes = {"p": {"of": "p"}, "k": {}, "x": {}} | answers
    both = transaction(
        c.participant("p", "k", "x", {"n": path("$.n")}),
        move("deposit", "b"),
        move("withdraw", "a"),
    )
    return simulate(both, {"n": 7}, actions={"account": bank, **fakes}), bank


def test_what_is_no_entity_prepares_and_commits_by_actions():
    done, bank = with_other()

    assert done.value == {"value": [{"of": "p"}, {"balance": 30}, {"balance": 70}]}
    assert [kind for _, kind in bank.messages] == ["prepare", "prepare", "commit", "commit"]
    (prepared,), (committed,) = done.calls("p"), done.calls("k")
    assert (prepared["n"], prepared["transaction"]["kind"]) == (7, "prepare")
    assert committed["transaction"]["id"] == prepared["transaction"]["id"]
    assert done.calls("x") == []


def test_what_is_no_entity_may_refuse_and_is_told_so():
    done, bank = with_other(p=Fail("ApplicationError", "no"))

    assert done.error["reason"] == "no"
    assert bank.balances == {"a": 100, "b": 0}
    assert len(done.calls("x")) == 1
    retried, _ = with_other(p=Fail("Timeout"), x=[Fail("Down"), {}])
    assert len(retried.calls("x")) == 2


def test_its_commit_is_asked_for_until_it_succeeds():
    done, _ = with_other(k=[Fail("Down"), Fail("Timeout"), {}])

    assert isinstance(done.outcome, Success)
    assert len(done.calls("k")) == 3


def test_what_is_given_to_it_is_the_input_unless_said_otherwise():
    both = transaction(c.participant("p", "k", "x"), move("deposit", "b"))
    done = simulate(both, {"n": 1}, actions={"account": Bank(), "p": {}, "k": {}, "x": {}})

    assert done.calls("p")[0]["n"] == 1


def test_one_of_several_that_cannot_be_asked_to_prepare_aborts():
    bank = Bank(a=100, b=0)

    def answer(params):
        if params["transaction"]["kind"] == "prepare" and params["key"] == "b":
            return Fail("Timeout")
        return bank(params)

    both = transaction(c.sequence(move("withdraw", "a"), move("deposit", "b")))
    done = simulate(both, {}, actions={"account": answer})

    assert done.error["reason"]["code"] == "Timeout"
    assert bank.messages[-2:] == [("a", "abort"), ("b", "abort")]
    assert bank.balances == {"a": 100, "b": 0}


def test_what_is_no_entity_is_told_to_abort_though_its_preparing_never_ran():
    """A part of it may have: the failure is that of a composition's part."""
    done, _ = with_other(p=Fail("NotFound"))

    assert done.error["reason"]["code"] == "NotFound"
    assert len(done.calls("x")) == 1
