"""Entities and transfers between them: YCSB with a transfer of two keys, by two-phase commit and by saga.

The workload of "Distributed Transactions on Serverless Stateful Functions" (de Heus et al., DEBS 2021):
on accounts, a given share of the operations are transfers from one account to another, and the others
read or write one account; keys are uniform or zipfian. Anomalies are counted as in YCSB+T: the change of
the total balance, per operation.
"""

from __future__ import annotations

import bisect
import itertools
import random
import time
from typing import TYPE_CHECKING, Any

from xingqiao import composer as c
from xingqiao.composer import Failure, Name, path

from .figures import Figure, percentile, run_load
from .platform import platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xingqiao.infra.service import Embedded

START, CONCURRENCY = 10_000, 64
ACCOUNTS = (100, 1_000, 10_000, 100_000)
SKEW = 0.99  # YCSB's
CALLS = 10  # of entities, one after the other, in one composition


def account(message: dict[str, Any]) -> dict[str, Any]:
    """An account: reads, updates and both sides of a transfer."""
    state = message["state"] or {"balance": START, "fields": {}}
    params = message["params"]
    match message["operation"]:
        case "read":
            return {"result": {"balance": state["balance"]}}
        case "update":
            state = {**state, "fields": {"f": params["value"]}}
        case "withdraw":
            if state["balance"] < params["amount"]:
                return {"error": "insufficient funds"}
            state = {**state, "balance": state["balance"] - params["amount"]}
        case _:
            state = {**state, "balance": state["balance"] + params["amount"]}
    return {"state": state, "result": {"balance": state["balance"]}}


def _side(operation: str, whose: str, inside: str = "") -> c.Composition:
    amount = {"amount": path(f"$.{inside}amount")}
    return c.call("account", path(f"$.{inside}{whose}"), operation, amount)


TRANSFERS = {
    "2PC": c.transaction(_side("withdraw", "from"), _side("deposit", "to"), retries=30),
    "saga": c.saga(
        c.step(c.merge(_side("withdraw", "from")), undo=_side("deposit", "from", "input.")),
        c.step(_side("deposit", "to"), undo=_side("withdraw", "to", "input.")),
    ),
    "two calls": c.sequence(c.merge(_side("withdraw", "from")), _side("deposit", "to")),
}


class Keys:
    """Draws keys, uniformly or by a Zipf distribution."""

    def __init__(self, count: int, skewed: bool) -> None:
        self._count, self._chance = count, random.Random(7)
        weights = [1 / rank**SKEW for rank in range(1, count + 1)] if skewed else []
        self._sums = list(itertools.accumulate(weights))

    def one(self) -> str:
        if not self._sums:
            return f"k{self._chance.randrange(self._count)}"
        return f"k{bisect.bisect(self._sums, self._chance.random() * self._sums[-1])}"

    def two(self) -> tuple[str, str]:
        first = second = self.one()
        while second == first:
            second = self.one()
        return first, second

    def chance(self) -> float:
        return self._chance.random()


async def prepared(embedded: Embedded) -> None:
    """Deploys the entity type and the transfers."""
    embedded.engine.register(Name.parse("/guest/account"), account, {"entity": True})
    for name, composition in TRANSFERS.items():
        await embedded.deploy(name.replace(" ", "_"), composition)
    many = c.sequence(*[c.call("account", path("$.k"), "update", {"value": path("$.k")}),
                        *[c.call("account", f"k{n}", "update", {"value": n}) for n in range(1, CALLS)]])  # fmt: skip
    await embedded.deploy("many", many)


def transfers(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Measures single operations, each kind of transfer alone, and mixes by accounts, keys and shares."""
    yield _operations(floor, "an entity's operation", "account", max(64, int(6_000 * scale)))
    yield _operations(floor, "entity calls of a composition", "many", max(64, int(1_500 * scale)))
    for kind in TRANSFERS:
        yield _alone(floor, kind, max(10, int(300 * scale)))
    for kind in TRANSFERS:
        yield _mixed(floor, kind, (5_000, False, 1.0), max(64, int(4_000 * scale)))
    for accounts, skewed in [(n, skew) for n in ACCOUNTS for skew in (False, True)]:
        for share in (0.0, 0.5, 1.0):
            for kind in ("2PC", "saga") if share else ("no",):
                yield _mixed(floor, kind, (accounts, skewed, share), max(64, int(3_000 * scale)))


async def _operations(floor: dict[str, float], workload: str, name: str, count: int) -> Figure:
    async with platform() as embedded:
        await prepared(embedded)
        keys = Keys(5_000, skewed=False)

        async def once() -> None:
            key = keys.one()
            if name == "account":
                params = {"key": key, "operation": "update", "params": {"value": key}}
            else:
                params = {"k": key}
            await embedded.invoke(name, params)

        await run_load(once, CONCURRENCY, count // 4)
        took, seconds = await run_load(once, CONCURRENCY, count)
    calls = 1 if name == "account" else CALLS
    return _figure(
        floor, workload, (took, seconds), calls, {"operations/s": round(calls * count / seconds)}
    )


async def _alone(floor: dict[str, float], kind: str, count: int) -> Figure:
    """Measures one operation after another: its messages, its commits, and its share of the floor."""
    async with platform() as embedded:
        await prepared(embedded)
        keys = Keys(1_000, skewed=False)
        once = _transfer(embedded, kind, keys, [], [])
        await run_load(once, 1, count // 4)
        counters, before = embedded.engine.counters, embedded.engine.gauges()["commits"]
        steps = counters.steps
        took, seconds = await run_load(once, 1, count)
        commits = embedded.engine.gauges()["commits"] - before
        more = {
            "messages": round((counters.steps - steps) / count, 1),
            "commits": round(commits / count, 1),
        }
    return _figure(floor, f"{kind}, one at a time", (took, seconds), 2, more, concurrency=1)


def _transfer(
    embedded: Embedded, kind: str, keys: Keys, took: list[float], failed: list[Failure]
) -> Callable[[], Any]:
    name = kind.replace(" ", "_")

    async def once() -> None:
        source, target = keys.two()
        began = time.perf_counter()
        _, outcome = await embedded.run(name, {"from": source, "to": target, "amount": 1})
        took.append((time.perf_counter() - began) * 1000)
        if isinstance(outcome, Failure):
            failed.append(outcome)

    return once


async def _mixed(
    floor: dict[str, float], kind: str, shape: tuple[int, bool, float], count: int
) -> Figure:
    accounts, skewed, share = shape
    moved: list[float] = []
    plain: list[float] = []
    failed: list[Failure] = []
    async with platform() as embedded:
        await prepared(embedded)
        keys = Keys(accounts, skewed)
        transfer = _transfer(embedded, kind, keys, moved, failed)

        async def once() -> None:
            if keys.chance() < share:
                await transfer()
                return
            key, began = keys.one(), time.perf_counter()
            request = {"operation": "read", "read": True}
            if keys.chance() < 0.5:
                request = {"operation": "update", "params": {"value": key}}
            await embedded.invoke("account", {"key": key, **request})
            plain.append((time.perf_counter() - began) * 1000)

        await run_load(once, CONCURRENCY, count // 4)
        moved.clear(), plain.clear(), failed.clear()
        took, seconds = await run_load(once, CONCURRENCY, count)
        there = await _money(embedded)
    more: dict[str, Any] = {
        "transfers/s": round(len(moved) / seconds),
        "aborted": f"{len(failed) / max(1, len(moved)):.1%}",
        "anomaly": abs(there) / count,
    }
    if plain:
        more["others' p95 ms"] = round(percentile(plain, 0.95), 1)
    name = f"{kind} transfers {share:.0%}, {'zipf' if skewed else 'uniform'} keys"
    return _figure(floor, name, (took, seconds), accounts, more)


async def _money(embedded: Embedded) -> int:
    """The increase of the total balance."""
    after, there = "", 0
    while True:
        page = await embedded.engine.records.entities(
            "/guest/account", "", after=after, limit=1_000
        )
        there += sum(doc["state"]["balance"] - START for doc in page)
        if len(page) < 1_000:
            return there
        after = page[-1]["key"]


def _figure(  # noqa: PLR0913, PLR0917  a figure has as many sides
    floor: dict[str, float],
    workload: str,
    measured: tuple[list[float], float],
    n: int,
    more: dict[str, Any],
    concurrency: int = CONCURRENCY,
) -> Figure:
    took, seconds = measured
    return Figure(
        workload=workload, runtime="inline", n=n, concurrency=concurrency,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=len(took) / seconds, executions_per_s=len(took) / seconds, floor=floor, more=more,
    )  # fmt: skip
