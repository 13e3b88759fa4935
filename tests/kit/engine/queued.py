"""Queues of an engine: actions whose tasks wait, and workers that take them."""

from __future__ import annotations

import asyncio

from tests.kit.engine.engines import GUEST
from xingqiao.actions import outcome_of

QUEUE = "gpu"


def queued(name=QUEUE, timeout=None, **options):
    """The document of an action whose tasks wait in a queue."""
    document = {"exec": {"kind": "queue", "queue": name, **options}}
    return document if timeout is None else {**document, "limits": {"timeout": timeout}}


async def take(made, worker="one", wait_s=0.0, queue=QUEUE, **asked):
    """The tasks that a worker gets."""
    async with asyncio.timeout(20):
        return await made.engine.queues.take(GUEST, queue, worker=worker, wait_s=wait_s, **asked)


async def taken(made, worker="one", **asked):
    """The one task that a worker gets, at once or as soon as it comes."""
    (task,) = await take(made, worker, 20.0, **asked)
    return task


async def answer(made, task, result):
    """Answers a task as its worker does."""
    await made.engine.complete(task["token"], outcome_of(result))


async def beat(made, task, details=None):
    """Sends a heartbeat. True if the task is still waited for."""
    return not await made.engine.answering.beat(task["token"], details)
