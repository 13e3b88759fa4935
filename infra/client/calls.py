"""Calls as a client makes them: sent once more if an answer is lost, and waited for to their end."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from ...actions import STAGE_ACCEPTED, STAGE_COMPLETED, NotEndedError
from ...composer import APPLICATION_ERROR, Failure, Success, classes_told
from ..handles import LATE, failed
from .wire import ACCEPTED, HOME, MAX_WAIT_MS, Request, execution, named, segment

if TYPE_CHECKING:
    from ...composer import JSON, Outcome
    from ..handles import Document, Page
    from .transport import Transport
    from .wire import Answer

OK = 200


class Calls:
    """Begins calls and waits for them."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def ask(self, method: str, path: str, body: JSON = None, **query: JSON) -> Document:
        """Sends a request and returns the JSON object of the answer. A request that reads is sent again."""
        request = Request(
            method=method, path=path, body=body, query=query, repeatable=method == "GET"
        )
        document: Document = (await self.transport.ask(request)).document
        return document

    async def page(self, collection: str, page: Page, **query: JSON) -> list[Document]:
        """A page of a collection."""
        request = Request(
            method="GET",
            path=f"{HOME}/{collection}",
            query={**query, "limit": page.limit, "skip": page.skip, "upto": page.upto_ms},
            repeatable=True,
        )
        found: list[Document] = (await self.transport.ask(request)).document
        return found

    async def start(self, name: str, params: JSON, token: str, options: dict[str, JSON]) -> str:
        """Starts an action. Returns the id of its run."""
        answer = await self.transport.ask(_invoking(name, params, token, options))
        return _activation(answer)

    async def run(
        self, name: str, params: JSON, token: str, options: dict[str, JSON]
    ) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the id of its run, and its outcome."""
        request = _invoking(name, params, token, {**options, "blocking": True})
        answer = await self.transport.ask(request, wait_s=MAX_WAIT_MS / 1000)
        id = _activation(answer)
        if answer.status == ACCEPTED:
            return id, await self.outcome(id)
        return id, outcome_of(answer.document)

    async def entity(self, request: Request) -> Outcome:
        """Calls an entity and waits for the outcome."""
        answer = await self.transport.ask(request, wait_s=MAX_WAIT_MS / 1000)
        if answer.status == OK:
            return Success(answer.document)
        return await self.outcome(_activation(answer))

    async def outcome(
        self,
        id: str,
        run: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  the server waits
    ) -> Outcome:
        """The outcome of an execution or of an action's run.

        Raises:
            NotFoundError: there is none with this id.
            TimeoutError: it has not ended in time.
        """
        loop = asyncio.get_running_loop()
        until_s = None if timeout is None else loop.time() + timeout
        while True:
            left_ms = float("inf") if until_s is None else 1000 * (until_s - loop.time())
            wait_ms = int(min(max(1, left_ms), MAX_WAIT_MS))
            try:
                return await self._ended(id, run, wait_ms)
            except NotEndedError:
                if left_ms <= wait_ms:
                    raise TimeoutError(
                        f"execution {id} has not ended within {timeout} s; it goes on"
                    ) from None

    async def _ended(self, id: str, run: str | None, wait_ms: int) -> Outcome:
        request = Request(
            method="GET",
            path=f"{HOME}/activations/{segment(id)}",
            query={"run": run, "wait": wait_ms},
            repeatable=True,
        )
        answer = await self.transport.ask(request, wait_s=wait_ms / 1000)
        if "response" not in answer.document:  # it waits for its callback
            raise NotEndedError
        return outcome_of(answer.document)

    async def answer(self, taken: Document, until_s: float, id: str) -> JSON:
        """The answer to an update that was accepted: `taken` is its record, `id` its execution's.

        Raises:
            NotFoundError: there is no such update.
            ActionError: it has failed.
            TimeoutError: it has not ended by `until_s`.
        """
        name, update = taken["name"], taken["update"]
        while taken["status"] == STAGE_ACCEPTED:
            wait_ms = wait_of(until_s)
            request = Request(
                method="GET",
                path=execution(id, "updates", name, update),
                query={"run": taken["executionId"], "wait": wait_ms},
                repeatable=True,
            )
            taken = (await self.transport.ask(request, wait_s=wait_ms / 1000)).document
            if taken["status"] == STAGE_ACCEPTED and not wait_ms:
                raise TimeoutError(LATE.format(name=name, id=id))
        if taken["status"] == STAGE_COMPLETED:
            answer: JSON = taken["answer"]
            return answer
        raised = classes_told(taken.get("raised"))
        raise failed(Failure(taken["errorCode"], taken["error"], raised))


def until(timeout: float | None) -> float:
    """The time of the event loop after so many seconds; infinite for None."""
    return float("inf") if timeout is None else asyncio.get_running_loop().time() + timeout


def wait_of(until_s: float) -> int:
    """The milliseconds that one request may ask the server to wait."""
    left_ms = 1000 * (until_s - asyncio.get_running_loop().time())
    return int(min(max(0, left_ms), MAX_WAIT_MS))


def outcome_of(record: Document) -> Outcome:
    """The outcome that an activation's record tells."""
    result = record["response"].get("result")
    if record["response"]["success"]:
        return Success(result)
    error = result.get("error") if isinstance(result, dict) else result
    raised = classes_told(record.get("raised"))
    return Failure(record.get("code", APPLICATION_ERROR), error, raised)


def _activation(answer: Answer) -> str:
    id: str = answer.activation or answer.document["activationId"]
    return id


def _invoking(name: str, params: JSON, token: str, query: dict[str, JSON]) -> Request:
    """The request that invokes an action. It has a token, so that a call that is sent twice runs once."""
    return Request(
        method="POST",
        path=named("actions", name),
        query=query,
        body=params or {},
        headers={"Idempotency-Key": token or secrets.token_hex(16)},
        repeatable=True,
    )
