"""An embedded engine resumes what it was running when its process died, whenever it learns its functions."""

from __future__ import annotations

import subprocess
import sys
import uuid

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.kit.actions.things import until
from xingqiao import composer
from xingqiao.actions import InvalidError, NotFoundError, UnavailableError
from xingqiao.embedded import ActionError, embedded


@composer.action
def double(params):
    return {"n": params["n"] * 2}


PIPELINE = composer.sequence(double, composer.wait(0.2), double)
_DYING = """
import asyncio, os, pathlib, sys
from xingqiao import composer
from xingqiao.embedded import embedded

@composer.action
def double(params):
    return {"n": params["n"] * 2}

async def main():
    async with embedded(pathlib.Path(sys.argv[1])) as engine:
        await engine.deploy("pipeline", composer.sequence(double, composer.wait(0.2), double))
        print(await engine.start("pipeline", {"n": 1}), flush=True)
        while len(await engine.executions(status="running")) < 1:
            await asyncio.sleep(0.01)
        os._exit(9)

asyncio.run(main())
"""


def died(directory):
    """The id of an execution that waits, in a directory that a killed program has left."""
    done = subprocess.run(
        [sys.executable, "-c", _DYING, directory], capture_output=True, text=True, check=False
    )
    assert done.returncode == 9, done.stderr
    return done.stdout.strip()


async def parked(engine):
    """Waits until a step is parked."""
    await until(lambda: engine.engine.gauges()["parked_steps"] == 1)


async def test_an_execution_goes_on_when_its_function_is_registered_late(tmp_path):
    id = died(tmp_path)

    async with embedded(tmp_path) as engine:
        await parked(engine)
        status = await engine.execution(id).status()
        assert status["status"] == "running"
        assert [fiber["waits"] for fiber in status["fibers"]] == ["registration"]
        engine.register(double)

        assert await engine.execution(id).wait() == {"n": 4}
        assert engine.engine.gauges()["parked_steps"] == 0


async def test_what_the_program_has_is_there_before_recovery_begins(tmp_path):
    id = died(tmp_path)

    async with embedded(tmp_path, actions=[double], compositions={"again": PIPELINE}) as engine:
        assert await engine.execution(id).wait() == {"n": 4}
        assert await engine.invoke("again", {"n": 3}) == {"n": 12}


async def test_a_parked_step_can_be_given_up(tmp_path):
    id = died(tmp_path)

    async with embedded(tmp_path) as engine:
        await parked(engine)
        await engine.execution(id).terminate()

        with pytest.raises(ActionError, match="Cancelled"):
            await engine.execution(id).wait()
        assert engine.engine.gauges()["parked_steps"] == 0


async def test_a_parked_step_stays_parked_over_another_start(tmp_path):
    id = died(tmp_path)
    for _ in range(2):
        async with embedded(tmp_path) as engine:
            await parked(engine)

    async with embedded(tmp_path, actions=[double]) as engine:
        assert await engine.execution(id).wait() == {"n": 4}


async def test_a_function_that_is_not_registered_now_cannot_be_called(tmp_path):
    async with embedded(tmp_path, actions=[double]) as engine:
        assert await engine.invoke("double", {"n": 1}) == {"n": 2}

    async with embedded(tmp_path) as engine:
        with pytest.raises(UnavailableError, match=r"double.*has not registered"):
            await engine.invoke("double", {"n": 1})
        with pytest.raises(NotFoundError):
            await engine.invoke("nobody", {"n": 1})


async def test_a_step_that_nobody_ever_registered_fails_as_before(tmp_path):
    async with embedded(tmp_path, compositions={"p": composer.sequence("nobody")}) as engine:
        with pytest.raises(ActionError, match="NotFound"):
            await engine.invoke("p")


async def test_an_action_that_takes_a_functions_name_runs_in_its_place(tmp_path):
    async with embedded(tmp_path, actions=[double]):
        pass
    doc = {"exec": {"kind": "python:3", "code": "def main(params):\n    return {'n': 7}"}}
    async with embedded(tmp_path) as engine:
        await engine.put("double", doc)
        assert await engine.invoke("double") == {"n": 7}

    async with embedded(tmp_path) as engine:
        assert await engine.invoke("double") == {"n": 7}


async def test_an_action_that_takes_a_parked_functions_name_runs_the_parked_step(tmp_path):
    id = died(tmp_path)
    doc = {"exec": {"kind": "python:3", "code": "def main(params):\n    return {'n': 7}"}}

    async with embedded(tmp_path) as engine:
        await parked(engine)
        await engine.put("double", doc)

        assert await engine.execution(id).wait() == {"n": 7}


async def test_an_express_execution_that_waits_for_a_function_is_not_stored(tmp_path):
    express = composer.sequence("later")
    doc = {
        "exec": {"kind": "composition", "composition": express.to_json()},
        "annotations": [{"key": "durability", "value": "express"}],
    }
    later = composer.action(lambda params: {}, name="later")
    async with embedded(tmp_path, actions=[later]) as engine:
        await engine.put("quick", doc)
    async with embedded(tmp_path) as engine:
        await engine.start("quick")
        await parked(engine)

        assert await engine.executions() == []


async def test_an_engine_that_is_closed_under_a_call_says_so():
    @composer.action
    async def closes(params):
        await engine.engine.drain(0)
        return {}

    async with embedded(actions=[closes]) as engine:
        with pytest.raises(UnavailableError, match="closed before execution"):
            await engine.invoke("closes")


async def test_deploying_the_same_again_makes_no_new_version(tmp_path):
    for _ in range(2):
        async with embedded(tmp_path, compositions={"p": PIPELINE}) as engine:
            action = engine.engine.catalog.resolve(composer.Name.parse("/guest/p"), "guest")
            assert action.version == "0.0.1"


async def test_the_api_is_mounted_inside_another_application():
    async with embedded(actions=[double]) as engine:
        auth = f"{uuid.UUID(int=1)}:{'k' * 64}"
        app = Starlette(routes=[Mount("/bridge", await engine.mount(auth))])
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app/bridge") as client:
            path = "/api/v1/namespaces/_/actions/double?blocking=true&result=true"
            key = tuple(auth.split(":"))

            answer = await client.post(path, json={"n": 4}, auth=key)
            asked = await client.options("/api/v1/web/guest/default/double.json")
            refused = await client.post(path, json={"n": 4})

    assert (answer.status_code, answer.json()) == (200, {"n": 8})
    assert refused.status_code == 401
    assert asked.status_code == 404  # the web action's own answer: it is none


async def test_malformed_credentials_are_refused_when_it_is_mounted():
    async with embedded() as engine:
        with pytest.raises(InvalidError, match="UUID:KEY"):
            await engine.mount("secret")


STORED = {"exec": {"kind": "python:3", "code": "def main(params): return {'n': -1}"}}


async def test_a_function_that_was_registered_over_a_stored_action_stays_the_newer_one(tmp_path):
    """After a restart the stored code must not run again before the function is registered."""
    async with embedded(tmp_path) as engine:
        await engine.put("double", STORED)
        engine.register(double)
        assert await engine.invoke("double", {"n": 1}) == {"n": 2}

    async with embedded(tmp_path) as engine:
        with pytest.raises(UnavailableError, match=r"double.*has not registered"):
            await engine.invoke("double", {"n": 1})
        engine.register(double)
        assert await engine.invoke("double", {"n": 1}) == {"n": 2}


async def test_an_action_that_was_stored_over_a_function_stays_the_newer_one(tmp_path):
    async with embedded(tmp_path, actions=[double]) as engine:
        await engine.put("double", STORED)

    async with embedded(tmp_path) as engine:
        assert await engine.invoke("double", {"n": 1}) == {"n": -1}
