"""An entity as a state machine: one thing at a time, votes that hold, messages that come twice or late."""

from __future__ import annotations

import pytest

from xingqiao.actions import EntitySettings
from xingqiao.composer import Failure, Success
from xingqiao.transactions import (
    Answer,
    Damage,
    DeletePrepared,
    DeleteTombstone,
    MessageError,
    Participant,
    Perform,
    Prepared,
    Request,
    Row,
    Save,
    Tombstone,
    key_of,
    parsed,
)
from xingqiao.transactions.errors import RETRYABLE
from xingqiao.transactions.protocol import MAX_KEY, MAX_LOCK_MS, MAX_OPERATIONS
from xingqiao.transactions.tombstones import TOKEN_MS

NOW, DEADLINE = 1_000, 11_000


class Entity:
    """A participant, its clock, and what has come of each request."""

    def __init__(self, state=None, settings=None, row=None, **kept):
        row = row or (Row(state, 1) if state is not None else None)
        self.one = Participant(row, settings=settings, **kept)
        self.now, self.answers, self.writes, self.running, self.other = NOW, {}, [], [], []

    def tell(self, id, /, *, once=True, **message):
        message.setdefault("key", "k")
        self.follow(self.one.receive(Request(id, parsed(message), once), self.now))
        return self

    def follow(self, effects):
        for effect in effects:
            match effect:
                case Perform():
                    self.running.append(effect)
                case Answer():
                    assert effect.request.id not in self.answers
                    self.answers[effect.request.id] = effect.outcome
                    self.writes.append((effect.request.id, effect.writes))
                case Save():
                    self.writes.append((None, effect.writes))
                case _:
                    self.other.append(effect)

    def run(self, **answers):
        """Runs what is to be run: `add` adds, `look` looks, `fail` fails; or as the answers say."""
        while self.running:
            effect = self.running.pop(0)
            answer = answers.get(effect.operation) or operate(effect)
            self.follow(self.one.performed(answer, self.now))
        return self

    def do(self, id, /, **message):
        return self.tell(id, **message).run()

    def written(self, id):
        return next(writes for request, writes in self.writes if request == id)

    def told(self, id):
        outcome = self.answers[id]
        return outcome.value if isinstance(outcome, Success) else outcome.code


def operate(effect):
    total = effect.state or 0
    match effect.operation:
        case "add":
            total += effect.params["n"]
            return Success({"state": total, "result": {"total": total}})
        case "look":
            return Success({"result": {"total": total}})
        case "same":
            return Success({"state": effect.state})
        case "upgrade":
            return Success({"state": total * 10})
        case _:
            return Failure("ApplicationError", "no")


def add(n):
    return {"operation": "add", "params": {"n": n}}


LOOK = {"operation": "look", "read": True}


def of(id, kind, number=0, **about):
    about = {"deadline": DEADLINE, "started": 5, **about}
    return {"transaction": {"id": id, "kind": kind, "number": number, **about}}


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


def test_a_read_that_changes_the_state_is_a_mistake():
    entity = Entity(5).do("1", operation="add", params={"n": 1}, read=True)

    assert entity.told("1") == "BadOperation"
    assert entity.one.row.state == 5
    kept = Entity(5).tell("1", operation="look", read=True).run(look=Success({"state": 5}))
    assert kept.told("1") == {}


@pytest.mark.parametrize(("size", "fits"), [(98, True), (99, False)])
def test_the_state_has_a_limit(size, fits):
    entity = Entity(settings=EntitySettings(state_bytes=100)).tell("1", operation="put")
    entity.run(put=Success({"state": "x" * size}))

    assert (entity.told("1") == {}) is fits
    assert (entity.one.row.state is not None) is fits


def test_a_result_that_is_too_large_is_refused_and_leaves_no_trace():
    entity = Entity(1).tell("1", operation="put")
    entity.run(put=Success({"state": 2, "result": {"x": "x" * (1 << 20)}}))

    assert entity.told("1") == "BadOperation"
    assert entity.one.row.state == 1


def test_a_result_that_is_no_object_is_boxed():
    entity = Entity().tell("1", operation="put").run(put=Success({"result": [1]}))

    assert entity.told("1") == {"value": [1]}


# --- versions of the type ----------------------------------------------------------------------------


def test_state_of_an_older_version_is_upgraded_first():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=3)).tell("1", **add(1))

    assert (entity.running[0].operation, entity.running[0].params) == ("upgrade", {"version": 1})
    entity.run()
    assert entity.told("1") == {"total": 71}
    assert entity.one.row == Row(71, 5, 3, NOW)
    entity.do("2", **LOOK)
    assert entity.told("2") == {"total": 71}


def test_an_upgrade_that_fails_leaves_it_as_it_was():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=2)).tell("1", **add(1))
    entity.run(upgrade=Failure("ApplicationError", "no"))

    assert (entity.told("1"), entity.one.row.state) == ("ApplicationError", 7)


def test_state_of_a_newer_version_is_left_alone():
    entity = Entity(row=Row(7, 4, 3), settings=EntitySettings(version=2)).do("1", **add(1))

    assert entity.told("1") == "NewerState"
    new = Entity(row=Row(None, 4, 3), settings=EntitySettings(version=2)).do("1", **add(1))
    assert new.told("1") == {"total": 1}


# --- flags ---------------------------------------------------------------------------------------------


def test_a_flag_keeps_others_from_changing_it():
    entity = Entity(5).do("1", operation="$lock", by="me").do("2", **add(1), by="other")
    entity.do("3", **add(1), by="me").do("4", **LOOK, by="other").do("5", operation="$lock", by="x")

    assert (entity.told("1"), entity.told("2")) == ({"flag": "me"}, "Locked")
    assert (entity.told("3"), entity.told("4")) == ({"total": 6}, {"total": 6})
    assert entity.told("5") == "Locked"
    entity.do("t", **add(1), **of("t", "work", 1)).do(
        "p", operations=[add(1)], **of("u", "prepare")
    )
    assert entity.told("t") == "Locked"
    assert entity.told("p") == {
        "vote": "no",
        "reason": entity.told("p")["reason"],
        "retryable": True,
    }
    entity.do("6", operation="$unlock", by="me").do("7", **add(1))
    assert (entity.told("6"), entity.told("7")) == ({"flag": None}, {"total": 7})


def test_a_flag_on_what_is_not_there_is_kept():
    entity = Entity().do("1", operation="$lock", by="me")

    assert not entity.written("1")[0].empty
    assert Entity().do("1", operation="$lock").told("1") == "BadOperation"


# --- two-phase commit ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize("kind", ["prepare", "prepare_commit"])
def test_what_is_lost_cannot_be_prepared(kind):
    entity = Entity(5)

    assert entity.do("p", **of("t", kind, 2)).told("p")["reason"]["code"] == "TransactionLost"
    assert entity.do("w", **add(1), **of("t", "work", 2)).told("w") == "TransactionLost"
    entity.do("1", **add(1), **of("t", "work", 1)).do("q", **of("t", kind, 2))
    assert entity.told("q")["vote"] == "no"


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


def test_a_coordinator_that_has_been_replaced_is_refused():
    entity = Entity(5).do("1", **add(1), **of("t", "work", 1, epoch=2))

    assert entity.do("2", **add(1), **of("t", "work", 2, epoch=1)).told("2") == "TransactionFenced"
    assert entity.do("3", **of("t", "abort", epoch=1)).told("3") == "TransactionFenced"
    entity.do("p", **of("t", "prepare", 1, epoch=2)).do("4", **of("t", "abort", epoch=1))
    assert entity.told("4") == "TransactionFenced"
    assert entity.do("c", **of("t", "commit", epoch=3)).told("c") == {"done": "commit"}


# --- operators -----------------------------------------------------------------------------------------


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


# --- reading messages ----------------------------------------------------------------------------------

FINE = {"key": "k", "operation": "o"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({}, "'key' must be a string of 1 to 512"),
        ({"key": ""}, "'key' must be"),
        ({"key": "a\n"}, "'key' must be"),
        ({"key": "x" * (MAX_KEY + 1)}, "'key' must be"),
        ({"key": "k"}, "'operation' must be the name of an operation"),
        ({"key": "k", "operation": "upgrade"}, "the server calls it when it is due"),
        ({**FINE, "params": [1]}, "'params' must be an object"),
        ({**FINE, "expected_version": -1}, "'expected_version' must be a whole number, 0"),
        ({**FINE, "expected_version": True}, "'expected_version' must be"),
        ({**FINE, "by": 7}, "'by' must be a string"),
        ({**FINE, "token": "x" * (MAX_KEY + 1)}, "'token' must be a string"),
        ({**FINE, "transaction": 1}, "'transaction' must be an object"),
        ({**FINE, "transaction": {"deadline": 1}}, "'transaction.id' must be a string"),
        ({**FINE, "transaction": {"id": "t"}}, "'transaction.deadline' must be"),
        ({**FINE, **of("t", "dance")}, "'transaction.kind' must be work, prepare"),
        ({**FINE, **of("t", "work", 0)}, "'transaction.number' must be a whole number, 1"),
        ({**FINE, **of("t", "work", 1, order="first")}, "'transaction.order' must be"),
        ({**FINE, **of("t", "work", 1, epoch=-1)}, "'transaction.epoch' must be"),
        ({**FINE, **of("t", "work", 1, started="x")}, "'transaction.started' must be"),
        ({"key": "k", "operations": [], **of("t", "prepare")}, "a list of 1 to 1000"),
        ({"key": "k", "operations": [1], **of("t", "prepare")}, "'operations' must be objects"),
        ({"key": "k", "operations": [LOOK] * (MAX_OPERATIONS + 1), **of("t", "prepare")}, "1 to 1000"),
    ],
)  # fmt: skip
def test_a_message_that_is_malformed_is_refused(message, why):
    with pytest.raises(MessageError, match=why):
        parsed({**message, "key": key_of(message)})


def test_a_message_at_its_limits_is_not():
    assert key_of({"key": "x" * MAX_KEY}) == "x" * MAX_KEY
    assert parsed({**FINE, "token": "x" * MAX_KEY, "expected_version": 0})
    assert parsed({"operations": [LOOK] * MAX_OPERATIONS, **of("t", "prepare")})
    assert parsed({"key": "星桥", "operation": "o", "params": None}).call.params == {}


# --- rows ----------------------------------------------------------------------------------------------


def test_a_row_is_json_and_back():
    row = Row({"n": 1}, 3, 2, NOW, "me")

    assert Row.from_json(row.to_json()) == row


def test_an_entity_that_is_deleted_begins_anew_whoever_deletes_it():
    entity = Entity(5).do("p", operations=[{"operation": "$delete"}], **of("t", "prepare"))
    entity.do("c", **of("t", "commit")).do("g", operation="$get").do(
        "1", **add(1), expected_version=0
    )
    alone = Entity(5).do("d", operation="$delete").do("1", **add(1), expected_version=0)

    assert entity.told("g")["version"] == 0
    assert entity.told("1") == alone.told("1") == {"total": 1}


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


def test_who_is_let_in_since_another_waits_no_more_keeps_waiting_no_more():
    entity = Entity(5).do("h", **LOOK, **of("h", "work", 1, deadline=DEADLINE + 9))
    entity.tell("w", operations=[add(1)], **of("w", "prepare"))
    entity.tell("r", operations=[LOOK], **of("r", "prepare"))

    entity.now = DEADLINE
    entity.follow(entity.one.expire(entity.now))
    entity.run()

    assert (entity.told("w")["vote"], entity.told("r")["vote"]) == ("no", "read")


# --- found by reading -----------------------------------------------------------------------------------


def test_an_upgrade_is_done_once_in_a_transaction():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=2))
    entity.do("1", **add(1), **of("t", "work", 1)).do("2", **add(1), **of("t", "work", 2))
    entity.do("p", **of("t", "prepare", 2)).do("c", **of("t", "commit"))

    assert (entity.one.row.state, entity.one.row.schema) == (72, 2)


def test_what_was_begun_by_older_code_is_written_as_its():
    entity = Entity(5).tell("1", **add(1))
    entity.one.settings = EntitySettings(version=2)
    entity.run()

    assert (entity.one.row.state, entity.one.row.schema) == (6, 1)
    assert entity.do("2", **add(1)).told("2") == {"total": 61}


def test_a_result_that_reads_as_a_failure_is_one():
    entity = (
        Entity(5)
        .tell("1", operation="put")
        .run(put=Success({"state": 6, "result": {"error": "warn"}}))
    )

    assert (entity.told("1"), entity.one.row.state) == ("ApplicationError", 5)


def test_the_results_of_a_message_have_a_limit_together():
    large = Success({"state": 1, "result": {"x": "x" * 600_000}})
    entity = Entity(5).tell("p", operations=[{"operation": "put"}] * 2, **of("t", "prepare_commit"))
    entity.run(put=large)

    assert (entity.told("p")["vote"], entity.one.row.state) == ("no", 5)
    alone = Entity(5).tell("p", operations=[{"operation": "put"}], **of("t", "prepare_commit"))
    assert alone.run(put=large).told("p")["vote"] == "committed"


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


@pytest.mark.parametrize("operation", ["$unlock", "$lock", "$delete"])
def test_what_changes_an_entity_is_no_read_whatever_it_says(operation):
    entity = (
        Entity(5)
        .do("1", operation="$lock", by="me")
        .do("2", operation=operation, by="x", read=True)
    )

    assert (entity.told("2"), entity.one.row.flag) == ("Locked", "me")


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
