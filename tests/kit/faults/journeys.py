"""Compositions of several steps that write down what ran, and a load of them that knows what was accepted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx

from xingqiao import composer
from xingqiao.actions import ActivationRow, ExecutionRow, Query
from xingqiao.composer import path
from xingqiao.infra.stores import SqliteStore

SENDERS = 4
MANY = 100_000
STEPS = ("first", "left", "right", "inner", "last")  # of one journey

# Writes down that it runs, takes a while, and adds its name to the trail.
STEP = """
import os, time

def main(params):
    line = f"{os.environ['__OW_ACTIVATION_ID']} {params['n']} NAME\\n"
    file = os.open(params["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)
    time.sleep(0.03)
    return {**params, "trail": [*params["trail"], "NAME"]}
"""

JOURNEY = composer.sequence(
    "first",
    composer.wait(0.05),
    composer.parallel("left", "right"),
    composer.select(
        {
            "n": path("$.value[0].n"),
            "file": path("$.value[0].file"),
            "trail": path("$.value[*].trail[1]"),
        }
    ),
    "nested",
    "last",
)


class Load:
    """Deploys journeys, starts them until told to stop, and knows which were accepted."""

    def __init__(self, data, runs):
        self.data, self.runs = data, runs
        self.accepted: dict[str, int] = {}
        self.answers: Counter[int] = Counter()
        self._numbers = iter(range(MANY))
        self._lock = threading.Lock()

    def deploy(self, server):
        documents = {
            name: {"kind": "python:3", "code": STEP.replace("NAME", name)} for name in STEPS
        }
        for name, composition in (("nested", composer.sequence("inner")), ("journey", JOURNEY)):
            documents[name] = {"kind": "composition", "composition": composition.to_json()}
        with server.client() as client:
            for name, document in documents.items():
                answer = client.put(f"/actions/{name}", json={"exec": document})
                assert answer.status_code == 200, answer.text

    def send(self, server, count):
        """Starts `count` journeys at once from several threads; less when the server is gone."""

        def sender(_):
            with server.client() as client:
                for _ in range(count // SENDERS):
                    try:
                        self._one(client)
                    except httpx.TransportError:
                        return  # whether it was accepted is not known, so nothing is promised

        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(sender, range(SENDERS)))

    def _one(self, client):
        with self._lock:
            number = next(self._numbers)
        params = {"n": number, "file": str(self.runs), "trail": []}
        answer = client.post("/actions/journey", json=params)
        with self._lock:
            self.answers[answer.status_code] += 1
            if answer.status_code == 202:
                self.accepted[answer.json()["activationId"]] = number

    def lines(self):
        """Every run so far: activation, number of the journey, step."""
        if not self.runs.exists():
            return []
        return [tuple(line.split()) for line in self.runs.read_text().splitlines()]

    def until_runs(self, count):
        """Waits until so many steps have begun."""
        deadline = time.monotonic() + 60
        while len(self.lines()) < count:
            assert time.monotonic() < deadline, f"{len(self.lines())} of {count} steps have begun"
            time.sleep(0.005)

    def check_ended(self, server):
        """Waits until all that was accepted has ended, and looks at the results."""
        assert self.accepted
        with server.client() as client:
            for id, number in self.accepted.items():
                answer = client.get(f"/activations/{id}", params={"wait": 20_000})
                assert answer.status_code == 200, f"{id} was accepted, and is lost"
                record = answer.json()
                assert record["response"]["success"], record
                assert record["response"]["result"] == {
                    "n": number, "file": str(self.runs), "trail": ["left", "right", "inner", "last"],
                }  # fmt: skip


def durable(data):
    """The ids of activations and executions that a stopped server has on disk as ended."""

    async def read():
        async with SqliteStore(data) as store:
            everything = Query(namespace="guest", limit=MANY)
            done = {row.id for row in await store.find(ActivationRow, everything)}
            rows = await store.find(ExecutionRow, everything)
            return done, {row.id for row in rows if row.ended_ms is not None}

    return asyncio.run(read())
