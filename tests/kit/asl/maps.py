"""Machines of one Map."""

from __future__ import annotations

from tests.kit.asl.machines import machine
from xingqiao.composer.testing import Fail

MINE = Fail("X", {"Error": "Mine", "Cause": "why"})
PASS = {"Type": "Pass", "End": True}


def mapped(processor=None, mode="INLINE", **fields):
    config = {"Mode": mode, **({"ExecutionType": "STANDARD"} if mode == "DISTRIBUTED" else {})}
    states = processor or {"I": PASS}
    return {
        "Type": "Map",
        "ItemProcessor": {"ProcessorConfig": config, **machine(states)},
        **fields,
    }
