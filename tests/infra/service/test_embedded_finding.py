"""Executions are described and found in a program with an embedded engine."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.actions import InvalidError, InvalidFilterError
from xingqiao.composer import path
from xingqiao.infra.service import embedded


async def test_executions_are_described_and_found(tmp_path):
    async with embedded(tmp_path / "data") as engine:
        await engine.declare("customer", "text")
        part = composer.sequence(composer.annotate(customer=path("$.c")), composer.wait(3600))
        await engine.deploy("order", part)
        one = await engine.start("order", {"c": "anna"}, memo={"why": 1})
        two = await engine.start("order", {"c": "bert"}, id="order-2")

        (found,) = await engine.executions("customer = 'anna'")
        assert (found["executionId"], found["memo"]) == (one.id, {"why": 1})
        assert [doc["executionId"] for doc in await engine.executions("id = 'order-2'")] == [
            two.run
        ]
        assert len(await engine.executions("order by started asc", limit=1)) == 1
        with pytest.raises(InvalidFilterError, match="at 0: no attribute 'custmer'"):
            await engine.executions("custmer = 'a'")
        with pytest.raises(InvalidError, match="no attribute 'size'"):
            await engine.start("order", {}, attributes={"size": 1})

    async with embedded(tmp_path / "data") as engine:
        (found,) = await engine.executions("customer = 'bert' and status = 'running'")
        assert found["attributes"] == {"customer": "bert"}
