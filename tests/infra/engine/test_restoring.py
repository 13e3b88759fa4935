"""Executions are made again from their rows with their waits and deadlines."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import HELD, begun
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import ConflictError
from xingqiao.composer import Failure
from xingqiao.infra.engine import restoring


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


async def test_executions_of_one_version_share_their_action_and_those_of_another_have_theirs():
    made = await begun(answers={"a": HELD})
    await made.put(a=None, main=composer.sequence("a", "a"))
    first = [await made.start("main") for _ in range(2)]
    await made.put(main=composer.sequence("a"))
    other = await made.start("main")
    await made.until(lambda: len(made.hands.done) == 3)
    await made.settle()

    again = await restarted(made)
    await again.settle()

    runs = again.engine._parts.runs
    one, same = (runs[id].origin.action for id in first)
    assert one is same
    assert runs[other].origin.action is not one
    assert (one.version, runs[other].origin.action.version) == ("0.0.1", "0.0.2")
    await again.kill()


@pytest.mark.parametrize(("kept", "shared"), [(2, True), (1, False)])
async def test_so_many_actions_are_remembered(kept, shared, monkeypatch):
    monkeypatch.setattr(restoring, "ACTIONS", kept)
    made = await begun(answers={"a": HELD})
    await made.put(a=None, one=composer.sequence("a"), two=composer.sequence("a", "a"))
    ids = []
    for name in ("one", "two", "one"):
        ids.append(await made.start(name))
        made.clock.ms += 1  # they come back in the order of their starts
    await made.until(lambda: len(made.hands.done) == 3)
    await made.settle()

    again = await restarted(made)
    await again.settle()

    runs = again.engine._parts.runs
    assert (runs[ids[0]].origin.action is runs[ids[2]].origin.action) is shared
    await again.kill()
