"""Targets of steps: the actions that a conductor action may name, how often, and their records."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import begun
from xingqiao.actions import Package
from xingqiao.composer import Failure, Name

CODE = {"exec": {"kind": "python:3", "code": "..."}}
CONDUCTS = [{"key": "conductor", "value": True}]
LEADING = {**CODE, "annotations": CONDUCTS}


def times(count, name="/_/part"):
    """A conductor action that names an action so often, and ends with what it was told last."""

    def lead(params):
        step = params.get("step", 0)
        if step == count or "error" in params:
            return {"params": {"steps": step, "last": params.get("error", "fine")}}
        return {"action": name, "params": {}, "state": {"step": step + 1}}

    return lead


async def led(**answers):
    world = await begun(answers={"part": {}, **answers})
    await world.put(
        part=None, **dict.fromkeys((name for name in answers if name != "part"), LEADING)
    )
    return world


@pytest.mark.parametrize(
    ("count", "result"),
    [
        (50, {"steps": 50, "last": "fine"}),
        (51, {"steps": 51, "last": "Too many actions in the composition."}),
    ],
)
async def test_it_names_so_many_actions_and_no_more(count, result):
    world = await led(main=times(count))

    assert await world.run("main") == result
    await world.kill()


async def test_the_actions_of_those_it_leads_count_too():
    world = await led(main=times(60, "/_/inner"), inner=times(6))

    made = await world.run("main")

    assert made == {"error": "Too many actions in the composition."}
    assert len([name for name in world.hands.names if name == "part"]) == 50
    await world.kill()


async def test_one_that_leads_only_itself_ends():
    """It names no component, so that only how often it is asked can be counted."""
    world = await led(main=times(10**6, "/_/idle"), idle=times(0))

    record = await world.record(await world.start("main"))

    assert record["response"]["status"] == "application error"
    assert "Too many actions in the composition." in str(record["response"]["result"])
    assert len(world.hands.invoked) == 101
    await world.kill()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("/_/nobody", "Failed to resolve action with name 'guest/nobody' during composition."),
        ("/_/no/body", "Failed to resolve action with name 'guest/no/body' during composition."),
        ("/other/x", "Failed entitlement check for action with name 'other/x' during composition."),
        ("/other/p/x",
         "Failed entitlement check for action with name 'other/p/x' during composition."),
        ("a/b/c/d", 'Failed to parse action name from json value "a/b/c/d" during composition.'),
    ],
)  # fmt: skip
async def test_what_it_may_not_name_it_is_told(name, error):
    world = await led(main=times(1, name))
    await world.engine.registry.put(Package, Name("other", None, "p"), {}, overwrite=True)

    assert await world.run("main") == {"steps": 1, "last": error}
    await world.kill()


async def test_what_it_leads_is_recorded_as_openwhisk_records_it():
    world = await led(main=times(2, "/_/inner"), inner=times(1))

    record = await world.record(await world.start("main"))

    def notes(doc):
        return {note["key"]: note["value"] for note in doc["annotations"]}

    parts = [await world.engine.records.activation("guest", id) for id in record["logs"]]
    assert [part["name"] for part in parts] == ["main", "inner", "main", "inner", "main"]
    assert [notes(part)["kind"] for part in parts] == [
        "python:3", "sequence", "python:3", "sequence", "python:3",
    ]  # fmt: skip
    inner = parts[1]
    assert (notes(inner)["conductor"], notes(inner)["topmost"]) == (True, False)
    assert (inner["cause"], notes(inner)["causedBy"]) == (record["activationId"], "sequence")
    assert len(inner["logs"]) == 3
    assert inner["duration"] == 9
    assert record["duration"] == 3 * 3 + 2 * 9
    await world.kill()


async def test_a_failure_of_its_own_code_is_the_compositions():
    world = await led(main=Failure("Crashed", "gone"))

    record = await world.record(await world.start("main"))

    assert record["response"]["status"] == "action developer error"
    assert record["response"]["result"] == {"error": "gone"}
    await world.kill()
