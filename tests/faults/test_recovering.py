"""A server that is killed while it recovers, twice in a row: nothing is lost, and nothing done is done again."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections import Counter, defaultdict

import pytest

from tests.kit.engine.engines import GUEST, HELD, begun
from tests.kit.faults.journeys import durable
from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.actions import ExecutionRow, Query
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.service.keys import sealed
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import SqliteStore

MANY = 3_000
NOTES = """
import os

def main(params):
    line = f"{os.environ['__OW_ACTIVATION_ID']} {os.environ['__OW_TRANSACTION_ID']} NAME\\n"
    file = os.open(params["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)
    return params
"""
DEADLINE_S = 120


async def fill(data, runs):
    """Starts so many executions of two steps in a store, and dies before any step has run."""
    async with SqliteStore(data, synchronous="OFF") as durable:
        store = await sealed(durable, Settings(data=data))
        made = await begun(store, {"one": HELD}, clock=SystemClock())
        steps = {
            name: {"exec": {"kind": "python:3", "code": NOTES.replace("NAME", name)}}
            for name in ("one", "two")
        }
        await made.put(**steps, main=composer.sequence("one", "two"))
        for _ in range(0, MANY, 200):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(200):
                    tasks.create_task(made.start("main", {"file": str(runs)}))
        await made.kill()


async def statuses(data):
    async with SqliteStore(data) as store:
        rows = await store.find(ExecutionRow, Query(namespace=GUEST, limit=2 * MANY))
        return Counter(row.status for row in rows)


def until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def gauge(server, name):
    with server.operator() as client:
        text = client.get(f"{server.url}/metrics").text
    return int(float(re.search(rf"^xingqiao_{name} (\S+)$", text, re.MULTILINE)[1]))


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


@pytest.mark.timeout(600)
def test_a_server_that_is_killed_twice_while_it_recovers_loses_and_repeats_nothing(tmp_path, start):
    data, runs = tmp_path / "data", tmp_path / "runs"
    asyncio.run(fill(data, runs))
    kills, over = [], []

    def lines():
        return [line.split() for line in runs.read_text().splitlines()] if runs.exists() else []

    for ran in (0, 20):
        server = start()
        until(lambda server=server: gauge(server, "executions_recovered_total") > 0)
        until(lambda ran=ran: len(lines()) >= ran)
        _, errors = server.stop(signal.SIGKILL)
        assert "recovery begins" in errors
        over.append(f"recovered {MANY} executions" in errors)
        done, _ = durable(data)
        kills.append((done, Counter(id for id, _, _ in lines())))

    server = start()
    until(lambda: gauge(server, "recovery_left") == 0)
    until(lambda: gauge(server, "live") == 0)
    server.stop()

    assert not all(over), "each kill came after the recovery"
    assert asyncio.run(statuses(data)) == {"succeeded": MANY}
    final = Counter(id for id, _, _ in lines())
    for done, before in kills:
        again = {id for id in done if final[id] != before[id]}
        assert not again, f"steps with a durable completion ran again: {again}"
    places = defaultdict(set)
    for id, execution, step in lines():
        places[execution, step].add(id)
    assert len(places) == 2 * MANY
    assert all(len(ids) == 1 for ids in places.values()), "a step that was repeated had a new id"
