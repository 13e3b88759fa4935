"""Stores of every kind, and rows to put into them."""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext

from tests.kit.stores.tables import client, dynamo_store, dynamodb
from xingqiao.actions import ActivationRow, Document, ExecutionRow, FiberRow, Query, Write
from xingqiao.infra.stores import MemoryStore, Seal, SealedStore, SqliteStore, new_key

CAUSE = "0123456789abcdef"  # whose activations' ids begin with the same 12 digits
MANY = 40  # rows: more than a store commits without leaving the event loop
SEAL = Seal([new_key()])


@asynccontextmanager
async def sealing(store):
    async with store as opened:
        yield SealedStore(opened, SEAL)


STORES = {
    "memory": lambda path: MemoryStore(),
    "sqlite": SqliteStore,
    "dynamodb": lambda path: dynamo_store(client()),
    "sealed memory": lambda path: sealing(MemoryStore()),
    "sealed sqlite": lambda path: sealing(SqliteStore(path)),
}
EXAMPLES = {"sqlite": 60, "dynamodb": 6}


def there(name):
    """What a store needs to be there before it is opened, and after it is closed."""
    return dynamodb() if name == "dynamodb" else nullcontext()


def execution(id="e1", **fields):
    row = ExecutionRow(id, "guest", "hello", "running", 1000, None, b"{}")
    return row._replace(**fields)


def fiber(id="0", of="e1", **fields):
    return FiberRow(of, id, None, False, b"{}")._replace(**fields)


def activation(id="a1", **fields):
    row = ActivationRow(id, "guest", "hello", 1000, 0, None, b"{}")
    return row._replace(**fields)


def document(key="k", body=b"{}", *, kind="action", expected=None):
    return Document(kind=kind, key=key, body=body, expected=expected)


def crowd(of="crowd"):
    """So much that it is committed beside the event loop."""
    return Write(fibers=[fiber(f"{n:04}", of) for n in range(MANY)])


async def documents(store, kind="action", prefix=""):
    return [found async for found in store.documents(kind, prefix)]


async def found(store, kind=ActivationRow, **query):
    return [row.id for row in await store.find(kind, Query(namespace="guest", **query))]


def timed(ms, name="x"):
    """An id that begins with its time, as those of executions do."""
    return f"{ms:012x}" + name.ljust(20, "0")
