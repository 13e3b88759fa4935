"""The shop's program: it talks to an order, on a server or in this process.

    python examples/orders/shop.py             # in this process
    python examples/orders/shop.py --server    # on the server that XINGQIAO_URL and XINGQIAO_AUTH name

Every call may be repeated: the order has an id, and the message has one. So the program can go on
with its next call even if the server is killed between any two calls.
"""

from __future__ import annotations

import asyncio
import sys

from orders import order, reminder

from xingqiao.client import connect
from xingqiao.embedded import embedded


async def sell(x, id):
    """Deploys the composition, and takes one order to its end. Returns the result."""
    await x.deploy("reminder", reminder)
    await x.deploy("order", order)

    params = {"id": id, "item": "book", "customer": "anna"}
    run = await x.start("order", params, id=id, on_open="use")
    again = await x.start("order", params, id=id, on_open="use")
    assert run.run == again.run, "an id has one open run"
    while (stage := await run.query("progress"))["state"] is None:
        await asyncio.sleep(0.1)
    print(f"{id} {stage['state']}")

    await x.execution(f"{id}/reminder").cancel()
    assert await run.tell("approved", {"who": "ben"}, id="approval-1")
    assert not await run.tell("approved", {"who": "ben"}, id="approval-1"), "it was told before"
    result = await run.result(timeout=60)
    print(f"{id} {(await run.query('progress'))['state']}: {result}")
    return result


async def main():
    opened = connect() if "--server" in sys.argv else embedded()
    async with opened as x:
        await sell(x, "order-7")


if __name__ == "__main__":
    asyncio.run(main())
