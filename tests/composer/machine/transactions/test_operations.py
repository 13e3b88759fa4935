"""Two-phase commits as compositions see them: who is asked what, and what comes of the answers."""

from __future__ import annotations

import pytest

from tests.kit.composer.bank import SWEEP, TRANSFER, Bank, look, move
from xingqiao import composer as c
from xingqiao.composer import Success, call, path, transaction
from xingqiao.composer.testing import Fail, Never, Slow, simulate
from xingqiao.transactions import Request


def run(composition, params=None, **balances):
    bank = Bank(**(balances or {"a": 100, "b": 0}))
    done = simulate(composition, params or {}, actions={"account": bank})
    assert bank.at_rest
    return done, bank


# --- declared ------------------------------------------------------------------------------------


def test_a_transfer_takes_three_messages():
    """One prepares, the last one decides, and the first is told: nobody else need be asked."""
    done, bank = run(TRANSFER)

    assert bank.messages == [("a", "prepare"), ("b", "prepare_commit"), ("a", "commit")]
    assert bank.balances == {"a": 70, "b": 30}
    assert done.value == {"value": [{"balance": 30}, {"balance": 70}]}


def test_its_messages_and_its_decision_stand_in_the_history():
    done, _ = run(TRANSFER)

    told = [(e.detail["message"], e.detail["key"]) for e in done.history if "message" in e.detail]
    assert told == [("prepare", "a"), ("prepare_commit", "b"), ("commit", "a")]
    kinds = done.kinds()
    assert kinds.index("TransactionStarted") < kinds.index("TransactionCommitted")
    started = next(entry for entry in done.history if entry.kind == "TransactionStarted")
    assert started.detail["transaction"].startswith("tx-")


def test_one_participant_commits_in_one_message():
    done, bank = run(transaction(move("deposit", "b"), move("deposit", "b"), look("b")))

    assert bank.messages == [("b", "prepare_commit")]
    assert done.value == {"value": [{"balance": 30}, {"balance": 60}, {"balance": 60}]}


def test_who_only_reads_is_not_told_a_decision():
    done, bank = run(transaction(look("a"), look("b"), look("a")))

    assert bank.messages == [("a", "work"), ("b", "prepare"), ("a", "prepare")]
    assert done.value == {"value": [{"balance": 100}, {"balance": 0}, {"balance": 100}]}
    assert run(transaction(look("a")))[1].messages == [("a", "prepare")]


def test_a_reader_before_the_last_writer_is_asked_whether_its_lock_still_holds():
    done, bank = run(transaction(look("a"), move("deposit", "b")))

    assert bank.messages == [("a", "work"), ("b", "prepare"), ("a", "prepare"), ("b", "commit")]
    assert done.value == {"value": [{"balance": 100}, {"balance": 30}]}


def test_a_refusal_aborts_all_of_it():
    done, bank = run(transaction(move("deposit", "a"), move("withdraw", "b", 999)))

    assert bank.messages == [("a", "prepare"), ("b", "prepare_commit"), ("a", "abort")]
    assert bank.balances == {"a": 100, "b": 0}
    assert done.outcome.code == "TransactionAborted"
    assert done.error["reason"] == "insufficient funds"
    assert (done.error["retryable"], done.error["transaction"][:3]) == (False, "tx-")
    first, bank = run(transaction(move("withdraw", "a", 999), move("deposit", "b")))
    assert bank.messages == [("a", "prepare")]
    assert first.error["reason"] == "insufficient funds"


def test_an_entity_type_that_is_not_there_aborts():
    done = simulate(TRANSFER, {}, actions={"account": Fail("NotFound")})

    assert done.error["reason"]["code"] == "NotFound"
    assert len(done.invocations) == 1


def test_an_answer_that_is_lost_is_asked_for_again():
    """Of a participant that may have decided, until it says; of one that is told, until it has heard."""
    bank, lost = Bank(a=100, b=0), {"prepare_commit": 2, "commit": 1}

    def answer(params):
        result = bank(params)
        kind = params["transaction"]["kind"]
        if lost.get(kind, 0):
            lost[kind] -= 1
            return Fail("Timeout")
        return result

    for entity in bank.entities.values():
        entity.performed  # noqa: B018  it is the real one
    bank_of = Request.__init__

    def remembered(self, id, message, once=True):
        bank_of(self, id, message, once=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Request, "__init__", remembered)
        done = simulate(TRANSFER, {}, actions={"account": answer})

    assert [kind for _, kind in bank.messages] == [
        "prepare", "prepare_commit", "prepare_commit", "prepare_commit", "commit", "commit",
    ]  # fmt: skip
    assert bank.balances == {"a": 70, "b": 30}
    assert isinstance(done.outcome, Success)


@pytest.mark.parametrize("composition", [TRANSFER, transaction(c.sequence(
    move("withdraw", "a"), move("deposit", "b")))])  # fmt: skip
def test_it_comes_to_the_same_whenever_the_coordinator_dies(composition):
    bank = Bank(a=100, b=0)
    seen = {}

    def once(params):
        """What a store makes of it: a message that was answered is not delivered again."""
        about = params["transaction"]
        place = (about["kind"], about["number"], params["key"])
        if place not in seen:
            seen[place] = bank(params)
        return seen[place]

    done = simulate(composition, {}, actions={"account": once}, crash="every")

    assert isinstance(done.outcome, Success)
    assert bank.balances == {"a": 70, "b": 30}


# --- as it goes ----------------------------------------------------------------------------------


def test_what_is_read_decides_what_is_written():
    done, bank = run(SWEEP)

    assert bank.balances == {"a": 0, "b": 100}
    assert done.value == {"balance": 100}
    assert bank.messages == [
        ("a", "work"), ("a", "work"), ("b", "work"), ("a", "prepare"), ("b", "prepare"),
        ("a", "commit"), ("b", "commit"),
    ]  # fmt: skip


def test_a_single_writer_is_asked_last_and_decides():
    done, bank = run(transaction(c.sequence(look("a"), move("deposit", "b"))))

    assert bank.messages[2:] == [("a", "prepare"), ("b", "prepare_commit")]
    assert done.value == {"balance": 30}


def test_readers_alone_are_only_let_go():
    _, bank = run(transaction(c.sequence(look("a"), look("b"))))

    assert bank.messages[2:] == [("a", "prepare"), ("b", "prepare")]
    done, bank = run(transaction(c.select({"n": 1})))
    assert (done.value, bank.messages) == ({"n": 1}, [])


def test_a_failure_that_is_not_caught_aborts():
    refused = transaction(c.sequence(move("deposit", "b"), move("withdraw", "a", 999)))
    done, bank = run(refused)

    assert bank.balances == {"a": 100, "b": 0}
    assert done.error["reason"] == "insufficient funds"
    assert bank.messages[2:] == [("b", "abort"), ("a", "abort")]
    raised, bank = run(transaction(c.sequence(move("deposit", "b"), c.raise_error("No", "n"))))
    assert raised.error["reason"] == {"code": "No", "message": "n"}
    assert bank.balances["b"] == 0


def test_a_failure_that_is_caught_does_not():
    tried = transaction(c.do(move("withdraw", "a", 999), move("withdraw", "a", 1)))
    done, bank = run(tried)

    assert (done.value, bank.balances["a"]) == ({"balance": 99}, 99)


@pytest.mark.parametrize("composition", [
    transaction(look(path("$.key"))), transaction(c.sequence(look(path("$.key")))),
])  # fmt: skip
@pytest.mark.parametrize("params", [{"key": 7}, {}])
def test_a_key_is_a_string(composition, params):
    done = simulate(composition, params, actions={"account": Bank()})

    reason = done.error.get("reason", done.error)
    assert reason["code"] == "ExpressionError"
    outside = simulate(look(path("$.key")), {}, actions={"account": Bank()})
    assert outside.outcome.code == "ExpressionError"


# --- calls of their own accord, and flags ------------------------------------------------------------


def test_a_call_and_a_read_are_messages():
    bank = Bank(a=100)
    called = c.sequence(move("withdraw", "a"), c.read("account", "a"))
    done = simulate(called, {}, actions={"account": bank})

    assert done.value == {"state": 70, "version": 1, "flag": None}
    given = simulate(call("account", "a", "o"), {"n": 1}, actions={"account": {}})
    assert given.calls("account") == [{"key": "a", "operation": "o", "params": {"n": 1}}]
    expected = call("account", "a", "o", expected_version=path("$.v"))
    assert simulate(expected, {"v": 3}, actions={"account": {}}).calls("account")[0][
        "expected_version"
    ] == 3  # fmt: skip


def test_a_signal_is_not_waited_for():
    later = simulate(c.signal("account", "a", "o", {}, after=60), {}, actions={"account": {}})

    assert later.value["method"] == "async"
    assert later.elapsed == 0
    assert later.spawned[0].calls("account")[0]["operation"] == "o"
    assert simulate(c.signal("account", "a", "o"), {}, actions={"account": {}}).spawned


def test_flags_are_put_up_in_order_and_taken_down_whatever_happens():
    locked = c.semantic_lock([("account", "a"), ("account", path("$.other"))], "work")
    run_ = simulate(locked, {"other": "b"}, actions={"account": {}, "work": {"done": 1}})

    assert run_.value == {"done": 1}
    assert run_.calls("work") == [{"other": "b"}]
    told = [(p["key"], p["operation"]) for p in run_.calls("account")]
    assert told == [("a", "$lock"), ("b", "$lock"), ("b", "$unlock"), ("a", "$unlock")]
    failing = simulate(locked, {"other": "b"}, actions={"account": {}, "work": Fail("No")})
    assert failing.error["code"] == "No"
    assert len(failing.calls("account")) == 4
    refused = simulate(
        locked, {"other": "b"}, actions={"account": [{}, Fail("Locked"), {}], "work": {}}
    )
    assert [p["operation"] for p in refused.calls("account")] == ["$lock", "$lock", "$unlock"]


def test_a_saga_of_calls_knows_what_an_entity_has_not_done():
    """What an entity has not answered it has not done: a timeout there leaves nothing to be undone."""
    moved = c.saga(
        c.step(move("withdraw", "a"), undo=move("deposit", "a")),
        c.step(move("deposit", "b"), undo=move("withdraw", "b"), seconds=5),
    )
    calls = []

    def answer(params):
        calls.append((params["key"], params["operation"]))
        return Never() if params["key"] == "b" else {}

    done = simulate(moved, {}, actions={"account": answer})
    assert done.outcome.code == "Timeout"
    assert calls == [("a", "withdraw"), ("b", "deposit"), ("a", "deposit")]
    failed = simulate(moved, {}, actions={"account": [{}, Fail("Timeout"), {}]})
    assert [p["key"] for p in failed.calls("account")] == ["a", "b", "a"]


def test_an_entity_type_has_no_fake_of_its_own():
    """It is faked as any action: what it would be given is a message."""
    counter = c.ActionFunction("counter", dict, annotations={"entity": True})
    made = call(counter, "k", "o", {})

    assert simulate(made, {}, actions={"counter": {"n": 1}}).value == {"n": 1}
    assert [name for name, _ in made.definitions()] == ["/_/counter"]
    defined = call("counter", "k", "o", {})
    assert list(defined.definitions()) == []


def test_the_story_of_a_transaction_can_be_read():
    done, _ = run(TRANSFER)
    lines = c.timeline([entry.to_json(lambda value: value) for entry in done.history])

    assert [line.label for line in lines][2:-1] == [
        "prepare account a", "prepare_commit account b", "committed", "commit account a",
    ]  # fmt: skip


# --- within sagas ------------------------------------------------------------------------------------


def test_a_step_that_commits_while_its_saga_fails_is_undone():
    bank = Bank(a=100, b=0)

    def answer(params):
        slow = params["transaction"]["kind"] == "prepare_commit"
        return Slow(10, bank(params)) if slow else bank(params)

    forked = c.saga(c.parallel(c.step(TRANSFER, undo="back"), c.step("fails", no_undo="it fails")))
    actions = {"account": answer, "fails": Slow(5, Fail("No")), "back": {}}
    done = simulate(forked, {}, actions=actions)

    assert done.error["code"] == "No"
    assert "TransactionCommitted" in done.kinds()
    assert len(done.calls("back")) == 1


def test_telling_several_a_decision_is_not_counted():
    """Six steps are used up when it is told: it is told all the same, and by whoever must insist."""
    bank, lost = Bank(a=100, b=0, c=0), {"b": 2}
    three = transaction(
        c.sequence(move("withdraw", "a"), move("deposit", "b", 10), move("deposit", "c", 20))
    )

    def answer(params):
        about = params["transaction"]
        if about["kind"] == "commit" and lost.get(params["key"]):
            lost[params["key"]] -= 1
            return Fail("Timeout")
        return bank(params)

    done = simulate(three, {}, actions={"account": answer}, limits=c.Limits(steps=6))

    assert isinstance(done.outcome, Success)
    assert bank.balances == {"a": 70, "b": 10, "c": 20}
    assert bank.at_rest
