"""The order in which systems are measured, with systems that only say that they were."""

from __future__ import annotations

import asyncio

from benchmarks.peers import rounds
from benchmarks.peers.rounds import Floor, interleaved
from benchmarks.peers.work import Load, Mail, Recovery, Workload, workloads

ALONE = next(each for each in workloads(1) if each.key == "steps-1-at-1")
TOLD = Workload(key="mail", title="mail", does=Mail(concurrency=1, count=1))
KILLED = Workload(key="recovery", title="recovery", does=Recovery())


class Known:
    """A system whose figures are known; it writes down its turn."""

    def __init__(self, name, turns, error=None):
        self._name, self._turns, self._error = name, turns, error

    async def measure(self, load):
        assert isinstance(load, Load)
        return self._figures("measured")

    async def recover(self, recovery):
        assert isinstance(recovery, Recovery)
        return self._figures("recovered")

    async def receive(self, mail):
        assert isinstance(mail, Mail)
        return self._figures("received")

    def _figures(self, what):
        self._turns.append((self._name, what))
        if self._error:
            raise self._error
        return {what: 1.0}


async def run(count, workloads, systems):
    measured = interleaved(count, workloads, systems, lambda: {"commits_per_s": 5.0})
    return [item async for item in measured]


async def test_systems_take_turns_within_a_workload_and_another_is_first_in_each_round():
    turns = []
    systems = {name: Known(name, turns) for name in "abc"}

    await run(2, [ALONE, KILLED, TOLD], systems)

    assert turns == [
        *[(name, "measured") for name in "abc"], *[(name, "recovered") for name in "abc"],
        *[(name, "received") for name in "abc"],
        *[(name, "measured") for name in "bca"], *[(name, "recovered") for name in "bca"],
        *[(name, "received") for name in "bca"],
    ]  # fmt: skip


async def test_the_floor_is_measured_in_each_round_before_the_systems():
    items = await run(2, [ALONE], {"a": Known("a", [])})

    assert [(type(item).__name__, item.round) for item in items] == [
        ("Floor", 1), ("Measured", 1), ("Floor", 2), ("Measured", 2),
    ]  # fmt: skip
    assert items[0] == Floor(round=1, rates={"commits_per_s": 5.0})
    assert items[1].figures == {"measured": 1.0}
    assert not items[1].failure


async def test_a_system_that_fails_is_a_row_and_the_others_go_on():
    nested = ExceptionGroup("tasks", [ExceptionGroup("more", [ValueError("no such port")])])
    systems = {"a": Known("a", [], nested), "b": Known("b", [])}

    _, failed, well = await run(1, [ALONE], systems)

    assert (failed.failure, failed.figures) == ("ValueError: no such port", {})
    assert (well.failure, well.figures) == ("", {"measured": 1.0})


async def test_a_system_that_never_answers_is_given_up(monkeypatch):
    class Silent:
        async def measure(self, load):
            await asyncio.Event().wait()

    monkeypatch.setattr(rounds, "LONGEST_S", 0.01)

    _, silent = await run(1, [ALONE], {"silent": Silent()})

    assert silent.failure == "it takes more than 0 s"
