"""A program that uses a server by `xingqiao.client`, while the server is killed and connections are cut."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from tests.kit.client.lives import Life
from tests.kit.client.programs import ECHO, python
from tests.kit.client.wires import proxied
from tests.kit.infra.servers import AUTH, running
from xingqiao import composer
from xingqiao.client import InDoubtError, connect

SLOW = "import time\ndef main(params):\n    time.sleep(0.5)\n    return params\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


@pytest.mark.parametrize("cuts", [1, 3])
async def test_a_start_whose_answer_is_lost_is_one_execution(server, cuts):
    name = f"p{cuts}"
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.put("echo", python(ECHO))
        await x.deploy(name, composer.sequence("echo"))
        proxy.cuts = cuts

        execution = await x.start(name, {"n": 1})

        assert await execution.result() == {"n": 1}
        assert [doc["executionId"] for doc in await x.executions(name=name)] == [execution.id]
        assert proxy.cut == cuts


async def test_an_invocation_whose_answer_is_lost_is_one_execution(server):
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.put("slow", python(SLOW))
        await x.deploy("slowly", composer.sequence("slow"))
        proxy.cuts = 1

        assert await x.invoke("slowly", {"n": 1}) == {"n": 1}

        assert len(await x.executions(name="slowly")) == 1


@pytest.mark.parametrize("told_before", [False, True])
async def test_a_message_whose_answer_is_lost_is_told_once_and_its_answer_is_true(
    server, told_before
):
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.deploy("receives", composer.sequence(composer.receive("a"), composer.receive("b")))
        run = await x.start("receives")
        if told_before:
            await run.tell("a", 1, id="m-1")
        proxy.cuts = 1

        assert await run.tell("a", 1, id="m-1") is not told_before

        assert proxy.cut == 1
        assert await run.tell("a", 1, id="m-1") is False
        await run.tell("b", 2)
        assert await run.result() == {"value": 2}


CHANGES = {
    "put": lambda x, run: x.put("other", python(ECHO)),
    "declare": lambda x, run: x.declare("customer", "text"),
    "annotate": lambda x, run: run.annotate(memo=1),
    "pause": lambda x, run: x.schedule("s").pause(),
    "resume": lambda x, run: x.schedule("s").resume(),
    "replace": lambda x, run: x.schedule("s").create(DAILY, overwrite=True),
    "delete": lambda x, run: x.entity("any", "key").delete(),
}
DAILY = {"spec": {"cron": "@daily"}, "do": {"action": "waits"}}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_whose_answer_is_lost_is_in_doubt_and_not_made_again(server, change):
    """Another caller may have changed the same in between: that must stay."""
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.deploy("waits", composer.wait(3600))
        run = await x.start("waits")
        proxy.cuts = 1

        with pytest.raises(InDoubtError):
            await CHANGES[change](x, run)

        assert proxy.cut == 1


async def test_a_trigger_whose_answer_is_lost_is_in_doubt(server):
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.activations()
        proxy.cuts = 1

        with pytest.raises(InDoubtError):
            await x.fire("any")


async def test_a_wait_that_is_cancelled_closes_its_connection(server):
    async with proxied(server.url) as proxy, connect(proxy.url, AUTH) as x:
        await x.deploy("waits", composer.wait(3600))
        execution = await x.start("waits")
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(execution.result()) for _ in range(3)]
            await proxy.until_open(3)
            for task in waiting:
                task.cancel()
            await proxy.until_open(0)

        assert (await execution.status())["status"] == "running"


@pytest.fixture
def life(tmp_path):
    made = Life(tmp_path / "data")
    try:
        yield made
    finally:
        made.end()


async def test_a_program_goes_on_when_its_server_is_killed_between_any_two_calls(life):
    async with connect(life.server.url, AUTH) as x:
        await x.put("echo", python(ECHO))
        life.restart()
        await x.deploy("p", composer.sequence("echo", composer.wait(0.1), "echo"))
        life.restart()
        execution = await x.start("p", {"n": 1})
        life.restart()
        assert await execution.result() == {"n": 1}
        life.restart()
        assert (await execution.status())["status"] == "succeeded"
        life.restart()
        assert len([each async for each in x.executions(name="p")]) == 1


async def test_a_program_that_waits_goes_on_when_its_server_is_killed_meanwhile(life):
    async with connect(life.server.url, AUTH) as x:
        await x.put("slow", python(SLOW))
        await x.deploy("p", composer.sequence("slow", composer.wait(0.5), "slow"))
        async with asyncio.TaskGroup() as tasks:
            invoked = tasks.create_task(x.invoke("p", {"n": 1}))
            while not (found := await x.executions(name="p")):
                await anyio.lowlevel.checkpoint()
            execution = x.execution(found[0]["executionId"])
            waited = tasks.create_task(execution.result())
            followed = tasks.create_task(_types(execution))
            await anyio.lowlevel.checkpoint()
            await asyncio.to_thread(life.restart)

        assert invoked.result() == waited.result() == {"n": 1}
        assert followed.result() == [entry["type"] for entry in await execution.history()]
        assert len(await x.executions(name="p")) == 1


async def _types(execution):
    return [entry["type"] async for entry in execution.history(follow=True)]
