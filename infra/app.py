"""Assembles the service: the one place that names concrete parts."""

from __future__ import annotations

import gc
import os
import secrets
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from actions import Change, Document, Quotas, Write
from actions.runtimes import (
    Bounds,
    InlineInvoker,
    NodeModules,
    WorkerPool,
    WorkerSettings,
    find_sandbox,
)
from composer import Limits

from .clock import RandomIds, SystemClock
from .engine import Engine, EngineSettings
from .feeds import Feeds
from .namespaces import Namespaces
from .retention import Retention
from .stores import MemoryStore, SqliteStore
from .system import system_entities
from .vault import Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from actions import Store

    from .settings import Settings

SECRET = "secret"  # noqa: S105  the kind of the document, not what is in it
SECRET_BYTES = 32
COLLECTIONS = (20_000, 20, 20)  # as `gc.set_threshold` takes them


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    engine: Engine
    store: Store
    pool: WorkerPool
    namespaces: Namespaces
    feeds: Feeds


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    """Opens the store, starts what runs actions, and recovers what was under way.

    Raises:
        StoreError: when the store cannot be opened.
        SandboxError: when the isolation that is asked for cannot be had.
    """
    clock = SystemClock()
    hidden = [settings.data.resolve()] if settings.data else []
    sandbox = find_sandbox(settings.isolation, hidden)
    async with AsyncExitStack() as stack:
        stack.enter_context(_rare_collections())
        store: MemoryStore | SqliteStore = MemoryStore()
        if settings.data is not None:
            store = SqliteStore(settings.data, synchronous=settings.synchronous)
        await stack.enter_async_context(store)
        secret = await _secret(store)
        namespaces = Namespaces(store, clock, _quotas(settings), secret)
        await namespaces.load()
        inline = await stack.enter_async_context(InlineInvoker(clock))
        pool = WorkerPool(
            sandbox,
            clock,
            WorkerSettings(
                result_bytes=settings.payload_bytes,
                environment={"__OW_API_HOST": settings.api_host} if settings.api_host else {},
                modules=NodeModules(_modules_home(settings)),
                action_key=namespaces.action_key,
            ),
            Bounds(
                size=settings.workers,
                idle_s=settings.worker_idle_s,
                prewarmed=settings.prewarmed,
            ),
        )
        await stack.enter_async_context(pool)
        feeds = await stack.enter_async_context(Feeds(store, clock))
        engine = Engine(
            store,
            {kind: invoker for invoker in (inline, pool, feeds) for kind in invoker.kinds},
            clock=clock,
            ids=RandomIds(),
            settings=_engine_settings(settings, namespaces),
            secret=secret,
        )
        for entity in system_entities(clock):
            engine.catalog.apply(Change(entity, (entity,)))
        await stack.enter_async_context(engine)
        stack.callback(feeds.end)
        await feeds.begin(engine)
        await stack.enter_async_context(Retention(engine, clock, settings.retention_days))
        yield Service(engine, store, pool, namespaces, feeds)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Lets Python look for garbage in circles less often: a step makes many objects, and none of that.

    What is loaded by now stays, and is not looked through again.
    """
    before = gc.get_threshold()
    gc.collect()
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
            fork_width=settings.fork_width,
            value_bytes=settings.payload_bytes,
        ),
        quotas=namespaces.quotas,
        nesting=settings.nesting,
        vault=Vault([key for key in settings.parameter_keys.split(",") if key]),
    )


def _modules_home(settings: Settings) -> Path:
    """Where modules for Node.js are kept: with the data, or for all that have none, with the user."""
    if settings.node_modules is not None:
        return settings.node_modules
    if settings.data is not None:
        return settings.data
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xingqiao"


def _quotas(settings: Settings) -> Quotas:
    return Quotas(
        payload_bytes=settings.payload_bytes,
        concurrent=settings.concurrent,
        per_minute=settings.per_minute,
        fires_per_minute=settings.fires_per_minute,
    )


async def _secret(store: Store) -> bytes:
    """What this service signs tokens with: made at its first start, and kept."""
    async for document in store.documents(SECRET):
        if document.body is not None:
            return document.body
    secret = secrets.token_bytes(SECRET_BYTES)
    await store.commit([Write(documents=[Document(kind=SECRET, key="tokens", body=secret)])])
    return secret
