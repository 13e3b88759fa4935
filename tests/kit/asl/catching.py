"""A task whose error is caught."""

from __future__ import annotations

from tests.kit.asl.machines import jsonata, machine, ran, task
from xingqiao.composer.testing import Fail

MINE = Fail("X", {"Error": "Mine", "Cause": "why"})
SHOWN = {
    (machine, "B"): {"Type": "Pass", "End": True},
    (machine, "C"): {"Type": "Pass", "Parameters": {"seen.$": "$v"}, "End": True},
    (jsonata, "C"): {"Type": "Pass", "Output": {"seen": "{% $v %}"}, "End": True},
}


def caught(catcher, answer=MINE, made=machine, **fields):
    states = {"A": task(Catch=[catcher], End=True, **fields)}
    states[catcher["Next"]] = SHOWN[made, catcher["Next"]]
    return ran(made(states), {"n": 1}, actions={"/_/fn": answer})
