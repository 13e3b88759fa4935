"""The journey, a saga, and the transfer, a transaction: their demos, in-process, and on a server."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, running
from xingqiao import composer
from xingqiao.actions import Rule, Trigger
from xingqiao.composer import Failure, Name, Resolved, Resumed
from xingqiao.infra.service.embedded_engine import embedded

EXAMPLES = Path(__file__).parents[2] / "examples"
CARD = {"limit": 1000}


def loaded(file):
    path = EXAMPLES / file
    spec = importlib.util.spec_from_file_location(f"xq_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


journey, money = loaded("travel/travel.py"), loaded("transfer/transfer.py")


def told(demo):
    """The output of a demo, by story."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / demo], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return [part.strip() for part in re.split(r"^\d\. ", done.stdout, flags=re.MULTILINE)[1:]]


# --- the demos ---------------------------------------------------------------------------------


def test_the_demo_of_the_journey_tells_how_each_ends():
    booked, silent, full, stuck, many = told("travel/demo.py")

    assert "= booked: {'booking': 'b-mei', 'seat': 1, 'room': 1, 'paid': 480}" in booked
    assert booked.endswith("seats: b-mei; rooms: b-mei; charged: b-mei")

    assert silent.index("? charge: no answer") < silent.index("+ charge {'paid': 480}")
    assert silent.endswith("charged: b-mei, b-ping")

    assert "- Hotel: there is no free room\n   < it is undone\n   + undo Flight\n" in full
    assert full.endswith("seats: b-mei, b-ping; rooms: b-mei, b-ping; charged: b-mei, b-ping")

    assert "log: the saga /guest/travel is stuck" in stuck
    assert stuck.count("- undo Flight: check-in has closed") == 3
    assert "! operator: the airline has taken the seat back, by telephone" in stuck
    assert stuck.endswith("seats: b-mei, b-ping; rooms: b-mei, b-ping; charged: b-mei, b-ping")

    booked, *counts = map(int, re.search(
        r"(\d+) booked: (\d+) seats, (\d+) rooms, (\d+) payments, (\d+) letters", many
    ).groups())  # fmt: skip
    refused = sum(map(int, re.findall(r"(\d+) not booked", many)))
    assert counts == [booked] * 4
    assert booked + refused == 20


def test_the_demo_of_the_transfer_tells_what_was_made_and_seen():
    made, refused, audited = told("transfer/demo.py")

    assert made.endswith("anna has 70, bela has 130")
    assert "TransactionAborted: there are only 70, not 500" in refused
    assert refused.endswith("nothing has changed: anna 70, bela 130, chen 100, dora 100")
    states, together = re.search(r"in (\d+) states; together they had (.*)", audited).groups()
    assert int(states) > 1
    assert together == "400"
    assert audited.endswith("together 400")


# --- the entities ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entity", "capacity"), [(journey.Flight, "seats"), (journey.Hotel, "rooms")]
)
def test_a_reservation_is_known_by_its_booking(entity, capacity):
    place = entity(**{capacity: 2})

    assert place.book("b-1", "Mei") == place.book("b-1", "Mei") == {capacity[:-1]: 1}
    place.book("b-2", "Bo")
    with pytest.raises(ValueError, match="there is no free"):
        place.book("b-3", "Lan")
    place.cancel("b-1")
    place.cancel("b-1")
    assert place.book("b-3", "Lan") == {capacity[:-1]: 1}
    with pytest.raises(ValueError, match="b-1 has been cancelled"):
        place.book("b-1", "Mei")


# --- the saga ------------------------------------------------------------------------------------


class World:
    """An engine with the saga, a flight and an inn, and what the outside has got."""

    def __init__(self, xingqiao, outside):
        self.xingqiao, self.outside = xingqiao, outside

    def order(self, booking, **more):
        places = {"flight": "f", "hotel": "h", "price": 480}
        who = {"booking": booking, "passenger": booking.title()}
        return {**who, **places, "card": CARD, "world": str(self.outside), **more}

    async def ask(self, entity, operation, **params):
        message = {"key": entity[0].lower(), "operation": operation, "params": params}
        return await self.xingqiao.invoke(entity, message)

    async def taken(self):
        """The bookings that have a seat, a room, a payment, a letter."""
        states = [(await self.ask(entity, "$get"))["state"] for entity in ("Flight", "Hotel")]
        written = [
            sorted(path.stem.partition("-")[2] for path in self.outside.glob(f"{kind}-*"))
            for kind in ("charge", "letter")
        ]
        return [*(sorted((state or {}).get("reservations", ())) for state in states), *written]

    async def stuck(self, order):
        """Starts a journey that cannot be undone; returns its id when an operator is called."""
        called = asyncio.get_running_loop().create_future()

        def call_operator(alarm):
            called.set_result(alarm["executionId"])
            return {}

        self.xingqiao.register(composer.action(call_operator))
        alarm, registry = "/guest/saga-stuck", self.xingqiao.engine.registry
        await registry.put(Trigger, Name.parse(alarm), {}, overwrite=True)
        links = {"trigger": alarm, "action": "call_operator"}
        await registry.put(Rule, Name.parse("/guest/call"), links, overwrite=True)
        id = (await self.xingqiao.start("travel", order)).id
        assert await called == id
        return id


@asynccontextmanager
async def world(directory, *, seats=2, rooms=2, actions=()):
    outside = directory / "outside"
    outside.mkdir(exist_ok=True)
    async with embedded() as xingqiao:
        await xingqiao.deploy("travel", journey.travel)
        for name, function in actions:
            xingqiao.register(composer.action(function, name=name))
        made = World(xingqiao, outside)
        await made.ask("Flight", "offer", seats=seats)
        await made.ask("Hotel", "offer", rooms=rooms)
        yield made


async def test_a_journey_asked_for_twice_is_booked_and_paid_once(tmp_path):
    async with world(tmp_path) as made:
        first = await made.xingqiao.invoke("travel", made.order("b-1"))
        again = await made.xingqiao.invoke("travel", made.order("b-1"))

        assert first == again == {"booking": "b-1", "seat": 1, "room": 1, "paid": 480}
        assert await made.taken() == [["b-1"]] * 4


@pytest.mark.parametrize(
    ("card", "room", "code"),
    [
        ({"limit": 100}, 1, "CardDeclined"),
        ({"limit": 1000, "down": 1}, 1, "CardServiceDown"),
        (CARD, 0, "ValueError"),
    ],
)
async def test_a_journey_that_fails_before_it_is_paid_gives_all_back(tmp_path, card, room, code):
    async with world(tmp_path, rooms=room) as made:
        _, ended = await made.xingqiao.run("travel", made.order("b-1", card=card))

        assert isinstance(ended, Failure)
        assert ended.named(code)
        assert await made.taken() == [[]] * 4


async def test_a_payment_that_is_not_answered_is_asked_for_until_it_is_known(tmp_path):
    async with world(tmp_path) as made:
        order = made.order("b-1", card={**CARD, "silent": 1})

        id, ended = await made.xingqiao.run("travel", order)

        assert ended.value["paid"] == 480
        assert await made.taken() == [["b-1"]] * 4
        kinds = [entry["type"] for entry in await made.xingqiao.history(id)]
    assert kinds.index("TimedOut") < kinds.index("RetryScheduled") < kinds.index("PivotPassed")


async def test_a_letter_is_sent_again_until_it_goes_out_for_the_journey_is_paid(tmp_path):
    failures = ["out of paper", "out of ink"]

    def send(order):
        if failures:
            raise OSError(failures.pop())
        return journey.send_confirmation(order)

    async with world(tmp_path, actions=[("send_confirmation", send)]) as made:
        _, ended = await made.xingqiao.run("travel", made.order("b-1"))

        assert ended.value["paid"] == 480
        assert await made.taken() == [["b-1"]] * 4


@pytest.mark.parametrize(
    ("event", "reopened", "left"),
    [
        (Resumed(), True, []),
        (Resolved("resolve", None, {"by": "operator", "reason": "by hand"}), False, ["b-1"]),
        (Resolved("skip", None, {"by": "operator", "reason": "a gift"}), False, ["b-1"]),
    ],
)
async def test_a_seat_that_is_not_taken_back_waits_for_an_operator(tmp_path, event, reopened, left):
    async with world(tmp_path, rooms=0) as made:
        await made.ask("Flight", "set_refunds", allowed=False)
        id = await made.stuck(made.order("b-1"))
        standing = await made.xingqiao.engine.records.execution("guest", id)
        assert standing["status"] == "stuck"

        await made.ask("Flight", "set_refunds", allowed=reopened)
        await made.xingqiao.engine.resume("guest", id, event)
        assert await made.xingqiao.engine.wait("guest", id, DEADLINE_S)

        assert await made.taken() == [left, [], [], []]
        last = (await made.xingqiao.history(id))[-1]
    assert last["type"] == "ExecutionFailed"
    assert last["value"]["message"] == "there is no free room"


@pytest.mark.parametrize(("seats", "rooms"), [(30, 10), (10, 30), (30, 30)])
async def test_whatever_fails_what_is_booked_is_paid_and_the_other_way_round(
    tmp_path, seats, rooms
):
    card = {**CARD, "down": 0.3, "silent": 0.2}
    async with world(tmp_path, seats=seats, rooms=rooms) as made:
        orders = [made.order(f"b-{n:02}", card=card) for n in range(30)]

        runs = await asyncio.gather(*(made.xingqiao.run("travel", order) for order in orders))

        booked = [
            order["booking"]
            for order, (_, ended) in zip(orders, runs, strict=True)
            if not isinstance(ended, Failure)
        ]
        assert 0 < len(booked) < 30
        assert await made.taken() == [booked] * 4


# --- the transaction -----------------------------------------------------------------------------


@pytest.fixture
async def bank():
    async with embedded() as xingqiao:
        await xingqiao.deploy("transfer", money.transfer)
        await xingqiao.deploy("audit", money.audit)
        for key in money.ACCOUNTS:
            message = {"key": key, "operation": "deposit", "params": {"amount": 100}}
            await xingqiao.invoke("Account", message)
        yield xingqiao


@pytest.mark.parametrize(
    ("order", "balances"),
    [
        ({"from": "anna", "to": "bela", "amount": 30}, [70, 130, 100, 100]),
        ({"from": "dora", "to": "anna", "amount": 100}, [200, 100, 100, 0]),
        ({"from": "anna", "to": "anna", "amount": 30}, [100, 100, 100, 100]),
        ({"from": "anna", "to": "bela", "amount": 101}, None),
        ({"from": "anna", "to": "bela", "amount": -1}, None),
        ({"from": "nobody", "to": "bela", "amount": 1}, None),
    ],
)
async def test_a_transfer_changes_both_accounts_or_neither(bank, order, balances):
    _, ended = await bank.run("transfer", order)

    assert isinstance(ended, Failure) == (balances is None)
    found = await bank.invoke("audit")
    assert found == {"balances": balances or [100, 100, 100, 100]}


# --- on a server ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    options = ("--auth", AUTH, "--isolation", "none")  # the actions write to our directory
    with running(tmp_path_factory.mktemp("data"), *options) as made:
        for file in ("travel/travel.py", "transfer/transfer.py"):
            command = [XINGQIAO, "deploy", EXAMPLES / file, "--url", made.url, "--auth", AUTH]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        yield made


def ask(client, entity, key, operation, **params):
    document = {"operation": operation, "params": params}
    answer = client.post(f"/entities/{entity}/keys/{key}", json=document)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_journey_is_booked_on_a_server(server, tmp_path):
    order = {
        "booking": "b-1", "passenger": "Mei", "flight": "f", "hotel": "h", "price": 480,
        "card": CARD, "world": str(tmp_path),
    }  # fmt: skip
    with server.client() as client:
        ask(client, "Flight", "f", "offer", seats=2)
        ask(client, "Hotel", "h", "offer", rooms=1)
        runs = [
            client.post("/actions/travel", params={"blocking": "true"}, json=asked)
            for asked in (order, {**order, "booking": "b-2"})
        ]
        seats = client.get("/entities/Flight/keys/f").json()["state"]["reservations"]

    assert [answer.status_code for answer in runs] == [200, 502]
    assert list(seats) == ["b-1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["charge-b-1.json", "letter-b-1.txt"]


def test_money_is_transferred_on_a_server(server):
    with server.client() as client:
        for key in money.ACCOUNTS:
            ask(client, "Account", key, "deposit", amount=100)
        order = {"from": "anna", "to": "bela", "amount": 30}
        runs = [
            client.post("/actions/transfer", params={"blocking": "true"}, json=asked)
            for asked in (order, {**order, "amount": 500})
        ]
        query = {"blocking": "true", "result": "true"}
        found = client.post("/actions/audit", params=query).json()

    assert [answer.status_code for answer in runs] == [200, 502]
    assert found == {"balances": [70, 130, 100, 100]}
