"""Runs travel sagas with several outcomes, in this process.

    python examples/travel/demo.py

The flight has five seats and the inn two rooms, so the third and the fourth journey find the inn
full.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from travel import travel

from xingqiao import composer
from xingqiao.actions import Rule, Trigger
from xingqiao.composer import Failure, Name, Resolved
from xingqiao.embedded import NAMESPACE, embedded

FLIGHT, INN, PALACE = "MU511 on May 1", "Peace Inn on May 1", "Grand Palace on May 2"
ALARM = Name(NAMESPACE, None, "saga-stuck")  # the engine fires this trigger when a saga is stuck


class Demo:
    """An engine with the saga, and the operations of the demonstration."""

    def __init__(self, xingqiao, world):
        self.xingqiao, self.world = xingqiao, world
        self.alarms = asyncio.Queue()

    async def prepare(self):
        """Deploys the saga, the flight and the inn, and a rule that calls an operator."""

        def call_operator(alarm):
            self.alarms.put_nowait(alarm)
            return {}

        engine = self.xingqiao.engine
        await self.xingqiao.deploy("travel", travel)
        self.xingqiao.register(composer.action(call_operator))
        await engine.registry.put(Trigger, ALARM, {}, overwrite=True)
        links = {"trigger": str(ALARM), "action": "call_operator"}
        name = Name(NAMESPACE, None, "call-operator")
        await engine.registry.put(Rule, name, links, overwrite=True)
        await self.ask("Flight", FLIGHT, "offer", seats=5)
        await self.ask("Hotel", INN, "offer", rooms=2)

    async def ask(self, entity, key, operation, **params):
        """Calls an operation of an entity and returns its result."""
        message = {"key": key, "operation": operation, "params": params}
        return await self.xingqiao.invoke(entity, message)

    def order(self, booking, passenger, **more):
        """Returns the input of a saga."""
        places = {"flight": FLIGHT, "hotel": INN, "price": 480}
        card = {"limit": 1000}
        who = {"booking": booking, "passenger": passenger}
        return {**who, **places, "card": card, "world": str(self.world), **more}

    async def print_history(self, id):
        """Prints the history of a saga."""
        begun = {}
        for entry in await self.xingqiao.history(id):
            place = entry["fiber"], entry["turn"]
            if entry["type"] == "StepScheduled":
                undoing = "undo " if entry["path"].endswith(".undo") else ""
                begun[place] = undoing + entry["action"].rpartition("/")[2]
            elif entry["type"] in LINES:
                print("  ", LINES[entry["type"]](entry, begun.get(place)))

    async def print_reservations(self):
        """Prints the reservations and payments."""
        flight = (await self.ask("Flight", FLIGHT, "$get"))["state"]["reservations"]
        inn = (await self.ask("Hotel", INN, "$get"))["state"]["reservations"]
        print(f"   seats: {', '.join(sorted(flight)) or 'none'}", end="; ")
        print(f"rooms: {', '.join(sorted(inn)) or 'none'}", end="; ")
        charged = sorted(path.stem[len("charge-") :] for path in self.world.glob("charge-*"))
        print(f"charged: {', '.join(charged) or 'nobody'}\n")


LINES = {
    "StepSucceeded": lambda entry, step: f"+ {step} {entry['value'] or ''}".rstrip(),
    "StepFailed": lambda entry, step: f"- {step}: {entry['value']['message']}",
    "TimedOut": lambda entry, step: f"? {step}: no answer in {entry['timeout_ms']} ms",
    "RetryScheduled": lambda _, __: "  retried",
    "PivotPassed": lambda _, __: "= pivot passed: from here the saga only goes forward",
    "CompensationStarted": lambda _, __: "< it is undone",
    "Stuck": lambda _, __: "! stuck: an operator is called",
    "Resolved": lambda entry, _: f"! {entry['by']}: {entry['reason']}",
    "ExecutionSucceeded": lambda entry, _: f"= booked: {entry['value']}",
    "ExecutionFailed": lambda entry, _: f"= not booked: {entry['value']['message']}",
}  # the entries of a history that are printed


async def booked(demo):
    """Books a journey without a failure."""
    print("1. Mei books a flight and a room")
    id, _ = await demo.xingqiao.run("travel", demo.order("b-mei", "Mei"))
    await demo.print_history(id)
    await demo.print_reservations()


async def silent(demo):
    """Loses the response of the card company, which has taken the money."""
    print("2. The response to Ping's payment is lost: the payment is retried, and charged once")
    order = demo.order("b-ping", "Ping", card={"limit": 1000, "silent": 1})
    id, _ = await demo.xingqiao.run("travel", order)
    await demo.print_history(id)
    await demo.print_reservations()


async def full(demo):
    """Undoes a journey because the inn is full."""
    print("3. The inn is full: Lan's seat is released")
    id, _ = await demo.xingqiao.run("travel", demo.order("b-lan", "Lan"))
    await demo.print_history(id)
    await demo.print_reservations()


async def stuck(demo):
    """Leaves a saga stuck: the inn is full, and the airline accepts no cancellation."""
    print("4. The inn is full, and the airline refuses to cancel Bo's seat")
    await demo.ask("Flight", FLIGHT, "set_refunds", allowed=False)
    id = (await demo.xingqiao.start("travel", demo.order("b-bo", "Bo"))).id
    alarm = await demo.alarms.get()
    standing = await demo.xingqiao.engine.records.execution(NAMESPACE, alarm["executionId"])
    (fiber,) = [fiber for fiber in standing["fibers"] if fiber["waits"] == "operator"]
    print(f"   ({standing['status']} with {fiber['error']['message']!r}:")
    print("   the operator telephones the airline and releases the seat by hand)")
    await demo.ask("Flight", FLIGHT, "set_refunds", allowed=True)
    await demo.ask("Flight", FLIGHT, "cancel", booking="b-bo")
    detail = {"by": "operator", "reason": "the airline has taken the seat back, by telephone"}
    engine = demo.xingqiao.engine
    await engine.resume(NAMESPACE, id, Resolved("resolve", None, detail))
    await engine.wait(NAMESPACE, id, 60)
    await demo.print_history(id)
    await demo.print_reservations()


async def many(demo):
    """Books many journeys at once, with an unreliable card company."""
    print("5. Twenty journeys at once, with a card company that is often down or silent")
    await demo.ask("Flight", PALACE, "offer", seats=20)
    await demo.ask("Hotel", PALACE, "offer", rooms=12)
    card = {"limit": 1000, "down": 0.3, "silent": 0.3}
    places = {"flight": PALACE, "hotel": PALACE, "card": card}
    orders = [demo.order(f"group-{n}", f"guest {n}", **places) for n in range(20)]
    runs = await asyncio.gather(*(demo.xingqiao.run("travel", order) for order in orders))
    refused = [ended.error["message"] for _, ended in runs if isinstance(ended, Failure)]
    for why in sorted(set(refused)):
        print(f"   {refused.count(why)} not booked: {why}")
    flight = (await demo.ask("Flight", PALACE, "$get"))["state"]["reservations"]
    hotel = (await demo.ask("Hotel", PALACE, "$get"))["state"]["reservations"]
    charged = len([*demo.world.glob("charge-group-*")])
    letters = len([*demo.world.glob("letter-group-*")])
    print(
        f"   {len(orders) - len(refused)} booked: {len(flight)} seats, {len(hotel)} rooms,", end=" "
    )
    print(f"{charged} payments, {letters} letters")


async def main():
    logging.basicConfig(stream=sys.stdout, format="   (log: %(message)s)")
    with tempfile.TemporaryDirectory() as world:
        async with embedded() as xingqiao:
            demo = Demo(xingqiao, Path(world))
            await demo.prepare()
            for story in (booked, silent, full, stuck, many):
                await story(demo)


if __name__ == "__main__":
    asyncio.run(main())
