"""CloudEvents for tests, and triggers that hear them."""

from __future__ import annotations

import orjson

from tests.kit.engine.engines import GUEST
from xingqiao.actions import Rule, Trigger
from xingqiao.composer import CloudEvent, Name


def event(id="1", type="order.placed", data=None, source="/shop", **more):
    """A CloudEvent."""
    attributes = {"specversion": "1.0", "id": str(id), "source": source, "type": type, **more}
    return CloudEvent(attributes, {} if data is None else {"data": data})


def named(name, namespace=GUEST):
    return Name(namespace, None, name)


async def trigger(made, name, type="order.placed", *, rules=("work",), namespace=GUEST, **doc):
    """A trigger for a type of CloudEvents, with a rule for each of these actions."""
    filter = None if type is None else {"filter": {"exact": {"type": type}}}
    put = made.engine.registry.put
    await put(Trigger, named(name, namespace), {**(filter or {}), **doc}, overwrite=False)
    for action in rules:
        links = {"trigger": f"/{namespace}/{name}", "action": f"/{namespace}/{action}"}
        await put(Rule, named(f"{name}-{action}", namespace), links, overwrite=False)


async def kept(made, kind):
    """The documents of a kind, by key."""
    return {
        document.key: orjson.loads(document.body) async for document in made.store.documents(kind)
    }


async def send(made, *events, trigger=None):
    """Sends CloudEvents, and waits for their effects. Returns their keys."""
    accepted = await made.engine.events.accept(GUEST, events, trigger=trigger)
    await made.engine.events.settled(GUEST, accepted.keys)
    return accepted.keys


def received(made):
    """The ids of the CloudEvents that actions were invoked with, in order."""
    return [invocation.params["__ow_event"]["id"] for invocation in made.hands.invoked]
