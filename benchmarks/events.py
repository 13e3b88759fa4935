"""CloudEvents: accepted, matched with triggers and acted on, in this process, durable on SQLite."""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

from xingqiao.actions import Rule, Trigger
from xingqiao.composer import CloudEvent, Name

from .engine import engine
from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xingqiao.infra.service import Embedded

GUEST = "guest"
BATCH = 100
MEMBERS = 1_000


def events(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Sends CloudEvents that no trigger hears, one a request and in batches; then those that invoke an action."""
    for concurrency in (1, 32):
        count = max(concurrency, int((1_000 if concurrency == 1 else 10_000) * scale))
        yield _accepted(1, concurrency, count, floor)
    yield _accepted(BATCH, 4, max(1, int(1_000 * scale)), floor)
    yield _acted_on(max(1, int(1_000 * scale)), floor)
    yield _joined(max(1, int(200 * scale)), floor)


async def _accepted(size: int, concurrency: int, count: int, floor: dict[str, float]) -> Figure:
    """From the CloudEvents to the answer that they are durable; the rate includes their matching."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            hearing, number = embedded.engine.events, iter(range(count))

            async def once() -> None:
                first = next(number) * size
                await hearing.accept(GUEST, [_event(first + n, {"n": n}) for n in range(size)])

            took, seconds = await run_load(once, concurrency, count)
            await embedded.engine.endings.done()
    return _figure(
        f"events, accepted {size} at once", concurrency, took, (count * size, seconds), floor
    )


async def _acted_on(count: int, floor: dict[str, float]) -> Figure:
    """From a CloudEvent to the durable start of the action that a rule invokes; one at a time."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await _rule(embedded, {})
            hearing, number = embedded.engine.events, iter(range(count))

            async def once() -> None:
                accepted = await hearing.accept(GUEST, [_event(next(number), {"n": 1})])
                await hearing.settled(GUEST, accepted.keys)

            took, seconds = await run_load(once, 1, count)
    return _figure("events, acted on", 1, took, (count, seconds), floor)


async def _joined(joins: int, floor: dict[str, float]) -> Figure:
    """Joins of 1,000 members each, their CloudEvents mixed: from the first to the start of the last action."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            member = "$.event.data.member"
            condition = {
                "join": {"of": MEMBERS, "member": member},
                "by": "$.event.data.of",
            }
            await _rule(embedded, {"condition": condition})
            hearing = embedded.engine.events
            number = iter(range(0, joins * MEMBERS, BATCH))

            async def once() -> None:
                first = next(number)
                sent = [_member(n, joins) for n in range(first, first + BATCH)]
                await hearing.settled(GUEST, (await hearing.accept(GUEST, sent)).keys)

            began = time.perf_counter()
            took, _ = await run_load(once, 4, joins * MEMBERS // BATCH)
            seconds = time.perf_counter() - began
    return _figure("events, joined", 4, took, (joins * MEMBERS, seconds), floor)


async def _rule(embedded: Embedded, more: dict[str, Any]) -> None:
    put = embedded.engine.registry.put
    await put(
        Trigger, Name(GUEST, None, "told"), {"filter": {"exact": {"type": "told"}}}, overwrite=False
    )
    links = {"trigger": "/guest/told", "action": "/guest/nothing"}
    await put(Rule, Name(GUEST, None, "act"), {**links, **more}, overwrite=False)


def _member(number: int, joins: int) -> CloudEvent:
    return _event(number, {"of": number % joins, "member": number // joins})


def _event(number: int, data: dict[str, Any]) -> CloudEvent:
    attributes = {"specversion": "1.0", "id": str(number), "source": "/benchmarks", "type": "told"}
    return CloudEvent(dict(attributes), {"data": data})


def _figure(
    name: str, concurrency: int, took: list[float], sent: tuple[int, float], floor: dict[str, float]
) -> Figure:
    count, seconds = sent
    return Figure(
        workload=name,
        runtime="inline",
        n=count,
        concurrency=concurrency,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=0,
        executions_per_s=count / seconds,
        floor=floor,
        more={},
    )
