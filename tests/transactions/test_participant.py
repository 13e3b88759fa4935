"""An entity as a state machine: one thing at a time, and messages that come twice or late."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import DEADLINE, LOOK, NOW, Entity, add, of
from xingqiao.transactions import (
    DeleteTombstone,
    Row,
    Tombstone,
)
from xingqiao.transactions.errors import RETRYABLE
from xingqiao.transactions.protocol import MAX_LOCK_MS
from xingqiao.transactions.tombstones import TOKEN_MS

# --- operations outside transactions ---------------------------------------------------------------


def test_an_operation_is_answered_together_with_what_it_writes():
    entity = Entity().do("1", **add(3))

    assert entity.told("1") == {"total": 3}
    assert entity.written("1") == (Row(3, 1, 1, NOW),)
    assert entity.one.idle


def test_what_changes_nothing_writes_nothing():
    entity = Entity(5).do("1", **LOOK).do("2", operation="fail").do("3", operation="$get")

    assert [entity.told(id) for id in "12"] == [{"total": 5}, "ApplicationError"]
    assert entity.told("3") == {"state": 5, "version": 1, "flag": None}
    assert all(not writes for _, writes in entity.writes)
    same = object()
    entity = Entity(same).do("1", operation="same")
    assert entity.written("1") == ()


def test_one_at_a_time_in_order_of_arrival():
    entity = Entity().tell("1", **add(1)).tell("2", **add(10)).tell("3", **LOOK).tell("4", **add(5))

    assert [effect.request.id for effect in entity.running] == ["1"]
    entity.run()
    assert [id for id, _ in entity.writes] == ["1", "2", "3", "4"]
    assert entity.told("3") == {"total": 11}


def test_an_entity_is_deleted():
    entity = Entity(5).do("1", operation="$delete").do("2", operation="$get")

    assert entity.written("1")[0].empty
    assert entity.told("2")["state"] is None
    assert Entity().do("1", operation="$unknown").told("1") == "BadOperation"


@pytest.mark.parametrize("wanted", ["waiting", "running"])
def test_what_nobody_waits_for_has_no_effect(wanted):
    entity = Entity().tell("first", **add(1)).tell("second", **add(10)).tell("third", **add(100))
    gone = "first" if wanted == "running" else "second"

    entity.follow(entity.one.cancel(gone, NOW))
    entity.run()

    assert gone not in entity.answers
    assert entity.one.row.state == (110 if wanted == "running" else 101)
    entity.follow(entity.one.cancel("unknown", NOW))


def test_who_is_let_in_and_not_yet_run_may_go():
    entity = Entity().tell("r1", **LOOK).tell("r2", **LOOK).tell("w", **add(1))

    entity.follow(entity.one.cancel("r2", NOW))
    entity.run()

    assert set(entity.answers) == {"r1", "w"}


def test_a_version_may_be_expected():
    entity = Entity(5).do("1", **add(1), expected_version=1).do("2", **add(1), expected_version=1)

    assert entity.told("1") == {"total": 6}
    assert entity.told("2") == "VersionConflict"


def test_a_flag_on_what_is_not_there_is_kept():
    entity = Entity().do("1", operation="$lock", by="me")

    assert not entity.written("1")[0].empty
    assert Entity().do("1", operation="$lock").told("1") == "BadOperation"


# --- transactions that meet -------------------------------------------------------------------------------


def test_readers_share_and_a_writer_waits_for_them():
    entity = Entity(5).do("1", **LOOK, **of("t", "work", 1)).do("2", **LOOK, **of("u", "work", 1))
    entity.tell("w", operations=[add(1)], **of("v", "prepare"))

    assert "w" not in entity.answers
    entity.do("3", **of("t", "prepare", 1)).do("4", **of("u", "abort"))
    assert entity.told("3")["vote"] == "read"
    assert entity.told("w")["vote"] == "yes"


def test_an_older_one_waits_a_younger_one_gives_way():
    entity = Entity(5).do("1", **add(1), **of("middle", "work", 1, order="wait", started=5))
    entity.tell("old", **add(1), **of("old", "work", 1, order="wait", started=1))
    entity.do("young", **add(1), **of("young", "work", 1, order="wait", started=9))
    entity.do("now", operations=[add(1)], **of("now", "prepare", order="nowait", started=0))

    assert entity.told("young") == "TransactionConflict"
    assert entity.told("now")["retryable"] is True
    assert "TransactionConflict" in RETRYABLE
    assert "old" not in entity.answers


def test_a_lock_that_is_not_prepared_is_let_go_of_in_time():
    entity = (
        Entity(5).do("1", **add(1), **of("t", "work", 1)).tell("2", **add(1), **of("t", "work", 2))
    )
    entity.tell("w", **add(100)).tell("d", operations=[add(1)], **of("u", "prepare"))

    assert entity.one.due_ms == DEADLINE
    entity.now = DEADLINE
    entity.follow(entity.one.expire(entity.now))
    assert entity.told("d")["reason"]["code"] == "Locked"
    assert "w" not in entity.answers  # what runs is not interrupted
    entity.run()
    entity.follow(entity.one.expire(entity.now))
    entity.run()
    assert (entity.told("w"), entity.one.due_ms) == ({"total": 105}, None)
    assert (
        entity.do("p", **of("t", "prepare", 2)).told("p")["reason"]["code"] == "TransactionExpired"
    )


def test_two_who_wait_too_long_and_one_who_need_not():
    entity = Entity(5).do("h", **add(1), **of("h", "work", 1, deadline=DEADLINE + 9))
    entity.tell("a", operations=[LOOK], **of("a", "prepare")).tell("p", **LOOK)
    entity.tell("b", operations=[LOOK], **of("b", "prepare", deadline=DEADLINE + 5))

    for entity.now in (DEADLINE, DEADLINE + 5):
        assert "b" not in entity.answers
        entity.follow(entity.one.expire(entity.now))

    assert {entity.told(id)["vote"] for id in "ab"} == {"no"}
    entity.do("x", **of("h", "abort"))
    assert entity.told("p") == {"total": 5}


def test_a_deadline_is_not_too_far():
    entity = Entity(5)
    fits, not_ = NOW + MAX_LOCK_MS, NOW + MAX_LOCK_MS + 1

    assert entity.do("1", **LOOK, **of("t", "work", 1, deadline=fits)).told("1") == {"total": 5}
    assert (
        entity.do("2", **LOOK, **of("u", "work", 1, deadline=not_)).told("2")
        == "TransactionExpired"
    )
    assert (
        entity.do("3", **LOOK, **of("v", "work", 1, deadline=NOW)).told("3") == "TransactionExpired"
    )


def test_one_that_is_aborted_while_it_runs_or_waits_does_nothing():
    entity = Entity(5).tell("p", operations=[add(1)], **of("t", "prepare"))
    entity.tell("a", **of("t", "abort")).run()

    assert entity.told("p")["reason"]["code"] == "TransactionEnded"
    assert (entity.one.idle, entity.one.row.state) == (True, 5)
    entity.tell("x", **add(1)).tell("w", **add(1), **of("u", "work", 1)).tell(
        "b", **of("u", "abort")
    )
    entity.run()
    assert entity.told("w") == "TransactionEnded"


def test_who_wants_to_write_what_he_has_read_keeps_what_he_has():
    entity = Entity(5).do("1", **LOOK, **of("t", "work", 1, order="wait"))
    entity.do("2", **LOOK, **of("u", "work", 1, order="wait", started=9))
    entity.tell("up", **add(1), **of("t", "work", 2, order="wait"))

    assert "up" not in entity.answers
    entity.follow(entity.one.cancel("up", NOW))
    entity.do("p", **of("t", "prepare", 1)).do("q", **of("u", "prepare", 1))
    assert (entity.told("p")["vote"], entity.told("q")["vote"]) == ("read", "read")


# --- messages that come again, late, or from who has been replaced -------------------------------------


def test_what_is_asked_again_is_answered_again():
    entity = Entity(5)
    entity.tell("1", once=False, **add(1), **of("t", "work", 1))
    entity.tell("1 again", once=False, **add(1), **of("t", "work", 1)).run()
    entity.do("1 later", once=False, **add(1), **of("t", "work", 1))
    assert {entity.told(id)["total"] for id in ("1", "1 again", "1 later")} == {6}
    entity.do("p", once=False, **of("t", "prepare", 1)).do(
        "p again", once=False, **of("t", "prepare", 1)
    )
    assert entity.told("p again") == {"vote": "yes", "results": []}
    entity.do("w", once=False, **add(1), **of("t", "work", 2))
    assert "w" not in entity.answers  # it has voted: nothing more is done
    entity.do("c", once=False, **of("t", "commit")).do("c again", once=False, **of("t", "commit"))
    assert entity.told("c again") == {"done": "commit"}
    assert entity.one.row.state == 6


def test_what_comes_after_the_end_does_nothing():
    entity = Entity(5).do("a", once=False, **of("t", "abort"))
    (stone,) = entity.written("a")

    later = Entity(5, ended=[Tombstone.from_json(stone.to_json())])
    for one in (entity, later):
        one.do("p", once=False, operations=[add(1)], **of("t", "prepare"))
        assert one.told("p")["reason"]["code"] == "TransactionEnded"
        one.do("w", once=False, **add(1), **of("t", "work", 1))
        assert one.told("w") == "TransactionEnded"
    later.now = DEADLINE + 1
    later.do("b", once=False, **of("u", "abort", deadline=DEADLINE * 2))
    later.do("q", once=False, operations=[add(1)], **of("t", "prepare"))
    assert later.told("q")["reason"]["code"] == "TransactionExpired"


def test_an_operation_with_a_token_is_done_once():
    entity = Entity(5).tell("1", once=False, token="x", **add(1))
    entity.tell("2", once=False, token="x", **add(1)).tell(
        "y", once=False, token="y", **add(10)
    ).run()
    entity.do("3", once=False, token="x", **add(1)).do("f", once=False, token="f", operation="fail")
    entity.do("g", once=False, token="f", operation="fail").do("n", once=False, **add(100))

    assert [entity.told(id) for id in ("1", "2", "3")] == [{"total": 6}] * 3
    assert entity.told("f") == entity.told("g") == "ApplicationError"
    assert entity.one.row.state == 116
    stones = [write for write in entity.written("1") if isinstance(write, Tombstone)]
    assert [stone.until_ms for stone in stones] == [NOW + TOKEN_MS]


def test_what_may_be_tried_again_is_not_remembered():
    entity = Entity(5).do("l", operation="$lock", by="me")
    entity.do("1", once=False, token="x", **add(1)).do("u", operation="$unlock", by="me")
    entity.do("2", once=False, token="x", **add(1))

    assert (entity.told("1"), entity.told("2")) == ("Locked", {"total": 6})
    expected = entity.do("3", once=False, token="z", **add(1), expected_version=9)
    assert expected.told("3") == "VersionConflict"


@pytest.mark.parametrize("when", ["before", "running", "refused", "done"])
def test_what_undoes_an_operation_knows_whether_it_was_done(when):
    entity = Entity(5)
    if when in ("refused", "done"):
        entity.do(
            "1",
            once=False,
            token="do",
            operation="add" if when == "done" else "fail",
            params={"n": 1},
        )
    if when == "running":
        entity.tell("1", once=False, token="do", **add(1))
    entity.tell("2", once=False, token="undo", undoes="do", **add(-1)).run()
    entity.do("3", once=False, token="undo", undoes="do", **add(-1))
    entity.do("late", once=False, token="do", **add(1))
    without = entity.do("4", once=False, undoes="never", **add(-1))

    assert entity.one.row.state == 5
    assert entity.told("2") == entity.told("3") == ({"total": 5} if when == "done" else {})
    assert without.told("4") == {}
    if when == "running":
        assert entity.told("1") == "TransactionEnded"
    if when == "before":
        assert entity.told("late") == "TransactionEnded"


def test_an_entity_that_is_deleted_begins_anew_whoever_deletes_it():
    entity = Entity(5).do("p", operations=[{"operation": "$delete"}], **of("t", "prepare"))
    entity.do("c", **of("t", "commit")).do("g", operation="$get").do(
        "1", **add(1), expected_version=0
    )
    alone = Entity(5).do("d", operation="$delete").do("1", **add(1), expected_version=0)

    assert entity.told("g")["version"] == 0
    assert entity.told("1") == alone.told("1") == {"total": 1}


def test_who_is_let_in_since_another_waits_no_more_keeps_waiting_no_more():
    entity = Entity(5).do("h", **LOOK, **of("h", "work", 1, deadline=DEADLINE + 9))
    entity.tell("w", operations=[add(1)], **of("w", "prepare"))
    entity.tell("r", operations=[LOOK], **of("r", "prepare"))

    entity.now = DEADLINE
    entity.follow(entity.one.expire(entity.now))
    entity.run()

    assert (entity.told("w")["vote"], entity.told("r")["vote"]) == ("no", "read")


def test_who_repeats_what_is_withdrawn_is_answered():
    entity = (
        Entity(5)
        .tell("1", once=False, token="x", **add(1))
        .tell("2", once=False, token="x", **add(1))
    )
    entity.follow(entity.one.cancel("1", NOW))

    assert entity.told("2") == "TransactionLost"
    entity.run()
    assert (entity.one.row.state, entity.one.idle) == (5, True)


def test_what_runs_is_waited_for_and_not_asked_whether_it_is_late():
    entity = Entity(5).tell("1", **add(1), **of("t", "work", 1))

    assert entity.one.due_ms is None
    entity.run()
    assert entity.one.due_ms == DEADLINE


def test_what_need_not_be_remembered_any_more_is_deleted():
    entity = (
        Entity(5).do("1", once=False, token="x", **add(1)).do("a", once=False, **of("t", "abort"))
    )
    entity.now = NOW + TOKEN_MS
    entity.do("2", once=False, token="y", **add(1)).do("3", once=False, token="x", **add(1))

    assert {write.of for write in entity.written("2") if isinstance(write, DeleteTombstone)} == {
        "x",
        "t",
    }
    assert entity.told("3") == {"total": 8}
