"""The cost of an execution: the time that each cloud bills for its steps. Nobody bills for waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...actions import HERE, ActivationRow, Closed, Query
from .packing import unpacked_activation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...actions import ExecutionRow, Store
    from ...composer import JSON
    from .stored_values import Stored

PAGE = 1000


@dataclass(slots=True)
class Share:
    """The steps that ran in one cloud. Times are in milliseconds.

    Of `untold` steps the cloud does not say what it bills: they are counted by how long they took from here, and
    not at all if they answered later.
    """

    steps: int = 0
    billed_ms: float = 0.0
    took_ms: float = 0.0
    untold: int = 0

    def to_json(self, cloud: str) -> dict[str, JSON]:
        return {
            "cloud": cloud,
            "steps": self.steps,
            "billed": round(self.billed_ms, 3),
            "took": round(self.took_ms, 3),
            "untold": self.untold,
        }


@dataclass(slots=True)
class Usage:
    """The bill of a cloud for one action: `requests` that it ran, or may have run, and their time.

    Of `untold` requests the cloud does not say how long it bills.
    """

    cloud: str
    requests: int = 0
    untold: int = 0
    billed_ms: float = 0.0

    def to_json(self, step: str, kind: str, region: str, memory_mb: int | None) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"step": step, "kind": kind, "cloud": self.cloud}
        doc |= {"region": region} if region else {}
        doc |= {"memory": memory_mb} if memory_mb else {}
        return {
            **doc,
            "requests": self.requests,
            "billed": round(self.billed_ms, 3),
            "untold": self.untold,
        }


async def cost(store: Store, row: ExecutionRow, now_ms: int, page: int = PAGE) -> dict[str, JSON]:
    """The cost of an execution so far, with the executions nested in it.

    Args:
        store: the store of its activations.
        row: the execution.
        now_ms: present instant.
        page: activations that are read at once.

    Returns:
        `{"executionId", "elapsed", "clouds": [{"cloud", "steps", "billed", "took", "untold"}], "steps": [{"step", "kind",
        "cloud", "region", "memory", "requests", "billed", "untold"}], "conductor", "waited"}`,
        in milliseconds and megabytes: `conductor` is its own time, `waited` what is left of `elapsed`, and billed by nobody.
    """
    shares: dict[str, Share] = {}
    usages: dict[tuple[str, str, str, int | None], Usage] = {}
    conducted_ms = own_ms = 0.0
    async for found, closed in _activations(store, row, page):
        if closed.billed_ms is not None:
            conducted_ms += closed.billed_ms
            own_ms += closed.billed_ms if found.id == row.id else 0
            continue
        remote: Stored = closed.remote or {}
        took_ms = closed.duration_ms or 0
        share = shares.setdefault(remote.get("cloud", HERE), Share())
        share.steps += 1
        share.took_ms += took_ms
        if remote and ("billed" not in remote or "untold" in remote):
            share.untold += 1
        here_ms = 0 if remote.get("later") else max(0.0, took_ms - remote.get("waited", 0))
        billed_ms = remote.get("billed", here_ms)
        share.billed_ms += billed_ms
        place = (found.name, found.kind or "", remote.get("region", ""), remote.get("memory"))
        usage = usages.setdefault(place, Usage(remote.get("cloud", HERE)))
        charged: int = remote.get("charged", 1)
        untold: int = remote.get("untold", 0 if "billed" in remote or not remote else charged)
        usage.requests += charged
        usage.untold += untold
        usage.billed_ms += billed_ms
    elapsed_ms = max(0, (row.ended_ms or now_ms) - row.started_ms)  # the clock may be set back
    return {
        "executionId": row.id,
        "elapsed": elapsed_ms,
        "clouds": [share.to_json(cloud) for cloud, share in sorted(shares.items())],
        "steps": [usage.to_json(*place) for place, usage in usages.items()],
        "conductor": round(conducted_ms, 3),
        "waited": round(max(0.0, elapsed_ms - own_ms), 3),
    }


async def _activations(
    store: Store, row: ExecutionRow, page: int
) -> AsyncIterator[tuple[ActivationRow, Closed]]:
    """The activation of the execution, if it has ended, and those of its steps, each with how it was closed."""
    own = await store.find(ActivationRow, Query(namespace=row.namespace, id=row.id, limit=1))
    for found in own:
        yield found, _closed(found)
    causes = deque([row.id])
    while causes:
        cause, skip = causes.popleft(), 0
        while True:
            query = Query(namespace=row.namespace, cause=cause, skip=skip, limit=page)
            some = await store.find(ActivationRow, query)
            for found in some:
                closed = _closed(found)
                yield found, closed
                if closed.billed_ms is not None:
                    causes.append(found.id)
            if len(some) < page:
                break
            skip += page


def _closed(activation: ActivationRow) -> Closed:
    return Closed(*unpacked_activation(activation)["closed"])
