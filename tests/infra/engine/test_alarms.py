"""The trigger that tells of dead letters. `tests/infra/http/test_sagas.py` has that of stuck sagas."""

from __future__ import annotations

from tests.kit.engine.engines import GUEST, begun
from xingqiao.actions import Rule, Trigger
from xingqiao.composer import Failure, Name

GONE = Failure("Crashed", "its worker was killed")


async def listening(answers):
    made = await begun(answers=answers)
    await made.put(work=None, pager=None)
    put = made.engine.registry.put
    await put(Trigger, Name(GUEST, None, "dead-letter"), {}, overwrite=True)
    links = {"trigger": "/_/dead-letter", "action": "/_/pager"}
    await put(Rule, Name(GUEST, None, "page"), links, overwrite=True)
    return made


async def test_a_dead_letter_fires_the_trigger_of_its_name():
    made = await listening({"work": GONE, "pager": {}})
    id = await made.start("work")
    await made.until(lambda: "pager" in made.hands.names)

    told = made.hands.invoked[-1].params
    (letter,) = made.engine.letters.list(GUEST)
    assert told == letter
    assert (told["activationId"], told["code"]) == (id, "Crashed")
    await made.kill()


async def test_a_dead_letter_of_its_own_call_fires_it_no_more():
    made = await listening({"work": GONE, "pager": GONE})
    await made.start("work")
    await made.until(lambda: len(made.engine.letters) == 2)
    await made.settle()

    assert made.hands.names == ["work", "pager"]
    await made.kill()


async def test_without_the_trigger_nothing_fires():
    made = await begun(answers={"work": GONE})
    await made.put(work=None)
    await made.start("work")
    await made.until(lambda: len(made.engine.letters) == 1)
    await made.settle()

    assert len(await made.activations()) == 1
    await made.kill()
