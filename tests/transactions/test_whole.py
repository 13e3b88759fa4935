"""A participant of a whole transaction: it works, keeps its copy and its lock, and is told the end."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import DEADLINE, LOOK, NOW, Entity, add, of
from xingqiao.transactions import Prepared, Request, Row, Work, parsed


def work(entity, id, *operations, transaction="t", number=1):
    """Asks for work of a whole transaction, as a server does."""
    message = parsed({"key": "k", "operations": [*operations], **of(transaction, "work", number)})
    kept = Work(message.transaction, number, message.calls, several=True, kept=True)
    entity.follow(entity.one.receive(Request(id, kept), entity.now))
    return entity


def conclude(entity, *, commits=True, transaction="t"):
    writes, effects = entity.one.conclude(transaction, commits=commits, now_ms=entity.now)
    entity.follow(effects)
    return writes


def objection(entity, number=1, transaction="t"):
    about = parsed({"key": "k", **of(transaction, "commit")}).transaction
    why = entity.one.objection(about, number, entity.now)
    return None if why is None else why.code


def test_a_commit_returns_the_row_and_frees_the_entity():
    entity = work(Entity(5), "1", add(3), add(1)).run()

    assert entity.told("1") == {"vote": "yes", "results": [{"total": 8}, {"total": 9}]}
    assert entity.written("1") == ()
    assert objection(entity) is None
    assert conclude(entity) == (Row(9, 2, 1, NOW),)
    assert entity.one.row.state == 9
    assert entity.one.idle


def test_an_abort_leaves_no_trace():
    entity = work(Entity(5), "1", add(3)).run()

    assert conclude(entity, commits=False) == ()
    assert entity.one.row == Row(5, 1)
    assert entity.one.idle
    assert entity.do("2", **add(1)).told("2") == {"total": 6}


def test_who_has_only_read_writes_nothing():
    entity = work(Entity(5), "1", LOOK).run()

    assert objection(entity) is None
    assert conclude(entity) == ()
    assert entity.one.idle


def test_others_wait_until_the_end_and_see_what_was_committed():
    entity = work(Entity(5), "1", add(3)).run().tell("2", **add(10))
    assert "2" not in entity.answers

    conclude(entity)
    assert entity.run().told("2") == {"total": 18}


def test_the_copy_and_the_lock_outlast_the_deadline_and_so_does_no_wait():
    entity = work(Entity(5), "1", add(3)).run()
    work(entity, "2", add(1), transaction="u")
    assert entity.one.due_ms == DEADLINE  # of the one that waits
    entity.now = DEADLINE
    entity.follow(entity.one.expire(entity.now))

    assert entity.told("2") == "Locked"
    assert entity.one.due_ms is None
    assert objection(entity) is None
    assert conclude(entity)


def test_work_that_comes_after_the_deadline_is_refused():
    entity = Entity(5)
    entity.now = DEADLINE

    assert work(entity, "1", add(3)).told("1") == "TransactionExpired"
    assert entity.one.idle


@pytest.mark.parametrize(("number", "transaction"), [(2, "t"), (1, "other")])
def test_work_that_is_not_all_here_cannot_be_committed(number, transaction):
    entity = work(Entity(5), "1", add(3)).run()

    assert objection(entity, number, transaction) == "TransactionLost"


def test_work_of_a_transaction_as_it_goes_is_checked_as_a_vote_is():
    entity = Entity(5).do("1", **add(3), **of("t", "work", 1))

    assert objection(entity) is None
    assert objection(entity, 2) == "TransactionLost"
    entity.now = DEADLINE
    assert objection(entity) == "TransactionExpired"
    entity.now = NOW
    assert conclude(entity) == (Row(8, 2, 1, NOW),)


def test_a_failed_operation_keeps_the_lock_until_the_abort():
    entity = work(Entity(5), "1", add(3), {"operation": "fail"}).run().tell("2", **LOOK)

    assert entity.told("1") == "ApplicationError"
    assert "2" not in entity.answers
    conclude(entity, commits=False)
    assert entity.run().told("2") == {"total": 5}


def test_one_that_is_withdrawn_while_it_works_is_over_when_its_code_is():
    entity = work(Entity(5), "1", add(3)).tell("2", **LOOK)
    entity.follow(entity.one.cancel("1", entity.now))
    conclude(entity, commits=False)
    assert not entity.one.idle

    assert entity.run().told("2") == {"total": 5}
    assert "1" not in entity.answers
    assert entity.one.idle


def test_the_end_of_an_unknown_transaction_changes_nothing():
    entity = Entity(5)

    assert conclude(entity) == ()
    assert entity.one.row == Row(5, 1)
    voted = Entity(5, prepared=[Prepared(parsed({"key": "k", **of("v", "commit")}).transaction, 9, 1, (), NOW)])  # fmt: skip
    assert conclude(voted) == ()
    assert not voted.one.idle
