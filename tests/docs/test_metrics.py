"""The table of metrics in docs/operations.md names every metric of the server, with its labels."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.kit.actions.things import StandingClock
from xingqiao.actions.runtimes import InlineInvoker, Sandbox, WorkerPool, WorkerSettings
from xingqiao.adapters import Tally
from xingqiao.infra.access.audit import AuditLog
from xingqiao.infra.access.failures import Failures
from xingqiao.infra.clock import RandomIds
from xingqiao.infra.edge import Bodies, Bounds, Census, edge_metrics
from xingqiao.infra.engine import Engine, EngineSettings
from xingqiao.infra.service.telemetry import GAUGES, access_metrics, metrics_of
from xingqiao.infra.stores import MemoryStore

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
ROW = re.compile(r"^\| `(xingqiao_\w+)` \|(.*?)\|(.*?)\|$", flags=re.MULTILINE)
CLOUDS = SimpleNamespace(
    ended={("http", "Success"): 1}, repeats={"http": 1}, under_way=(1, 0)
)  # with every label


@pytest.fixture
async def families():
    """All metrics that a server can have."""
    clock, store = StandingClock(), MemoryStore()
    async with (
        InlineInvoker(clock) as inline,
        WorkerPool(Sandbox(), clock, WorkerSettings()) as pool,
        Engine(
            store, {"inline": inline}, clock=clock, ids=RandomIds(), settings=EngineSettings(),
            secret=b"secret",
        ) as engine,
    ):  # fmt: skip
        parts = (
            metrics_of(engine, pool, CLOUDS, SimpleNamespace(tally=Tally())),
            access_metrics(Failures(clock), AuditLog(store, clock, 1, 100)),
            edge_metrics(Census(Bounds()), Bodies(1, 1)),
        )
        text = b"".join(part() for part in parts).decode()
    return [*text_string_to_metric_families(text)]


async def test_the_table_names_every_metric_and_no_other(families):
    named = {name for name, _, _ in ROW.findall(PAGE.read_text("utf-8"))}

    assert named == {sample.name for family in families for sample in family.samples}


async def test_the_table_names_the_labels_of_each(families):
    labels = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    values = {
        (sample.name, value)
        for family in families
        for sample in family.samples
        for value in sample.labels.values()
    }
    for name, told, meaning in ROW.findall(PAGE.read_text("utf-8")):
        shown = re.findall(r"`(\w+)`", told)
        assert set(shown) >= labels[name], name
        assert set(shown) - labels[name] <= {value for of, value in values if of == name}, name
        assert meaning.strip(), name


async def test_every_gauge_is_explained_where_it_is_read(families):
    said = {family.name: family.documentation for family in families}

    assert {f"xingqiao_{name}": text for name, text in GAUGES.items()}.items() <= said.items()
    assert not [name for name, text in said.items() if text == name.removeprefix("xingqiao_")]
