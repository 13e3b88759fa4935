"""Two-phase commits of one entity: votes that hold, decisions, and what is lost."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import DEADLINE, LOOK, NOW, Entity, add, of
from xingqiao.transactions import (
    Damage,
    DeletePrepared,
    Prepared,
    Row,
    Tombstone,
)
from xingqiao.transactions.protocol import MAX_LOCK_MS


def test_a_vote_is_written_before_it_is_heard_and_holds():
    entity = Entity(5).do("p", operations=[add(1), add(2)], **of("t", "prepare"))

    assert entity.told("p") == {"vote": "yes", "results": [{"total": 6}, {"total": 8}]}
    (vote,) = entity.written("p")
    assert isinstance(vote, Prepared)
    assert (vote.state, entity.one.row.state) == (8, 5)
    entity.tell("other", **add(100)).tell("reader", **LOOK)
    entity.now = DEADLINE + MAX_LOCK_MS
    entity.follow(entity.one.expire(entity.now))
    assert set(entity.answers) == {"p"}
    again = Entity(row=entity.one.row, prepared=[Prepared.from_json(vote.to_json())])
    for one in (entity, again):
        one.do("c", **of("t", "commit"))
        assert one.told("c") == {"done": "commit"}
        assert {type(write) for write in one.written("c")} == {Row, DeletePrepared}
    assert entity.told("reader") == {"total": 108}
    assert again.one.row.state == 8


def test_an_abort_leaves_nothing():
    entity = (
        Entity(5).do("p", operations=[add(1)], **of("t", "prepare")).do("a", **of("t", "abort"))
    )

    assert entity.written("a") == (DeletePrepared("t"),)
    assert entity.do("x", **add(1)).told("x") == {"total": 6}


def test_the_last_one_decides_by_its_vote():
    entity = Entity(5).do("p", operations=[add(1)], **of("t", "prepare_commit"))

    assert entity.told("p") == {"vote": "committed", "results": [{"total": 6}]}
    assert entity.written("p") == (Row(6, 2, 1, NOW),)
    assert entity.one.idle


def test_who_only_reads_votes_by_letting_go():
    entity = Entity(5).do("p", operations=[LOOK, LOOK], **of("t", "prepare"))

    assert entity.told("p") == {"vote": "read", "results": [{"total": 5}, {"total": 5}]}
    assert (entity.written("p"), entity.one.idle) == ((), True)


def test_a_refusal_is_a_vote():
    entity = Entity(5).do("p", operations=[add(1), {"operation": "fail"}], **of("t", "prepare"))

    assert entity.told("p") == {"vote": "no", "reason": "no", "retryable": False}
    assert (entity.written("p"), entity.one.idle, entity.one.row.state) == ((), True, 5)
    wrong = Entity(5).do("p", operations=[{"operation": "$lock"}], **of("t", "prepare"))
    assert wrong.told("p")["vote"] == "no"


def test_work_is_done_on_a_copy():
    entity = (
        Entity(5).do("1", **add(1), **of("t", "work", 1)).do("2", **add(1), **of("t", "work", 2))
    )

    assert (entity.told("1"), entity.told("2")) == ({"total": 6}, {"total": 7})
    assert entity.one.row.state == 5
    entity.do("p", **of("t", "prepare", 2)).do("c", **of("t", "commit"))
    assert entity.told("p") == {"vote": "yes", "results": []}
    assert entity.one.row.state == 7
    failed = (
        Entity(5).do("1", operation="fail", **of("t", "work", 1)).do("p", **of("t", "prepare", 1))
    )
    assert (failed.told("1"), failed.told("p")["vote"]) == ("ApplicationError", "yes")
    several = Entity(5).do("1", operations=[LOOK, LOOK], **of("t", "work", 1))
    assert several.told("1") == {"results": [{"total": 5}, {"total": 5}]}


@pytest.mark.parametrize("kind", ["prepare", "prepare_commit"])
def test_what_is_lost_cannot_be_prepared(kind):
    entity = Entity(5)

    assert entity.do("p", **of("t", kind, 2)).told("p")["reason"]["code"] == "TransactionLost"
    assert entity.do("w", **add(1), **of("t", "work", 2)).told("w") == "TransactionLost"
    entity.do("1", **add(1), **of("t", "work", 1)).do("q", **of("t", kind, 2))
    assert entity.told("q")["vote"] == "no"


@pytest.mark.parametrize("operation", ["add", "fail"])
def test_a_decision_made_here_is_told_again(operation):
    entity, asked = Entity(5), {"operations": [{"operation": operation, "params": {"n": 1}}]}
    entity.do("p", once=False, **asked, **of("t", "prepare_commit"))
    entity.do("again", once=False, **asked, **of("t", "prepare_commit"))
    entity.do("c", once=False, **of("t", "commit")).do(
        "more", once=False, **asked, **of("t", "prepare_commit")
    )

    assert entity.told("again") == entity.told("more") == entity.told("p")
    assert any(isinstance(write, Tombstone) for write in entity.written("p"))


def test_a_coordinator_that_has_been_replaced_is_refused():
    entity = Entity(5).do("1", **add(1), **of("t", "work", 1, epoch=2))

    assert entity.do("2", **add(1), **of("t", "work", 2, epoch=1)).told("2") == "TransactionFenced"
    assert entity.do("3", **of("t", "abort", epoch=1)).told("3") == "TransactionFenced"
    entity.do("p", **of("t", "prepare", 1, epoch=2)).do("4", **of("t", "abort", epoch=1))
    assert entity.told("4") == "TransactionFenced"
    assert entity.do("c", **of("t", "commit", epoch=3)).told("c") == {"done": "commit"}


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("decision", ["commit", "abort"])
def test_an_operator_decides_and_is_compared_with_the_decision(commits, decision):
    entity = Entity(5).do("p", operations=[add(1)], **of("t", "prepare")).tell("w", **add(10))
    entity.follow(entity.one.decide_by_hand(commits=commits, by="me", reason="why", now_ms=NOW))
    entity.run()
    assert entity.told("w") == {"total": 16 if commits else 15}
    vote = next(
        write for _, writes in entity.writes for write in writes if getattr(write, "by", "")
    )
    assert (vote.heuristic, vote.why) == ("commit" if commits else "abort", "why")

    again = Entity(row=entity.one.row, prepared=[Prepared.from_json(vote.to_json())])
    for one in (entity, again):
        one.do("d", **of("t", decision))
        differ = commits != (decision == "commit")
        assert [type(effect) for effect in one.other] == [Damage] * differ
        (written,) = one.written("d")
        assert written == DeletePrepared("t") if not differ else written.damaged
        assert one.one.row.state == (16 if commits else 15)


def test_damage_is_told_once():
    entity = Entity(5).do("p", operations=[add(1)], **of("t", "prepare"))
    entity.follow(entity.one.decide_by_hand(commits=True, by="me", reason="why", now_ms=NOW))
    entity.do("a", **of("t", "abort"))
    (record,) = entity.written("a")

    again = Entity(row=entity.one.row, prepared=[Prepared.from_json(record.to_json())])
    again.do("a", **of("t", "abort"))
    assert (again.other, again.written("a")) == ([], ())


def test_an_operators_decision_that_is_forgotten_is_compared_with_nothing():
    entity = Entity(5).do("p", operations=[add(1)], **of("t", "prepare"))
    entity.follow(entity.one.decide_by_hand(commits=True, by="me", reason="why", now_ms=NOW))

    entity.one.forget("t")
    entity.do("a", **of("t", "abort"))
    assert (entity.other, entity.written("a"), entity.one.row.state) == ([], (), 6)
