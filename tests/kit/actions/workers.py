"""A pool of few real workers for tests, and what comes of an action in it."""

from __future__ import annotations

import re

from tests.kit.actions.things import Answers, StandingClock, invocation, python
from xingqiao.actions.runtimes import Bounds, Sandbox, WorkerPool, WorkerSettings

LIMIT = 50_000  # bytes of a result
LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) (stdout|stderr): (.*)", re.DOTALL)


def small_pool(directory):
    settings = WorkerSettings(result_bytes=LIMIT, directory=directory)
    return WorkerPool(Sandbox(), StandingClock(), settings, Bounds(size=3))


async def run(pool, action, params=None, **fields):
    """What comes of an action."""
    answers = Answers()
    answers.invoke(pool, invocation(action, params, **fields))
    return await answers.next()


async def outcome(pool, code, params=None, **fields):
    return (await run(pool, python(code, **fields), params)).outcome


def logged(completion):
    """(stream, text) of every line."""
    return [LINE.fullmatch(line).groups()[1:] for line in completion.logs]
