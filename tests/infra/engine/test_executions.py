"""Executions of state machines: begun by name, pinned to their definitions, stopped, told of."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from xingqiao import composer
from xingqiao.actions import Action, ActivationRow, Arns, Call, Composed, NotFoundError, Query
from xingqiao.composer import CANCELLED, Failure, Name, Success
from xingqiao.infra.engine import Beginning, EngineSettings
from xingqiao.infra.stepfunctions import MachineHooks
from xingqiao.infra.stores import MemoryStore

PASS = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
WAIT = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": True}}}
ASKS = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "ask", "End": True}}}
CONTEXT = {
    "StartAt": "P",
    "States": {"P": {"Type": "Pass", "Parameters": {"context.$": "$$"}, "End": True}},
}


def machine(definition, type="STANDARD"):
    return {"exec": {"kind": "states", "definition": json.dumps(definition), "type": type}}


def beginning(made, name="main", execution="e1", input=None, **more):
    action = made.engine.catalog.resolve(Name("guest", None, name), "guest")
    return Beginning(action, {} if input is None else input, "guest", execution, **more)


async def ended(made, execution):
    await made.engine.wait("guest", execution.id, 20)
    return await made.engine.executions.found("guest", execution.path, execution.name)


async def test_an_execution_is_found_by_its_name_with_what_went_in_and_came_out():
    async with world() as made:
        await made.put(main=machine(PASS))
        execution, fresh = await made.engine.executions.begin(beginning(made, input=[1, "a"]))
        assert fresh

        found = await ended(made, execution)

        assert (found.address, found.status, found.name) == (
            "arn:aws:states:us-east-1:111111111111:execution:main:e1", "succeeded", "e1",
        )  # fmt: skip
        assert await made.engine.executions.data(found) == ([1, "a"], Success([1, "a"]))
        assert json.loads(await made.engine.executions.definition(found)) == PASS


class Mistaken(MachineHooks):
    """Hooks that raise until they are mended."""

    mended = False

    def context(self, id, origin, input, /):
        if not self.mended:
            raise ZeroDivisionError
        return super().context(id, origin, input)


async def test_a_beginning_that_raises_leaves_nothing_of_it():
    """Else the name would be taken by an execution that never began."""
    hooks, store = Mistaken(Arns()), MemoryStore()
    made = await begun(store, hooks=hooks)
    await made.put(main=machine(PASS))
    call = Call(
        name=Name("guest", None, "main"), params={}, namespace="guest", idempotency_key="key"
    )

    with pytest.raises(ZeroDivisionError):
        await made.engine.executions.begin(beginning(made))
    with pytest.raises(ZeroDivisionError):
        await made.engine.invoke(call)
    await made.settle()
    assert await made.executions() == []
    assert made.engine.gauges()["executions_in_memory"] == 0

    hooks.mended = True
    execution, fresh = await made.engine.executions.begin(beginning(made))
    called = await made.engine.invoke(call)
    assert (fresh, called.replayed) == (True, False)
    assert len(await made.executions()) == 2
    assert json.loads(await made.engine.executions.definition(execution)) == PASS
    await made.kill()


async def test_a_name_is_given_once_while_its_execution_is_kept():
    async with world() as made:
        await made.put(main=machine(WAIT))
        first, _ = await made.engine.executions.begin(beginning(made))

        again, fresh = await made.engine.executions.begin(beginning(made, input={"other": 1}))

        assert (again.id, fresh) == (first.id, False)
        assert await made.engine.executions.data(again) == ({}, None)
        await made.engine.executions.stop(again)
        assert not (await made.engine.executions.begin(beginning(made))).fresh


async def test_two_who_ask_at_once_get_one_execution():
    async with world() as made:
        await made.put(main=machine(PASS))

        answers = await asyncio.gather(
            *[made.engine.executions.begin(beginning(made)) for _ in range(5)]
        )

        assert sum(answer.fresh for answer in answers) == 1
        assert len({answer.execution.id for answer in answers}) == 1
        assert len(await made.executions()) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_execution_begins_once_whenever_the_server_dies(when):
    store = MemoryStore()
    made = await begun(DyingStore(store, 0, when))
    await made.put(main=machine(WAIT))
    made.store.armed = True
    asked = asyncio.ensure_future(made.engine.executions.begin(beginning(made)))
    await made.store.dead.wait()
    asked.cancel()
    await made.kill()

    async with world(store) as again:
        _, fresh = await again.engine.executions.begin(beginning(again))

        assert fresh == (when == "before")
        assert len(await again.executions()) == 1


async def test_who_gives_no_name_gets_one_that_tells_the_id():
    async with world() as made:
        await made.put(main=machine(PASS))
        execution, _ = await made.engine.executions.begin(beginning(made, execution=None))

        assert execution.name.replace("-", "") == execution.id
        assert (await ended(made, execution)).id == execution.id


@pytest.mark.parametrize(
    ("namespace", "name", "execution"),
    [
        ("guest", "main", "other"),
        ("guest", "main", "00000000-0000-0000-0000-000000000000"),
        ("guest", "other", "e1"),
        ("somebody", "main", "e1"),
    ],
)
async def test_there_is_no_execution_of_another_name(namespace, name, execution):
    async with world() as made:
        await made.put(main=machine(PASS), other=machine(PASS))
        await made.engine.executions.begin(beginning(made))

        with pytest.raises(NotFoundError):
            await made.engine.executions.found(namespace, name, execution)


async def test_an_execution_is_not_found_by_the_id_of_one_that_has_a_name():
    async with world() as made:
        await made.put(main=machine(PASS))
        execution, _ = await made.engine.executions.begin(beginning(made))
        digits = execution.id
        name = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

        with pytest.raises(NotFoundError):
            await made.engine.executions.found("guest", "main", name)


async def test_a_definition_is_that_of_the_beginning_and_may_be_a_version_that_is_no_action():
    async with world() as made:
        await made.put(main=machine(PASS))
        text = json.dumps(WAIT)
        program = composer.asl.lower(text, type="STANDARD", hooks=_hooks())
        version = Action(
            Name("guest", None, "main"),
            Composed("states", {"definition": text, "type": "STANDARD"}, program),
        )
        about = {"version": 7}
        execution, _ = await made.engine.executions.begin(
            Beginning(version, {}, "guest", "e1", about)
        )
        await made.put(main=machine(ASKS))

        assert await made.engine.executions.definition(execution) == text
        assert execution.about["version"] == 7
        await made.engine.executions.stop(execution)


def _hooks():
    return composer.asl.hooks(is_action=lambda _: True, is_integration=lambda _: True)


async def test_the_context_object_tells_who_it_is():
    async with world() as made:
        await made.put(main=machine(CONTEXT))
        about = {"role": "arn:aws:iam::111111111111:role/mine"}
        execution, _ = await made.engine.executions.begin(
            beginning(made, input={"a": 1}, about=about)
        )

        _, outcome = await made.engine.executions.data(await ended(made, execution))

        context = outcome.value["context"]
        assert context["Execution"] == {
            "Id": execution.address, "Input": {"a": 1}, "Name": "e1", "RoleArn": about["role"],
            "StartTime": context["Execution"]["StartTime"], "RedriveCount": 0,
        }  # fmt: skip
        assert context["StateMachine"] == {
            "Id": "arn:aws:states:us-east-1:111111111111:stateMachine:main", "Name": "main",
        }  # fmt: skip


@pytest.mark.parametrize("how", ["invoked", "in a composition", "in a machine"])
async def test_a_machine_that_is_invoked_as_any_action_knows_who_it_is(how):
    async with world() as made:
        await made.put(main=machine(CONTEXT))
        await made.put(part=composer.sequence("main"), whole=machine(_task("main")))
        name = {"invoked": "main", "in a composition": "part", "in a machine": "whole"}[how]

        result = await made.run(name, {"a": 1})

        context = result["context"]
        id = context["Execution"]["Name"].replace("-", "")
        assert context["Execution"]["Id"].endswith(f":main:{context['Execution']['Name']}")
        assert context["Execution"]["Input"] == {"a": 1}
        assert (
            await made.engine.executions.found("guest", "main", context["Execution"]["Name"])
        ).id == id


def _task(resource, **more):
    task = {"Type": "Task", "Resource": resource, "End": True, **more}
    return {"StartAt": "T", "States": {"T": task}}


async def test_an_execution_is_stopped_with_an_error_and_a_cause():
    async with world(answers={"ask": HELD}) as made:
        await made.put(main=machine(ASKS), ask=None)
        execution, _ = await made.engine.executions.begin(beginning(made))
        await made.until(lambda: made.hands.invoked)

        await made.engine.executions.stop(execution, "Mine", "I wanted it")

        found = await ended(made, execution)
        assert found.status == "cancelled"
        _, outcome = await made.engine.executions.data(found)
        assert outcome == Failure(CANCELLED, {"Error": "Mine", "Cause": "I wanted it"})
        assert made.hands.cancelled
        assert await made.engine.executions.stop(execution) == found.ended_ms


async def test_an_execution_whose_own_time_is_up_has_timed_out():
    async with world() as made:
        await made.put(main=machine({**WAIT, "TimeoutSeconds": 1}))
        execution, _ = await made.engine.executions.begin(beginning(made))
        made.clock.ms += 1000
        made.engine._passed(execution.id, ("0", 0, 0))

        assert (await ended(made, execution)).status == "timed_out"


async def test_what_goes_into_a_task_need_be_no_object():
    async with world(answers={"ask": lambda params: {"got": params}}) as made:
        await made.put(main=machine(ASKS), ask=None)
        for input in ([1, 2], "text", 7):
            execution, _ = await made.engine.executions.begin(
                beginning(made, execution=None, input=input)
            )
            _, outcome = await made.engine.executions.data(await ended(made, execution))

            assert outcome.value == {"got": input}


async def test_an_express_machine_runs_to_its_end_and_its_name_may_be_given_again():
    async with world() as made:
        await made.put(main=machine(CONTEXT, "EXPRESS"))
        asked = beginning(made, execution=None, about={"name": "again"})

        execution, end = await made.engine.executions.run(asked, 20)
        other, _ = await made.engine.executions.run(asked, 20)

        assert execution.address.startswith(
            "arn:aws:states:us-east-1:111111111111:express:main:again:"
        )
        assert end.outcome.value["context"]["Execution"]["Id"] == execution.address
        assert execution.address != other.address


async def test_an_express_machine_that_does_not_end_fails_before_memory_does():
    rule = {"Variable": "$", "IsNull": True, "Next": "C"}
    states = {
        "A": {"Type": "Pass", "Next": "B"},
        "B": {"Type": "Choice", "Choices": [rule], "Default": "A"},
        "C": {"Type": "Succeed"},
    }
    async with world(settings=EngineSettings(express_events=500)) as made:
        await made.put(main=machine({"StartAt": "A", "States": states}, "EXPRESS"))

        _, end = await made.engine.executions.run(beginning(made, execution=None), 20)

        assert "number of history events (500)" in end.outcome.error["Cause"]


async def test_definitions_that_are_stored_are_remembered_by_hashes_and_not_all():
    async with world(settings=EngineSettings(definitions=1)) as made:
        for n, definition in enumerate((PASS, CONTEXT, PASS)):
            await made.put(main=machine(definition))
            execution, _ = await made.engine.executions.begin(
                beginning(made, execution=f"e{n}")
            )  # fmt: skip
            found = await ended(made, execution)
            assert json.loads(await made.engine.executions.definition(found)) == definition


async def test_names_are_forgotten_with_their_executions():
    async with world() as made:
        await made.put(main=machine(PASS))
        for name in ("a", "b", "c"):
            execution, _ = await made.engine.executions.begin(beginning(made, execution=name))
            await ended(made, execution)
        made.clock.ms += 1000
        kept, _ = await made.engine.executions.begin(beginning(made, execution="d"))
        await ended(made, kept)
        await _expire(made, kept.started_ms)

        last = ""
        for _ in range(3):
            last = await made.engine.executions.forget_names(last, 2, kept.started_ms)
            await made.engine._tick.settled()

        names = [document.key async for document in made.store.documents("named")]
        assert names == ["/guest/main:d"]


async def test_a_name_whose_execution_is_gone_is_given_again():
    async with world() as made:
        await made.put(main=machine(PASS))
        first, _ = await made.engine.executions.begin(beginning(made))
        await ended(made, first)
        made.clock.ms += 1000
        await _expire(made, made.clock.ms)

        again, fresh = await made.engine.executions.begin(beginning(made))

        assert fresh
        assert again.id != first.id


async def _expire(made, before_ms):
    from xingqiao.actions import Expiry, Write

    await made.engine.commit(Write(expired=Expiry(before_ms, 1000)))
    await made.engine.commit(Write(expired=Expiry(before_ms, 1000)))
    assert not await made.store.find(ActivationRow, Query(namespace="guest", upto_ms=before_ms - 1))
