"""The parts that the engine's modules share: counts of endings, and the usage of namespaces."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from tests.kit.actions.things import StandingClock
from xingqiao.actions import Catalog
from xingqiao.infra.clock import RandomIds
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.live import CANCELLED, FAILED, SUCCEEDED, TIMED_OUT
from xingqiao.infra.engine.shared import Counters, Parts
from xingqiao.infra.stores import MemoryStore


@pytest.mark.parametrize(
    ("status", "counter"),
    [
        (SUCCEEDED, "succeeded"),
        (CANCELLED, "cancelled"),
        (FAILED, "failed"),
        (TIMED_OUT, "failed"),
    ],
)
def test_an_ending_is_counted_once(status, counter):
    counters = Counters()

    counters.ended(status)

    assert {name: count for name, count in asdict(counters).items() if count} == {counter: 1}


def test_a_namespace_has_one_usage_of_its_own():
    parts = Parts(
        clock=StandingClock(),
        ids=RandomIds(),
        catalog=Catalog(),
        store=MemoryStore(),
        settings=EngineSettings(),
    )

    parts.used("guest").live += 1

    assert parts.used("guest").live == 1
    assert parts.used("other").live == 0
