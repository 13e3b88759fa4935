"""jq: simple expressions a second, by our evaluator and by the binding of libjq."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import jq as libjq

from xingqiao.composer.languages import jq

from .figures import Figure, percentile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCUMENT = {
    "customer": {"name": "Ada", "tier": 3},
    "items": [{"price": price, "name": f"n{price}"} for price in range(20)],
}
EXPRESSIONS = (
    ".customer.name", '.customer.tier > 2 and .customer.name == "Ada"', "{name: .customer.name}",
    '"Dear \\(.customer.name)"', "[.items[] | select(.price > 10) | .name]", ".items | map(.price) | add",
)  # fmt: skip


def expressions(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Evaluates six expressions on one document, one after the other."""
    rounds = max(10, int(2_000 * scale))
    ours = [jq.compile(text).evaluate for text in EXPRESSIONS]
    theirs = [_bound(text) for text in EXPRESSIONS]
    yield _measured(floor, "xingqiao", ours, rounds)
    yield _measured(floor, "libjq", theirs, rounds)


def _bound(text: str) -> Callable[[Any], Any]:
    program = libjq.compile(text)
    return lambda value: program.input_value(value).all()


async def _measured(
    floor: dict[str, float], runtime: str, programs: list[Callable[[Any], Any]], rounds: int
) -> Figure:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for run in programs:
            run(DOCUMENT)
        times.append((time.perf_counter() - begin) * 1_000 / len(programs))
    each = sum(times) / len(times)
    times.sort()
    return Figure(
        "jq", runtime, rounds * len(programs), 1, percentile(times, 0.5), percentile(times, 0.99),
        0, 1_000 / each, floor,
    )  # fmt: skip
