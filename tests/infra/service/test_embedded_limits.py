"""Limits that wait, in a program of one's own."""

from __future__ import annotations

import asyncio

import pytest

from xingqiao import composer
from xingqiao.composer import path
from xingqiao.embedded import embedded

AT_ONCE = {"running": 0, "most": 0}


async def enter():
    AT_ONCE["running"] += 1
    AT_ONCE["most"] = max(AT_ONCE["most"], AT_ONCE["running"])
    for _ in range(5):
        await asyncio.get_running_loop().run_in_executor(None, int)
    AT_ONCE["running"] -= 1


@composer.action
async def plain(params):
    await enter()
    return params


@composer.action(limits={"concurrent": 2})
async def bounded(params):
    await enter()
    return params


@pytest.mark.parametrize(
    "part",
    [composer.limit(plain, concurrent=2, name="api"), composer.sequence(bounded)],
    ids=["of a part", "of an action"],
)
async def test_functions_of_a_program_take_turns(part):
    AT_ONCE["most"] = 0
    each = composer.map(part, items=path("$.items"))
    async with embedded() as xingqiao:
        for function in (plain, bounded):
            xingqiao.register(function)
        document = {"exec": {"kind": "composition", "composition": each.to_json()}}
        await xingqiao.put("main", document)
        result = await xingqiao.invoke("main", {"items": [*range(8)]})

    assert [item["value"] for item in result["value"]] == [*range(8)]
    assert AT_ONCE["most"] == 2
