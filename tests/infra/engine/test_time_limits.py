"""Time limits of runs: of their start and of their action, tighter one first; the status and the record."""

from __future__ import annotations

import pytest

from tests.kit.engine.callbacks import CALLBACK
from tests.kit.engine.engines import CODE, GUEST, HELD, DyingStore, begun
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import Action, Call, InvalidError, StartOptions
from xingqiao.composer import Name
from xingqiao.infra.stores import MemoryStore

ANSWERS = {"a": HELD, "clean": {}, "ask": {}, "after": lambda params: params}


async def started(made, name, **options):
    call = Call(
        name=Name(GUEST, None, name), params={}, namespace=GUEST, options=StartOptions(**options)
    )
    return (await made.engine.invoke(call)).activation


async def deployed(store=None, **annotations):
    made = await begun(store, ANSWERS)
    await made.put(a=None, clean=None, after=None, ask=CALLBACK)
    await made.put(main=composer.ensure("a", "clean"), waits=composer.wait(1000))
    notes = [{"key": name, "value": value} for name, value in annotations.items()]
    await made.put(
        noted={
            "exec": {"kind": "composition", "composition": composer.task("a").to_json()},
            "annotations": notes,
        },
    )
    return made


async def stands(made, id):
    return (await made.engine.records.execution(GUEST, id))["status"]


@pytest.mark.parametrize("limit", ["run_timeout", "execution_timeout"])
async def test_a_run_that_is_late_ends_as_timed_out_and_its_finalizer_runs(limit):
    made = await deployed()
    id = await started(made, "main", **{f"{limit}_ms": 5000})
    await made.settle()

    made = await restarted(made, seconds=6)
    await made.until(lambda: made.hands.names.count("clean"))
    record = await made.record(id)

    assert record["response"]["result"]["error"]["timeout"] == limit
    assert {"key": "timeout", "value": True} in record["annotations"]
    assert await stands(made, id) == "timed_out"
    await made.kill()


@pytest.mark.parametrize(
    ("noted", "given", "late_s"), [(5, None, 5), (5, 9_000, 5), (9, 5_000, 5), (None, 5_000, 5)]
)
async def test_the_tighter_of_start_and_annotation_wins(noted, given, late_s):
    made = await deployed(**({} if noted is None else {"run_timeout": noted}))
    id = await started(made, "noted", run_timeout_ms=given)
    await made.settle()

    made = await restarted(made, seconds=late_s - 1)
    await made.settle()
    assert await stands(made, id) == "running"
    made = await restarted(made, seconds=2)
    await made.record(id)
    assert await stands(made, id) == "timed_out"
    await made.kill()


async def test_a_single_action_is_recorded_as_timed_out():
    made = await deployed()
    id = await started(made, "a", run_timeout_ms=5000)
    await made.settle()

    made = await restarted(made, seconds=6)
    record = await made.record(id)

    assert record["response"]["result"]["error"]["timeout"] == "run_timeout"
    assert {"key": "timeout", "value": True} in record["annotations"]
    await made.kill()


async def test_a_child_that_is_late_fails_its_parent_which_may_catch_it():
    made = await deployed(run_timeout=5)
    await made.put(
        parent=composer.do("noted", "after", errors="Timeout"), rough=composer.sequence("noted")
    )
    caught, failed = await started(made, "parent"), await started(made, "rough")
    await made.settle()

    made = await restarted(made, seconds=6)

    assert (await made.result(caught))["error"]["timeout"] == "run_timeout"
    assert (await made.result(failed))["error"]["timeout"] == "run_timeout"
    assert await stands(made, failed) == "failed"  # it was not its own time
    await made.kill()


async def test_a_run_that_is_late_tells_its_children():
    made = await deployed()
    await made.put(parent=composer.sequence("main"))
    id = await started(made, "parent", run_timeout_ms=5000)
    await made.settle()
    child = next(row.id for row in await made.executions() if row.id != id)

    made = await restarted(made, seconds=6)
    await made.record(id)
    await made.record(child)

    assert (await stands(made, id), await stands(made, child)) == ("timed_out", "cancelled")
    assert "clean" in made.hands.names
    await made.kill()


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_whatever_commit_it_dies_at_it_ends_as_timed_out_once(at, when):
    store = MemoryStore()
    made = await deployed(store)
    id = await started(made, "main", run_timeout_ms=5000)
    await made.settle()
    await made.kill()
    made.clock.ms += 6000

    dying = DyingStore(store, at, when)
    dying.armed = True
    second = await begun(dying, ANSWERS, clock=made.clock)
    for _ in range(3):
        await second.until(lambda: dying.dead.is_set() or id not in second.engine._parts.runs)
    await second.kill()
    third = await begun(store, ANSWERS, clock=made.clock)

    await third.record(id)
    assert await stands(third, id) == "timed_out"
    await third.kill()


@pytest.mark.parametrize("value", [0, -1, "5", True, [], 1e12])
async def test_an_annotation_that_is_no_time_is_refused(value):
    made = await begun()
    document = {**CODE, "annotations": [{"key": "run_timeout", "value": value}]}

    with pytest.raises(
        InvalidError, match="The annotation 'run_timeout' must be a number of seconds"
    ):
        await made.engine.registry.put(Action, Name(GUEST, None, "x"), document, overwrite=True)
    await made.kill()


async def test_a_run_that_has_timed_out_can_be_redriven():
    made = await deployed()
    id = await started(made, "waits", run_timeout_ms=5000)
    await made.settle()
    made = await restarted(made, seconds=6)
    await made.record(id)

    await made.engine.redrive(GUEST, id)

    assert await stands(made, id) == "running"
    made = await restarted(made, seconds=6)
    await made.until(lambda: not made.engine._parts.runs)
    await made.settle()
    assert await stands(made, id) == "timed_out"
    await made.kill()


async def test_a_run_without_a_time_limit_has_no_frame_and_no_member_for_it():
    made = await deployed()
    id = await started(made, "main")
    await made.settle()

    (fiber,) = made.engine._parts.runs[id].execution.fibers.values()
    entries = await made.engine.records.history(GUEST, id, after=0, limit=1)

    assert fiber.due_ms is None
    assert "timeouts" not in entries[0]
    await made.kill()


async def test_timers_that_are_overdue_fire_in_the_order_of_their_instants():
    made = await begun(answers=ANSWERS)
    seconds = [7, 3, 9, 1, 5, 8, 2, 6, 4]
    await made.put(after=None)
    for n in seconds:
        await made.put(
            **{f"wait{n}": composer.sequence(composer.wait(n), composer.literal({"n": n}), "after")}
        )
        await made.start(f"wait{n}")
    await made.settle()

    made = await restarted(made, seconds=60)
    await made.until(lambda: len(made.hands.invoked) == len(seconds))

    assert [invocation.params["n"] for invocation in made.hands.invoked] == sorted(seconds)
    await made.kill()


LATE = composer.sequence(
    composer.wait(10), composer.within(composer.retry(3, "fn"), to_start=30, to_end=5)
)


async def parked(made):
    """An execution of `late` whose step waits for a function that nobody has registered."""
    made.engine.register(Name(GUEST, None, "fn"), lambda params: params)
    await made.put(late=LATE)
    id = await made.start("late")
    await made.settle()
    made = await restarted(made, seconds=11)
    await made.until(lambda: made.engine.gauges()["parked_steps"])
    await made.settle()
    return made, id


async def test_a_step_without_a_worker_has_its_own_time_and_is_not_retried():
    made, id = await parked(await begun(answers=ANSWERS))

    made = await restarted(made, seconds=20)  # longer than `to_end`, which does not count yet
    await made.settle()
    assert await stands(made, id) == "running"
    made = await restarted(made, seconds=11)

    assert (await made.result(id))["error"]["timeout"] == "to_start"
    await made.kill()


@pytest.mark.parametrize("after_a_restart", [False, True])
async def test_a_step_is_taken_when_its_function_is_registered(after_a_restart):
    made, id = await parked(await begun(answers=ANSWERS))
    if after_a_restart:
        made = await restarted(made)
        await made.until(lambda: made.engine.gauges()["parked_steps"])
    (fiber,) = made.engine._parts.runs[id].execution.fibers.values()
    assert [frame.at_ms is None for frame in fiber.frames[-2:]] == [False, True]

    made.engine.register(Name(GUEST, None, "fn"), lambda params: params)

    (fiber,) = made.engine._parts.runs[id].execution.fibers.values()
    assert [frame.at_ms is None for frame in fiber.frames[-2:]] == [True, False]  # taken
    await made.kill()
