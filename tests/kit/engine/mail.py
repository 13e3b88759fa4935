"""Executions of an engine that are told messages."""

from __future__ import annotations

GUEST = "guest"


async def tell(made, id, name, payload=None, message=""):
    """Tells an execution a message. Returns whether it was new."""
    return await made.engine.messages.tell(GUEST, id, name, payload, message)


async def undelivered(made, id):
    """The payloads of the messages that wait for an execution."""
    return [each["payload"] for each in await made.engine.messages.undelivered(GUEST, id)]


async def kinds(made, id):
    """What has happened to an execution, in words."""
    entries = await made.engine.records.history(GUEST, id, after=0, limit=1000)
    return [entry["type"] for entry in entries]


async def stored(made, kind):
    """The keys of the documents of a kind."""
    return [document.key async for document in made.store.documents(kind)]
