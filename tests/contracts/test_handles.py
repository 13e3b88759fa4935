"""The laws of `Xingqiao`: a program does the same in its own process and on a server."""

from __future__ import annotations

import inspect
import threading

import anyio
import anyio.lowlevel
import pytest

from tests.kit.client.programs import (
    ACCOUNT,
    CALLBACK,
    ECHO,
    FAIL,
    RAISE,
    RUNNERS,
    an_embedded_engine,
)
from tests.kit.infra.servers import AUTH, running
from xingqiao import composer
from xingqiao.actions import (
    AlreadyCompletedError,
    AlreadyStartedError,
    ClosedError,
    ConflictError,
    InvalidError,
    NoSuchUpdateError,
    NotFoundError,
    RejectedError,
    ReservedEventError,
    ReusedKeyError,
    TooLargeError,
)
from xingqiao.client import Client, RemoteBatch, RemoteEntity, RemoteExecution, RemoteSchedule
from xingqiao.composer import (
    APPLICATION_ERROR,
    CANCELLED,
    TIMEOUT,
    Failure,
    Success,
    path,
    sequence,
    var,
)
from xingqiao.embedded import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    BatchHandle,
    Embedded,
    EntityHandle,
    ExecutionHandle,
    ScheduleHandle,
)
from xingqiao.infra.client.wrapping import public
from xingqiao.infra.handles import Batch, Entity, Execution, Schedule, Xingqiao

NOBODY = "0" * 32


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


@pytest.fixture(params=RUNNERS)
async def run(request, server):
    async with RUNNERS[request.param](server) as made:
        yield made


async def waiting(execution, waits):
    """Waits until some fiber of an execution waits for this."""
    while not any(fiber["waits"] == waits for fiber in (await execution.status())["fibers"]):
        await anyio.lowlevel.checkpoint()


# --- actions -------------------------------------------------------------------------------------


async def test_a_composition_is_deployed_and_invoked(run):
    step = composer.action(run.name("step"), code=ECHO, kind="python:3")
    name = await run.deploy("p", sequence(step, lambda params: {"n": params["n"] + 1}))

    assert await run.x.invoke(name, {"n": 1}) == {"n": 2}
    id, outcome = await run.x.run(run.name("step"), {"n": 3})
    assert outcome == Success({"n": 3})
    assert (await run.x.activation(id))["response"]["result"] == {"n": 3}


async def test_the_same_composition_gets_no_new_version(run):
    made = sequence(composer.wait(0))
    name = await run.deploy("p", made)
    await run.x.start(name)
    await run.deploy("p", made)
    await (await run.x.start(name)).result()

    versions = {doc["version"] for doc in await run.x.executions(name=name)}
    assert len(versions) == 1


async def test_a_failure_has_its_code_its_error_and_its_classes(run):
    failing = await run.put("fail", FAIL)
    raising = await run.put("raise", RAISE)

    with pytest.raises(ActionError) as failed:
        await run.x.invoke(failing, {"n": 1})
    _, raised = await run.x.run(raising)

    assert failed.value.failure == Failure(APPLICATION_ERROR, {"why": 1})
    assert (raised.code, raised.raised[0]) == (APPLICATION_ERROR, "KeyError")


async def test_what_is_malformed_or_missing_is_refused(run):
    with pytest.raises(NotFoundError):
        await run.x.invoke(run.name("nothing"))
    with pytest.raises(NotFoundError):
        await run.x.start(run.name("nothing"))
    with pytest.raises(InvalidError):
        await run.x.put(run.name("p"), {"exec": {"kind": "cobol:3", "code": ""}})


async def test_calls_with_one_token_are_one_execution(run):
    echo = await run.put("echo", ECHO)

    first = await run.x.start(echo, {"n": 1}, token=run.name("t"))
    second = await run.x.start(echo, {"n": 1}, token=run.name("t"))
    id, outcome = await run.x.run(echo, {"n": 1}, token=run.name("t"))

    assert (first.id, str(first), id) == (second.id, second.id, first.id)
    assert outcome == Success({"n": 1})
    with pytest.raises(ReusedKeyError):
        await run.x.start(echo, {"n": 2}, token=run.name("t"))


@pytest.mark.parametrize("token", ["two\nlines", "x" * 256])
async def test_a_token_that_cannot_be_one_is_refused(run, token):
    echo = await run.put("echo", ECHO)

    with pytest.raises(InvalidError):
        await run.x.start(echo, token=token)


# --- executions ----------------------------------------------------------------------------------


async def test_an_execution_is_waited_for(run):
    echo = await run.put("echo", ECHO)
    name = await run.deploy("p", sequence(echo, composer.wait(3600)))

    execution = await run.x.start(name, {"n": 1})

    with pytest.raises(TimeoutError, match="it goes on"):
        await execution.result(timeout=0.01)
    await waiting(execution, "timer")
    assert (await execution.status())["status"] == "running"
    await execution.terminate()


async def test_an_execution_is_cancelled_terminated_and_timed_out(run):
    name = await run.deploy("p", sequence(composer.wait(3600)))
    short = await run.deploy("short", composer.timeout(0.01, composer.wait(3600)))
    cancelled, terminated = await run.x.start(name), await run.x.start(name)

    await cancelled.cancel()
    await terminated.terminate()

    with pytest.raises(ActionCancelledError) as asked:
        await cancelled.result()
    assert not isinstance(asked.value, ActionTerminatedError)
    assert asked.value.failure.code == CANCELLED
    with pytest.raises(ActionTerminatedError):
        await terminated.result()
    with pytest.raises(ActionTimedOutError) as late:
        await run.x.invoke(short)
    assert late.value.failure.code == TIMEOUT
    for verb in (cancelled.cancel, cancelled.terminate, cancelled.pause, cancelled.resume):
        with pytest.raises(ConflictError):
            await verb()


async def test_an_execution_is_paused_and_goes_on(run):
    name = await run.deploy("p", sequence(composer.receive("on")))
    execution = await run.x.start(name)

    await execution.pause()
    assert (await execution.status())["status"] == "paused"
    await execution.resume()
    assert (await execution.status())["status"] == "running"
    await execution.tell("on", {"n": 1})

    assert await execution.result() == {"n": 1}


async def test_a_history_is_read_and_followed_to_its_end(run):
    echo = await run.put("echo", ECHO)
    name = await run.deploy("p", sequence(echo, composer.wait(0.05), echo))
    execution = await run.x.start(name, {"n": 1})

    followed = [entry async for entry in execution.history(follow=True)]

    assert followed[-1]["type"] == "ExecutionSucceeded"
    assert [entry["seq"] for entry in followed] == list(range(1, len(followed) + 1))
    assert followed == await execution.history()
    assert followed == [entry async for entry in run.x.history(execution.id)]


async def test_failed_executions_are_found_and_redriven(run):
    echo, fail = await run.put("echo", ECHO), await run.put("fail", FAIL)
    name = await run.deploy("p", sequence(echo, fail))
    for n in range(3):
        with pytest.raises(ActionError):
            await run.x.invoke(name, {"n": n})

    found = [each async for each in run.x.executions(name=name, status="failed")]
    for each in found:
        await each.redrive(sequence(echo, echo))

    assert [each.document["status"] for each in found] == ["failed"] * 3
    assert sorted([(await each.result())["n"] for each in found]) == [0, 1, 2]
    assert await run.x.executions(name=name, status="failed") == []
    assert len(await run.x.executions(name=name, limit=2)) == 2
    assert len([each async for each in run.x.executions(name=name, limit=2)]) == 2
    assert [each.id async for each in run.x.executions(name=name, skip=2)] == [found[2].id]


async def test_a_step_that_waits_for_its_callback_is_answered(run):
    asks = await run.put("asks", ECHO, annotations=CALLBACK)
    name = await run.deploy("p", sequence(asks))
    completed, failed = await run.x.start(name), await run.x.start(name)
    await waiting(completed, "answer")
    await waiting(failed, "answer")

    await completed.complete({"approved": True})
    with pytest.raises(ConflictError, match="No step of this execution waits"):
        await failed.fail("rejected", step="other")
    await failed.fail("rejected", step=asks)

    assert await completed.result() == {"approved": True}
    with pytest.raises(ActionError, match="rejected"):
        await failed.result()


async def test_an_execution_that_does_not_exist_says_so(run):
    nobody = run.x.execution(NOBODY)
    verbs = (
        nobody.result, nobody.status, nobody.cancel, nobody.terminate, nobody.pause, nobody.resume,
        nobody.redrive, nobody.history().page,
    )  # fmt: skip

    for verb in verbs:
        with pytest.raises(NotFoundError):
            await verb()
    with pytest.raises(NotFoundError):
        await nobody.complete({})
    with pytest.raises(NotFoundError):
        await run.x.activation(NOBODY)


# --- ids, messages, queries ----------------------------------------------------------------------


async def test_an_execution_has_its_users_id(run):
    name, id = await run.deploy("p", sequence(composer.wait(3600))), run.name("order/7 %")

    first = await run.x.start(name, {"n": 1}, id=id)
    same = await run.x.start(name, {"n": 1}, id=id, on_open="use")

    assert (first.id, same.run, run.x.execution(id).run) == (id, first.run, None)
    with pytest.raises(AlreadyStartedError) as refused:
        await run.x.start(name, {"n": 1}, id=id)
    assert refused.value.run == first.run
    assert (await run.x.execution(id).status())["executionId"] == first.run
    await run.x.execution(id).terminate()
    with pytest.raises(ActionTerminatedError):
        await run.x.execution(id).result()
    with pytest.raises(AlreadyCompletedError):
        await run.x.run(name, id=id, on_closed="reject")
    again = await run.x.start(name, id=id)
    assert (await run.x.execution(id, first.run).status())["status"] == "cancelled"
    await again.terminate()


async def test_an_execution_is_told_a_message_once(run):
    name = await run.deploy("p", sequence(composer.receive("yes"), composer.receive("yes")))
    execution = await run.x.start(name)

    assert await execution.tell("yes", {"who": "anna"}, id="m1") is True
    assert await execution.tell("yes", {"who": "anna"}, id="m1") is False
    assert await execution.tell("yes", {"who": "bo"}) is True

    assert await execution.result() == {"who": "bo"}
    with pytest.raises(ConflictError) as closed:
        await execution.tell("yes")
    assert closed.value.code == "Closed"


async def test_an_execution_is_told_or_started(run):
    name, id = await run.deploy("p", composer.receive("yes")), run.name("order")

    told = await run.x.tell_or_start(name, {}, id=id, message=("yes", {"n": 1}, "m1"))

    assert told.id == id
    assert await told.result() == {"n": 1}


UPDATED = composer.let(
    {"n": 0},
    composer.updates(
        composer.until(var("n") > 9),
        add=composer.on_update(validate=path("$.n") > 0, sets={"n": path("$.n")}, answer=var("n")),
        slow=composer.on_update(body=composer.wait(3600)),
        bad=composer.on_update(body=composer.raise_error("Full", "no room")),
    ),
    composer.select(var("n")),
)


async def test_an_execution_is_updated(run):
    execution = await run.x.start(await run.deploy("updated", UPDATED))

    assert await execution.update("add", {"n": 3}, id="a") == 3
    assert await execution.update("add", {"n": 4}, id="a") == 3
    assert await execution.update_answer("add", "a") == 3
    with pytest.raises(RejectedError):
        await execution.update("add", {"n": 0})
    with pytest.raises(NoSuchUpdateError, match="it has add, slow, bad"):
        await execution.update("other")
    with pytest.raises(InvalidError, match="'wait' must be accepted or completed"):
        await execution.update("add", {"n": 3}, wait="never")
    with pytest.raises(ActionError) as failed:
        await execution.update("bad", id="b")
    assert failed.value.failure.error == {"code": "Full", "message": "no room"}
    with pytest.raises(ActionError):
        await execution.update_answer("bad", "b")


async def test_an_update_that_is_not_answered_goes_on(run):
    execution = await run.x.start(await run.deploy("updated", UPDATED))

    assert await execution.update("slow", id="s", wait="accepted") == "s"
    assert len(await execution.update("slow", wait="accepted")) == 32
    with pytest.raises(TimeoutError, match="update 'slow' of execution"):
        await execution.update("slow", id="s", timeout=0.01)
    with pytest.raises(TimeoutError):
        await execution.update_answer("slow", "s", timeout=0.01)
    with pytest.raises(NotFoundError):
        await execution.update_answer("slow", "t")
    assert await execution.update("add", {"n": 10}) == 10
    assert await execution.result() == {"value": 10}
    with pytest.raises(ActionError) as closed:
        await execution.update_answer("slow", "s")
    assert closed.value.failure.code == "Closed"
    with pytest.raises(ClosedError):
        await execution.update("add", {"n": 1})


async def test_an_execution_is_asked_about_its_state(run):
    body = composer.let({"left": 3}, sequence(composer.wait(3600)))
    name = await run.deploy("p", composer.queries(body, progress={"left": composer.var("left")}))
    execution = await run.x.start(name)
    await waiting(execution, "timer")

    assert await execution.query("progress") == {"left": 3}
    with pytest.raises(NotFoundError) as unknown:
        await execution.query("nothing")
    assert unknown.value.code == "NoSuchQuery"
    await execution.terminate()
    with pytest.raises(ConflictError):
        await execution.query("progress", reject="closed")


# --- filters, limits, resets ---------------------------------------------------------------------


async def test_executions_are_found_and_counted_by_a_filter(run):
    name, fail = await run.deploy("p", composer.sequence()), await run.put("fail", FAIL)
    await run.x.declare("customer", "text")
    await run.x.declare("customer", "text")
    with pytest.raises(ConflictError):
        await run.x.declare("customer", "number")
    anna, bo = run.name("anna"), run.name("bo")
    for n in range(3):
        await run.x.invoke(name, {"n": n}, attributes={"customer": anna}, memo={"n": n})
    await run.x.run(await run.deploy("f", sequence(fail)), attributes={"customer": anna})
    await run.x.invoke(name, attributes={"customer": bo})

    where = f"customer = '{anna}'"
    oldest = await run.x.executions(f"{where} order by started asc", name=name)
    newest = [each.document async for each in run.x.executions(where, name=name)]
    assert sorted(doc["memo"]["n"] for doc in oldest) == [0, 1, 2]
    assert newest == oldest[::-1]
    assert await run.x.executions(where, name=name, limit=2) == newest[:2]
    assert len([each async for each in run.x.executions(where, name=name, limit=2)]) == 2
    assert [each.document["status"] async for each in run.x.executions(where, status="failed")] == [
        "failed"
    ]
    assert await run.x.count(where) == {"count": 4}
    assert await run.x.count(where, name=name) == {"count": 3}
    assert await run.x.count(where, group="status") == {
        "count": 4, "groups": {"succeeded": 3, "failed": 1},
    }  # fmt: skip
    assert (await run.x.count(name=name))["count"] == 4


async def test_a_filter_or_a_value_that_does_not_fit_is_refused(run):
    name = await run.deploy("p", sequence(composer.wait(0)))

    with pytest.raises(InvalidError, match="no attribute 'nothing'"):
        await run.x.executions("nothing = 1")
    with pytest.raises(InvalidError, match="'skip' does not go with 'where'"):
        run.x.executions("status = 'failed'", skip=1)
    with pytest.raises(InvalidError):
        await run.x.count("status = ")
    with pytest.raises(InvalidError, match="'group'"):
        await run.x.count(group="name")
    with pytest.raises(InvalidError, match="no attribute 'nothing'"):
        await run.x.start(name, attributes={"nothing": 1})
    with pytest.raises(InvalidError, match="'run_timeout' must be a number of seconds"):
        await run.x.start(name, run_timeout=-1)
    with pytest.raises(InvalidError):
        await run.x.declare("two words", "text")
    with pytest.raises(TypeError, match="name_of_no_option"):
        await run.x.start(name, name_of_no_option=1)


async def test_an_execution_has_the_limits_of_its_start(run):
    name = await run.deploy("p", sequence(composer.wait(3600)))

    for limit in ("execution_timeout", "run_timeout"):
        with pytest.raises(ActionTimedOutError):
            await run.x.invoke(name, **{limit: 0.01})
    late = await run.x.start(name, id=run.name("late"), run_timeout=0.01)
    with pytest.raises(ActionTimedOutError):
        await late.result()


async def test_an_execution_is_annotated(run):
    name = await run.deploy("p", sequence(composer.wait(0)))
    await run.x.declare("stage", "text")
    execution = await run.x.start(name, memo=1)
    await execution.result()

    first = await execution.annotate({"stage": "paid"})
    second = await execution.annotate(memo=None)

    assert first == {"executionId": execution.id, "attributes": {"stage": "paid"}, "memo": 1}
    assert second == {**first, "memo": None}
    with pytest.raises(InvalidError, match="no attribute 'nothing'"):
        await execution.annotate({"nothing": 1})
    with pytest.raises(NotFoundError):
        await run.x.execution(NOBODY).annotate({"stage": "paid"})


async def test_an_execution_is_reset_and_keeps_the_messages_that_came_later(run):
    name, id = await run.deploy("p", composer.receive("yes")), run.name("order")
    first = await run.x.start(name, id=id)
    await first.tell("yes", {"n": 1}, id="m1")
    assert await first.result() == {"n": 1}

    kept = await run.x.execution(id).reset("first", reason="again")
    dropped = await kept.reset("first", messages="drop")

    assert (kept.id, dropped.id, len({first.run, kept.run, dropped.run})) == (id, id, 3)
    assert await kept.result() == {"n": 1}
    await waiting(dropped, "message")
    assert (await run.x.execution(id).status())["executionId"] == dropped.run
    await dropped.tell("yes", {"n": 2})
    assert await dropped.result() == {"n": 2}
    with pytest.raises(InvalidError, match="'messages' must be 'keep' or 'drop'"):
        await kept.reset(messages="lose")
    with pytest.raises(ConflictError):
        await kept.reset(99)
    with pytest.raises(NotFoundError):
        await run.x.execution(NOBODY).reset()


async def test_an_execution_is_forked_with_another_input_or_composition(run):
    echo, id = await run.put("echo", ECHO), run.name("copy")
    name = await run.deploy("p", sequence(echo))
    execution = await run.x.start(name, {"n": 1})
    await execution.result()

    other = await execution.fork(step=echo, input={"n": 2}, id=id)
    corrected = await execution.fork(composition=sequence(echo, composer.literal({"n": 3})))

    assert (other.id, corrected.run) == (id, None)
    assert await other.result() == {"n": 2}
    assert await corrected.result() == {"n": 3}
    assert await execution.result() == {"n": 1}


async def test_a_schedule_is_created_paused_triggered_filled_back_and_deleted(run):
    echo = await run.put("echo", ECHO)
    document = {"spec": {"cron": "@daily"}, "do": {"action": echo, "input": {"n": 1}}}
    daily = run.x.schedule(run.name("daily"))
    with pytest.raises(NotFoundError):
        await daily.describe()

    assert (await daily.create(document))["status"] == "active"
    with pytest.raises(ConflictError):
        await daily.create(document)
    assert (await daily.create({**document, "note": "n"}, overwrite=True))["note"] == "n"
    assert await daily.get() == {**document, "note": "n"}
    assert (await daily.pause())["status"] == "paused"
    await daily.trigger(overlap="allow_all")
    await daily.backfill("2026-01-01", "2026-01-02")
    while len([run for run in (await daily.describe())["last"] if run["ended"]]) < 3:
        await anyio.lowlevel.checkpoint()
    assert (await daily.resume())["status"] == "active"
    for refused in (daily.trigger(overlap="x"), daily.backfill("soon", "2026-01-02")):
        with pytest.raises(InvalidError):
            await refused
    other = run.x.schedule(run.name("other @x"))
    await other.create(document)
    names = {daily.name, other.name}
    assert {each.name async for each in run.x.schedules()} >= names
    assert {line["name"] for line in await run.x.schedules()} >= names
    await daily.delete()
    await other.delete()
    assert not {each.name async for each in run.x.schedules()} & names


async def test_a_batch_is_started_followed_and_found(run):
    name = await run.deploy("hears", sequence(composer.receive("go"), composer.literal({"n": 1})))
    others = [await run.x.start(name) for _ in range(3)]
    while not all([(await each.status())["fibers"] for each in others]):
        await anyio.lowlevel.checkpoint()
    token = run.name("t")

    batch = await run.x.start_batch(
        f"action = '{name}'", "tell", details={"name": "go"}, reason="why", token=token
    )
    same = await run.x.start_batch(
        f"action = '{name}'", "tell", details={"name": "go"}, reason="why", token=token
    )

    counts = {"matched": 3, "done": 3, "failed": 0, "changed": 0, "gone": 0}
    assert (await batch.result(), same.id) == (counts, batch.id)
    assert [await each.result() for each in others] == [{"n": 1}] * 3
    found = await run.x.batch(batch.id).describe()
    assert (found["status"], found["do"], found["reason"]) == ("succeeded", "tell", "why")
    assert {name: found[name] for name in counts} == counts
    assert batch.id in {each.id async for each in run.x.batches()}
    assert batch.id in {doc["executionId"] for doc in await run.x.batches()}


async def test_a_batch_is_paused_resumed_and_cancelled(run):
    name = await run.deploy("waits", composer.wait(3600))
    for _ in range(2):
        await run.x.start(name)
    id = run.name("slow")

    batch = await run.x.start_batch(f"action = '{name}'", "pause", per_second=0.01, id=id)
    await batch.pause()
    with pytest.raises(TimeoutError):
        await batch.result(timeout=0.01)
    assert (batch.id, (await batch.describe())["status"]) == (id, "paused")
    await batch.resume()
    await batch.cancel()

    with pytest.raises(ActionCancelledError):
        await batch.result()
    for refused in (batch.pause, batch.resume, batch.cancel):
        with pytest.raises(ConflictError):
            await refused()


async def test_a_batch_that_is_malformed_or_missing_is_refused(run):
    with pytest.raises(InvalidError, match="at 0: no attribute 'custmer'"):
        await run.x.start_batch("custmer = 'a'", "cancel")
    with pytest.raises(InvalidError, match=r"'with\.name' is missing"):
        await run.x.start_batch("status = 'failed'", "tell")
    with pytest.raises(InvalidError):
        await run.x.start_batch("status = 'failed'", "cancel", token="two\nlines")
    with pytest.raises(NotFoundError):
        await run.x.batch(NOBODY).describe()


async def test_a_batch_is_not_an_execution_that_has_its_id(run):
    id = run.name("plain")
    plain = await run.x.start(await run.deploy("waits", composer.wait(3600)), id=id)

    other = run.x.batch(id)
    for refused in (other.describe, other.pause, other.resume, other.cancel, other.result):
        with pytest.raises(NotFoundError):
            await refused()

    assert (await plain.status())["status"] == "running"
    await plain.terminate()


# --- the rest ------------------------------------------------------------------------------------


async def test_an_entity_is_called_signalled_read_and_deleted(run):
    type = await run.put("account", ACCOUNT, annotations=[{"key": "entity", "value": True}])
    anna = run.x.entity(type, "anna/1")

    assert await anna.call("add", {"n": 2}) == {"n": 2}
    assert await anna.call("add", {"n": 2}, token="t") == {"n": 4}
    assert await anna.call("add", {"n": 2}, token="t") == {"n": 4}
    id = await anna.signal("add", {"n": 5})
    assert await anna.call("look", read=True) == {"n": 9}
    assert (await run.x.activation(id))["name"] == type
    assert (await anna.get())["state"] == {"n": 9}
    with pytest.raises(ActionError, match="unknown"):
        await anna.call("fly")
    await anna.delete()
    with pytest.raises(NotFoundError):
        await anna.get()
    with pytest.raises(NotFoundError):
        await run.x.entity(run.name("nothing"), "k").call("look")


async def test_a_trigger_is_fired(run):
    echo, trigger = await run.put("echo", ECHO), run.name("trigger")
    with pytest.raises(NotFoundError):
        await run.x.fire(trigger)
    await run.put_trigger(trigger, echo)

    id = await run.x.fire(trigger, {"n": 1})

    assert (await run.x.activation(id))["name"] == trigger


async def test_an_event_fires_the_triggers_that_it_fits_once(run):
    echo, trigger, type = await run.put("echo", ECHO), run.name("placed"), run.name("order.placed")
    await run.put_trigger(trigger, echo, filter={"exact": {"type": type}})
    order = {"source": "/shop", "id": run.name("7")}

    key = await run.x.send_event(type, {"n": 1}, **order, attributes={"subject": "a"}, wait=True)
    again = await run.x.send_event(type, {"n": 1}, **order, attributes={"subject": "a"}, wait=True)

    told = await run.x.event(key)
    assert (again, told["key"], told["state"]) == (key, key, "fired")
    [fired] = told["fired"]
    assert fired["trigger"].endswith(f"/{trigger}")
    assert (await run.x.activation(fired["activationId"]))["response"]["result"] == {
        "n": 1,
        "__ow_event": {"specversion": "1.0", **order, "type": type, "subject": "a"},
    }
    assert [doc["name"] for doc in await run.x.activations(name=trigger)] == [trigger]
    with pytest.raises(ConflictError, match="give this one another id"):
        await run.x.send_event(type, {"n": 2}, **order)


async def test_an_event_without_an_id_is_a_new_one(run):
    keys = [await run.x.send_event("a", source="/s") for _ in range(2)]

    assert len({*keys}) == 2
    with pytest.raises(NotFoundError):
        await run.x.event(NOBODY)


async def test_events_are_sent_together(run):
    events = [
        {"specversion": "1.0", "id": run.name(id), "source": "/s", "type": "a", "data": data}
        for id, data in (("1", None), ("2", [1]), ("1", None), ("2", 5))
    ]

    taken = await run.x.send_events(events, wait=True)

    first, second = taken["keys"][:2]
    assert taken == {"accepted": 2, "duplicates": 1, "conflicts": 1, "keys": [first, second] * 2}
    assert (await run.x.event(first))["state"] == "unclaimed"
    assert await run.x.send_events([]) == {"accepted": 0, "duplicates": 0, "keys": []}


async def test_an_event_that_cannot_be_taken_is_refused(run):
    with pytest.raises(InvalidError, match=r"at index 0 of the batch: .*'source'"):
        await run.x.send_event("a", source="")
    with pytest.raises(ReservedEventError, match=r"must not begin with xingqiao\."):
        await run.x.send_event("xingqiao.alarm", source="/s")
    with pytest.raises(TooLargeError):
        await run.x.send_event("a", "a" * (1 << 20), source="/s")
    with pytest.raises(InvalidError, match=r"The CloudEvents must be JSON: .*data"):
        await run.x.send_event("a", {"n": {1, 2}}, source="/s")
    with pytest.raises(InvalidError, match="'id' cannot be among the attributes"):
        await run.x.send_event("a", source="/s", id="7", attributes={"id": "8"})


async def test_data_of_199_levels_is_taken(run):
    deep = {"n": 1}
    for _ in range(198):
        deep = {"n": deep}

    assert await run.x.send_event("a", deep, source="/s")
    with pytest.raises(InvalidError, match="nest"):
        await run.x.send_event("a", {"n": deep}, source="/s")


async def test_what_a_program_changes_after_it_has_sent_it_is_not_sent():
    async with an_embedded_engine(None) as run:
        hearing = run.x.engine.events
        await run.put_trigger(
            run.name("t"), await run.put("echo", ECHO), filter={"exact": {"type": "a"}}
        )
        event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "a", "data": {"n": 1}}
        hearing._begun = False  # nothing is matched yet
        [key] = (await run.x.send_events([event]))["keys"]

        event["data"]["n"] = 2
        hearing.begin()
        await hearing.settled("guest", [key])

        [fired] = (await run.x.event(key))["fired"]
        assert (await run.x.activation(fired["activationId"]))["response"]["result"]["n"] == 1


async def test_activations_are_listed_with_their_logs(run):
    says = await run.put("says", "def main(params):\n    print('hello')\n    return {}\n")
    ids = [(await run.x.run(says))[0] for _ in range(3)]

    found = [doc["activationId"] async for doc in run.x.activations(name=says)]

    assert sorted(found) == sorted(ids)
    assert len(await run.x.activations(name=says, limit=2)) == 2
    assert [line.endswith("hello") for line in await run.x.logs(ids[0])] == [True]


# --- workers -------------------------------------------------------------------------------------


async def test_a_worker_does_the_tasks_of_its_queue_in_threads_and_in_the_loop(run):
    loop, threads = threading.get_ident(), {}

    def render(params, step):
        threads["render"] = threading.get_ident()
        params["scene"] += ".png"  # the task's own copy
        return {"image": params["scene"], "attempt": step.attempt}

    async def look(params):
        threads["look"] = threading.get_ident()
        raise ValueError(params["image"], params["attempt"])

    gpu = run.name("gpu")
    functions = [
        composer.action(each, name=run.name(each.__name__), queue=gpu, heartbeat=30)
        for each in (render, look)
    ]
    movie = await run.deploy("movie", sequence(*functions))
    async with run.x.worker(gpu, functions, slots=2, name="one") as worker:
        _, outcome = await run.x.run(movie, {"scene": "moon"})
        assert (worker.name, worker.functions) == ("one", sorted(each.name for each in functions))

    assert outcome.error == {"code": "ValueError", "message": "('moon.png', 1)"}
    assert threads["look"] == loop != threads["render"]


async def test_a_worker_gets_the_tasks_of_its_version_and_of_any(run):
    def render(params):
        return {"done": params["at"]}

    gpu = run.name("gpu")
    marked = composer.action(render, name=run.name("render"), queue=gpu, version=path("$.at"))
    await run.deploy("movie", sequence(marked))
    newer = await run.x.start(run.name("movie"), {"at": "v2"})
    async with run.x.worker(gpu, [marked], version="v1"):
        assert await run.x.invoke(run.name("movie"), {"at": "v1"}) == {"done": "v1"}
        assert (await newer.status())["status"] == "running"
    async with run.x.worker(gpu, [marked], version="v2"):
        assert await newer.result(timeout=60) == {"done": "v2"}


async def test_a_worker_that_stops_tells_its_functions_and_leaves_what_ignores_it(run):
    begun = anyio.Event()

    async def obeys(params, step):
        begun.set()
        while not step.cancelled:
            await anyio.lowlevel.checkpoint()
        return {"why": step.reason}

    gpu = run.name("gpu")
    marked = composer.action(obeys, name=run.name("obeys"), queue=gpu)
    await run.deploy("movie", sequence(marked))
    async with run.x.worker(gpu, [marked]):
        started = await run.x.start(run.name("movie"))
        await begun.wait()

    assert await started.result(timeout=60) == {"why": "the worker stops"}


async def test_a_task_that_nobody_waits_for_is_cancelled_in_its_worker(run):
    begun, seen = anyio.Event(), []

    async def hangs(params, step):
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(step.reason)

    gpu = run.name("gpu")
    marked = composer.action(hangs, name=run.name("hangs"), queue=gpu, heartbeat=0.6)
    await run.deploy("movie", sequence(marked))
    async with run.x.worker(gpu, [marked]) as worker:
        started = await run.x.start(run.name("movie"))
        await begun.wait()
        await started.cancel()
        while worker.running:
            await anyio.lowlevel.checkpoint()

    assert seen == ["nobody waits for the result any more"]


async def test_a_worker_that_cannot_work_is_refused(run):
    with pytest.raises(InvalidError, match="needs at least one function"):
        run.x.worker("gpu", [])
    with pytest.raises(InvalidError, match="slots"):
        run.x.worker("gpu", [print], slots=0)


# --- the protocol --------------------------------------------------------------------------------

PAIRS = [
    (Xingqiao, Client, Embedded),
    (Execution, RemoteExecution, ExecutionHandle),
    (Entity, RemoteEntity, EntityHandle),
    (Schedule, RemoteSchedule, ScheduleHandle),
    (Batch, RemoteBatch, BatchHandle),
]
OURS = {"register", "mount", "wait"}  # an embedded engine's own


@pytest.mark.parametrize(("protocol", "client", "engine"), PAIRS)
def test_both_have_the_same_methods_with_the_same_arguments(protocol, client, engine):
    methods, remote, local = (dict(public(each)) for each in (protocol, client, engine))

    assert methods.keys() == remote.keys() == local.keys() - OURS
    for name, method in methods.items():
        if not isinstance(method, property):
            arguments = inspect.signature(method).parameters
            assert inspect.signature(remote[name]).parameters == arguments, name
            assert inspect.signature(local[name]).parameters == arguments, name


async def test_a_chain_of_runs_is_one_execution(run):
    name, id = run.name("counting"), run.name("chain")
    part = sequence(
        lambda params: {"n": params["n"] + 1},
        composer.when(composer.path("$.n") < 3, composer.continue_as_new()),
    )
    name = await run.deploy("counting", part)

    assert await run.x.invoke(name, {"n": 0}) == {"n": 3}
    first = await run.x.start(name, {"n": 0}, id=id)
    assert await run.x.execution(first.run).result(20) == {"n": 3}
    assert await run.x.execution(id).result(20) == {"n": 3}
    begun = await run.x.execution(first.run).status()
    assert (begun["status"], begun["id"]) == ("continued", id)
    then = await run.x.execution(begun["next"]["executionId"]).status()
    assert then["continues"] == {"executionId": first.run, "first": first.run}
    with pytest.raises(ConflictError, match="redrive the last run"):
        await run.x.execution(first.run).redrive()
