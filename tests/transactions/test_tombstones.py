"""What an entity remembers: for so long, and deleted with the next answer."""

from __future__ import annotations

from xingqiao.composer import Failure, Success
from xingqiao.transactions import Answer, DeleteTombstone, Request, Save, Tombstone, parsed
from xingqiao.transactions.tombstones import TOKEN_MS, Tombstones

ASKED = Request("1", parsed({"operation": "o"}))


def test_what_was_answered_is_told_again():
    stones = Tombstones([Tombstone("old", 5, Failure("Full", "no"))])
    stones.remember("new", 0, Success({"n": 1}))
    stones.remember("never", 0, None)

    assert stones.answer_of("old") == Failure("Full", "no")
    assert stones.answer_of("new") == Success({"n": 1})
    assert stones.answer_of("never").code == "TransactionEnded"
    assert stones.answer_of(None) is stones.answer_of("unknown") is None
    assert [stones.succeeded(of) for of in ("old", "new", "never")] == [False, True, False]


def test_what_is_too_old_is_deleted_with_an_answer_whatever_else_is_done():
    stones = Tombstones([])
    stones.remember("a", 0, None)
    stones.remember("b", TOKEN_MS, None)
    effects = [Save(()), Answer(ASKED, Success({})), Answer(ASKED, Success({}))]

    effects_then = stones.with_deletions(list(effects))

    assert [getattr(effect, "writes", ()) for effect in effects_then] == [
        (),
        (DeleteTombstone("a"),),
        (),
    ]
    assert stones.with_deletions(list(effects)) == effects
    stones.remember("c", 3 * TOKEN_MS, None)
    assert stones.with_deletions([Save(())]) == [Save(())]
    assert stones.with_deletions(list(effects))[1].writes == (DeleteTombstone("b"),)
