"""The laws of `Xingqiao`: a program does the same in its own process and on a server."""

from __future__ import annotations

import inspect

import anyio
import pytest

from tests.kit.client.programs import ACCOUNT, CALLBACK, ECHO, FAIL, RAISE, RUNNERS
from tests.kit.infra.servers import AUTH, running
from xingqiao import composer
from xingqiao.actions import (
    AlreadyCompletedError,
    AlreadyStartedError,
    ConflictError,
    InvalidError,
    NotFoundError,
    ReusedKeyError,
)
from xingqiao.client import Client, RemoteEntity, RemoteExecution, RemoteSchedule
from xingqiao.composer import APPLICATION_ERROR, CANCELLED, TIMEOUT, Failure, Success, sequence
from xingqiao.embedded import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    Embedded,
    EntityHandle,
    ExecutionHandle,
    ScheduleHandle,
)
from xingqiao.infra.client.wrapping import public
from xingqiao.infra.handles import Entity, Execution, Schedule, Xingqiao

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


async def test_activations_are_listed_with_their_logs(run):
    says = await run.put("says", "def main(params):\n    print('hello')\n    return {}\n")
    ids = [(await run.x.run(says))[0] for _ in range(3)]

    found = [doc["activationId"] async for doc in run.x.activations(name=says)]

    assert sorted(found) == sorted(ids)
    assert len(await run.x.activations(name=says, limit=2)) == 2
    assert [line.endswith("hello") for line in await run.x.logs(ids[0])] == [True]


# --- the protocol --------------------------------------------------------------------------------

PAIRS = [
    (Xingqiao, Client, Embedded),
    (Execution, RemoteExecution, ExecutionHandle),
    (Entity, RemoteEntity, EntityHandle),
    (Schedule, RemoteSchedule, ScheduleHandle),
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
