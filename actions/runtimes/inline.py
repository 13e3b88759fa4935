"""Functions of the embedding program as actions: trusted, and called in this process, without a worker.

A plain function is called in the event loop, so it must not block; a coroutine function runs as a task,
within the action's time limit.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import orjson

from ...composer import (
    APPLICATION_ERROR,
    CANCELLED,
    MAX_DEPTH,
    TIMEOUT,
    Failure,
    Success,
    classes_of,
    copied,
    flaw,
    overflow,
)
from ..coded import Inline
from ..kinds import INLINE
from ..outcome import BAD_RESPONSE, CRASHED, EXITED, Completion, outcome_of
from .assignments import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from ..invocation import Invocation
    from ..ports import Clock


# As in the worker: no types that only orjson knows.
_AS_JSON = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


_CANCELLED = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})

MAX_FRAMES, MAX_LINES, LINE_CHARS = 50, 300, 2000  # of a traceback: the innermost frames are kept


class _Ended(NamedTuple):
    """How a run has ended, with the lines of the traceback if it raised, and the result as orjson writes it."""

    outcome: Success | Failure
    trace: Sequence[str] = ()
    text: bytes | None = None


Task: TypeAlias = "asyncio.Task[_Ended]"

log = logging.getLogger(__name__)


class InlineInvoker:
    """Runs functions of this process. A `PromptInvoker`."""

    kinds = frozenset({INLINE})

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks = asyncio.TaskGroup()
        self._running: dict[str, Task] = {}
        self._answers: list[
            Callable[[], None]
        ] = []  # of plain functions, for the next turn of the loop

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._running.values():
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        completion = self.run(invocation, done)
        if completion is None:
            return
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._answer_all)
        self._answers.append(partial(done, completion))

    def _answer_all(self) -> None:
        answers, self._answers = self._answers, []
        for answer in answers:
            try:
                answer()
            except Exception:
                log.exception("an answer was not taken: a mistake of the engine's")

    def run(self, invocation: Invocation, done: Callable[[Completion], None]) -> Completion | None:
        started_ms = self._clock.now_ms()
        action, activation = invocation.action, invocation.activation
        assert isinstance(action.exec, Inline)  # noqa: S101  the kind says so
        assert action.exec.function is not None  # noqa: S101  the engine parks its steps
        try:
            result = action.exec.function(copied(invocation.params))
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  the boundary to user code
            return self._completion(started_ms, _failed(error))
        if not inspect.iscoroutine(result):
            return self._completion(started_ms, _ended(result))

        def answer(ended: _Ended) -> None:
            done(self._completion(started_ms, ended))

        task = self._tasks.create_task(_awaited(result, action.limits.timeout_ms))
        self._running[activation] = task
        task.add_done_callback(partial(self._ended, activation, result, answer))
        return None

    def _completion(self, started_ms: int, ended: _Ended) -> Completion:
        ended_ms = self._clock.now_ms()
        logs: list[str] = []
        if ended.trace:
            start = f"{timestamp(ended_ms)} stderr: "
            logs = [start + line for line in ended.trace]
        return Completion(ended.outcome, started_ms, ended_ms, logs, text=ended.text)

    def _ended(
        self,
        activation: str,
        coroutine: Coroutine[Any, Any, Any],
        answer: Callable[[_Ended], None],
        task: Task,
    ) -> None:
        coroutine.close()  # it may have been cancelled before it began
        if self._running.get(activation) is task:
            del self._running[activation]
        answer(_Ended(_CANCELLED) if task.cancelled() else task.result())

    def cancel(self, activation: str) -> None:
        task = self._running.get(activation)
        if task is not None:
            task.cancel()


async def _awaited(coroutine: Coroutine[Any, Any, Any], limit_ms: int) -> _Ended:
    scope = asyncio.timeout(limit_ms / 1000)
    try:
        async with scope:
            return _ended(await coroutine)
    except (Exception, SystemExit) as error:  # noqa: BLE001  the boundary to user code
        if scope.expired():
            text = f"The action exceeded its time limits of {limit_ms} milliseconds."
            return _Ended(Failure(TIMEOUT, text))
        return _failed(error)


def _ended(result: Any) -> _Ended:
    if not isinstance(result, (dict, list)):
        text = "The action did not return a dictionary or array."
        return _Ended(Failure(BAD_RESPONSE, text))
    try:
        made, written = _plain(result)
    except (TypeError, ValueError, RecursionError) as error:
        text = f"The action did not produce a valid JSON response: {error}"
        return _Ended(Failure(BAD_RESPONSE, text))
    return _Ended(outcome_of(made), text=written)


def _plain(result: Any) -> tuple[Any, bytes | None]:
    """The result as JSON: a copy that `json` has written and read, as for a worker; and its text by orjson.

    The text is None if only `json` can write the result.

    Raises:
        TypeError, ValueError, RecursionError: the result is not JSON.
    """
    written = True
    try:
        text = orjson.dumps(result, option=_AS_JSON)
    except TypeError:
        text, written = json.dumps(result, allow_nan=False).encode(), False
    if b"null" in text:
        json.dumps(result, allow_nan=False)  # orjson writes NaN as null
    made = orjson.loads(text)
    if why := overflow(text):
        raise ValueError(why)
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH and (why := flaw(made)):
        raise ValueError(why)
    return made, text if written else None


def _failed(error: BaseException) -> _Ended:
    if isinstance(error, SystemExit):
        return _Ended(Failure(CRASHED, EXITED))
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  it is the user's, too
        text = ""
    text = text.encode("utf-8", "backslashreplace").decode()
    failed = Failure(APPLICATION_ERROR, text or type(error).__name__, classes_of(error))
    return _Ended(failed, _traced(error))


def _traced(error: BaseException) -> list[str]:
    """The traceback from where user code begins, as a worker prints it into the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        parts = traceback.format_exception(type(error), error, trace, limit=-MAX_FRAMES)
    except Exception:  # noqa: BLE001  the text of the error is the user's, too
        return []
    lines = "".join(parts).encode("utf-8", "backslashreplace").decode().splitlines()
    return [line[:LINE_CHARS] for line in lines[-MAX_LINES:]]
