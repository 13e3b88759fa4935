"""Makes transfers between four accounts, and audits them at the same time, in this process.

Run it with `python examples/transfer/demo.py`.
"""

from __future__ import annotations

import asyncio

from transfer import ACCOUNTS, audit, transfer

from xingqiao.composer import Failure
from xingqiao.embedded import embedded

START = 100  # balance of each account at the start
CUSTOMERS, TRANSFERS, AUDITS = 5, 40, 30


async def made(xingqiao):
    """Makes a transfer that both accounts accept."""
    print("1. Anna gives Bela 30")
    balances = await xingqiao.invoke("transfer", {"from": "anna", "to": "bela", "amount": 30})
    print(f"   anna has {balances['from']}, bela has {balances['to']}\n")


async def refused(xingqiao):
    """Makes a transfer that one account refuses."""
    print("2. Anna gives Chen 500, which is more than she has")
    _, ended = await xingqiao.run("transfer", {"from": "anna", "to": "chen", "amount": 500})
    print(f"   {ended.code}: {ended.error['reason']['message']}")
    found = await xingqiao.invoke("audit")
    print(f"   nothing has changed: {_shown(found['balances'])}\n")


async def audited(xingqiao):
    """Audits while transfers run: each audit finds the same total."""
    print(f"3. {CUSTOMERS} customers make {TRANSFERS} transfers each, with {AUDITS} audits")
    async with asyncio.TaskGroup() as group:
        customers = [group.create_task(customer(xingqiao, n)) for n in range(CUSTOMERS)]
        auditor = group.create_task(audits(xingqiao))
    refused = sum(task.result() for task in customers)
    seen = auditor.result()
    print(f"   {CUSTOMERS * TRANSFERS - refused} made, {refused} refused")
    print(f"   the accounts were seen in {len(set(seen))} states;", end=" ")
    print(f"together they had {', '.join(map(str, {sum(balances) for balances in seen}))}")
    found = await xingqiao.invoke("audit")
    print(f"   in the end: {_shown(found['balances'])}; together {sum(found['balances'])}")


async def customer(xingqiao, number):
    """Makes transfers one after another. Returns the number of refused transfers."""
    pairs = [(one, other) for one in ACCOUNTS for other in ACCOUNTS if one != other]
    refused = 0
    for n in range(TRANSFERS):
        giver, taker = pairs[(number + n) % len(pairs)]
        order = {"from": giver, "to": taker, "amount": 1 + (31 * n + 17 * number) % 90}
        _, ended = await xingqiao.run("transfer", order)
        refused += isinstance(ended, Failure)
    return refused


async def audits(xingqiao):
    """Runs audits one after another. Returns the balances that each audit found."""
    return [tuple((await xingqiao.invoke("audit"))["balances"]) for _ in range(AUDITS)]


def _shown(balances):
    pairs = zip(ACCOUNTS, balances, strict=True)
    return ", ".join(f"{name} {balance}" for name, balance in pairs)


async def main():
    async with embedded() as xingqiao:
        await xingqiao.deploy("transfer", transfer)
        await xingqiao.deploy("audit", audit)
        for key in ACCOUNTS:
            message = {"key": key, "operation": "deposit", "params": {"amount": START}}
            await xingqiao.invoke("Account", message)
        for story in (made, refused, audited):
            await story(xingqiao)


if __name__ == "__main__":
    asyncio.run(main())
