"""Runs of distributed Maps, read from an execution's history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ....composer import JSON
    from .events import Entry

RUNNING, SUCCEEDED, FAILED, ABORTED = "RUNNING", "SUCCEEDED", "FAILED", "ABORTED"
ENDS = {"MapRunSucceeded": SUCCEEDED, "MapRunFailed": FAILED, "MapStateFailed": FAILED}

Children: TypeAlias = "Mapping[int, str]"
"""The status of each child by its index: `running`, `succeeded`, `failed` or `aborted`."""


@dataclass(slots=True)
class MapRun:
    """A Map run: its state, its bounds and its progress.

    `turn` is None until the items are known; `sizes` are the sizes of batches, if the Map makes batches;
    `updated` are the bounds that UpdateMapRun has set.
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
    updated: dict[str, Any] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        return self.status == RUNNING

    @property
    def children(self) -> Children:
        """The status of each child of a run that has ended.

        The history counts the children that succeeded, but does not name them: the first ones are taken.
        """
        others = (index for index in range(self.width) if index not in self.failed)
        found = dict.fromkeys(self.failed, "failed")
        for kind in ("succeeded", "aborted"):
            for _ in range(self.tally.get(kind, 0)):
                found[next(others)] = kind
        return found

    def counts(self, children: Children, *, items: bool) -> dict[str, JSON]:
        """The number of children in each status, or of their items, as AWS counts them."""
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


def map_runs_of(entries: Iterable[Entry]) -> list[MapRun]:
    """The Map runs in a history, in order."""
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


def _note(entry: Entry, latest: dict[str, MapRun]) -> None:
    """Applies an entry to the latest run of each fiber."""
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


def _note_own(entry: Entry, run: MapRun) -> None:
    match entry["type"]:
        case "Forked" if run.running and "concurrency" in entry:
            run.turn, run.width = entry["turn"], entry["width"]
            run.concurrency, run.tolerated = entry["concurrency"], entry["tolerated"]
            if "sizes" in entry:
                run.sizes = [size for size, times in entry["sizes"] for _ in range(times)]
        case "ChildrenEnded" if run.turn == entry["turn"]:
            run.tally = {name: entry[name] for name in ("succeeded", "aborted")}
        case "Rebound":
            run.updated |= entry["asked"]
