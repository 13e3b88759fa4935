"""What the steps' own lines say about a recovery, with a system that is played."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.peers import marks, recovering
from benchmarks.peers.recovering import NotRecoveredError, recover, seen
from benchmarks.peers.work import Recovery

SECOND = 1_000_000_000


def test_the_first_step_after_the_restart_the_last_end_and_the_repetitions():
    lines = [
        ((0, 0), "began", 1 * SECOND), ((0, 0), "ended", 2 * SECOND),
        ((0, 1), "began", 2 * SECOND),  # under way in the kill
        ((0, 1), "began", 6 * SECOND), ((0, 1), "ended", 7 * SECOND),
        ((0, 2), "began", 7 * SECOND), ((0, 2), "ended", 9 * SECOND),
    ]  # fmt: skip

    assert seen(iter(lines), 5 * SECOND) == {"first_step_s": 1, "all_s": 4, "repeated": 1}


def test_a_step_that_ends_twice_has_ended_at_its_first_end():
    lines = [
        ((0, 0), "began", 1 * SECOND), ((0, 0), "ended", 6 * SECOND),  # the result was not durable
        ((0, 0), "began", 7 * SECOND), ((0, 0), "ended", 8 * SECOND),
    ]  # fmt: skip

    assert seen(iter(lines), 5 * SECOND) == {"first_step_s": 2, "all_s": 1, "repeated": 1}


class Played:
    """Runs half of the steps, is killed, and then runs the rest with some of the others again."""

    def __init__(self, again=1, lost=0):
        self.killed, self._again, self._lost = 0, again, lost

    async def begin(self, recovery):
        self._run(recovery, 0, self._half(recovery))

    async def kill(self):
        self.killed += 1

    async def resume(self, recovery):
        end = recovery.executions * recovery.steps - self._lost
        self._run(recovery, self._half(recovery) - self._again, end)

    def check(self):
        if self._lost:
            raise NotRecoveredError("its process has ended")

    def _half(self, recovery):
        return recovery.executions * recovery.steps // 2

    def _run(self, recovery, first, end):
        for number in range(first, end):
            execution, step = divmod(number, recovery.steps)
            payload = {**recovery.payload(execution), "step": step}
            marks.mark(payload, "began")
            marks.mark(payload, "ended")


async def test_a_system_is_killed_half_way_and_followed_to_its_end():
    system = Played(again=3)

    figures = await recover(system, Recovery(executions=4, steps=3))

    assert system.killed == 1
    assert figures["repeated"] == 3
    assert 0 <= figures["first_step_s"] <= figures["all_s"]


async def test_a_process_that_ends_by_itself_ends_the_wait():
    with pytest.raises(NotRecoveredError, match="its process has ended"):
        await recover(Played(lost=1), Recovery(executions=4, steps=3))


async def test_a_lost_step_is_an_error(monkeypatch):
    system = Played(lost=1)
    system.check = lambda: None
    monkeypatch.setattr(recovering, "WITHIN_S", 0.01)

    with pytest.raises(NotRecoveredError, match="11 of 12 steps have ended"):
        await recover(system, Recovery(executions=4, steps=3))


async def test_the_slow_step_says_when_it_begins_and_ends_and_counts(tmp_path):
    recovery = Recovery(step_ms=0, marks=str(tmp_path / "marks"))
    (tmp_path / f"marks{marks.STARTED}").touch()

    after = await marks.main(await marks.main(recovery.payload(7)))

    lines = (tmp_path / "marks").read_text().splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["7", "0", "began"], ["7", "0", "ended"], ["7", "1", "began"], ["7", "1", "ended"],
    ]  # fmt: skip
    assert after["step"] == 2


async def test_no_step_begins_before_all_executions_have_started(tmp_path):
    recovery = Recovery(step_ms=0, marks=str(tmp_path / "marks"))
    step = asyncio.ensure_future(marks.main(recovery.payload(0)))

    await asyncio.wait([step], timeout=0.05)
    assert not (tmp_path / "marks").exists()

    (tmp_path / f"marks{marks.STARTED}").touch()
    assert (await step)["step"] == 1
