"""What tests of `actions` are about: an action, an invocation, a clock that stands still."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from pathlib import Path

import anyio.lowlevel
import pytest

from xingqiao.actions import Action, Inline, Invocation, Limits
from xingqiao.actions.definitions import define_action
from xingqiao.composer import Name

_numbers = itertools.count(1)


class StandingClock:
    """A `Clock` that is moved by hand."""

    def __init__(self, ms=1_700_000_000_000):
        self.ms = ms

    def now_ms(self):
        return self.ms

    def elapsed_us(self):
        return self.ms * 1000.0


class Answers:
    """Takes completions in, and lets a test wait for them."""

    def __init__(self):
        self.all = []
        self._waker = asyncio.Event()

    def __call__(self, completion):
        self.all.append(completion)
        self._waker.set()

    def invoke(self, invoker, asked):
        invoker.invoke(asked, self)

    async def next(self, count=1):
        """The completion that is number `count`, when it has come."""
        while len(self.all) < count:
            self._waker.clear()
            await self._waker.wait()
        return self.all[count - 1]


async def until(condition):
    """Lets the event loop run until something has become true."""
    while not condition():
        await anyio.lowlevel.checkpoint()


def ended(pid):
    """Whether a process has ended, reaped or not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def named(text="hello", namespace="guest"):
    return Name.parse(text).within(namespace)


def python(code="def main(params):\n    return params\n", *, name="hello", **fields):
    """An action of Python code, as a PUT makes it."""
    return define_action(
        named(name), {"exec": {"kind": "python:3", "code": code}, **fields}, None, 1
    )


def node(code="function main(params) { return params }", *, name="hello", **fields):
    """An action of JavaScript, as a PUT makes it."""
    document = {"exec": {"kind": "nodejs:default", "code": code}, **fields}
    return define_action(named(name), document, None, 1)


def needed(program):
    """Skips a test without a program that it needs; on CI that is a failure."""
    if shutil.which(program) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{program} is not installed")
        pytest.skip(f"{program} is not installed")


def composed(*functions, limits=None, name="composition"):
    """A composition of inline functions, as a PUT makes it."""
    from xingqiao import composer

    document = composer.sequence(*functions).to_json()
    doc = {"exec": {"kind": "composition", "composition": document}, "limits": limits}
    return define_action(named(name), doc, None, 1)


def inline(function, *, timeout_ms=60_000):
    return Action(named("inline"), Inline(function), limits=Limits(timeout_ms=timeout_ms))


def invocation(action, params=None, **fields):
    """An invocation of its own activation."""
    asked = {"activation": f"{next(_numbers):032x}", "namespace": "guest", "token": "", **fields}
    return Invocation(action=action, params=params if params is not None else {}, **asked)
