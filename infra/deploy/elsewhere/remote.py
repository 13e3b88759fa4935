"""A function on another cloud as an action of a bundle: the adapters' requests, one for each message.

No process waits for a run that the other cloud has accepted, or for the next attempt: the answer is then a
message that comes back after some seconds, through the conductor's queue, with the run's receipt in it.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ....actions import PERMISSION, Remote, parsed_remote
from ....adapters import (
    POLL_MS,
    Authorizers,
    Done,
    Fault,
    Pending,
    Request,
    SecretError,
    Tokens,
    adapters,
    outcome_of_answer,
    wait_before_poll,
    wait_before_retry,
)
from ....composer import TIMEOUT, outcome_to_json
from ..hosted.action_message import ActionMessage
from ..hosted.user_code import VALUE_BYTES
from ..hosted.wrapper import completed, relay
from .plain_egress import PlainEgress
from .variables import variable_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ....adapters import Adapter, Answer, Egress
    from ....composer import JSON
    from ..hosted.ports import Clock

OWNER = "_"  # the namespace of all actions of a bundle
STOP_MS = 20_000  # the time that a request to stop a run may take
MOST_DELAY_S = 900  # that queues hold a message back
# Of a message that comes back: the receipt of the accepted run, the wait before the last poll, the number of the
# attempt, and whether an earlier attempt may have run.
RECEIPT, BACKOFF, ATTEMPT, UNCERTAIN, STOP = "receipt", "backoff", "attempt", "uncertain", "stop"


class EnvironmentSecrets:
    """Secrets in variables of the environment: JSON, or a text `id:key`."""

    @staticmethod
    def find(_namespace: str, name: str) -> JSON:
        """The secret of this name; None if no secret has this name."""
        text = os.environ.get(variable_of(name))
        if text is None:
            return None
        try:
            value: JSON = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, dict) else text

    @staticmethod
    def ambient(_namespace: str) -> bool:
        """True: a bundle runs in its user's own account."""
        return True


@dataclass(frozen=True, slots=True)
class _Time:
    """The time, as the adapters ask for it."""

    clock: Clock

    def now_ms(self) -> int:
        return self.clock.now_ms()

    @staticmethod
    def elapsed_us() -> int:
        return time.perf_counter_ns() // 1000


class RemoteAction:
    """A function on another cloud.

    Args:
        doc: `{"exec": ..., "repeatable": ...}`, as the bundler wrote it.
        clock: the time.
        longest_ms: the longest time that one request may take here.
    """

    def __init__(self, doc: Mapping[str, Any], clock: Clock, longest_ms: int) -> None:
        self._remote: Remote = parsed_remote(doc["exec"])
        self._repeatable: bool = doc["repeatable"]
        self._clock, self._longest_ms = clock, longest_ms
        timed = _Time(clock)
        egress = cast("Egress", PlainEgress(timed))  # adapters call only `send` and `reach`
        made = adapters(egress, timed, VALUE_BYTES)
        self._adapter: Adapter = made[self._remote.kind]
        self._authorizers = Authorizers(EnvironmentSecrets(), Tokens(egress, timed), made)
        self._loop, self._one = (
            asyncio.Runner(),
            threading.Lock(),
        )  # tokens live as long as the loop

    def run(self, message: Mapping[str, JSON]) -> dict[str, JSON]:
        """Sends one request. Returns the answer to send, or the message that comes back later."""
        with self._one:
            return asyncio.run(self._run(dict(message)))

    async def _run(self, message: dict[str, Any]) -> dict[str, JSON]:
        asked = ActionMessage.from_json(message)
        if message.get(STOP):
            await self._stop(message, asked)
            return _ended(message, Fault.saying(TIMEOUT, "nobody waits for the run", "unknown"))
        if RECEIPT in message:
            return await self._poll(message, asked)
        return await self._submit(message, asked)

    # --- requests ----------------------------------------------------------------------------

    async def _submit(self, message: dict[str, Any], asked: ActionMessage) -> dict[str, JSON]:
        answer = await self._send(self._request(asked), self._adapter.invoke)
        if isinstance(answer, Pending):
            accepted = {**message, "params": {}, BACKOFF: POLL_MS, RECEIPT: answer.receipt}
            return _later(accepted, max(POLL_MS, answer.after_ms))
        if isinstance(answer, Done):
            return _ended(message, answer)
        if message.get(UNCERTAIN):
            answer = replace(answer, may_have_run="unknown")
        attempt = message.get(ATTEMPT, 1)
        wait_ms = wait_before_retry(
            answer,
            attempt,
            self._remote.retrying,
            repeatable=self._repeatable,
            seed=f"{asked.activation}/{attempt}",
        )
        if wait_ms is None or self._clock.now_ms() + wait_ms >= asked.deadline_ms:
            return _ended(message, answer)
        uncertain = answer.may_have_run != "no"
        return _later({**message, ATTEMPT: attempt + 1, UNCERTAIN: uncertain}, wait_ms)

    async def _poll(self, message: dict[str, Any], asked: ActionMessage) -> dict[str, JSON]:
        receipt = message[RECEIPT]
        least_ms = self._clock.now_ms() + STOP_MS
        request = replace(self._request(asked), deadline_ms=max(asked.deadline_ms, least_ms))
        answer = await self._send(request, lambda given: self._adapter.poll(given, receipt))
        if isinstance(answer, Done) or (isinstance(answer, Fault) and not answer.transient):
            return _ended(message, answer)
        if self._clock.now_ms() >= asked.deadline_ms:
            await self._stop(message, asked)
            text = "The run had not ended by its deadline, so the cloud was asked to stop it."
            return _ended(message, Fault.saying(TIMEOUT, text, "unknown"))
        if isinstance(answer, Pending):
            receipt = answer.receipt
        backoff_ms, wait_ms = wait_before_poll(message[BACKOFF], answer)
        return _later({**message, RECEIPT: receipt, BACKOFF: backoff_ms}, wait_ms)

    async def _stop(self, message: dict[str, Any], asked: ActionMessage) -> None:
        """Stops a run that nobody waits for any more. The cloud's answer changes nothing."""
        if RECEIPT not in message:
            return
        request = replace(self._request(asked), deadline_ms=self._clock.now_ms() + STOP_MS)

        async def stopped(given: Request) -> Answer:
            return await self._adapter.stop(given, message[RECEIPT]) or Done(None)

        await self._send(request, stopped)

    async def _send(self, request: Request, send: Callable[[Request], Awaitable[Answer]]) -> Answer:
        """Sends a request with credentials; once more with new ones if they were refused."""
        try:
            authorizer = self._authorizers.of(self._remote, OWNER)
        except SecretError:
            name = self._remote.option("credentials")
            text = f"the secret '{name}' is missing or malformed: set {variable_of(name)}"
            return Fault.saying(PERMISSION, text, "no")
        request = replace(request, authorizer=authorizer)
        answer = await send(request)
        refused = isinstance(answer, Fault) and answer.code == PERMISSION
        if refused and authorizer is not None and authorizer.refused():
            answer = await send(request)
        return answer

    def _request(self, asked: ActionMessage) -> Request:
        given = asked.params
        params: dict[str, JSON] = given if isinstance(given, dict) else {"value": given}
        named = self._remote.option("key_parameter")
        return Request(
            target=self._remote,
            params={**params, named: asked.key} if named else params,
            deadline_ms=min(asked.deadline_ms, self._clock.now_ms() + self._longest_ms),
            key=asked.key,
            traceparent=f"00-{asked.token['execution']}-{asked.activation[-16:]}-01",
            activation=asked.activation,
        )


def _later(message: Mapping[str, JSON], wait_ms: float) -> dict[str, JSON]:
    return relay(message, min(MOST_DELAY_S, max(1, math.ceil(wait_ms / 1000))))


def _ended(message: Mapping[str, JSON], answer: Done | Fault) -> dict[str, JSON]:
    return completed(message, outcome_to_json(outcome_of_answer(answer), lambda value: value))
