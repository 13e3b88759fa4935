"""A composition as one of OpenWhisk's conductor actions: the continuation travels as its `state`.

OpenWhisk asks with the caller's parameters first, then with each component's result and the state
over it; it is answered with the next component, or with the result. The state is text, so that no
hop writes its numbers otherwise, and signed: a caller who could make one up could begin anywhere.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ....composer import (
    APPLICATION_ERROR,
    DIALECTS,
    LIMIT_EXCEEDED,
    TIMEOUT,
    Changes,
    Completed,
    Execution,
    Failed,
    Failure,
    Fiber,
    Invoke,
    Limits,
    Sleeping,
    Success,
    TimerFired,
    failure,
)
from .functions import Functions
from .ports import Deployed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....composer import JSON, Program

STATE = "$xingqiao"
FIBER = "0"
MAX_PAYLOAD_BYTES = 1 << 20  # OpenWhisk's, of what an action is given and of what it returns
UNKNOWN_STATE = (
    f"the parameter '{STATE}' was not signed by this deployment: remove it. If you did not send it, the composition was "
    "deployed again while this execution was under way"
)

# How OpenWhisk begins the texts that tell a conductor action of a component that failed. The codes
# are those that a server of ours gives, so that a retry or a handler by code means the same here.
_SAID = (
    ("The action exceeded its time limits of", TIMEOUT),
    ("The action did not initialize and exited unexpectedly.", "Crashed"),
    ("The action did not produce a valid response and exited unexpectedly.", "Crashed"),
    ("The action exhausted its memory and was aborted.", "Crashed"),
    ("The action did not produce a valid JSON", "BadResponse"),
    ("The action did not return a dictionary", "BadResponse"),
    ("The action produced a response that exceeded the allowed length", "PayloadTooLarge"),
    ("Failed to resolve action with name", "NotFound"),
    ("Failed entitlement check for action with name", "Permission"),
    ("Too many actions in the composition.", LIMIT_EXCEEDED),
)

Answer: TypeAlias = "dict[str, JSON]"


class Conductor:
    """Answers OpenWhisk's calls; it keeps nothing of an execution between two of them.

    Args:
        program: the compiled composition.
        functions: its inline functions.
        key: signs states.
        now_ms: returns the time.
        activation: returns the id of the activation under way, 32 hexadecimal digits.
    """

    def __init__(
        self,
        program: Program,
        functions: Functions,
        key: bytes,
        now_ms: Callable[[], int],
        activation: Callable[[], str],
    ) -> None:
        self._program, self._functions, self._key = program, functions, key
        self._now_ms, self._activation = now_ms, activation

    def __call__(self, params: dict[str, JSON]) -> Answer:
        """The answer to OpenWhisk: `{action, params, state}`, `{params}` or `{error}`."""
        if STATE not in params:
            execution = Execution(self._activation(), self._program, Limits())
            return self._follow(execution, execution.begin(params, self._now_ms()))
        text = self._verified(params[STATE])
        if text is None:
            return {"error": UNKNOWN_STATE}
        carried = json.loads(text)
        fiber = Fiber.from_json(carried["fiber"], lambda value: value, DIALECTS.frame)
        execution = Execution.restore(carried["execution"], self._program, [fiber], Limits())
        result = {name: value for name, value in params.items() if name != STATE}
        event = _told(fiber.turn, result)
        return self._follow(execution, execution.deliver(FIBER, event, self._now_ms()))

    def _follow(self, execution: Execution, changes: Changes) -> Answer:
        """Advances the execution until a component must run, or to its end."""
        while (outcome := changes.outcome) is None:
            if not changes.commands:
                changes = self._go_on(execution)
                continue
            ((_, command),) = changes.commands
            assert isinstance(command, Invoke)  # noqa: S101  what asks for more is not bundled
            if command.function is not None:
                event = self._functions.run(command)
            else:
                answer, large = self._component(execution, command)
                if large is None:
                    return answer
                event = Failed(command.turn, large)
            changes = execution.deliver(FIBER, event, self._now_ms())
        if isinstance(outcome, Success):
            return {"params": outcome.value}
        return {"error": outcome.error}

    def _go_on(self, execution: Execution) -> Changes:
        """Goes on without a component. A delay that a failure asks for is left out: nothing could end it."""
        wait = execution.fibers[FIBER].wait
        if isinstance(wait, Sleeping):
            return execution.deliver(FIBER, TimerFired(), wait.until_ms)
        return execution.proceed(self._now_ms())

    def _component(self, execution: Execution, command: Invoke) -> tuple[Answer, Failure | None]:
        """The answer that runs a component; with a failure if it is too large for OpenWhisk."""
        # What it waits with is the component's to be given; a result takes its place.
        fiber = replace(execution.fibers[FIBER], value=None)
        carried = {"execution": execution.id, "fiber": fiber.to_json(lambda value: value)}
        text = json.dumps(carried, ensure_ascii=False, separators=(",", ":"))
        state: JSON = {STATE: {"text": text, "signature": self._signature(text)}}
        answer: Answer = {"action": command.action, "params": command.params, "state": state}
        size, of_state = _bytes(answer), _bytes(state)
        if size <= MAX_PAYLOAD_BYTES:
            return answer, None
        why = (
            f"{command.action} cannot be invoked: its parameters and the composition's state "
            f"({of_state} bytes) take {size} bytes, and OpenWhisk allows {MAX_PAYLOAD_BYTES}: "
            "keep less in variables, or pass a reference to large data"
        )
        return answer, failure(LIMIT_EXCEEDED, why)

    def _signature(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()

    def _verified(self, state: JSON) -> str | None:
        """The text of a state that this deployment has signed; None for any other."""
        if not isinstance(state, dict):
            return None
        text, signature = state.get("text"), state.get("signature")
        if not (isinstance(text, str) and isinstance(signature, str) and signature.isascii()):
            return None
        return text if hmac.compare_digest(signature, self._signature(text)) else None


def conductor(folder: Path) -> Conductor:
    """The conductor of the one composition that was bundled into a folder."""
    document = json.loads((folder / "deployed.json").read_text("utf-8"))
    (program,) = Deployed.from_json(document).programs.values()
    return Conductor(
        program,
        Functions(program),
        bytes.fromhex((folder / "key").read_text()),
        now_ms=lambda: time.time_ns() // 1_000_000,
        activation=lambda: os.environ["__OW_ACTIVATION_ID"],
    )


def _told(turn: int, result: dict[str, JSON]) -> Completed | Failed:
    error = result.get("error")
    code = next(
        (code for start, code in _SAID if isinstance(error, str) and error.startswith(start)),
        APPLICATION_ERROR,
    )
    if code == APPLICATION_ERROR:
        return Completed(turn, result)
    return Failed(turn, Failure(code, error))


def _bytes(document: JSON) -> int:
    """The size in bytes as OpenWhisk's Python runtime writes it."""
    return len(json.dumps(document, ensure_ascii=False).encode())
