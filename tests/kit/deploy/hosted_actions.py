"""Actions and an inline function for hosted compositions."""

from __future__ import annotations


def echo(name):
    def action(params):
        return {**params, name: params.get(name, 0) + 1}

    return action


def busy(params):
    return {"error": {"code": "Busy"}}


ACTIONS = {name: echo(name) for name in "abcd"} | {"busy": busy, "never": None}


def count(params, variables):
    variables["n"] += 1
    return {**params, "n": variables["n"]}
