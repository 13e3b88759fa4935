"""An order that people can talk to: it has the shop's own id, waits for an approval, and tells how far it is.

While it waits, the customer can change the address, and a child reminds the customer. The child is cancelled when
the order ends. A schedule counts the orders every night.

    xingqiao deploy examples/orders/orders.py
    xingqiao invoke order --id order-7 -p id order-7 -p item book -p customer anna
    xingqiao execution query order-7 progress
    xingqiao execution update order-7 address -p address 'Elm Street 2'
    xingqiao execution tell order-7 approved --param who ben
    xingqiao execution query order-7 progress
"""

from xingqiao import composer
from xingqiao.composer import path, var

DAY = 86_400  # seconds


@composer.action
def remind(params):
    return {"reminded": params["customer"]}


@composer.action
def ship(params):
    return {"sent": params["item"], "to": params["to"], "approved_by": params["who"]}


@composer.action
def count(params):
    return {"shop": params["shop"], "counted": True}


reminder = composer.sequence(composer.wait(DAY), remind)

order = composer.queries(
    composer.let(
        {"state": "waits for an approval", "item": None, "address": None},
        composer.assign(item=path("$.item"), address=path("$.address", default=None)),
        lambda params: {"customer": params["customer"], "reminder": params["id"] + "/reminder"},
        composer.child(
            "reminder",
            {"customer": path("$.customer")},
            id=path("$.reminder"),
            close="cancel",
            wait=False,
        ),
        composer.updates(
            composer.receive("approved", timeout=3 * DAY),
            address=composer.on_update(
                validate=path("$.address") != "",
                sets={"address": path("$.address")},
                answer={"to": var("address")},
            ),
        ),
        composer.assign(state="is being packed"),
        composer.select({"item": var("item"), "to": var("address"), "who": path("$.who")}),
        ship,
        composer.assign(state="is on its way"),
    ),
    progress={"state": var("state")},
)

nightly = composer.schedule(
    "nightly",
    action=count,
    input={"shop": "books"},
    cron="0 2 * * *",
    time_zone="Europe/Berlin",
    overlap="skip",
)
