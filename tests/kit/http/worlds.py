"""The application as a client sees it: real, on a real engine, with a store in memory.

Only what runs code is a fake, behind its port: an action's code is one word that says what is to come
of it, so that no test waits for a process, and a step that is held is under way until it is answered.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import anyio.lowlevel
import httpx

from tests.kit.actions.things import StandingClock
from xingqiao.actions import ACCOUNT, Arns, Change, Completion, Quotas
from xingqiao.composer import Failure, Success
from xingqiao.infra.access.audit import AuditLog
from xingqiao.infra.access.failures import Failures
from xingqiao.infra.access.keys import Keys
from xingqiao.infra.access.namespaces import Namespaces, first_namespaces
from xingqiao.infra.access.secrets import SecretStore
from xingqiao.infra.aws.integrations import Integrations
from xingqiao.infra.clock import RandomIds
from xingqiao.infra.engine import Engine, EngineSettings, Pacing
from xingqiao.infra.http import Authenticator, create_app
from xingqiao.infra.lambdas import LambdaRecords, Lambdas
from xingqiao.infra.service.api import WINGS, ServiceApi
from xingqiao.infra.service.clouds import open_clouds
from xingqiao.infra.service.feed_records import FeedRecords
from xingqiao.infra.service.feeds import Feeds
from xingqiao.infra.service.system import system_entities
from xingqiao.infra.settings import Settings
from xingqiao.infra.stepfunctions.activities import Activities
from xingqiao.infra.stepfunctions.api import operations
from xingqiao.infra.stepfunctions.contexts import MachineHooks
from xingqiao.infra.stepfunctions.integrations.sfn import StepFunctions
from xingqiao.infra.stepfunctions.machines import Machines
from xingqiao.infra.stepfunctions.records import Records
from xingqiao.infra.stores import MemoryStore

USER, KEY = "23bc46b1-71f6-4ed5-8c54-816aa4f8c502", "a-key-for-tests"
OPERATOR = "operator:an-operators-key"
PAYLOAD_BYTES = 10_000
AUDIT_RECORDS = 1000
POLL_S = 0.02  # that a worker waits for work
NAMESPACE = "/api/v1/namespaces/_"
LOOKS = 1000  # each lets the service go on, so that no time need pass


class Hands:
    """An `Invoker` that does what an action's code says: `echo`, `fail`, `crash`, `lose` or `hold`.

    `account` is the code of an entity type; its operation `hold` is held as a step is.
    """

    kinds = frozenset({"python:3"})

    def __init__(self, clock):
        self._clock = clock
        self._done = {}
        self.held = asyncio.Queue()

    def invoke(self, invocation, done):
        now = self._clock.now_ms()
        code = invocation.action.exec.text
        if code == "account" and invocation.params["operation"] == "hold":
            code = "hold"
        match code:
            case "echo":
                outcome = Success(invocation.params)
            case "fail":
                outcome = Failure("ApplicationError", "no luck")
            case "raise":
                outcome = Failure("ApplicationError", "'oder'", ("KeyError", "LookupError"))
            case "crash":
                outcome = Failure("Crashed", "gone")
            case "lose":
                outcome = Failure("Lost", "nobody knows")
            case "account":
                outcome = account(invocation.params)
            case "hold":
                self._done[invocation.activation] = done
                self.held.put_nowait(invocation)
                return
        completion = Completion(outcome, now, now + 5, logs=["a line"])
        asyncio.get_running_loop().call_soon(done, completion)

    def cancel(self, activation):
        if activation in self._done:
            self.answer(activation, Failure("Cancelled", "cancelled"))

    def answer(self, activation, outcome):
        """Ends a step that is held."""
        now = self._clock.now_ms()
        done = self._done.pop(activation)
        asyncio.get_running_loop().call_soon(done, Completion(outcome, now, now))


def account(params):
    """An entity that holds a number: `add` to it, `look` at it, or `refuse`."""
    state, given = params["state"] or {"n": 0}, params["params"]
    match params["operation"]:
        case "add":
            state = {"n": state["n"] + given.get("n", 1)}
            return Success({"state": state, "result": state})
        case "look":
            return Success({"result": state})
        case unknown:
            return Failure("ApplicationError", f"no {unknown}")


class World:
    """A service, and a client of it who shows the right credentials."""

    def __init__(self, *, engine, api, store, clock, hands, client):
        self.engine, self.api, self.store = engine, api, store
        self.clock, self.hands, self.client = clock, hands, client

    async def put(self, name, exec, **fields):
        """Deploys an action: a word, or a composition."""
        kind, field = ("python:3", "code") if isinstance(exec, str) else ("composition",) * 2
        document = exec if isinstance(exec, str) else exec.to_json()
        body = {"exec": {"kind": kind, field: document}, **fields}
        answer = await self.client.put(f"/actions/{name}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def start(self, name, params=None):
        """Invokes without waiting, a second later than what was before. Returns the id."""
        self.clock.ms += 1000
        answer = await self.client.post(f"/actions/{name}", json=params or {})
        assert answer.status_code == 202, answer.text
        return answer.json()["activationId"]

    async def ended(self, name, params=None):
        """Invokes and waits for the end, a second later than what was before. Returns the id."""
        id = await self.start(name, params)
        await self.record(id)
        return id

    async def record(self, id):
        """The record of an activation, when it has ended."""
        answer = await self.client.get(f"/activations/{id}", params={"wait": 30_000})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def standing(self, id, *, status="running", waits=None):
        """How an execution stands, as soon as this is its status and what its fibers wait for."""
        for _ in range(LOOKS):
            await anyio.lowlevel.checkpoint()
            found = (await self.client.get(f"/executions/{id}")).json()
            if found["status"] == status and waits in (None, [f["waits"] for f in found["fibers"]]):
                return found
        raise AssertionError(f"it has not come to {status} {waits}: {found}")

    def caller(self, auth=None, headers=None):
        """Another client."""
        return httpx.AsyncClient(
            transport=self.client._transport, base_url="http://test", auth=auth, headers=headers
        )


def by_kind(*invokers):
    """A table of invokers."""
    return {kind: invoker for invoker in invokers for kind in invoker.kinds}


@asynccontextmanager
async def world(store=None, settings=None, auth=f"{USER}:{KEY}", more=(), pacing=None):
    """A service for as long as the block. With a store that was in use before, it is a restart.

    `more` are integrations.
    """
    store, clock = store or MemoryStore(), StandingClock()
    hands = Hands(clock)
    async with AsyncExitStack() as stack:
        namespaces = Namespaces(store, clock, Quotas(), b"secret")
        await namespaces.load()
        settings = settings or EngineSettings(quotas=namespaces.quotas, pacing=pacing or Pacing())
        secrets = SecretStore(store, clock, frozenset({"guest"}))
        outside = Settings(egress_allow="127.0.0.1")
        clouds = await stack.enter_async_context(open_clouds(outside, secrets, clock))
        step_functions = StepFunctions()
        integrations = Integrations({**step_functions.registry, **dict(more)}, clock)
        await stack.enter_async_context(integrations)
        invokers = by_kind(hands, integrations, clouds.invoker)
        records, feed_records = Records(store, ACCOUNT), FeedRecords(store)
        functions = LambdaRecords(store)
        engine = Engine(
            store, invokers, clock=clock, ids=RandomIds(), settings=settings, secret=b"secret",
            hooks=MachineHooks(Arns()), integrations=integrations.knows,
            alias=functions.aliased,
            companions=(records.attachment, functions.attachment, feed_records.attachment),
        )  # fmt: skip
        activities = Activities(store, clock, engine, POLL_S)
        await activities.load()
        feeds = await stack.enter_async_context(Feeds(feed_records, engine, clock, retry_ms=1))
        invokers |= by_kind(activities, feeds)
        for entity in system_entities(clock):
            engine.catalog.apply(Change(entity, (entity,)))
        await stack.enter_async_context(engine)
        machines = Machines(records, engine, ready=3)
        await machines.load()
        lambdas = Lambdas(functions, engine)
        await lambdas.load()
        stack.callback(activities.close)
        stack.callback(feeds.end)
        await feeds.begin()
        await first_namespaces(namespaces, auth, OPERATOR)
        keys, audit = Keys(store, clock, namespaces), AuditLog(store, clock, 90, AUDIT_RECORDS)
        await keys.load()
        await audit.load()
        api = ServiceApi(
            engine=engine,
            auth=Authenticator(keys, Failures(clock)),
            namespaces=namespaces,
            keys=keys,
            audit=audit,
            webhooks=feeds,
            clouds=clouds,
            secrets=secrets,
            machines=machines,
            lambdas=lambdas,
            arns=Arns(),
            activities=activities,
            integrations=integrations,
            payload_bytes=PAYLOAD_BYTES,
            metrics=lambda: b"# figures\n",
            resume=anyio.lowlevel.checkpoint,
        )
        step_functions.serve(engine, operations(api))
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(api, WINGS)),
            base_url=f"http://test{NAMESPACE}", auth=(USER, KEY),
        )  # fmt: skip
        await stack.enter_async_context(client)
        yield World(engine=engine, api=api, store=store, clock=clock, hands=hands, client=client)
