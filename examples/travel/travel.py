"""Books a journey as a saga: a seat, a room, the payment and a letter, or nothing.

The input is `{"booking": id, "passenger": ..., "flight": key, "hotel": key, "price": ..., "card":
{...}, "world": a directory}`. The card company keeps its books in this directory, and the letters
are written to it. `card` sets the behaviour of the company: its `limit`, and the probabilities (0
to 1) that it is `down` or `silent`. The booking's id determines whether such a failure happens. The
delays are short for the demonstration.
"""

from dataclasses import dataclass, field

from xingqiao import composer
from xingqiao.composer import call, merge, path, saga, sequence, step
from xingqiao.transactions import entity


@entity
@dataclass
class Flight:
    """The seats of a flight on one day."""

    seats: int = 0
    refunds: bool = True
    reservations: dict = field(default_factory=dict)
    cancelled: list = field(default_factory=list)

    def offer(self, seats):
        """Sets the number of seats."""
        self.seats = seats

    def set_refunds(self, allowed):
        """Sets whether cancellations are accepted: they are not after check-in has closed."""
        self.refunds = allowed

    def book(self, booking, passenger):
        """Reserves the first free seat. A repeated booking returns the same seat."""
        if booking in self.cancelled:
            raise ValueError(f"the booking {booking} has been cancelled")
        if booking not in self.reservations:
            taken = {reservation["seat"] for reservation in self.reservations.values()}
            free = [seat for seat in range(1, self.seats + 1) if seat not in taken]
            if not free:
                raise ValueError("there is no free seat")
            self.reservations[booking] = {"seat": free[0], "passenger": passenger}
        return {"seat": self.reservations[booking]["seat"]}

    def cancel(self, booking):
        """Releases the seat, if there is one, and refuses this booking from now on."""
        if booking in self.reservations:
            if not self.refunds:
                raise PermissionError("check-in has closed: no seat is taken back")
            del self.reservations[booking]
        if booking not in self.cancelled:
            self.cancelled.append(booking)


@entity
@dataclass
class Hotel:
    """The rooms of a hotel in one night."""

    rooms: int = 0
    reservations: dict = field(default_factory=dict)
    cancelled: list = field(default_factory=list)

    def offer(self, rooms):
        """Sets the number of rooms."""
        self.rooms = rooms

    def book(self, booking, guest):
        """Reserves the first free room. A repeated booking returns the same room."""
        if booking in self.cancelled:
            raise ValueError(f"the booking {booking} has been cancelled")
        if booking not in self.reservations:
            taken = {reservation["room"] for reservation in self.reservations.values()}
            free = [room for room in range(1, self.rooms + 1) if room not in taken]
            if not free:
                raise ValueError("there is no free room")
            self.reservations[booking] = {"room": free[0], "guest": guest}
        return {"room": self.reservations[booking]["room"]}

    def cancel(self, booking):
        """Releases the room, if there is one, and refuses this booking from now on."""
        self.reservations.pop(booking, None)
        if booking not in self.cancelled:
            self.cancelled.append(booking)


@composer.action
async def charge(order):
    """Charges the card. It may succeed, fail, or take the money and never return.

    This function stands for another company's service. The booking's id is the idempotency key: a
    repeated request returns the earlier result.
    """
    import asyncio
    import json
    from pathlib import Path
    from zlib import crc32

    booking, card = order["booking"], order["card"]
    entry = Path(order["world"]) / f"charge-{booking}.json"

    def happens(what):
        return crc32(f"{booking} {what}".encode()) / 2**32 < card.get(what, 0)

    def book_keeping():
        if entry.exists():
            return json.loads(entry.read_text()), False
        if happens("down"):
            return {"error": {"code": "CardServiceDown", "message": "try another day"}}, False
        if order["price"] > card["limit"]:
            message = f"{order['price']} is over the limit of {card['limit']}"
            return {"error": {"code": "CardDeclined", "message": message}}, False
        entry.write_text(json.dumps({"paid": order["price"]}))
        return {"paid": order["price"]}, happens("silent")

    answer, silent = book_keeping()
    if silent:
        await asyncio.Event().wait()  # the response never arrives
    return answer


@composer.action
def send_confirmation(order):
    """Writes a letter to the passenger. Writing it again changes nothing."""
    from pathlib import Path

    letter = Path(order["world"]) / f"letter-{order['booking']}.txt"
    letter.write_text(f"{order['passenger']}: seat {order['seat']}, room {order['room']}\n")
    return {"letter": letter.name}


_flight = step(
    call(
        Flight,
        path("$.flight"),
        "book",
        {"booking": path("$.booking"), "passenger": path("$.passenger")},
    ),
    undo=call(Flight, path("$.input.flight"), "cancel", {"booking": path("$.input.booking")}),
    undo_retries=2,
    undo_delay=0.1,
)
_hotel = step(
    call(
        Hotel,
        path("$.hotel"),
        "book",
        {"booking": path("$.booking"), "guest": path("$.passenger")},
    ),
    undo=call(Hotel, path("$.input.hotel"), "cancel", {"booking": path("$.input.booking")}),
)
_payment = step(charge, pivot=True, seconds=1, delay=0.1)
_confirmation = step(send_confirmation, retriable=True, delay=0.1)

travel = sequence(
    saga(merge(_flight), merge(_hotel), merge(_payment), merge(_confirmation)),
    composer.select(
        {
            "booking": path("$.booking"),
            "seat": path("$.seat"),
            "room": path("$.room"),
            "paid": path("$.paid"),
        }
    ),
)
