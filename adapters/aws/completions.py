"""Completions from functions on Lambda that run asynchronously, by a queue on SQS.

An action of `aws:lambda` whose mode is `event` gives its function a token in its parameters, `__ow_completion_token`. A
destination of the function sends a record of each end to the queue, with parameters and token, so that the
function itself needs no change; or it sends `{"__ow_completion_token": token, "result": value}` there by
itself, with `"error"` in place of `"result"` if it has failed. A queue belongs to one service.

A message is deleted once its completion is durable, or at once if it is not a completion, so that each completion
ends its step once, however often the message is delivered and whenever this server crashes.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ...actions import THROTTLED, ConflictError, NotFoundError, Remote
from ...composer import APPLICATION_ERROR, TIMEOUT, Failure
from ..invoker import outcome_of_answer
from ..port import Done, Fault, Request
from ..reading import parsed
from .results import function_fault
from .wire import Place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...composer import JSON, Outcome
    from .signing import KeySource
    from .wire import Aws

log = logging.getLogger(__name__)

TOKEN = "__ow_completion_token"  # noqa: S105  a field's name
SERVICE, TARGET = "sqs", "AmazonSQS."
SUCCEEDED, AGED = "Success", "EventAgeExceeded"
WAIT_S, BATCH = 20, 10  # SQS' own limits
MARGIN_MS = 10_000
DELETE_MS = 5_000
WORKERS = 4  # batches that are handled at a time
MOST_PAUSE_MS = 30_000
UNTRACED = f"00-{'0' * 31}1-{'0' * 15}1-00"
_REGION = re.compile(r"(?:^|\.)([a-z]{2,4}(?:-[a-z]+)+-\d)\.")


@dataclass(slots=True)
class Tally:
    """Counts messages: completions; late or early ones; messages that are not completions."""

    taken: int = 0
    late: int = 0
    refused: int = 0


class Completions:
    """Receives completions from a queue. Use it with `async with`, inside of the engine's.

    Args:
        aws: the client of AWS.
        keys: sign the requests.
        queue: its URL.
        complete: ends the step of a token with an outcome; the step is durable when it returns.
        pause_ms: before a queue that fails is asked again the first time.
    """

    def __init__(
        self,
        aws: Aws,
        keys: KeySource,
        queue: str,
        complete: Callable[[str, Outcome], Awaitable[None]],
        pause_ms: int = 500,
    ) -> None:
        self._pause_ms = pause_ms
        self._aws, self._keys, self._queue, self._complete = aws, keys, queue, complete
        self.tally = Tally()
        self._completing: set[str] = set()  # tokens whose completions are not durable yet
        self._tasks = asyncio.TaskGroup()
        self._free = asyncio.Semaphore(WORKERS)
        self._listening: asyncio.Task[None]
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._listening = self._tasks.create_task(self._listen())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Handles the messages that were received; the rest stays in the queue."""
        self._stopped.set()
        self._listening.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def _listen(self) -> None:
        pause_ms = self._pause_ms
        while True:
            await self._free.acquire()
            messages = await self._received()
            if isinstance(messages, Fault):
                self._free.release()
                if pause_ms == self._pause_ms:
                    log.warning("Completions cannot be received: %s", messages.error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(pause_ms, messages.retry_after_ms or 0) / 1000):
                        await self._stopped.wait()
                pause_ms = min(2 * pause_ms, MOST_PAUSE_MS)
                continue
            if pause_ms != self._pause_ms:
                log.info("Completions are received again.")
            pause_ms = self._pause_ms
            self._tasks.create_task(self._batch(messages))

    async def _batch(self, messages: list[dict[str, Any]]) -> None:
        try:
            done = await asyncio.gather(*(self._complete_step(message) for message in messages))
            handles = [m["ReceiptHandle"] for m, gone in zip(messages, done, strict=True) if gone]
            if handles:
                await self._deleted(handles)
        finally:
            self._free.release()

    async def _complete_step(self, message: dict[str, Any]) -> bool:
        """Completes the step of a message. True if the message can be deleted."""
        id = str(message.get("MessageId"))[:100]
        found = completion_of(str(message.get("Body")))
        if isinstance(found, str):
            self.tally.refused += 1
            log.warning("Message %r is not a completion and is deleted: %s", id, found)
            return True
        token, outcome = found
        if token in self._completing:  # after a crash this may be the only copy
            return False
        self._completing.add(token)
        try:
            await self._complete(token, outcome)
        except (ConflictError, NotFoundError):
            self.tally.late += 1
            return True
        except Exception:
            log.exception("Message %r could not be handled. The queue will deliver it again.", id)
            return False
        finally:
            self._completing.discard(token)
        self.tally.taken += 1
        return True

    # --- the queue ---------------------------------------------------------------------------

    async def _received(self) -> list[dict[str, Any]] | Fault:
        asked: dict[str, JSON] = {"MaxNumberOfMessages": BATCH, "WaitTimeSeconds": WAIT_S}
        doc = await self._call("ReceiveMessage", asked, WAIT_S * 1000 + MARGIN_MS)
        if isinstance(doc, Fault):
            return doc
        messages = doc.get("Messages") or []
        return [
            m for m in messages if isinstance(m, dict) and isinstance(m.get("ReceiptHandle"), str)
        ]

    async def _deleted(self, handles: list[str]) -> None:
        """Deletes messages. Those that stay are delivered again, and count as late then."""
        entries: list[JSON] = [
            {"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles)
        ]
        doc = await self._call("DeleteMessageBatch", {"Entries": entries}, DELETE_MS)
        if isinstance(doc, Fault):
            log.warning("%d messages could not be deleted: %s", len(handles), doc.error)

    async def _call(
        self, operation: str, body: dict[str, JSON], most_ms: int
    ) -> dict[str, Any] | Fault:
        place = await self._place()
        if isinstance(place, Fault):
            return place
        request = Request(
            target=Remote("aws:sqs", self._queue),
            params={},
            deadline_ms=self._aws.now_ms + most_ms,
            key="",
            traceparent=UNTRACED,
            authorizer=self._keys,  # type: ignore[arg-type]
        )
        asked = {"QueueUrl": self._queue, **body}
        answer = await self._aws.call(request, place, TARGET + operation, asked)
        if isinstance(answer, (dict, Fault)):
            return answer
        return self._aws.refusal(answer)

    async def _place(self) -> Place | Fault:
        """The endpoint of the queue, whose URL the operator has set, and its region."""
        parts = urlsplit(self._queue)
        named = _REGION.search(parts.hostname or "")
        url = f"{parts.scheme}://{parts.netloc}"
        if named is not None:
            return Place(SERVICE, named[1], url)
        place = await self._aws.place(SERVICE)
        return place if isinstance(place, Fault) else Place(SERVICE, place.region, url)


# --- messages ----------------------------------------------------------------------------------


def completion_of(body: str) -> tuple[str, Outcome] | str:
    """The token and the outcome in a message; or the reason why it is not a completion."""
    doc = parsed(body.encode(errors="replace"))
    if isinstance(doc, Failure) or not isinstance(doc, dict):
        return "it is not a JSON object"
    told_by = doc.get("requestPayload") if "requestContext" in doc else doc
    token = told_by.get(TOKEN) if isinstance(told_by, dict) else None
    if not isinstance(token, str):
        return f"it has no '{TOKEN}'"
    if "requestContext" in doc:
        return token, outcome_of_answer(_recorded(doc))
    if "error" in doc:
        return token, Failure(APPLICATION_ERROR, doc["error"])
    if "result" not in doc:
        return "it has neither a 'result' nor an 'error'"
    return token, outcome_of_answer(Done(doc["result"]))


def _recorded(doc: dict[str, Any]) -> Done | Fault:
    """The outcome in a destination's record."""
    context = doc["requestContext"]
    context = context if isinstance(context, dict) else {}
    if context.get("condition") == SUCCEEDED:
        return Done(doc.get("responsePayload"))
    if doc.get("responsePayload") is not None:
        return function_fault(doc["responsePayload"])
    if context.get("approximateInvokeCount") == 0:
        text = "the function was throttled for as long as its event might wait"
        return Fault.saying(THROTTLED, text, "no")
    why = "its event grew too old" if context.get("condition") == AGED else "it was tried too often"
    text = f"the function has not ended well before {why}"
    return Fault.saying(TIMEOUT, text, "unknown")
