"""Actions that are functions of the embedding program: trusted, called here, no worker between.

A plain function is called in the event loop, so it must not block; a coroutine function runs as a task,
within the action's time limit.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any, Self

import orjson

from composer import (
    APPLICATION_ERROR,
    CANCELLED,
    MAX_DEPTH,
    TIMEOUT,
    Failure,
    Success,
    copied,
    flaw,
)

from ..model import INLINE, Inline
from ..outcome import BAD_RESPONSE, Completion, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ..invocation import Invocation
    from ..ports import Clock


# As the worker's: no type that only orjson knows.
_AS_JSON = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class InlineInvoker:
    """Runs functions of this process. An `Invoker`."""

    kinds = frozenset({INLINE})

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks = asyncio.TaskGroup()
        self._running: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._running.values():
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        started_ms = self._clock.now_ms()
        execution = invocation.action.exec
        assert isinstance(execution, Inline)  # noqa: S101  the kind says so
        try:
            result = execution.function(copied(invocation.params))
        except Exception as error:  # noqa: BLE001  the boundary to user code
            outcome: Success | Failure = _failed(error)
        else:
            if inspect.iscoroutine(result):
                task = self._tasks.create_task(self._awaited(invocation, result, started_ms, done))
                self._running[invocation.activation] = task
                return
            outcome = _outcome(result)
        done(Completion(outcome, started_ms, self._clock.now_ms()))

    async def _awaited(
        self,
        invocation: Invocation,
        coroutine: Coroutine[Any, Any, Any],
        started_ms: int,
        done: Callable[[Completion], None],
    ) -> None:
        limit_ms = invocation.action.limits.timeout_ms
        outcome: Success | Failure = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
        scope = asyncio.timeout(limit_ms / 1000)
        try:
            async with scope:
                outcome = _outcome(await coroutine)
        except Exception as error:  # noqa: BLE001  the boundary to user code
            outcome = _failed(error)
            if scope.expired():
                text = f"The action exceeded its time limits of {limit_ms} milliseconds."
                outcome = Failure(TIMEOUT, text)
        finally:
            del self._running[invocation.activation]
            done(Completion(outcome, started_ms, self._clock.now_ms()))

    def cancel(self, activation: str) -> None:
        task = self._running.get(activation)
        if task is not None:
            task.cancel()


def _outcome(result: Any) -> Success | Failure:
    if not isinstance(result, (dict, list)):
        return Failure(BAD_RESPONSE, "The action did not return a dictionary or array.")
    try:
        return outcome_of(_plain(result))
    except (TypeError, ValueError, RecursionError) as error:
        text = f"The action did not produce a valid JSON response: {error}"
        return Failure(BAD_RESPONSE, text)


def _plain(result: Any) -> Any:
    """The result as JSON: a copy, and what `json` writes of it, as a worker would.

    Raises:
        TypeError, ValueError, RecursionError: when it is none.
    """
    try:
        text = orjson.dumps(result, option=_AS_JSON)
    except TypeError:
        text = json.dumps(result, allow_nan=False).encode()
    if b"null" in text:
        json.dumps(result, allow_nan=False)  # what orjson writes for what is no number
    made = orjson.loads(text)
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH and (why := flaw(made)):
        raise ValueError(why)
    return made


def _failed(error: Exception) -> Failure:
    return Failure(APPLICATION_ERROR, str(error) or type(error).__name__)
