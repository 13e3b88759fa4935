"""Counters: entities of an engine, and transactions from elsewhere that ask for their votes."""

from __future__ import annotations

from tests.kit.engine.infra_clock import FastClock
from xingqiao.composer import Failure, call
from xingqiao.infra.engine import EngineSettings, Pacing

CODE = {"kind": "python:3", "code": "..."}


def entity(**settings):
    return {"exec": CODE, "annotations": [{"key": "entity", "value": settings or True}]}


def counter(message):
    """Counts, and adds what it is told."""
    total = message["state"] or 0
    match message["operation"]:
        case "add":
            total += message["params"].get("n", 1)
            return {"state": total, "result": {"total": total}}
        case "upgrade":
            return {"state": total * 100}
        case "refuse":
            return Failure("ApplicationError", "no")
        case _:
            return {"result": {"total": total}}


def add(key, n=1):
    return call("counter", key, "add", {"n": n})


async def operate(world, key, operation="add", **params):
    message = {"key": key, "operation": operation, "params": params}
    return await world.run("counter", message)


async def stored(world, key):
    return (await world.engine.records.entity("/guest/counter", key))["state"]


def message(kind, id="tx-1", **about):
    deadline = FastClock().now_ms() + 30_000
    return {"key": "k", "transaction": {"id": id, "kind": kind, "deadline": deadline, **about}}


async def prepared(world, **about):
    """A vote of yes of the entity k, for a coordinator that says nothing more."""
    asked = {
        **message("prepare", **about),
        "operations": [{"operation": "add", "params": {"n": 5}}],
    }
    answer = await world.run("counter", asked)
    assert answer["vote"] == "yes"


def asking(milliseconds):
    return EngineSettings(pacing=Pacing(inquiry_ms=milliseconds))
