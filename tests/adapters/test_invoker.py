"""The invoker of all adapters under the engine: what is durable when, and what a crash leaves to be done."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from tests.kit.actions.things import Answers, invocation, until
from tests.kit.contracts.elsewhere import RUN, SECRET, action, ended, opened
from tests.kit.engine.engines import GUEST, DyingStore, World
from tests.rigs.answers import accepted, always, answer, cut, held, throttled
from tests.rigs.durable import ROOT, Durable
from xingqiao import composer
from xingqiao.actions import Action, ActivationRow, Query, parsed_remote
from xingqiao.composer import Name, Success
from xingqiao.infra.clock import RandomIds, SystemClock
from xingqiao.infra.engine import Engine, EngineSettings
from xingqiao.infra.stores import MemoryStore

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")

SECRETS = {"mine": {"type": "functions-key", "key": SECRET}}
PENDING = answer({"runtimeStatus": "Running"}, 202)
ENDED = answer({"runtimeStatus": "Completed", "output": {"late": 1}})


class Elsewhere(World):
    """An engine whose actions all run elsewhere."""

    def __init__(self, store, invoker):
        self.store, self.clock, self.invoker = store, SystemClock(), invoker
        self.engine = Engine(
            store, dict.fromkeys(invoker.kinds, invoker), clock=self.clock, ids=RandomIds(),
            settings=EngineSettings(), secret=b"secret",
        )  # fmt: skip

    async def record(self, id):
        """As the world's, however often it must look: polls take real time."""
        query = Query(namespace=GUEST, id=id)
        async with asyncio.timeout(20):
            while not await self.store.find(ActivationRow, query):
                await anyio.lowlevel.checkpoint()
        return await self.engine.records.activation(GUEST, id)

    async def error(self, id):
        return (await self.result(id))["error"]

    async def until_failed(self, id):
        """The history of an execution as soon as a step of it has failed."""
        while True:
            history = await self.engine.records.history(GUEST, id, after=0, limit=99)
            if any(entry["type"] == "StepFailed" for entry in history):
                return history
            await anyio.lowlevel.checkpoint()

    async def settle_a_while(self):
        for _ in range(200):
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def running(store, *, killed=False):
    """An engine that is stopped in order, or `killed`."""
    async with opened(SECRETS) as invoker:
        world = Elsewhere(store, invoker)
        await world.engine.__aenter__()
        yield world
        await (world.kill() if killed else world.engine.__aexit__(None, None, None))


def http(server, /, *, timeout_ms=20_000, notes=None, **options):
    """The document of an action of the host."""
    exec = {
        "kind": "http",
        "function": f"{server.url}/fn",
        "retry": {"attempts": 3, "delay_ms": 1},
        **options,
    }
    listed = [{"key": key, "value": value} for key, value in (notes or {}).items()]
    return {"exec": exec, "limits": {"timeout": timeout_ms}, "annotations": listed}


def azure(server, /, **options):
    where = {"kind": "azure:function", "function": "fn", "host": server.url, "credentials": "mine"}
    return http(server, **where, **options)


def durable(server, /, **options):
    where = {"kind": "azure:durable", "function": "main", "host": server.url, "credentials": "mine"}
    return http(server, **where, **options)


def takes_in(host, *looks):
    """A function that takes a run in under an address that holds a key, and what looks at it find."""
    at = f"{host.url}/status?code={SECRET}"
    host.on("POST", "/api/fn", *[answer({}, 202, {"Location": at})] * 2)
    host.on("GET", "/status", *looks, needs={"?code": SECRET})


def posts(host):
    return [seen for seen in host.requests if seen.method == "POST"]


def looks(host):
    return [seen for seen in host.requests if seen.method == "GET"]


# --- tickets and crashes -----------------------------------------------------------------------


async def test_a_ticket_is_durable_before_it_is_asked_after(host):
    takes_in(host, ENDED)
    store = DyingStore(MemoryStore(), at=1, when="before")
    async with running(store, killed=True) as world:
        await world.put(fn=azure(host, notes={"idempotent": True}))
        store.armed = True
        first = await world.start("fn")
        await store.dead.wait()
        await world.settle_a_while()
        assert (len(posts(host)), len(looks(host))) == (1, 0)

    async with running(store._store) as world:
        assert await world.result(first) == {"late": 1}
    assert len(posts(host)) == 2  # nobody knew that it had been taken in
    assert len({seen.headers["idempotency-key"] for seen in posts(host)}) == 1


async def test_a_crash_after_the_ticket_is_durable_asks_after_it_and_never_for_it_again(host):
    takes_in(host, ENDED)
    store = DyingStore(MemoryStore(), at=1, when="after")
    async with running(store, killed=True) as world:
        await world.put(fn=azure(host))
        store.armed = True
        id = await world.start("fn")
        await store.dead.wait()

    async with running(store._store) as world:
        assert await world.result(id) == {"late": 1}
    assert len(posts(host)) == 1


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("nested", [True, False])
async def test_what_is_asked_after_when_the_server_ends_is_asked_after_by_the_next(
    host, killed, nested
):
    takes_in(host, PENDING, ENDED)
    store = MemoryStore()
    async with running(store, killed=killed) as world:
        await world.put(fn=azure(host))
        if nested:
            await world.put(inner=composer.sequence("fn"), outer=composer.sequence("inner"))
        id = await world.start("outer" if nested else "fn")
        await until(lambda: looks(host))

    async with running(store) as world:
        assert await world.result(id) == {"late": 1}
    assert len(posts(host)) == 1
    assert len(looks(host)) >= 2


async def test_a_ticket_is_good_for_what_was_asked_whatever_the_action_is_by_then(host):
    takes_in(host, PENDING, ENDED)
    store = MemoryStore()
    async with running(store, killed=True) as world:
        await world.put(fn=azure(host), gone=azure(host))
        changed, deleted = await world.start("fn"), await world.start("gone")
        await until(lambda: len(looks(host)) > 0)
        await world.put(fn=http(host, function="http://192.0.2.1/"))
        await world.engine.registry.remove(Action, Name(GUEST, None, "gone"))
        host.on("GET", "/status", ENDED, ENDED)

    async with running(store) as world:
        assert [await world.result(id) for id in (changed, deleted)] == [{"late": 1}] * 2
    assert len(posts(host)) == 2


async def test_what_cannot_be_read_of_a_ticket_is_lost_and_stops_nothing(host):
    answers = Answers()
    async with opened(SECRETS) as invoker:
        ticket = {
            "remote": {"kind": "http", "function": "ftp://old"}, "owner": "guest", "started": 1,
            "deadline": 2, "attempts": 1, "from": 1, "request": None, "ticket": {},
        }  # fmt: skip

        invoker.resume(invocation(action(http(host)["exec"])), ticket, answers)

        completion = await answers.next()
    assert (completion.outcome.code, completion.may_have_run) == ("Lost", "unknown")


async def test_what_may_run_once_is_not_sent_again_after_a_crash(host):
    slow = held()
    host.on("POST", "/fn", slow)
    store = MemoryStore()
    async with running(store, killed=True) as world:
        await world.put(fn=http(host, notes={"at-most-once": True}))
        id = await world.start("fn")
        await until(slow.reached.is_set)
    slow.release()

    async with running(store) as world:
        assert "may run only once" in await world.error(id)
    assert len(posts(host)) == 1


async def test_what_may_run_once_is_asked_for_again_when_it_never_ran(host):
    host.on("POST", "/fn", throttled(0), answer({"n": 1}))
    async with running(MemoryStore()) as world:
        await world.put(fn=http(host, notes={"at-most-once": True}))
        assert await world.run("fn") == {"n": 1}


async def test_what_may_run_once_and_may_have_run_is_not_asked_for_again(host):
    host.on("POST", "/fn", cut())
    async with running(MemoryStore()) as world:
        await world.put(fn=http(host, notes={"at-most-once": True}))
        assert (await world.error(await world.start("fn")))["code"] == "Lost"
    assert len(posts(host)) == 1


async def test_an_express_composition_asks_after_its_steps_too(host):
    takes_in(host, ENDED)
    async with running(MemoryStore()) as world:
        await world.put(fn=azure(host))
        document = {"kind": "composition", "composition": composer.sequence("fn").to_json()}
        notes = [{"key": "express", "value": True}]
        await world.put(quick={"exec": document, "annotations": notes})

        assert await world.run("quick") == {"late": 1}


async def test_what_has_ended_while_nobody_looked_is_not_run_again_under_its_key(host):
    """Azure runs an orchestration that has ended once more when it is started under the same name."""
    api = Durable(host, key=SECRET)
    api.expect("main", output={"n": 1}, polls=0)
    store = DyingStore(MemoryStore(), at=1, when="before")
    async with running(store, killed=True) as world:
        await world.put(fn=durable(host))
        store.armed = True
        id = await world.start("fn")
        await store.dead.wait()
    api.instances[id].status = "Completed"

    async with running(store._store) as world:
        assert await world.result(id) == {"n": 1}
    assert len(posts(host)) == 1


@pytest.mark.parametrize("last", [throttled(3600), answer("too much", 413), answer(None, 403)])
async def test_what_may_have_run_once_may_have_run_whatever_is_said_the_next_time(host, last):
    host.on("POST", "/fn", cut(), last)
    answers = Answers()
    async with opened() as invoker:
        asked = invocation(action(http(host)["exec"], idempotent=True))
        answers.invoke(invoker, asked)

        completion = await answers.next()
    assert len(posts(host)) == 2
    assert completion.may_have_run == "unknown"


async def test_a_step_of_a_saga_that_cannot_be_sent_again_may_have_run_before(host):
    slow = held()
    host.on("POST", "/fn", slow, answer("too much", 413))
    store = MemoryStore()
    async with running(store, killed=True) as world:
        await world.put(fn=http(host, notes={"idempotent": True}))
        await world.put(all=composer.saga(composer.step("fn", no_undo="it is only told")))
        id = await world.start("all")
        await until(slow.reached.is_set)
    slow.release()

    async with running(store) as world:
        history = await world.until_failed(id)
    failed = next(entry for entry in history if entry["type"] == "StepFailed")
    assert failed["code"] == "Lost"
    assert "PayloadTooLarge" in str(failed)


async def test_a_step_of_a_saga_that_was_under_way_at_a_crash_is_undone_and_not_done_again(host):
    slow = held()
    host.on("POST", "/fn", slow)
    host.on("POST", "/back", answer({"undone": 1}))
    store = MemoryStore()
    async with running(store, killed=True) as world:
        await world.put(fn=http(host), back=http(host, function=f"{host.url}/back"))
        await world.put(all=composer.saga(composer.step("fn", undo="back")))
        id = await world.start("all")
        await until(slow.reached.is_set)
    slow.release()

    async with running(store) as world:
        assert "may or may not have run" in str(await world.error(id))
    assert [seen.path for seen in posts(host)] == ["/fn", "/back"]


async def test_what_was_not_sent_because_the_server_stopped_is_sent_by_the_next(host):
    slow = held()
    host.on("POST", "/fn", slow, answer({"n": 2}))
    store = MemoryStore()
    async with running(store) as world:
        await world.put(fn=http(host), all=composer.sequence("fn", "fn"))
        id = await world.start("all")
        await until(slow.reached.is_set)
        assert not await world.engine.drain(0)
        slow.release()
        assert await world.engine.drain(20)
    assert len(posts(host)) == 1

    async with running(store) as world:
        assert await world.result(id) == {"n": 2}
    assert len(posts(host)) == 2


async def test_what_a_stop_had_held_back_is_lost_by_a_crash_once_it_was_sent(host):
    first, second = held(), held()
    host.on("POST", "/fn", first, second)
    store = MemoryStore()
    async with running(store) as world:
        await world.put(fn=http(host), all=composer.sequence("fn", "fn"))
        id = await world.start("all")
        await until(first.reached.is_set)
        assert not await world.engine.drain(0)
        first.release()
        assert await world.engine.drain(20)
    async with running(store, killed=True):
        await until(second.reached.is_set)
    second.release()

    async with running(store) as world:
        assert "may or may not have run" in await world.error(id)
    assert len(posts(host)) == 2


# --- what it costs -----------------------------------------------------------------------------


def ran(ms, status=200):
    """An activation of OpenWhisk that has taken so long."""
    response = {"success": status == 200, "statusCode": 0 if status == 200 else 3, "result": {}}
    return answer({"activationId": "c3" * 16, "response": response, "duration": ms}, status)


def whisk(server, **options):
    where = {"kind": "openwhisk:action", "function": "fn", "host": server.url}
    return http(server, **where, **options)["exec"]


async def spent(exec):
    async with opened({}) as invoker:
        found = await ended(invoker, invocation(action(exec, idempotent=True)))
    return found.completion.remote


async def test_every_attempt_is_billed_and_what_was_refused_is_not(host):
    script = [ran(1_000, 502), throttled(0), ran(1_000, 502), ran(1_007)]
    host.on("POST", "/api/v1/namespaces/_/actions/fn", *script)

    told = await spent(whisk(host, retry={"attempts": 4, "delay_ms": 1}))

    assert (told.attempts, told.charged, told.untold) == (4, 3, 0)
    assert told.billed_ms == told.ran_ms == 3_007
    assert told.waited_ms > 0
    assert told.to_json(5_000)["charged"] == 3


async def test_an_attempt_that_was_cut_off_may_be_billed_and_is_not_told(host):
    host.on("POST", "/api/v1/namespaces/_/actions/fn", cut(), ran(500))

    told = await spent(whisk(host, retry={"attempts": 4, "delay_ms": 1}))

    assert (told.billed_ms, told.charged, told.untold) == (500, 2, 1)
    assert told.to_json(1_000)["untold"] == 1


async def test_what_was_only_refused_costs_nothing(host):
    host.on("POST", "/api/v1/namespaces/_/actions/fn", throttled(0), throttled(0))

    told = await spent(whisk(host, retry={"attempts": 2, "delay_ms": 1}))

    assert (told.billed_ms, told.charged) == (0, 0)


async def test_waiting_between_attempts_is_not_counted_as_running(host):
    """A function whose bill nobody tells is counted by how long it took from here."""
    host.on("POST", "/fn", throttled(1), answer({"n": 1}))
    async with running(MemoryStore()) as world:
        await world.put(fn=http(host), all=composer.sequence("fn"))
        id = await world.start("all")
        await world.result(id)
        cost = await world.engine.records.cost(GUEST, id)

    (share,), (usage,) = cost["clouds"], cost["steps"]
    assert share["took"] >= 1_000
    assert share["billed"] <= share["took"] - 1_000
    assert (usage["step"], usage["kind"], usage["requests"], usage["untold"]) == (
        "fn",
        "http",
        1,
        1,
    )


# --- to cancel, and deadlines ------------------------------------------------------------------


async def test_what_is_cancelled_while_it_is_asked_after_is_stopped(host):
    api = Durable(host, key=SECRET)
    api.expect("main", awaits="never")
    async with running(MemoryStore()) as world:
        await world.put(fn=durable(host), all=composer.sequence("fn"))
        id = await world.start("all")
        await until(lambda: len(looks(host)) > 1)

        await world.engine.cancel(GUEST, id)

        assert (await world.error(id))["code"] == "Cancelled"
        await until(lambda: any(one.status == "Terminated" for one in api.instances.values()))


async def test_what_is_cancelled_while_its_ticket_is_committed_is_stopped(host):
    api = Durable(host, key=SECRET)
    api.expect("main", awaits="never")
    store = HeldStore()
    async with running(store) as world:
        await world.put(fn=durable(host), all=composer.sequence("fn"))
        id = await world.start("all")
        store.held.clear()
        await until(lambda: store.waits)

        cancelling = asyncio.ensure_future(world.engine.cancel(GUEST, id))
        await world.settle_a_while()
        store.held.set()
        await cancelling

        assert (await world.error(id))["code"] == "Cancelled"
        await until(lambda: any(one.status == "Terminated" for one in api.instances.values()))


async def test_what_is_cancelled_while_it_waits_to_be_asked_again_is_not(host):
    host.on("POST", "/fn", throttled(5))
    async with running(MemoryStore()) as world:
        await world.put(fn=http(host), all=composer.sequence("fn"))
        id = await world.start("all")
        await until(lambda: posts(host))

        await world.engine.cancel(GUEST, id)

        assert (await world.error(id))["code"] == "Cancelled"
    assert len(posts(host)) == 1


async def test_a_deadline_counts_from_when_it_was_asked_for_also_after_a_crash(host):
    api = Durable(host, key=SECRET)
    api.expect("main", awaits="never")
    store = MemoryStore()
    async with running(store, killed=True) as world:
        await world.put(fn=durable(host, timeout_ms=1000))
        id = await world.start("fn")
        await until(lambda: len(looks(host)) > 1)

    async with running(store) as world:
        assert (await world.error(id))["code"] == "Timeout"
        record = await world.record(id)
        await until(lambda: any(one.status == "Terminated" for one in api.instances.values()))
    assert record["duration"] >= 1000


async def test_when_it_is_closed_while_asking_after_everything_is_answered_once(host):
    takes_in(host, *[PENDING] * 9)
    answers = Answers()
    async with opened(SECRETS) as invoker:
        asked = invocation(action(azure(host)["exec"]))
        answers.invoke(invoker, asked)
        invoker.resume(asked, (await answers.next()).ticket, answers)
        await until(lambda: looks(host))

    assert [one.outcome.code for one in answers.all[1:]] == ["Lost"]


async def test_the_same_activation_twice_is_answered_twice(host):
    host.on("POST", "/fn", answer({"n": 1}), answer({"n": 2}))
    first, second = Answers(), Answers()
    async with opened() as invoker:
        asked = invocation(action(http(host)["exec"]), activation=RUN)
        first.invoke(invoker, asked)
        second.invoke(invoker, asked)

        results = [(await answers.next()).outcome.value["n"] for answers in (first, second)]
    assert sorted(results) == [1, 2]


async def test_whoever_takes_an_answer_badly_harms_nobody(host, caplog):
    host.on("POST", "/fn", answer({"n": 1}), answer({"n": 2}))
    answers = Answers()

    def broken(completion):
        raise ValueError("no")

    async with opened() as invoker:
        invoker.invoke(invocation(action(http(host)["exec"])), broken)
        await until(lambda: "was not taken" in caplog.text)
        answers.invoke(invoker, invocation(action(http(host)["exec"])))

        assert (await answers.next()).outcome.value == {"n": 2}


async def test_one_action_does_not_spend_the_repeats_of_another(host):
    host.on("POST", "/fn", always(throttled(0)))
    mine = action(http(host, retry={"attempts": 20, "delay_ms": 0})["exec"])
    other = mine.__class__(
        **{
            **{f: getattr(mine, f) for f in mine.__dataclass_fields__},
            "name": Name("other", None, "elsewhere"),
        }
    )
    async with opened() as invoker:
        attempts = []
        for each in (mine, mine, other):
            answers = Answers()
            answers.invoke(invoker, invocation(each))
            attempts.append((await answers.next()).remote.attempts)

    assert attempts == [11, 1, 11]  # a reserve of ten, and a fifth for each that is asked for


# --- what is shown -----------------------------------------------------------------------------


async def test_nothing_that_is_shown_of_a_run_holds_its_keys(host):
    takes_in(host, PENDING, PENDING, ENDED)
    async with running(MemoryStore()) as world:
        await world.put(fn=azure(host), all=composer.sequence("fn"))
        id = await world.start("all")
        await until(lambda: looks(host))
        standing = await world.engine.records.execution(GUEST, id)
        assert standing["fibers"]
        await world.result(id)
        history = await world.engine.records.history(GUEST, id, after=0, limit=99)
        steps = [
            await world.engine.records.activation(GUEST, row.id)
            for row in await world.activations()
        ]

    assert SECRET not in f"{standing}{history}{steps}"
    step = next(entry for entry in history if entry["type"] == "StepSucceeded")
    assert step["remote"]["cloud"] == "azure"


async def test_what_completes_a_step_goes_nowhere_without_tls():
    """Whoever has the token can complete the step."""
    answers = Answers()
    async with opened(allow=()) as invoker:
        exec = {"kind": "http", "function": "http://93.184.216.34/fn"}
        answers.invoke(invoker, invocation(action(exec), token="a-token"))

        completion = await answers.next()
    assert (completion.outcome.code, completion.may_have_run) == ("Permission", "no")
    assert "use https://" in completion.outcome.error["message"]


async def test_a_step_that_answers_later_is_answered_by_its_token_and_not_by_its_poll(host):
    takes_in(host, ENDED)
    async with running(MemoryStore()) as world:
        await world.put(
            fn=azure(host, notes={"completion": "callback"}), all=composer.sequence("fn")
        )
        id = await world.start("all")
        await until(lambda: looks(host))
        token = posts(host)[0].headers["x-completion-token"]

        await world.engine.complete(token, Success({"by": "token"}))

        assert await world.result(id) == {"by": "token"}
    assert len(posts(host)) == 1


# --- a function's own options ------------------------------------------------------------------


async def run(server, params, /, **options):
    answers = Answers()
    async with opened(SECRETS) as invoker:
        exec = {**http(server)["exec"], **options}
        answers.invoke(invoker, invocation(action(exec), params))
        return await answers.next()


@pytest.mark.parametrize(
    ("value", "path"),
    [("a b", "/o/a%20b"), ("a/../b", "/o/a%2F..%2Fb"), ("ü?#&", "/o/%C3%BC%3F%23%26"), (7, "/o/7")],
)
async def test_a_parameter_is_a_part_of_the_path_and_no_more(host, value, path):
    host.on("POST", path, answer({}))

    assert (await run(host, {"id": value}, function=f"{host.url}/o/{{id}}")).may_have_run is None


@pytest.mark.parametrize("value", ["..", ".", None, {}, True, [1]])
async def test_a_parameter_that_leads_elsewhere_or_is_no_text_is_refused(host, value):
    completion = await run(host, {"id": value}, function=f"{host.url}/o/{{id}}/items")

    assert (completion.outcome.code, completion.may_have_run) == ("InvalidRequest", "no")
    assert host.requests == []


@pytest.mark.parametrize("value", ["a\r\nX-B: c", "a\0", "a\x7f", " a"])
async def test_a_parameter_ends_no_header(host, value):
    completion = await run(host, {"id": value}, headers={"X-Order": "{id}"})

    assert (completion.outcome.code, completion.may_have_run) == ("InvalidRequest", "no")
    assert host.requests == []


async def test_headers_body_and_query_are_made_of_parameters(host):
    host.on(
        "PUT",
        "/o/7",
        answer({}),
        needs={"x-order": "no. 7", "content-type": "text/x", "idempotency-key": "7"},
    )
    headers = {"X-Order": "no. {id}", "content-type": "text/x", "idempotency-key": "{id}"}
    body = {"order": {"$path": "$.id"}}

    await run(
        host,
        {"id": 7, "n": 1},
        function=f"{host.url}/o/{{id}}",
        method="PUT",
        headers=headers,
        body=body,
    )

    assert json.loads(host.requests[0].body) == {"order": 7}


async def test_what_has_no_body_has_its_parameters_in_the_query(host):
    host.on("GET", "/o/7", answer({"n": 1}))
    params = {"id": 7, "text": "a&b", "list": [1, {"a": None}]}

    completion = await run(
        host, params, function=f"{host.url}/o/{{id}}?fixed=1", method="GET", result="response"
    )

    assert host.requests[0].query == {"fixed": "1", "text": "a&b", "list": '[1,{"a":null}]'}
    assert "content-type" not in host.requests[0].headers
    assert completion.outcome.value["status"] == 200
    assert completion.outcome.value["body"] == {"n": 1}


async def test_a_body_that_cannot_be_made_is_refused(host):
    completion = await run(host, {}, body={"order": {"$path": "$.id"}})

    assert (completion.outcome.code, completion.may_have_run) == ("InvalidRequest", "no")


@pytest.mark.parametrize(
    ("operation", "params", "path"),
    [
        ("query", {"instanceId": "i-1"}, "/instances/i-1"),
        (
            "raise",
            {"instanceId": "i-1", "event": "go", "data": {"n": 1}},
            "/instances/i-1/raiseEvent/go",
        ),
        ("terminate", {"instanceId": "i-1", "reason": "a&b"}, "/instances/i-1/terminate"),
    ],
)
async def test_an_orchestration_is_asked_told_and_ended(host, operation, params, path):
    api = Durable(host, key=SECRET)
    api.expect("main", awaits="go")
    api.start("main", "i-1", {})
    exec = {**durable(host)["exec"], "operation": operation}

    completion = await run(host, params, **exec)

    assert completion.may_have_run is None, completion.outcome
    assert host.requests[0].path == f"{ROOT}{path}"
    assert host.requests[0].query == ({"reason": "a&b"} if operation == "terminate" else {})


@pytest.mark.parametrize(
    "params", [{}, {"instanceId": 7}, {"instanceId": ""}, {"instanceId": ".."}]
)
@pytest.mark.parametrize("operation", ["query", "raise", "terminate"])
async def test_an_orchestration_that_is_not_named_is_refused(host, operation, params):
    completion = await run(host, params, **{**durable(host)["exec"], "operation": operation})

    assert (completion.outcome.code, completion.may_have_run) == ("InvalidRequest", "no")
    assert host.requests == []


def test_an_event_may_arrive_twice_and_is_not_sent_again_by_itself(host):
    keyed = {
        operation: parsed_remote({**durable(host)["exec"], "operation": operation}).keyed
        for operation in ("run", "start", "query", "raise", "terminate")
    }
    assert keyed == {"run": True, "start": True, "query": True, "raise": False, "terminate": True}


async def test_an_error_of_a_function_that_speaks_of_a_status_is_an_error(host):
    host.on("POST", "/api/fn", answer({"runtimeStatus": "Completed", "output": 1}, 500))

    completion = await run(host, {}, **azure(host)["exec"])

    assert (completion.outcome.code, completion.may_have_run) == ("ApplicationError", "yes")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("Failed", ("ApplicationError", "yes")),
        ("Terminated", ("Cancelled", "unknown")),
        ("Canceled", ("Cancelled", "unknown")),
    ],
)
async def test_how_an_orchestration_ends_is_in_its_status(host, status, told):
    takes_in(host, answer({"runtimeStatus": status, "output": None}, 200))
    async with opened(SECRETS) as invoker:
        run = await ended(invoker, invocation(action(azure(host)["exec"])))

    assert run.told == told


class HeldStore(MemoryStore):
    """A store whose commits wait while it is held."""

    def __init__(self):
        super().__init__()
        self.held, self.waits = asyncio.Event(), False
        self.held.set()

    async def commit(self, writes):
        if not self.held.is_set():
            self.waits = True
            await self.held.wait()
        return await super().commit(writes)


async def test_what_becomes_of_runs_is_counted(host):
    host.on("POST", "/fn", throttled(0), answer({"n": 1}), answer({"no": 1}, 400))
    takes_in(host, PENDING, ENDED)
    async with opened(SECRETS) as invoker:
        assert invoker.under_way == (0, 0)
        for document in (http(host), http(host), azure(host)):
            await ended(invoker, invocation(action(document["exec"])))

        assert invoker.ended == {
            ("http", "Success"): 1, ("http", "ApplicationError"): 1, ("azure:function", "Success"): 1,
        }  # fmt: skip
        assert invoker.repeats == {"http": 1, "azure:function": 0}


async def test_what_has_ended_by_the_deadline_is_heard_of_all_the_same(host):
    """The cloud wants to be asked after later than the deadline: it is asked once more then."""
    host.on("POST", "/api/fn", accepted("/at", retry_after=3))
    host.on("GET", "/at", ENDED)
    async with opened(SECRETS) as invoker:
        run = await ended(invoker, invocation(action(azure(host)["exec"], timeout_ms=1_000)))

    assert run.outcome == Success({"late": 1})


async def test_a_short_orchestration_is_not_waited_for_as_long_as_durable_functions_says(host):
    api = Durable(host, key=SECRET, retry_after=3_600)
    api.expect("main", output={"n": 1}, polls=2)
    async with opened(SECRETS) as invoker:
        run = await ended(invoker, invocation(action(durable(host)["exec"], timeout_ms=60_000)))

    assert run.outcome == Success({"n": 1})


async def test_a_secret_that_is_gone_for_a_moment_does_not_end_what_was_taken_in(host):
    takes_in(host, PENDING, ENDED)
    secrets = dict(SECRETS)
    async with opened(secrets) as invoker:
        asked, answers = invocation(action(azure(host)["exec"])), Answers()
        answers.invoke(invoker, asked)
        ticket = (await answers.next()).ticket
        mine = secrets.pop("mine")
        invoker.resume(asked, ticket, answers)
        await asyncio.to_thread(lambda: None)
        secrets["mine"] = mine

        assert (await answers.next(2)).outcome == Success({"late": 1})


async def test_a_step_of_a_saga_that_is_a_composition_and_may_have_run_is_undone(host):
    """A composition is an action: what is not known of its steps is not known of it."""
    host.on("POST", "/fn", cut())
    host.on("POST", "/undo", answer({"undone": 1}))
    undo = {"exec": {**http(host)["exec"], "function": f"{host.url}/undo"}}
    async with running(MemoryStore()) as world:
        await world.put(charge=http(host), refund=undo, part=composer.sequence("charge"))
        await world.put(main=composer.saga(composer.step("part", undo="refund")))

        await world.error(await world.start("main"))

    assert [seen.path for seen in host.requests] == ["/fn", "/undo"]
