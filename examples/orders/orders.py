"""An order that people can talk to: it has the shop's own id, waits for an approval, and tells how far it is.

While it waits, a child reminds the customer. The child is cancelled when the order ends.

    xingqiao deploy examples/orders/orders.py
    xingqiao invoke order --id order-7 -p id order-7 -p item book -p customer anna
    xingqiao execution query order-7 progress
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
    return {"sent": params["item"], "approved_by": params["who"]}


reminder = composer.sequence(composer.wait(DAY), remind)

order = composer.queries(
    composer.let(
        {"state": "waits for an approval", "item": None},
        composer.assign(item=path("$.item")),
        lambda params: {"customer": params["customer"], "reminder": params["id"] + "/reminder"},
        composer.child(
            "reminder",
            {"customer": path("$.customer")},
            id=path("$.reminder"),
            close="cancel",
            wait=False,
        ),
        composer.receive("approved", timeout=3 * DAY),
        composer.assign(state="is being packed"),
        composer.select({"item": var("item"), "who": path("$.who")}),
        ship,
        composer.assign(state="is on its way"),
    ),
    progress={"state": var("state")},
)
