"""State machines run in virtual time: `ran(states, input, actions=...)`."""

from __future__ import annotations

import json

from xingqiao.composer import asl
from xingqiao.composer.testing import simulate

HOOKS = asl.hooks(is_action=lambda _: True, is_integration=lambda _: True)
FN = "arn:aws:lambda:us-east-1:111111111111:function:fn"
ACTIVITY = "arn:aws:states:us-east-1:111111111111:activity:work"
INVOKE = "arn:aws:states:::lambda:invoke"
START = "arn:aws:states:::states:startExecution"


def lowered(definition, type="STANDARD"):
    return asl.lower(json.dumps(definition), type=type, hooks=HOOKS)


def machine(states, **fields):
    """A machine of these states, of which the first is where it starts."""
    return {"StartAt": next(iter(states)), "States": states, **fields}


def jsonata(states, **fields):
    return machine(states, QueryLanguage="JSONata", **fields)


def ran(definition, input=None, **world):
    """The run of a machine, or of one state by itself."""
    if "States" not in definition:
        last = definition["Type"] in ("Choice", "Succeed", "Fail") or "Next" in definition
        definition = machine({"A": definition if last else {**definition, "End": True}})
    return simulate(lowered(definition), input, **world)


def events(run):
    return [event for entry in run.history for event in entry.detail.get("events", ())]


def types(run):
    return [event[2] for event in events(run)]


def task(resource=FN, **fields):
    return {"Type": "Task", "Resource": resource, **fields}
