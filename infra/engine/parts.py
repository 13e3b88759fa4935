"""What the engine's modules share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actions import Quotas
from composer import Limits

if TYPE_CHECKING:
    from actions import Catalog, Clock, Ids, Store, Usage

    from .runs import Run


@dataclass(slots=True)
class Counters:
    """What has happened since the start, for metrics."""

    started: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    steps: int = 0
    steps_failed: int = 0
    stale: int = 0  # completions, timers and cancellations that came late or twice
    recovered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What executions may use.

    Args:
        limits: of the machine, for each execution.
        quotas: of each namespace.
        nesting: compositions that invoke compositions.
    """

    limits: Limits = field(default_factory=Limits)
    quotas: Quotas = field(default_factory=Quotas)
    nesting: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that all of the engine's modules use."""

    clock: Clock
    ids: Ids
    catalog: Catalog
    store: Store
    settings: EngineSettings
    runs: dict[str, Run] = field(default_factory=dict)  # those in memory
    usage: dict[str, Usage] = field(default_factory=dict)  # by namespace
    counters: Counters = field(default_factory=Counters)
