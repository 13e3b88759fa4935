"""Runs of distributed Maps, as an execution's history tells of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ....composer import JSON

RUNNING, SUCCEEDED, FAILED, ABORTED = "RUNNING", "SUCCEEDED", "FAILED", "ABORTED"
ENDS = {"MapRunSucceeded": SUCCEEDED, "MapRunFailed": FAILED, "MapStateFailed": FAILED}

Children: TypeAlias = "Mapping[int, str]"
"""What has become of children, by their place: `running`, `succeeded`, `failed` or `aborted`."""


@dataclass(slots=True)
class MapRun:
    """One run: of which state, within which bounds, and how it stands.

    `turn` is None until its items are known; `sizes` are of its children's batches, if it makes batches;
    `asked` is what it was updated to.
    """

    arn: str
    state: str
    fiber: str
    started_ms: int
    status: str = RUNNING
    ended_ms: int | None = None
    turn: int | None = None
    width: int = 0
    concurrency: int = 0
    tolerated: int = 0
    sizes: list[int] | None = None
    failed: set[int] = field(default_factory=set)
    tally: dict[str, int] = field(default_factory=dict)
    asked: dict[str, JSON] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        return self.status == RUNNING

    @property
    def children(self) -> Children:
        """What has become of the children of a run that has ended.

        Those that have not failed are taken to have succeeded in the order in which they began.
        """
        others = (index for index in range(self.width) if index not in self.failed)
        found = dict.fromkeys(self.failed, "failed")
        for kind in ("succeeded", "aborted"):
            for _ in range(self.tally.get(kind, 0)):
                found[next(others)] = kind
        return found

    def counts(self, children: Children, *, items: bool) -> dict[str, JSON]:
        """How many children have come to what, as AWS counts them; or how many of their items."""
        sizes = self.sizes if items and self.sizes is not None else [1] * self.width
        count = Counter[str]()
        for index, kind in children.items():
            count[kind] += sizes[index]
        pending = sum(sizes) - count.total() if self.running else 0
        return {
            "pending": pending,
            "running": count["running"],
            "succeeded": count["succeeded"],
            "failed": count["failed"],
            "timedOut": 0,
            "aborted": count["aborted"],
            "total": pending + count.total(),
            "resultsWritten": count["succeeded"],
        }


def map_runs_of(entries: Iterable[dict[str, JSON]]) -> list[MapRun]:
    """The runs that a history tells of, in order."""
    runs: list[MapRun] = []
    latest: dict[str, MapRun] = {}  # by fiber
    for entry in entries:
        for _, _, type, about in entry.get("events", ()):
            if type == "MapRunStarted":
                run = MapRun(about["mapRunArn"], entry["state"], entry["fiber"], entry["at"])
                latest[run.fiber] = run
                runs.append(run)
            elif type in ENDS and entry["fiber"] in latest:
                _close(latest[entry["fiber"]], ENDS[type], entry["at"])
        _note(entry, latest)
    return runs


def _close(run: MapRun, status: str, at_ms: int) -> None:
    if run.running:
        run.status, run.ended_ms = status, at_ms


def _note(entry: dict[str, JSON], latest: dict[str, MapRun]) -> None:
    """What an entry says of the runs that were the last to begin."""
    match entry["type"]:
        case "BranchFailed":
            parent, _, place = entry["fiber"].rpartition("/")
            turn, _, index = place.partition(".")
            if parent in latest and latest[parent].turn == int(turn):
                latest[parent].failed.add(int(index))
        case "ExecutionFailed" | "ExecutionCancelled" | "ExecutionSucceeded":
            for run in latest.values():
                _close(run, ABORTED, entry["at"])
        case "ExecutionRedriven":
            for run in latest.values():
                if run.status != SUCCEEDED:
                    run.status, run.ended_ms, run.tally, run.failed = RUNNING, None, {}, set()
        case _ if entry["fiber"] in latest:
            _note_own(entry, latest[entry["fiber"]])


def _note_own(entry: dict[str, JSON], run: MapRun) -> None:
    match entry["type"]:
        case "Forked" if run.running and "concurrency" in entry:
            run.turn, run.width = entry["turn"], entry["width"]
            run.concurrency, run.tolerated = entry["concurrency"], entry["tolerated"]
            if "sizes" in entry:
                run.sizes = [size for size, times in entry["sizes"] for _ in range(times)]
        case "ChildrenEnded" if run.turn == entry["turn"]:
            run.tally = {name: entry[name] for name in ("succeeded", "aborted")}
        case "Rebound":
            run.asked |= entry["asked"]
