"""Handles of embedded executions: looked at, stopped, continued and answered."""

from __future__ import annotations

import anyio
import pytest

from xingqiao import composer
from xingqiao.actions import AlreadyCompletedError, AlreadyStartedError, ConflictError
from xingqiao.composer import APPLICATION_ERROR
from xingqiao.embedded import ActionError, embedded


@composer.action
def double(params):
    return {"n": params["n"] * 2}


@composer.action
def fails(params):
    return {"error": "no"}


async def test_an_execution_is_seen_stopped_and_taken_up_again():
    async with embedded(actions=[double, fails]) as engine:
        await engine.deploy("waits", composer.sequence(double, composer.wait(3600), double))
        await engine.deploy("broken", composer.sequence(double, fails))
        id = await engine.start("waits", {"n": 1})
        with pytest.raises(TimeoutError):
            await engine.execution(id).wait(0.01)
        assert [doc["executionId"] for doc in await engine.executions(name="waits")] == [id]

        await engine.execution(id).pause()
        assert (await engine.execution(id).status())["status"] == "paused"
        await engine.execution(id).resume()
        assert (await engine.execution(id).status())["status"] == "running"
        await engine.execution(id).cancel()

        with pytest.raises(ActionError):
            await engine.execution(id).wait()
        assert (await engine.execution(id).status())["status"] == "cancelled"
        assert (await engine.execution(id).history())[-1]["type"] == "ExecutionCancelled"
        with pytest.raises(ActionError):
            await engine.invoke("broken", {"n": 1})
        [failed] = await engine.executions(status="failed")

        await engine.execution(failed["executionId"]).redrive(composer.sequence(double, double))

        assert await engine.execution(failed["executionId"]).wait() == {"n": 4}


@pytest.fixture
async def asking():
    """An engine with an action `asks` that answers by its callback, and `p` that waits for it."""

    @composer.action(annotations={"completion": "callback"})
    def asks(params):
        return {}

    async with embedded(compositions={"p": composer.sequence(asks)}) as engine:
        yield engine


async def answered(engine, id):
    """Waits until some step of the execution waits for its answer."""
    while not any(
        fiber["waits"] == "answer" for fiber in (await engine.execution(id).status())["fibers"]
    ):
        await anyio.lowlevel.checkpoint()


async def test_a_step_that_answers_later_is_completed_by_its_execution(asking):
    id = await asking.start("p")
    await answered(asking, id)

    await asking.execution(id).complete({"approved": True})

    assert await asking.execution(id).wait() == {"approved": True}
    with pytest.raises(ConflictError, match="has ended"):
        await asking.execution(id).complete({})


async def test_a_step_that_answers_later_is_failed_by_its_name(asking):
    id = await asking.start("p")
    await answered(asking, id)
    with pytest.raises(
        ConflictError, match="No step of this execution waits for an answer as 'other'"
    ):
        await asking.execution(id).fail("rejected", step="other")

    await asking.execution(id).fail("rejected", step="asks")

    with pytest.raises(ActionError, match=f"{APPLICATION_ERROR}.*rejected"):
        await asking.execution(id).wait()


async def test_an_action_that_answers_later_is_completed_by_its_activation(asking):
    id = await asking.start("asks")
    while True:
        try:
            await asking.execution(id).complete({"n": 1})
        except ConflictError:
            await anyio.lowlevel.checkpoint()
        else:
            break

    assert await asking.execution(id).wait() == {"n": 1}


async def test_an_execution_is_told_messages_and_started_with_one():
    listens = composer.sequence(composer.receive("go"), composer.receive("more"))
    async with embedded(compositions={"listens": listens}) as engine:
        run = await engine.tell_or_start("listens", id="order-7", message=("go", 1, "m-1"))
        again = await engine.tell_or_start("listens", id="order-7", message=("go", 1, "m-1"))
        handle = engine.execution("order-7")

        assert again == run
        assert await handle.tell("more", {"n": 2}, id="m-2")
        assert await handle.wait() == {"n": 2}
        assert not await handle.tell("more", {"n": 3}, id="m-2")
        with pytest.raises(ConflictError):
            await handle.tell("more")


async def test_an_id_of_ones_own_finds_the_execution_in_every_method():
    part = composer.sequence(composer.select({"n": 1}), composer.wait(3600))
    async with embedded(compositions={"long": part}) as engine:
        run = await engine.start("long", id="订单/7")
        with pytest.raises(AlreadyStartedError):
            await engine.start("long", id="订单/7")
        assert await engine.start("long", id="订单/7", on_open="use") == run
        handle = engine.execution("订单/7")
        assert (await handle.status())["id"] == "订单/7"
        assert (await handle.history())[0]["type"] == "ExecutionStarted"
        await handle.terminate()
        with pytest.raises(ActionError):
            await handle.wait(20)
        second = await engine.start("long", id="订单/7")
        assert (await engine.execution("订单/7").status())["executionId"] == second
        assert (await engine.execution("订单/7", run).status())["executionId"] == run
        await engine.execution("订单/7").terminate()
        with pytest.raises(AlreadyCompletedError):
            await engine.invoke("long", id="订单/7", on_closed="reject")
