"""What an execution has cost: the time that each cloud bills for its steps, and that nothing bills for waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from actions import HERE, ActivationRow, Closed, Query

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from actions import ExecutionRow, Store
    from composer import JSON

PAGE = 1000


@dataclass(slots=True)
class Share:
    """What one cloud has done. Times are in milliseconds.

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


async def cost(store: Store, row: ExecutionRow, now_ms: int) -> dict[str, JSON]:
    """What an execution has cost so far, with the executions nested in it.

    Returns:
        `{"executionId", "elapsed", "clouds": [{"cloud", "steps", "billed", "took", "untold"}], "conductor", "waited"}`,
        in milliseconds: `conductor` is its own time, `waited` what is left of `elapsed`, and billed by nobody.
    """
    shares: dict[str, Share] = {}
    conducted_ms = own_ms = 0.0
    async for id, closed in _activations(store, row):
        if closed.billed_ms is not None:
            conducted_ms += closed.billed_ms
            own_ms += closed.billed_ms if id == row.id else 0
            continue
        remote, took_ms = closed.remote or {}, closed.duration_ms or 0
        share = shares.setdefault(remote.get("cloud", HERE), Share())
        share.steps += 1
        share.took_ms += took_ms
        if remote and "billed" not in remote:
            share.untold += 1
        share.billed_ms += remote.get("billed", 0 if remote.get("later") else took_ms)
    elapsed_ms = (row.ended_ms or now_ms) - row.started_ms
    return {
        "executionId": row.id,
        "elapsed": elapsed_ms,
        "clouds": [share.to_json(cloud) for cloud, share in sorted(shares.items())],
        "conductor": round(conducted_ms, 3),
        "waited": round(max(0.0, elapsed_ms - own_ms), 3),
    }


async def _activations(store: Store, row: ExecutionRow) -> AsyncIterator[tuple[str, Closed]]:
    """The execution's own record, if it has ended, and those of all that it has caused: their ids, and what is kept."""
    own = await store.find(ActivationRow, Query(namespace=row.namespace, id=row.id, limit=1))
    for found in own:
        yield found.id, _closed(found)
    causes = deque([row.id])
    while causes:
        cause, skip = causes.popleft(), 0
        while True:
            query = Query(namespace=row.namespace, cause=cause, skip=skip, limit=PAGE)
            page = await store.find(ActivationRow, query)
            for found in page:
                closed = _closed(found)
                yield found.id, closed
                if closed.billed_ms is not None:
                    causes.append(found.id)
            if len(page) < PAGE:
                break
            skip += PAGE


def _closed(activation: ActivationRow) -> Closed:
    return Closed(*orjson.loads(activation.body)["closed"])
