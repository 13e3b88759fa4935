"""The service's figures for Prometheus."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.kit.actions.things import StandingClock
from xingqiao import composer
from xingqiao.actions import Action, Call
from xingqiao.actions.runtimes import InlineInvoker, Sandbox, WorkerPool, WorkerSettings
from xingqiao.adapters import Tally
from xingqiao.composer import Name
from xingqiao.infra.clock import RandomIds
from xingqiao.infra.engine import Engine, EngineSettings
from xingqiao.infra.service.telemetry import metrics_of
from xingqiao.infra.stores import MemoryStore

NOWHERE = SimpleNamespace(ended={}, repeats={}, under_way=(0, 0))


@pytest.fixture
async def service():
    clock = StandingClock()
    async with (
        InlineInvoker(clock) as inline,
        WorkerPool(Sandbox(), clock, WorkerSettings()) as pool,
    ):
        engine = Engine(
            MemoryStore(), {"inline": inline}, clock=clock, ids=RandomIds(),
            settings=EngineSettings(), secret=b"secret",
        )  # fmt: skip
        async with engine:
            yield engine, pool


def figures(write):
    """Every figure by its name and labels."""
    families = text_string_to_metric_families(write().decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


async def test_figures_say_what_has_happened(service):
    engine, pool = service
    engine.register(Name.parse("/guest/echo"), lambda params: params)
    engine.register(Name.parse("/guest/fail"), lambda params: {"error": "no luck"})
    for name, made in (
        ("good", composer.sequence("echo", "echo")),
        ("bad", composer.sequence("echo", "fail")),
        ("long", composer.wait(3600)),
    ):
        document = {"exec": {"kind": "composition", "composition": made.to_json()}}
        await engine.registry.put(Action, Name.parse(f"/guest/{name}"), document, overwrite=False)
    write = metrics_of(engine, pool, NOWHERE)
    before = figures(write)

    for name, wait in (("good", 30), ("bad", 30), ("bad", 30), ("long", None)):
        call = Call(name=Name.parse(f"/guest/{name}"), params={}, namespace="guest")
        invoked = await engine.invoke(call, wait_s=wait)
    under_way = figures(write)
    await engine.cancel("guest", invoked.activation, terminate=True)
    after = figures(write)

    assert not any(before.values()) or before["xingqiao_store_healthy",] == 1
    assert under_way["xingqiao_executions_total", "started"] == 4
    assert under_way["xingqiao_executions_total", "succeeded"] == 1
    assert under_way["xingqiao_executions_total", "failed"] == 2
    assert under_way["xingqiao_executions_total", "cancelled"] == 0
    assert under_way["xingqiao_steps_total",] == 6
    assert under_way["xingqiao_steps_failed_total",] == 2
    assert under_way["xingqiao_executions_in_memory",] == 0, "what waits is a row only"
    assert under_way["xingqiao_timers",] == 1
    assert after["xingqiao_executions_total", "cancelled"] == 1
    assert after["xingqiao_executions_in_memory",] == 0
    assert after["xingqiao_store_healthy",] == 1
    assert after["xingqiao_workers",] == 0


async def test_what_becomes_of_messages_is_told(service):
    completions = SimpleNamespace(tally=Tally(taken=3, late=2, refused=1))

    text = metrics_of(*service, NOWHERE, completions)().decode()

    assert 'xingqiao_queued_completions_total{status="taken"} 3.0' in text
    assert 'xingqiao_queued_completions_total{status="late"} 2.0' in text
    assert 'xingqiao_queued_completions_total{status="refused"} 1.0' in text


async def test_what_becomes_of_runs_elsewhere_is_told(service):
    clouds = SimpleNamespace(
        ended={("http", "Success"): 4, ("aws:lambda", "Throttled"): 1},
        repeats={"aws:lambda": 3},
        under_way=(5, 2),
    )

    text = metrics_of(*service, clouds)().decode()

    assert 'xingqiao_elsewhere_total{kind="http",result="Success"} 4.0' in text
    assert 'xingqiao_elsewhere_total{kind="aws:lambda",result="Throttled"} 1.0' in text
    assert 'xingqiao_elsewhere_repeats_total{kind="aws:lambda"} 3.0' in text
    assert "xingqiao_elsewhere_under_way 5.0" in text
    assert "xingqiao_elsewhere_polled 2.0" in text


async def test_every_figure_is_ours_and_explained(service):
    text = metrics_of(*service, NOWHERE)().decode()

    names = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    assert names
    assert all(name.startswith("xingqiao_") for name in names)
    assert all(len(line.split()) > 3 for line in text.splitlines() if line.startswith("# HELP"))
    assert len(names) == len(set(names))
