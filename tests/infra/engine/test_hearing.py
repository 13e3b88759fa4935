"""CloudEvents: accepted once, matched in order, over crashes too."""

from __future__ import annotations

import pytest

from tests.kit.engine.cloudevents import event, kept, named, trigger
from tests.kit.engine.engines import GUEST, world


@pytest.fixture
async def made():
    async with world(answers={"work": {}, "other": {}}) as made:
        await made.put(work=None, other=None)
        yield made


async def test_a_cloudevent_fires_the_triggers_that_it_fits(made):
    await trigger(made, "placed", parameters=[{"key": "n", "value": 1}])
    await trigger(made, "paid", "order.paid", rules=["other"])

    accepted = await made.engine.events.accept(GUEST, [event(data={"total": 7})])
    await made.engine.events.settled(GUEST, accepted.keys)
    await made.settle()

    assert (accepted.accepted, accepted.duplicates, accepted.conflicts) == (1, 0, 0)
    [invocation] = made.hands.invoked
    assert invocation.action.name == named("work")
    assert invocation.params == {"n": 1, "total": 7, "__ow_event": event().attributes}
    assert await kept(made, "cloudevent") == {}
