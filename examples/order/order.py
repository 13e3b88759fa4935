"""Processes an order: stock and customer in parallel, then price, payment, shipment and receipt.

The input is `{"customer": name, "items": [{"sku": ..., "count": ...}], "limit": card limit}`. If
the payment fails, the order releases the reserved articles and ends as rejected.
"""

from xingqiao import composer
from xingqiao.composer import after, path


@composer.action
def reserve(item):
    """Reserves the requested number of an article."""
    prices = {"lantern": 1200, "rope": 350, "sail": 48000}
    if item["sku"] not in prices:
        return {"error": {"code": "NoSuchArticle", "message": item["sku"]}}
    return {**item, "price": prices[item["sku"]] * item["count"], "reservation": f"r-{item['sku']}"}


@composer.action
def release(item):
    """Releases a reservation."""
    return {"released": item["reservation"]}


@composer.action
def customer(order):
    """Returns the customer's name and discount in percent."""
    return {"name": order["customer"], "discount": 10 if order["customer"] == "Zheng He" else 0}


@composer.action
def quote(parts):
    """Returns the total price of the reserved articles, after the discount."""
    total = sum(item["price"] for item in parts["stock"]["value"])
    return {"total": total * (100 - parts["customer"]["discount"]) // 100}


@composer.action
def charge(order):
    """Charges the card, up to its limit."""
    if order["total"] > order["limit"]:
        return {"error": {"code": "CardDeclined", "message": f"{order['total']} is over the limit"}}
    return {"paid": order["total"]}


@composer.action
def book_shipment(order):
    """Books the shipment."""
    return {"tracking": f"ship-{len(order['items'])}"}


@composer.action
def write_receipt(order):
    """Writes the receipt for the customer."""
    return {"receipt": f"{order['customer']['name']}: {order['total']}"}


prepare = composer.graph(
    {
        "stock": composer.map(reserve, items=path("$.items"), concurrency=4),
        "customer": customer,
        "quote": after(["stock", "customer"], quote),
    }
)

prepared = composer.select(
    {
        "items": path("$.parts.stock.value"),
        "customer": path("$.parts.customer"),
        "total": path("$.parts.quote.total"),
        "limit": path("$.limit"),
    }
)

fulfil = composer.sequence(
    composer.merge(charge),
    composer.parallel(book_shipment, write_receipt),
    composer.select(
        {
            "status": "fulfilled",
            "tracking": path("$.value[0].tracking"),
            "receipt": path("$.value[1].receipt"),
        }
    ),
)

give_back = composer.sequence(
    composer.map(release, items=composer.var("items")),
    composer.select({"status": "rejected", "returned": path("$.value")}),
)

order = composer.sequence(
    composer.forward(path("$"), prepare, into="parts"),
    prepared,
    composer.let(
        {"items": []},
        composer.assign(items=path("$.items")),
        composer.do(fulfil, give_back, errors="CardDeclined"),
    ),
)
