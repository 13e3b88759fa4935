"""The input of the next run of a chain has the values that updates have set, also the last one answered."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import HELD, world
from tests.kit.engine.mail import GUEST
from tests.kit.engine.updating import HANDLERS, items
from xingqiao import composer
from xingqiao.composer import Failure, path, var

NEXT = {"on": False, "items": var("items"), "at": var("at", "$.n")}
MAIN = composer.let(
    {"items": None, "at": {"n": 1}},
    composer.updates(
        composer.sequence("work", composer.when(path("$.on"), composer.continue_as_new(NEXT))),
        add=HANDLERS["add"],
        move=composer.on_update(body="check", sets={"at": path("$.to")}),
    ),
)
ANSWERS = {"work": HELD, "check": HELD}


def finish(made, name, answer):
    """Answers the held step of this action; returns its parameters."""
    held = [each for each in made.hands.invoked if each.activation in made.hands.done]
    found = next(each for each in held if each.action.name.name == name)
    made.hands.finish(found.activation, answer)
    return found.params


async def held(made, count):
    await made.until(lambda: len(made.hands.done) == count)
    await made.settle()


async def begun(made, name, payload):
    """A run that asks for the next one while this update is under way."""
    await made.put(work=None, check=None, main=MAIN)
    id = await made.start("main")
    await held(made, 1)
    asked = await made.engine.updates.update(GUEST, id, name, payload, "mine", accepted=True)
    assert asked.status == "accepted"
    await held(made, 2)
    finish(made, "work", {"on": True})
    await held(made, 1)
    return id


@pytest.mark.parametrize("answered", [{"item": 7}, Failure("Down", "no luck")])
async def test_the_next_run_has_what_the_last_update_has_set(answered):
    async with world(answers={**ANSWERS}) as made:
        id = await begun(made, "add", {"item": 7})
        assert "next" not in await made.engine.records.execution(GUEST, id)

        finish(made, "check", answered)
        await made.until(lambda: made.hands.done)
        given = finish(made, "work", {"on": False})

        assert await made.engine.wait(GUEST, id, 20)
        assert given["at"] == 1, "the input of the second run"
        assert items(given["items"]) == ([7] if answered == {"item": 7} else [])


async def test_a_run_fails_if_an_update_leaves_no_input_for_the_next_one():
    async with world(answers={**ANSWERS}) as made:
        id = await begun(made, "move", {"to": {}})

        finish(made, "check", {"to": {}})

        assert await made.engine.wait(GUEST, id, 20)
        assert (await made.engine.records.outcome(GUEST, id)).code == "ExpressionError"
        assert "next" not in await made.engine.records.execution(GUEST, id)
