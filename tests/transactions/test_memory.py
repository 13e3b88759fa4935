"""What an entity remembers: for so long, and deleted with the next answer."""

from __future__ import annotations

from xingqiao.composer import Failure, Success
from xingqiao.transactions import Answer, Forgotten, Request, Save, Tombstone, parsed
from xingqiao.transactions.memory import TOKEN_MS, Memory

ASKED = Request("1", parsed({"operation": "o"}))


def test_what_was_answered_is_told_again():
    memory = Memory([Tombstone("old", 5, ["Full", "no"])])
    memory.remember("new", 0, Success({"n": 1}))
    memory.remember("never", 0, None)

    assert memory.told("old") == Failure("Full", "no")
    assert memory.told("new") == Success({"n": 1})
    assert memory.told("never").code == "TransactionEnded"
    assert memory.told(None) is memory.told("unknown") is None
    assert [memory.succeeded(of) for of in ("old", "new", "never")] == [False, True, False]


def test_what_is_too_old_is_deleted_with_an_answer_whatever_else_is_done():
    memory = Memory([])
    memory.remember("a", 0, None)
    memory.remember("b", TOKEN_MS, None)
    effects = [Save(()), Answer(ASKED, Success({})), Answer(ASKED, Success({}))]

    tidied = memory.tidied(list(effects))

    assert [getattr(effect, "writes", ()) for effect in tidied] == [(), (Forgotten("a"),), ()]
    assert memory.tidied(list(effects)) == effects
    memory.remember("c", 3 * TOKEN_MS, None)
    assert memory.tidied([Save(())]) == [Save(())]
    assert memory.tidied(list(effects))[1].writes == (Forgotten("b"),)
