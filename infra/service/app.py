"""Assembles the service: the one place that names concrete parts."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...actions import Arns, Change, Document, Quotas, Write
from ...actions.runtimes import (
    Bounds,
    Environments,
    InlineInvoker,
    Packages,
    WorkerPool,
    WorkerSettings,
)
from ...adapters import Channel, aws_services, objects_on_s3
from ...composer import Limits
from ...composer.languages.asl.running import ReadingBounds, query_engine
from ..access import AuditLog, Failures, Keys, Namespaces, SecretStore
from ..aws import FirstOf, Integrations, discovered
from ..clock import RandomIds, SystemClock
from ..engine import Engine, EngineSettings, EventBounds
from ..lambdas import LambdaRecords, Lambdas
from ..settings import each
from ..stepfunctions import (
    ITEMS,
    Activities,
    AwsIntegrations,
    DirectoryObjects,
    HttpTasks,
    ItemsInvoker,
    JobPolling,
    MachineHooks,
    Machines,
    Places,
    Records,
    StepFunctions,
)
from ..stores import FILE, DynamoStore, MemoryStore, SqliteStore, StoreError
from .clouds import Clouds, listening, open_clouds
from .feed_records import FeedRecords
from .feeds import Feeds
from .isolation import (
    cook_of,
    keeping_of,
    limits_of,
    open_places,
    open_sandbox,
    packages_home,
    single_namespace_reason,
    warn,
)
from .keys import sealed
from .retention import DAY_MS, Retention
from .system import system_entities

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping, Sequence

    from ...actions import Clock, Invoker, Store
    from ...actions.runtimes import Sandbox
    from ...adapters import Completions
    from ...composer import Name, Outcome
    from ..aws import Registry
    from ..engine import Companion
    from ..settings import Settings

log = logging.getLogger(__name__)

SECRET = "secret"  # noqa: S105  the kind of the document, not a secret
SECRET_BYTES = 32
RESULT_PART = 2  # items as JSON may be longer than their files
JOBS = JobPolling()
COLLECTIONS = (20_000, 20, 20)  # as `gc.set_threshold` takes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running service."""

    engine: Engine
    store: Store
    pool: WorkerPool
    namespaces: Namespaces
    keys: Keys
    audit: AuditLog
    failures: Failures
    feeds: Feeds
    clouds: Clouds
    secrets: SecretStore
    machines: Machines
    lambdas: Lambdas
    activities: Activities
    integrations: Integrations
    step_functions: StepFunctions
    completions: Completions | None
    resumption: Resumption
    taken_over: asyncio.Event  # set when another server has taken the store over


@dataclass(slots=True)
class Resumption:
    """Resumes a service that was started with `paused`."""

    engine: Engine
    feeds: Feeds
    resumed: asyncio.Event = field(default_factory=asyncio.Event)

    async def resume(self) -> None:
        """Resumes executions under way, and fires triggers that are due."""
        if not self.resumed.is_set():
            self.resumed.set()
            self.engine.recovery.begin()
            self.engine.contexts.begin()
            self.engine.events.begin()
            self.engine.schedules.begin()
            await self.feeds.begin()

    async def complete(self, token: str, outcome: Outcome) -> None:
        """Delivers an answer that came by a queue, once the service is resumed."""
        await self.resumed.wait()
        await self.engine.complete(token, outcome)


@asynccontextmanager
async def open_service(settings: Settings, jobs: JobPolling = JOBS) -> AsyncIterator[Service]:
    """Opens the store, starts the workers, and recovers executions under way. Jobs are polled like `jobs`.

    Raises:
        StoreError: the store cannot be opened.
        SandboxError: the configured isolation is not available, or not enough for the namespaces.
    """
    clock, sandbox = SystemClock(), open_sandbox(settings)
    async with AsyncExitStack() as stack:
        query_engine()  # loads JSONata now: at its first use, the 60 ms would hold up other clients
        stack.enter_context(_rare_collections())
        opened = await stack.enter_async_context(_opened_store(settings, clock))
        store, namespaces = opened.store, opened.namespaces
        keys, audit = await _access(opened, clock, settings, sandbox)
        inline = await stack.enter_async_context(InlineInvoker(clock))
        pool = await stack.enter_async_context(_pool(settings, sandbox, clock, namespaces))
        secret_store = await _secrets(store, clock, settings)
        clouds = await stack.enter_async_context(open_clouds(settings, secret_store, clock))
        items = await stack.enter_async_context(_items(settings, clouds, secret_store, clock))
        step_functions = StepFunctions()
        known = Integrations(_registry(step_functions, clouds, settings, clock, jobs), clock)
        integrations = await stack.enter_async_context(known)
        invokers = _by_kind(inline, pool, integrations, items, clouds.invoker)
        records, feed_records = Records(store, settings.aws_account), FeedRecords(store)
        functions = LambdaRecords(store)
        engine = _engine(
            opened, invokers, clock, settings,
            integrations=integrations.knows, alias=functions.aliased,
            companions=(records.attachment, functions.attachment, feed_records.attachment),
        )  # fmt: skip
        activities = await _activities(store, clock, engine)
        feeds = await stack.enter_async_context(Feeds(feed_records, engine, clock))
        invokers |= _by_kind(activities, feeds)
        _fill(engine, clock)
        await stack.enter_async_context(engine)
        machines, lambdas = await _loaded(Machines(records, engine), Lambdas(functions, engine))
        stack.callback(feeds.end)
        resumption = await _resumption(engine, feeds, paused=settings.paused)
        await stack.enter_async_context(Retention(engine, clock, settings.retention_days))
        listen = listening(clouds, settings, clock, resumption.complete)
        yield Service(
            engine=engine,
            store=store,
            pool=pool,
            namespaces=namespaces,
            keys=keys,
            audit=audit,
            failures=Failures(clock),
            feeds=feeds,
            clouds=clouds,
            secrets=secret_store,
            machines=machines,
            lambdas=lambdas,
            activities=activities,
            integrations=integrations,
            step_functions=step_functions,
            completions=await stack.enter_async_context(listen),
            resumption=resumption,
            taken_over=opened.taken_over,
        )


async def _activities(store: Store, clock: Clock, engine: Engine) -> Activities:
    activities = Activities(store, clock, engine)
    await activities.load()
    return activities


async def _loaded(machines: Machines, lambdas: Lambdas) -> tuple[Machines, Lambdas]:
    await machines.load()
    await lambdas.load()
    return machines, lambdas


async def _access(
    opened: _OpenStore, clock: Clock, settings: Settings, sandbox: Sandbox
) -> tuple[Keys, AuditLog]:
    """Loads the namespaces with their keys, and the audit log."""
    await opened.namespaces.load(single_namespace_reason(settings, sandbox))
    keys = Keys(opened.store, clock, opened.namespaces)
    await keys.load()
    audit = AuditLog(opened.store, clock, settings.audit_days, settings.audit_records)
    await audit.load()
    return keys, audit


async def _resumption(engine: Engine, feeds: Feeds, *, paused: bool) -> Resumption:
    resumption = Resumption(engine, feeds)
    if not paused:
        await resumption.resume()
    return resumption


@asynccontextmanager
async def open_at_rest(settings: Settings) -> AsyncIterator[Engine]:
    """Opens the executions of a directory that no server uses, to read or end them; none of them goes on.

    Raises:
        StoreError: there is no store, a server uses it, or it cannot be opened.
    """
    if settings.data is None or not (settings.data / FILE).is_file():
        raise StoreError(f"there is no store in {settings.data}: give the server's directory")
    clock = SystemClock()
    async with _opened_store(settings, clock) as opened:
        await opened.namespaces.load()
        async with _engine(opened, {}, clock, settings) as engine:
            yield engine


def _engine(  # noqa: PLR0913  the ports it needs
    opened: _OpenStore,
    invokers: MutableMapping[str, Invoker],
    clock: Clock,
    settings: Settings,
    *,
    integrations: Callable[[str], bool] = lambda _: True,
    alias: Callable[[Name, str, str], str | None] = lambda *_: None,
    companions: Sequence[Companion] = (),
) -> Engine:
    """An engine that resumes nothing by itself."""
    return Engine(
        opened.store,
        invokers,
        clock=clock,
        ids=RandomIds(),
        settings=_engine_settings(settings, opened.namespaces),
        secret=opened.secret,
        hooks=MachineHooks(Arns(settings.aws_region, settings.aws_account)),
        integrations=integrations,
        alias=alias,
        companions=companions,
        paused=True,
    )


def _by_kind(*invokers: Invoker) -> dict[str, Invoker]:
    return {kind: invoker for invoker in invokers for kind in invoker.kinds}


def _fill(engine: Engine, clock: Clock) -> None:
    """Adds the packages of every service to the catalog."""
    for entity in system_entities(clock):
        engine.catalog.apply(Change(entity, (entity,)))


@asynccontextmanager
async def _pool(
    settings: Settings, sandbox: Sandbox, clock: Clock, namespaces: Namespaces
) -> AsyncIterator[WorkerPool]:
    warn(settings, sandbox)
    bounds = Bounds(
        size=settings.workers,
        idle_s=settings.worker_idle_s,
        prewarmed=settings.prewarmed,
    )
    environments = Environments(packages_home(settings, sandbox), clock, keeping_of(settings))
    with open_places(settings, sandbox) as (held, homes):
        log.info("%s", limits_of(held))
        same = WorkerSettings(
            result_bytes=settings.payload_bytes,
            directory=homes,
            environment={"__OW_API_HOST": settings.api_host} if settings.api_host else {},
            packages=Packages(environments, cook_of(settings)),
            action_key=namespaces.action_key,
        )
        async with environments, WorkerPool(held, clock, same, bounds) as pool:
            yield pool


@dataclass(frozen=True, slots=True)
class _OpenStore:
    """The store of a service, and what was read from it. `taken_over` is set when another server uses it."""

    store: Store
    taken_over: asyncio.Event
    secret: bytes
    namespaces: Namespaces


@asynccontextmanager
async def _opened_store(settings: Settings, clock: Clock) -> AsyncIterator[_OpenStore]:
    """Opens the store, encrypted unless it is in memory, and its namespaces, not loaded yet."""
    async with AsyncExitStack() as stack:
        store: Store
        taken_over = asyncio.Event()
        if settings.dynamodb is None and settings.data is None:
            store = await stack.enter_async_context(MemoryStore())
        else:
            durable = _durable_store(settings, clock)
            await stack.enter_async_context(durable)
            taken_over = durable.gone if isinstance(durable, DynamoStore) else taken_over
            store = await sealed(durable, settings)
        secret = await _secret(store)
        yield _OpenStore(
            store, taken_over, secret, Namespaces(store, clock, _quotas(settings), secret)
        )


def _durable_store(settings: Settings, clock: Clock) -> DynamoStore | SqliteStore:
    if settings.dynamodb is not None:
        return DynamoStore(settings.dynamodb, clock)
    assert settings.data is not None  # noqa: S101  or the store is in memory
    return SqliteStore(settings.data, synchronous=settings.synchronous)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Has Python collect cyclic garbage less often: a step makes many objects, and no cycles.

    Objects that are loaded by now are not collected before the end.
    """
    before = gc.get_threshold()
    gc.collect(
        1
    )  # the old ones hardly hold garbage: to look through all takes 45 ms, or seconds in a large program
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _engine_settings(settings: Settings, namespaces: Namespaces) -> EngineSettings:
    return EngineSettings(
        limits=Limits(
            steps=settings.steps,
            entries=settings.entries,
            fork_width=settings.fork_width,
            value_bytes=settings.payload_bytes,
            evaluation_steps=settings.evaluation_steps,
            one_store=True,
        ),
        quotas=namespaces.quotas,
        nesting=settings.nesting,
        result_bytes={ITEMS: RESULT_PART * settings.items_bytes},
        letters=settings.dead_letters,
        events=EventBounds(horizon_ms=int(settings.cloudevent_days * DAY_MS)),
    )


def _items(settings: Settings, clouds: Clouds, secrets: SecretStore, clock: Clock) -> ItemsInvoker:
    """The places that distributed Maps read from and write to."""
    directory = None if settings.items_dir is None else DirectoryObjects(settings.items_dir)
    on_s3 = objects_on_s3(clouds.egress, clock, settings.items_bytes, settings.items_url)
    places = Places(directory, on_s3, clouds.authorizers, secrets)
    return ItemsInvoker(places, clock, ReadingBounds(bytes=settings.items_bytes))


def _registry(
    step_functions: StepFunctions,
    clouds: Clouds,
    settings: Settings,
    clock: Clock,
    polling: JobPolling,
) -> FirstOf:
    """The integrations of state machines: those that were installed, Step Functions, HTTP, AWS' services."""
    http = HttpTasks(
        Channel(clouds.egress, clock, settings.payload_bytes), clouds.authorizers, clock
    )
    registries: list[Registry] = [discovered(), step_functions.registry, http]
    services = aws_services(clouds.egress, clock, settings.payload_bytes)
    if services is not None:
        ambient = frozenset(each(settings.ambient_services))
        registries.append(AwsIntegrations(services, clouds.authorizers, ambient, clock, polling))
    return FirstOf(*registries)


def _quotas(settings: Settings) -> Quotas:
    return Quotas(
        payload_bytes=settings.payload_bytes,
        concurrent=settings.concurrent,
        per_minute=settings.per_minute,
        fires_per_minute=settings.fires_per_minute,
        live=settings.live,
        descendants=settings.descendants,
    )


async def _secrets(store: Store, clock: Clock, settings: Settings) -> SecretStore:
    ambient = frozenset(each(settings.ambient_namespaces))
    secret_store = SecretStore(store, clock, ambient)
    await secret_store.load()
    return secret_store


async def _secret(store: Store) -> bytes:
    """The secret that signs the service's tokens; made at its first start, and stored."""
    async for document in store.documents(SECRET):
        if document.body is not None:
            return document.body
    secret = secrets.token_bytes(SECRET_BYTES)
    await store.commit([Write(documents=[Document(kind=SECRET, key="tokens", body=secret)])])
    return secret
