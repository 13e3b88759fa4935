"""The shop's program: it talks to an order, on a server or in this process.

    python examples/orders/shop.py             # in this process
    python examples/orders/shop.py --server    # on the server that XINGQIAO_URL and XINGQIAO_AUTH name

Each call may be repeated, because the order, the update and the message have ids. So the program goes on
with its next call even if the server is killed between any two calls.
"""

from __future__ import annotations

import asyncio
import sys

from orders import order, reminder

from xingqiao.client import ActionError, RejectedError, connect
from xingqiao.embedded import embedded


async def sell(x, id):
    """Takes one order to its end. Returns what the shop has seen on the way."""
    seen = {}
    await x.deploy("reminder", reminder)
    await x.deploy("order", order)

    params = {"id": id, "item": "book", "customer": "anna", "address": "Oak Street 1"}
    run = await x.start("order", params, id=id, on_open="use")
    again = await x.start("order", params, id=id, on_open="use")  # one run, however often
    seen["one run"] = again.run == run.run
    seen["before"] = await run.query("progress")

    try:
        await run.update("address", {"address": ""})
    except RejectedError:
        seen["no address"] = "rejected"
    moved = {"address": "Elm Street 2"}
    seen["moved"] = await run.update("address", moved, id="move-1", timeout=60)
    seen["moved again"] = await run.update("address", moved, id="move-1", timeout=60)

    seen["new"] = await run.tell("approved", {"who": "ben"}, id="approval-1")
    seen["told again"] = await run.tell("approved", {"who": "ben"}, id="approval-1")
    seen["result"] = await run.result(timeout=60)
    seen["after"] = await run.query("progress")
    try:
        await x.execution(f"{id}/reminder").result(timeout=60)
    except ActionError as error:  # the order has ended, so nobody needs to be reminded
        seen["reminder"] = error.failure.code
    return seen


async def main():
    opened = connect() if "--server" in sys.argv else embedded()
    async with opened as x:
        for what, it in (await sell(x, "order-7")).items():
            print(f"{what}: {it}")


if __name__ == "__main__":
    asyncio.run(main())
