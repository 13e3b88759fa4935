"""Tasks that answer by their tokens: early, late, twice, after a crash; and their heartbeats."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode

import pytest

from tests.kit.engine.engines import HELD, begun, world
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.composer import Failure, Success, task_token
from xingqiao.infra.engine import Beginning
from xingqiao.infra.stores import MemoryStore

CALLBACK = "arn:aws:states:::lambda:invoke.waitForTaskToken"
TASK = {
    "Type": "Task",
    "Resource": CALLBACK,
    "Parameters": {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}},
    "End": True,
}
FAILED = Failure("Mine", {"Error": "Mine", "Cause": "no"})


def machine(**more):
    definition = {"StartAt": "T", "States": {"T": {**TASK, **more}}}
    return {"exec": {"kind": "states", "definition": json.dumps(definition)}}


async def asked(made, count=1):
    """An execution whose task has been asked for, and its token."""
    from xingqiao.composer import Name

    action = made.engine.catalog.resolve(Name("guest", None, "main"), "guest")
    execution, _ = await made.engine.executions.begin(Beginning(action, {}, "guest"))
    await made.until(lambda: len(made.hands.invoked) == count)
    await made.settle()
    return execution, made.hands.invoked[-1].params["token"]


async def outcome(made, execution):
    await made.engine.wait("guest", execution.id, 20)
    found = await made.engine.executions.found("guest", "main", execution.name)
    return (await made.engine.executions.data(found))[1]


async def events(made, execution):
    found = await made.engine.executions.history(execution)
    return [event[2] for entry in found for event in entry.get("events", ())]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Success({"said": "yes"}), Success({"said": "yes"})),
        (Success(7), Success(7)),
        (FAILED, FAILED),
    ],
)
async def test_a_task_is_answered_by_its_token(answer, result):
    async with world(answers={"ask": {"submitted": True}}) as made:
        await made.put(main=machine(), ask=None)
        execution, token = await asked(made)
        assert made.hands.invoked[0].token == token

        await made.engine.executions.answer("guest", token, answer)

        assert await outcome(made, execution) == result
        told = await made.engine.executions.history(execution)
        submitted = next(e for e in told if "TaskSubmitted" in str(e.get("events")))
        assert "submitted" in json.dumps(submitted["value"])


async def test_a_task_that_fails_to_be_asked_has_failed():
    async with world(answers={"ask": Failure("ApplicationError", "not now")}) as made:
        await made.put(main=machine(), ask=None)
        execution, _ = await asked(made)

        assert (await outcome(made, execution)).error["Error"] == "States.TaskFailed"


async def test_an_answer_counts_that_comes_before_the_action_has_returned():
    async with world(answers={"ask": HELD}) as made:
        await made.put(main=machine(), ask=None)
        execution, token = await asked(made)

        await made.engine.executions.answer("guest", token, Success({"n": 1}))
        made.hands.finish(made.hands.invoked[0].activation, {})
        await made.settle()

        assert await outcome(made, execution) == Success({"n": 1})
        assert made.engine.counters.stale == 1


async def test_the_first_answer_counts():
    async with world(answers={"ask": {}}) as made:
        await made.put(main=machine(), ask=None)
        execution, token = await asked(made)
        await made.engine.executions.answer("guest", token, Success({"n": 1}))

        with pytest.raises(ConflictError):
            await made.engine.executions.answer("guest", token, Success({"n": 2}))
        with pytest.raises(ConflictError):
            await made.engine.executions.heartbeat("guest", token)

        assert await outcome(made, execution) == Success({"n": 1})


def place_in(token):
    execution, fiber, turn, _ = (
        urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().split("|")
    )
    return execution, fiber, int(turn)


def unsigned(token):
    return task_token(*place_in(token))


def resigned(token, key):
    return task_token(*place_in(token), key)


@pytest.mark.parametrize(
    ("namespace", "change"),
    [
        ("guest", lambda _: "no token"),
        ("guest", lambda _: task_token("0" * 32, "0", 1)),
        ("guest", lambda _: task_token("0" * 32, "0", 1, b"another key")),
        ("guest", unsigned),
        ("guest", lambda token: f"{token[:-1]}{'A' if token[-1] != 'A' else 'Q'}"),
        ("guest", lambda token: resigned(token, b"another key")),
        ("somebody", lambda token: token),
    ],
)
@pytest.mark.parametrize("over", [True, False])
async def test_a_token_of_nothing_in_the_namespace_answers_nothing(namespace, change, over):
    async with world(answers={"ask": {}}) as made:
        await made.put(main=machine(), ask=None)
        execution, token = await asked(made)
        if over:
            await made.engine.executions.stop(execution)

        with pytest.raises(NotFoundError):
            await made.engine.executions.answer(namespace, change(token), Success({}))
        with pytest.raises(NotFoundError):
            await made.engine.executions.heartbeat(namespace, change(token))


async def test_an_execution_that_began_before_tokens_were_signed_takes_those_that_are_not():
    store = MemoryStore()
    made = await begun(store, {"ask": {}})
    await made.put(main=machine(), ask=None)
    execution, token = await asked(made)
    await made.kill()
    row = store._executions[execution.id]
    body = json.loads(row.body)
    assert body["machine"].pop("signed") is True
    store._executions[execution.id] = row._replace(body=json.dumps(body).encode())

    async with world(store, {"ask": {}}) as again:
        with pytest.raises(NotFoundError):
            await again.engine.executions.answer(
                "guest", resigned(token, b"another key"), Success({})
            )
        await again.engine.executions.heartbeat("guest", token)
        await again.engine.executions.answer("guest", unsigned(token), Success({"n": 1}))

        assert await outcome(again, execution) == Success({"n": 1})


async def test_a_token_of_another_turn_is_of_a_task_that_is_over():
    async with world(answers={"ask": {}}) as made:
        await made.put(main=machine(), ask=None)
        execution, _ = await asked(made)

        for place in (("0", 2), ("0/1.0", 1)):
            token = task_token(execution.id, *place, made.engine._tokens.tasks)
            with pytest.raises(ConflictError):
                await made.engine.executions.answer("guest", token, Success({}))


async def test_an_answer_after_a_crash_is_taken_and_nothing_is_asked_again():
    store = MemoryStore()
    made = await begun(store, {"ask": {}})
    await made.put(main=machine(), ask=None)
    execution, token = await asked(made)
    await made.kill()

    async with world(store, {"ask": {}}) as again:
        await again.engine.executions.answer("guest", token, Success({"n": 1}))

        assert await outcome(again, execution) == Success({"n": 1})
        assert again.hands.invoked == []


async def test_a_task_that_was_being_asked_when_the_server_died_is_asked_again_and_answers_later():
    store = MemoryStore()
    made = await begun(store, {"ask": HELD})
    await made.put(main=machine(), ask=None)
    execution, token = await asked(made)
    await made.kill()

    async with world(store, {"ask": {}}) as again:
        await again.until(lambda: again.hands.invoked)
        await again.settle()
        assert await again.engine.records.execution("guest", execution.id)
        await again.engine.executions.answer("guest", token, Success({"n": 1}))

        assert await outcome(again, execution) == Success({"n": 1})


async def test_a_heartbeat_puts_the_deadline_off():
    async with world(answers={"ask": {}}) as made:
        await made.put(main=machine(HeartbeatSeconds=10), ask=None)
        execution, token = await asked(made)
        made.clock.ms += 9_000
        await made.engine.executions.heartbeat("guest", token)
        made.clock.ms += 9_000
        made.engine._passed(execution.id, ("0", 0, 0))
        await made.settle()
        assert "TaskTimedOut" not in await events(made, execution)

        made.clock.ms += 2_000
        made.engine._passed(execution.id, ("0", 0, 0))

        assert (await outcome(made, execution)).error == {"Error": "States.Timeout"}
        with pytest.raises(ConflictError):
            await made.engine.executions.answer("guest", token, Success({}))


async def test_a_nested_machine_may_be_what_answers_later():
    async with world() as made:
        passes = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
        await made.put(ask={"exec": {"kind": "states", "definition": json.dumps(passes)}})
        await made.put(main=machine())
        from xingqiao.composer import Name

        action = made.engine.catalog.resolve(Name("guest", None, "main"), "guest")
        execution, _ = await made.engine.executions.begin(Beginning(action, {}, "guest"))
        await made.settle()
        assert "TaskSubmitted" in await events(made, execution)

        token = task_token(execution.id, "0", 1, made.engine._tokens.tasks)
        await made.engine.executions.answer("guest", token, Success({"n": 1}))

        assert await outcome(made, execution) == Success({"n": 1})
