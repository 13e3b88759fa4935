"""Makes `store.db.gz` and `store.json`: executions under way, stored by the version before one package.

Run it with commit 15f8ac1, whose packages stood at the top of site-packages:

    git worktree add --detach ../before 15f8ac1
    PYTHONPATH=../before python tests/data/before_one_package/make_store.py

`store.json` has the store's encryption key, and the names, ids and tokens of what the store holds.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import anyio.lowlevel
import infra.app
from infra.api import api_of
from infra.app import open_service

import composer as c
from actions import Action, Call, Rule, Trigger
from composer import Name, call, path
from infra.http import operations
from infra.settings import Settings

HERE = Path(__file__).parent
BEGUN_MS = 1_700_000_000_000
HOUR_S = 3600
STANDING = {"steps_under_way": 10, "timers": 9, "in_doubt": 2, "dead_letters": 1, "live": 25}
KEY = "b2xkLXN0b3JlLW9sZC1zdG9yZS1vbGQtc3RvcmUtMDE="
ARN = "arn:aws:states:us-east-1:111111111111"


class Clock:
    """A clock that stands."""

    def now_ms(self):
        return BEGUN_MS

    def elapsed_us(self):
        return BEGUN_MS * 1000.0


# --- what is deployed ----------------------------------------------------------------------------


async def slow(_):
    """Is under way when the store is copied."""
    await asyncio.Event().wait()


def greet(params):
    return {**params, "greeted": params.get("greeted", 0) + 1}


def refuse(_):
    return {"error": "refused"}


def account(message):
    total = (message["state"] or 0) + message["params"].get("n", 0)
    return {"state": total, "result": {"total": total}}


CONDUCTOR = """
def main(params):
    if "asked" in params:
        return {"params": {"n": params["n"], "asked": True}}
    return {"action": "slow", "params": {"n": 1}, "state": {"asked": True}}
"""
FUNCTIONS = {
    "slow": (slow, {}),
    "never": (slow, {}),
    "vote": (slow, {}),
    "greet": (greet, {}),
    "refuse": (refuse, {}),
    "crash": (lambda _: sys.exit(3), {}),
    "account": (account, {"entity": True}),
}
DEPOSIT = call("account", path("$.from"), "deposit", {"n": 5})
COMPOSITIONS = {
    "waiting": c.sequence("greet", c.wait(HOUR_S), "greet"),
    "inner": c.sequence("greet", "slow"),
    "forked": c.parallel(c.sequence("greet", "slow"), c.wait(HOUR_S), "inner"),
    "mapped": c.map(c.sequence("greet", "slow"), items=[{"i": 1}, {"i": 2}, {"i": 3}], concurrency=2),
    "retried": c.retry(1, "refuse", delay=HOUR_S),
    "caught": c.do(c.timeout(HOUR_S, "never"), c.literal({"caught": True})),
    "counted": c.let({"n": 5}, c.sequence("greet", c.wait(HOUR_S), c.literal({}), lambda params, variables: {"n": variables["n"]})),
    "trip": c.saga(c.step("greet", undo="greet"), c.step("slow", no_undo="it is a letter")),
    "undone": c.saga(c.step("greet", undo="slow"), c.step("refuse", no_undo="it fails")),
    "undecided": c.transaction(DEPOSIT, c.participant("vote", "greet", "greet"), seconds=60, retries=0),
    "decided": c.transaction(DEPOSIT, c.participant("greet", "slow", "greet")),
}  # fmt: skip
PREPARE = {
    "transaction": {"id": "elsewhere", "kind": "prepare", "deadline": BEGUN_MS + 30_000},
    "operations": [{"operation": "deposit", "params": {"n": 9}}],
}
TASK = {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:111111111111:function:greet"}
MACHINE = {
    "StartAt": "Greet",
    "States": {
        "Greet": {**TASK, "Next": "Both"},
        "Both": {
            "Type": "Parallel",
            "End": True,
            "Branches": [
                {
                    "StartAt": "Wait",
                    "States": {
                        "Wait": {"Type": "Wait", "Seconds": HOUR_S, "Next": "Late"},
                        "Late": {**TASK, "End": True},
                    },
                },
                {
                    "StartAt": "Work",
                    "States": {
                        "Work": {"Type": "Task", "Resource": f"{ARN}:activity:work", "End": True}
                    },
                },
                {
                    "StartAt": "Each",
                    "States": {
                        "Each": {
                            "Type": "Map",
                            "ItemsPath": "$.items",
                            "Iterator": {
                                "StartAt": "Rest",
                                "States": {
                                    "Rest": {"Type": "Wait", "Seconds": HOUR_S, "End": True}
                                },
                            },
                            "End": True,
                        }
                    },
                },
            ],
        },
    },
}


# --- it begins -----------------------------------------------------------------------------------


async def main(folder: Path) -> None:
    infra.app.SystemClock = Clock
    settings = Settings(data=folder, parameter_keys=KEY, isolation="none", prewarmed=0)
    async with open_service(settings) as service:
        engine = service.engine
        aws = operations(api_of(service, settings, metrics=bytes))
        service.step_functions.serve(engine, aws)
        for name, (function, annotations) in FUNCTIONS.items():
            engine.register(Name("guest", None, name), function, annotations)
        for name, composition in COMPOSITIONS.items():
            document = {"exec": {"kind": "composition", "composition": composition.to_json()}}
            await engine.registry.put(Action, Name("guest", None, name), document, overwrite=True)
        document = {
            "exec": {"kind": "python:3", "code": CONDUCTOR},
            "annotations": [{"key": "conductor", "value": True}],
        }
        await engine.registry.put(
            Action, Name("guest", None, "conducted"), document, overwrite=True
        )

        await start(engine, "account", wait_s=20, key="rich", operation="deposit", params={"n": 7})
        await start(engine, "account", wait_s=20, key="voted", **PREPARE)
        ids = {
            name: await start(engine, name, **{"from": name})
            for name in (*COMPOSITIONS, "conducted")
            if name != "inner"
        }
        crashed = await start(engine, "crash", n=1)
        await alarm(engine)
        token = await states(aws)
        async with asyncio.timeout(20):
            while {**engine.gauges(), **STANDING} != engine.gauges():
                await anyio.lowlevel.checkpoint()
        copy(folder / "xingqiao.db")
        about = {
            "begun_ms": BEGUN_MS, "key": KEY, "ids": ids, "crashed": crashed,
            "execution": f"{ARN}:execution:machine:one", "token": token,
        }  # fmt: skip
        (HERE / "store.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        os._exit(0)


async def start(engine, name, wait_s=None, **params):
    asked = Call(name=Name("guest", None, name), params=params, namespace="guest")
    return (await engine.invoke(asked, wait_s=wait_s)).activation


async def alarm(engine):
    """A trigger that fires in an hour, and a rule."""
    await engine.registry.put(Trigger, Name("guest", None, "hourly"), {}, overwrite=False)
    rule = {"trigger": "/_/hourly", "action": "/_/greet"}
    await engine.registry.put(Rule, Name("guest", None, "greets"), rule, overwrite=False)
    params = {
        "lifecycleEvent": "CREATE",
        "triggerName": "/guest/hourly",
        "date": BEGUN_MS + HOUR_S * 1000,
    }
    asked = Call(name=Name("whisk.system", "alarms", "once"), params=params, namespace="guest")
    await engine.invoke(asked, wait_s=20)


async def states(aws):
    """A state machine under way; the token of its task."""

    async def ask(operation, **params):
        return await aws("guest", "made", operation, params)

    activity = (await ask("CreateActivity", name="work"))["activityArn"]
    role = "arn:aws:iam::111111111111:role/any"
    definition = json.dumps(MACHINE)
    made = await ask("CreateStateMachine", name="machine", definition=definition, roleArn=role)
    given = json.dumps({"items": [{"i": 1}, {"i": 2}, {"i": 3}]})
    await ask("StartExecution", stateMachineArn=made["stateMachineArn"], name="one", input=given)
    return (await ask("GetActivityTask", activityArn=activity))["taskToken"]


def copy(file: Path) -> None:
    small = file.with_name("small.db")
    with closing(sqlite3.connect(file)) as db:
        db.execute("VACUUM INTO ?", [str(small)])
    (HERE / "store.db.gz").write_bytes(gzip.compress(small.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    asyncio.run(main(Path(tempfile.mkdtemp())))
