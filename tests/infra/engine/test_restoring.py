"""Executions are made again from their rows with their waits and deadlines."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import HELD, begun
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import ConflictError
from xingqiao.composer import Failure


async def standing(made, id):
    return [f["waits"] for f in (await made.engine.records.execution("guest", id))["fibers"]]


async def test_a_wait_outlasts_a_restart():
    made = await begun(answers={"a": {"done": True}})
    await made.put(a=None, main=composer.sequence(composer.wait(3600), "a"))
    id = await made.start("main")
    await made.settle()
    assert made.engine.gauges()["executions_in_memory"] == 0  # it waits in the store
    assert await standing(made, id) == ["timer"]

    early = await restarted(made, 3599)
    await early.settle()
    assert early.hands.invoked == []
    late = await restarted(early, 1)

    assert await late.result(id) == {"done": True}
    await late.kill()


async def test_a_timeout_and_a_retrys_delay_outlast_a_restart():
    part = composer.do(composer.timeout(60, "slow"), composer.retry(1, "fails", delay=60))
    made = await begun(answers={"slow": HELD, "fails": Failure("No", "no")})
    await made.put(slow=None, fails=None, main=part)
    id = await made.start("main")
    await made.settle()

    second = await restarted(made, 60)
    await second.until(lambda: "fails" in second.hands.names)
    await second.settle()
    third = await restarted(second, 60)

    assert (await third.result(id))["error"] == "no"
    assert third.hands.names == ["fails"]
    await third.kill()


async def test_a_paused_execution_waits_for_an_operator_across_a_restart():
    made = await begun(answers={"a": Failure("Down", "down")})
    await made.put(a=None, main=composer.retry(0, "a", on_exhausted="pause"))
    id = await made.start("main")
    await made.settle()
    assert (await made.engine.records.execution("guest", id))["status"] == "paused"

    again = await restarted(made, answers={"a": {"up": True}})
    assert await standing(again, id) == ["operator"]
    await again.engine.resume("guest", id)

    assert await again.result(id) == {"up": True}
    with pytest.raises(ConflictError):
        await again.engine.resume("guest", id)
    await again.kill()
