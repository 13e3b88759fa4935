"""A store that the version before one package wrote: it opens, and what was under way ends."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import anyio.lowlevel
import pytest

from xingqiao.actions import Action, ActivationRow, NotFoundError, Query, Rule, Trigger
from xingqiao.composer import Name
from xingqiao.infra.service.api import api_of
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.settings import Settings
from xingqiao.infra.stepfunctions import operations

MADE = Path(__file__).parents[2] / "data" / "before_one_package"
ABOUT = json.loads((MADE / "store.json").read_text("utf-8"))
LATER_MS = ABOUT["begun_ms"] + 2 * 3_600_000
GREETED = [{"i": i, "greeted": 1} for i in (1, 2, 3)]


class Clock:
    """It shows two hours after the executions began."""

    def now_ms(self):
        return LATER_MS

    def elapsed_us(self):
        return LATER_MS * 1000.0


async def never(_):
    await asyncio.Event().wait()


def slow(params):
    """Was under way: the step runs again, with the key that it had."""
    return params


def greet(params):
    return {**params, "greeted": params.get("greeted", 0) + 1}


def refuse(_):
    """Failed before, and goes well when it is retried."""
    return {"ok": True}


def vote(_):
    return {"error": "no"}


def account(message):
    total = (message["state"] or 0) + message["params"].get("n", 0)
    return {"state": total, "result": {"total": total}}


FUNCTIONS = (never, slow, greet, refuse, vote, account)


class World:
    """A service over the older store."""

    def __init__(self, service, settings):
        self.service, self.engine = service, service.engine
        self._operations = operations(api_of(service, settings, metrics=bytes))
        self.service.step_functions.serve(self.engine, self._operations)
        for function in FUNCTIONS:
            annotations = {"entity": True} if function is account else {}
            name = Name("guest", None, function.__name__)
            self.engine.register(name, function, annotations)

    async def aws(self, operation, **params):
        return await self._operations("guest", "test", operation, params)

    async def result(self, id):
        async def ended():
            return await self.service.store.find(ActivationRow, Query(namespace="guest", id=id))

        await self.until(ended)
        record = await self.engine.records.activation("guest", id)
        return record["response"]["result"]

    async def until(self, condition):
        async with asyncio.timeout(20):
            while not await condition():
                await anyio.lowlevel.checkpoint()

    async def activations(self, name):
        return await self.service.store.find(ActivationRow, Query(namespace="guest", name=name))

    async def balance(self, key):
        return (await self.engine.records.entity("/guest/account", key))["state"]


@pytest.fixture
async def world(tmp_path, monkeypatch):
    monkeypatch.setattr("xingqiao.infra.service.app.SystemClock", Clock)
    (tmp_path / "xingqiao.db").write_bytes(gzip.decompress((MADE / "store.db.gz").read_bytes()))
    settings = Settings(
        data=tmp_path, parameter_keys=ABOUT["key"], isolation="none", prewarmed=0, paused=True
    )
    async with open_service(settings) as service:
        yield World(service, settings)


RESULTS = {
    "waiting": {"from": "waiting", "greeted": 2},
    "forked": {
        "value": [
            {"from": "forked", "greeted": 1},
            {"from": "forked"},
            {"from": "forked", "greeted": 1},
        ]
    },
    "mapped": {"value": GREETED},
    "retried": {"ok": True},
    "caught": {"caught": True},
    "counted": {"n": 5},
    "trip": {"from": "trip", "greeted": 1},
    "undone": {"error": "refused"},
    "conducted": {"n": 1, "asked": True},
}


@pytest.mark.parametrize("name", RESULTS)
async def test_an_execution_under_way_ends_as_it_would_have(world, name):
    await world.service.resumption.resume()

    assert await world.result(ABOUT["ids"][name]) == RESULTS[name]
    history = (
        await Embedded(world.engine).history(ABOUT["ids"][name]) if name != "conducted" else []
    )
    assert [entry["seq"] for entry in history] == [*range(1, len(history) + 1)]


async def test_a_state_machine_goes_on_and_the_token_of_its_task_is_good(world):
    await world.service.resumption.resume()
    given = {"executionArn": ABOUT["execution"]}
    assert (await world.aws("DescribeExecution", **given))["status"] == "RUNNING"

    await world.aws("SendTaskSuccess", taskToken=ABOUT["token"], output='{"worked": true}')

    async def ended():
        return (await world.aws("DescribeExecution", **given))["status"] != "RUNNING"

    await world.until(ended)
    output = json.loads((await world.aws("DescribeExecution", **given))["output"])
    items = [{"i": 1}, {"i": 2}, {"i": 3}]
    assert output == [{"items": items, "greeted": 2}, {"worked": True}, items]
    events = (await world.aws("GetExecutionHistory", **given))["events"]
    assert [event["id"] for event in events] == [*range(1, len(events) + 1)]
    assert (events[0]["type"], events[-1]["type"]) == ("ExecutionStarted", "ExecutionSucceeded")


async def test_transactions_end_and_entities_keep_their_state(world):
    await world.service.resumption.resume()
    undecided = (await world.result(ABOUT["ids"]["undecided"]))["error"]
    decided = (await world.result(ABOUT["ids"]["decided"]))["value"]

    assert (undecided["code"], undecided["reason"]) == ("TransactionAborted", "no")
    assert decided[0] == {"total": 5}
    assert await world.balance("rich") == 7
    assert await world.balance("decided") == 5
    with pytest.raises(NotFoundError):
        await world.balance("undecided")


async def test_a_vote_in_doubt_hears_its_decision(world):
    await world.service.resumption.resume()
    (vote,) = [v for v in world.engine.heuristics.votes("guest") if v["key"] == "voted"]
    assert (vote["transaction"], vote["state"]) == ("elsewhere", "in doubt")

    message = {"transaction": {"id": "elsewhere", "kind": "commit", "deadline": LATER_MS}}
    assert await Embedded(world.engine).invoke("account", {"key": "voted", **message}) == {
        "done": "commit"
    }
    assert await world.balance("voted") == 9


async def test_a_trigger_fires_and_its_rule_runs_the_action(world):
    await world.service.resumption.resume()

    async def fired():
        return await world.activations("hourly")

    await world.until(fired)
    (row,) = await world.activations("hourly")
    record = await world.engine.records.activation("guest", row.id)
    (log,) = map(json.loads, record["logs"])
    assert (log["rule"], log["action"], log["success"]) == ("guest/greets", "guest/greet", True)
    assert await world.result(log["activationId"]) == {"greeted": 1}


async def test_a_dead_letter_says_whether_its_action_may_have_run(world):
    (letter,) = world.engine.letters.list("guest")

    assert letter["activationId"] == ABOUT["crashed"]
    assert (letter["target"], letter["code"]) == ("/guest/crash", "Crashed")
    assert letter["mayHaveRun"] == "unknown"
    assert (await world.engine.letters.get("guest", letter["id"]))["params"] == {"n": 1}


async def test_all_that_was_deployed_is_listed(world):
    catalog = world.engine.catalog
    machines = (await world.aws("ListStateMachines"))["stateMachines"]
    activities = (await world.aws("ListActivities"))["activities"]
    stored = {action.name.name for action in catalog.all(Action, "guest")}

    assert {*ABOUT["ids"], "machine", "inner"} <= stored
    assert [trigger.name.name for trigger in catalog.all(Trigger, "guest")] == ["hourly"]
    assert [rule.name.name for rule in catalog.all(Rule, "guest")] == ["greets"]
    assert [machine["name"] for machine in machines] == ["machine"]
    assert [activity["name"] for activity in activities] == ["work"]
