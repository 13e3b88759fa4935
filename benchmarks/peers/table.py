"""The rows that a set of rounds gives: medians, spreads, and ratios of figures of the same round."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING

from .rounds import Floor, Measured
from .work import Load, Mail, Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .work import Workload

    Figures = Mapping[str, float]

TITLES = {
    "xingqiao": "Xingqiao",
    "dbos": "DBOS",
    "xingqiao-http": "Xingqiao",
    "restate-http": "Restate",
    "dbos-http": "DBOS",
}
SECTIONS = (  # title, ours, the systems beside ours
    ("In process", "xingqiao", ("dbos",)),
    ("Over HTTP", "xingqiao-http", ("restate-http", "dbos-http")),
    ("In process, beside Restate over HTTP (not like with like)", "xingqiao", ("restate-http",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is compared of a workload.

    smaller: whether a smaller value is the better one; None where the two are not divided.
    """

    unit: str
    value: Callable[[Figures], float]
    smaller: bool | None


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of several rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))

    def text(self, unit: str = "") -> str:
        """The median, and the least and the most behind it."""
        digits = 0 if self.median >= 100 else 1 if self.median >= 10 else 2
        middle, least, most = (
            f"{each:,.{digits}f}{unit}" for each in (self.median, self.least, self.most)
        )
        return middle if least == most else f"{middle} ({least} to {most})"


def quantities(workload: Workload) -> tuple[Quantity, ...]:
    """What is compared of it: a latency alone, a rate with several at once, three figures of a recovery."""
    match workload.does:
        case Load(concurrency=1):
            return (Quantity(unit="ms", value=lambda seen: seen["p50_ms"], smaller=True),)
        case Load(work=work):
            n = work.n
            rate = Quantity(
                unit="steps/s", value=lambda seen: n * seen["executions_per_s"], smaller=False
            )
            return (rate,)
        case Mail(concurrency=1):
            return (
                Quantity(unit="accepted, ms", value=lambda seen: seen["accepted_ms"], smaller=True),
                Quantity(unit="acted on, ms", value=lambda seen: seen["acted_ms"], smaller=True),
            )
        case Mail():
            value = itemgetter("messages_per_s")
            return (Quantity(unit="messages/s", value=value, smaller=False),)
        case Recovery():
            return (
                Quantity(
                    unit="first step, s", value=lambda seen: seen["first_step_s"], smaller=True
                ),
                Quantity(unit="all ended, s", value=lambda seen: seen["all_s"], smaller=True),
                Quantity(unit="steps repeated", value=lambda seen: seen["repeated"], smaller=None),
            )


class Rounds:
    """All that was measured."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._workloads = workloads
        self._floors: list[Floor] = []
        self._measured: list[Measured] = []

    def add(self, item: Floor | Measured) -> None:
        """Takes what `rounds.interleaved` gives."""
        if isinstance(item, Floor):
            self._floors.append(item)
        else:
            self._measured.append(item)

    @property
    def failures(self) -> list[str]:
        """One line for each measurement that has failed."""
        return [
            f"round {each.round}, {each.workload}, {each.system}: {each.failure}"
            for each in self._measured
            if each.failure
        ]

    def spread(self, workload: Workload, quantity: Quantity, system: str) -> Spread | None:
        """The figure of one system; None if it has none."""
        values = self._values(workload, quantity, system)
        return Spread.of(list(values.values())) if values else None

    def ratio(
        self, workload: Workload, quantity: Quantity, ours: str, theirs: str
    ) -> Spread | None:
        """How many times better ours is, round by round; None if no round has both."""
        if quantity.smaller is None:
            return None
        mine = self._values(workload, quantity, ours)
        other = self._values(workload, quantity, theirs)
        both = [(mine[number], other[number]) for number in mine.keys() & other.keys()]
        times = [b / a if quantity.smaller else a / b for a, b in both]
        return Spread.of(times) if times else None

    def _values(self, workload: Workload, quantity: Quantity, system: str) -> dict[int, float]:
        """By round."""
        return {
            each.round: quantity.value(each.figures)
            for each in self._measured
            if (each.workload, each.system) == (workload.key, system) and not each.failure
        }

    def markdown(self) -> str:
        """The floors, a table for each section, and the failures."""
        parts = [_floors(self._floors), *(self._section(*section) for section in SECTIONS)]
        if self.failures:
            parts.append("Failed:\n\n" + "\n".join(f"- {line}" for line in self.failures))
        return "\n\n".join(part for part in parts if part)

    def _section(self, title: str, ours: str, others: Sequence[str]) -> str:
        head = ["workload", "", TITLES[ours]]
        for other in others:
            head += [TITLES[other], "times"]
        lines = [_row(head), _row(["---"] * len(head))]
        for workload in self._workloads:
            for quantity in quantities(workload):
                cells = [self.spread(workload, quantity, system) for system in (ours, *others)]
                if cells[0] is None or not any(cells[1:]):
                    continue
                row = [workload.title, quantity.unit, cells[0].text()]
                for other, cell in zip(others, cells[1:], strict=True):
                    ratio = self.ratio(workload, quantity, ours, other)
                    row += [cell.text() if cell else "", ratio.text() if ratio else ""]
                lines.append(_row(row))
        return f"### {title}\n\n" + "\n".join(lines) if len(lines) > 2 else ""

    def ratios(self) -> Iterator[str]:
        """Each ratio of the tables as a line of JSON."""
        for _, ours, others in SECTIONS:
            for other in others:
                for workload in self._workloads:
                    for quantity in quantities(workload):
                        if ratio := self.ratio(workload, quantity, ours, other):
                            named = {"ratio": workload.key, "unit": quantity.unit}
                            pair = {"ours": ours, "theirs": other}
                            yield json.dumps({**named, **pair, **asdict(ratio)})


def line(item: Floor | Measured) -> str:
    """A floor or a measurement as a line of JSON."""
    if isinstance(item, Floor):
        return json.dumps({"floor": dict(item.rates), "round": item.round})
    doc = asdict(item)
    return json.dumps({**doc, "figures": dict(item.figures)})


def _floors(floors: Sequence[Floor]) -> str:
    if not floors:
        return ""
    commits = ", ".join(f"{each.rates['commits_per_s']:,.0f}" for each in floors)
    rows = ", ".join(f"{each.rates['rows_per_s']:,.0f}" for each in floors)
    return (
        f"Floor of each round, synced: {commits} commits/s of one row; {rows} rows/s at 50 a commit. "
        f"Figures are medians of {len(floors)} rounds (least to most). *times*: how many times better "
        f"Xingqiao is, of figures of the same round."
    )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
