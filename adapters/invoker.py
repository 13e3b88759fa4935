"""Runs actions on clouds: the `Invoker` of all adapters, with one policy for retries and for polling.

When a cloud accepts a run, the run is handed back with a ticket, and polling starts once the ticket is durable. So
after a crash the server polls for the result again, and never submits the run twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self

from ..actions import (
    INTERNAL_ERROR,
    LOST,
    PERMISSION,
    Completion,
    InvalidError,
    Remote,
    Remoted,
    outcome_of,
    parsed_remote,
)
from ..composer import CANCELLED, TIMEOUT, Failure, Success, boxed
from .credentials import SecretError
from .port import Done, Fault, Pending, Request
from .retrying import POLL_MS, Budget, wait_before_poll, wait_before_retry
from .ticket import Spent, Ticket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..actions import Clock, Invocation
    from ..composer import JSON
    from .port import Adapter, Answer, Receipt, Report
    from .secrets import Authorizers

log = logging.getLogger(__name__)

CHECK_MS = 20_000
MAX_BUDGETS = 10_000
STOP_MS = 20_000  # the time that a request to stop a run may take
CALLBACK = "/api/v1/completions/"


@dataclass(slots=True)
class _Ongoing:
    """A run and its progress."""

    request: Request
    invocation: Invocation
    owner: str
    started_ms: int
    done: Callable[[Completion], None]
    attempts: int = 0
    receipt: Receipt | None = field(default=None, repr=False)  # once the cloud accepted it
    poll_from_ms: int = 0
    spent: Spent = field(default_factory=Spent)
    request_id: str | None = None  # the cloud's, of the request that it accepted
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class CloudInvoker:
    """Runs actions on clouds. A `RemoteInvoker`; use it with `async with`.

    `ended` counts the runs that have ended, by kind and by `Success` or the code of their failure. `repeats`
    counts the retries by kind.

    Args:
        adapters: by kind of action.
        authorizers: make the credentials of requests.
        clock: the time.
        url: the public address of this server; "" when clouds cannot reach it.
    """

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        authorizers: Authorizers,
        clock: Clock,
        url: str = "",
    ) -> None:
        self.kinds = frozenset(adapters)
        self._adapters, self._authorizers = adapters, authorizers
        self._clock, self._url = clock, url
        self.ended: Counter[tuple[str, str]] = Counter()
        self.repeats: Counter[str] = Counter()
        self._budgets: dict[str, Budget] = {}
        self._ongoing: dict[str, list[_Ongoing]] = {}  # by activation
        self._tasks = asyncio.TaskGroup()
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    @property
    def under_way(self) -> tuple[int, int]:
        """The number of runs under way, and the number of these that are polled."""
        runs = self._runs()
        return len(runs), sum(run.receipt is not None for run in runs)

    async def __aexit__(self, *exc: object) -> None:
        self._closed.set()
        for run in self._runs():
            self._end(run, _lost("The server stopped while the action was running."))
        await self._tasks.__aexit__(None, None, None)

    def _runs(self) -> list[_Ongoing]:
        return [run for runs in self._ongoing.values() for run in runs]

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        remote = invocation.action.exec
        assert isinstance(remote, Remote)  # noqa: S101  the kind says so
        now_ms = self._clock.now_ms()
        request = self._request(remote, invocation, now_ms + invocation.action.limits.timeout_ms)
        self._begin(_Ongoing(request, invocation, invocation.action.name.namespace, now_ms, done))

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        """Polls for the result of the function that the ticket names, even if the action has changed since."""
        known = Ticket.from_json(ticket)
        try:
            remote = parsed_remote(known.remote)
        except InvalidError:  # a server with other options wrote it
            text = (
                "The cloud accepted the run, but this version of the server cannot read its ticket."
            )
            lost = Completion(
                outcome_of_answer(_lost(text)),
                known.started_ms,
                self._clock.now_ms(),
                may_have_run="unknown",
            )
            asyncio.get_running_loop().call_soon(done, lost)
            return
        request = self._request(remote, invocation, known.deadline_ms)
        run = _Ongoing(request, invocation, known.owner, known.started_ms, done)
        run.attempts, run.receipt = known.attempts, known.receipt
        run.poll_from_ms, run.request_id = known.poll_from_ms, known.request
        run.spent = known.spent
        self._begin(run)

    def cancel(self, activation: str) -> None:
        for run in list(self._ongoing.get(activation, ())):
            if run.receipt is not None:
                self._tasks.create_task(self._stop(run, run.receipt))
            self._end(run, Fault.saying(CANCELLED, "cancelled", "unknown"))

    async def check(self, remote: Remote, owner: str) -> Fault | str:
        """Checks that a function can be reached and accepts our credentials. Does not run it."""
        request = Request(
            target=remote,
            params={},
            deadline_ms=self._clock.now_ms() + CHECK_MS,
            key="check",
            traceparent=f"00-{'0' * 31}1-{'0' * 15}1-00",
        )
        try:
            authorizer = self._authorizers.of(remote, owner)
        except SecretError as error:
            return Fault.saying(PERMISSION, str(error), "no")
        return await self._adapters[remote.kind].check(replace(request, authorizer=authorizer))

    def _begin(self, run: _Ongoing) -> None:
        self._ongoing.setdefault(run.invocation.activation, []).append(run)
        run.task = self._tasks.create_task(self._run(run))

    def _withdraw(self, run: _Ongoing) -> bool:
        """Removes a run from those under way. True once only: its caller completes the run."""
        runs = self._ongoing.get(run.invocation.activation, [])
        there = any(one is run for one in runs)
        left = [one for one in runs if one is not run]
        if left:
            self._ongoing[run.invocation.activation] = left
        else:
            self._ongoing.pop(run.invocation.activation, None)
        return there

    def _end(self, run: _Ongoing, answer: Fault) -> None:
        """Ends a run from outside."""
        if run.task is not None:
            run.task.cancel()
        if self._withdraw(run):
            run.spent.count(answer)
            self._finish(run, answer)

    def _request(self, remote: Remote, invocation: Invocation, deadline_ms: int) -> Request:
        params, key = invocation.params, invocation.idempotency_key
        named = remote.option("key_parameter")
        callback = f"{self._url}{CALLBACK}{invocation.token}"
        return Request(
            target=remote,
            params={**params, named: key} if named else params,
            deadline_ms=deadline_ms,
            key=key,
            traceparent=invocation.traceparent,
            token=invocation.token,
            callback=callback if invocation.token and self._url else "",
            activation=invocation.activation,
            attempt=1 if invocation.again is None else invocation.again.attempt,
        )

    # --- one run -----------------------------------------------------------------------------

    async def _run(self, run: _Ongoing) -> None:
        try:
            if run.receipt is None:
                answer = await self._submit(run)
            else:
                answer = await self._poll(run, run.receipt)
                run.spent.count(answer)
        except Exception:
            log.exception("The adapter for '%s' raised an exception.", run.request.target.kind)
            text = "The action could not be run. The server's log has the reason."
            answer = Fault.saying(INTERNAL_ERROR, text, "unknown")
        if self._withdraw(run):
            self._finish(run, answer)

    async def _submit(self, run: _Ongoing) -> Answer:
        """Invokes the function, retrying only when a retry can help and cannot repeat a side effect."""
        remote, action = run.request.target, run.invocation.action
        adapter = self._adapters[remote.kind]
        if len(self._budgets) >= MAX_BUDGETS:
            self._budgets.clear()  # most are of actions that are not invoked any more
        budget = self._budgets.setdefault(str(action.name), Budget())
        budget.earn()
        uncertain = False  # True once an earlier attempt may have run
        while True:
            run.attempts += 1
            answer = await self._send(run, adapter.invoke)
            if not isinstance(answer, Pending):
                run.spent.count(answer)
            if not isinstance(answer, Fault):
                return answer
            if uncertain:
                answer = replace(answer, may_have_run="unknown")
            uncertain = answer.may_have_run != "no"
            seed = f"{run.invocation.activation}/{run.attempts}"
            wait_ms = wait_before_retry(
                answer, run.attempts, remote.retrying, repeatable=action.repeatable, seed=seed
            )
            if wait_ms is None or self._left_ms(run) <= wait_ms or not budget.spend():
                return answer
            await self._pause(wait_ms)
            run.spent.waited_ms += wait_ms

    async def _poll(self, run: _Ongoing, receipt: Receipt) -> Done | Fault:
        """Polls for the result until the run has ended or its deadline has come."""
        adapter = self._adapters[run.request.target.kind]
        wait_ms: float = POLL_MS
        until_ms = max(wait_ms, run.poll_from_ms - self._clock.now_ms())
        while True:
            await self._pause(min(until_ms, max(0, self._left_ms(run))))
            answer = await self._poll_once(run, adapter, receipt)
            if isinstance(answer, Pending):
                receipt = run.receipt = answer.receipt
            elif isinstance(answer, Done) or not answer.transient:
                return _accepted(answer)
            if self._left_ms(run) <= 0:
                self._tasks.create_task(self._stop(run, receipt))
                text = "The run had not ended by its deadline, so the cloud was asked to stop it."
                return Fault.saying(TIMEOUT, text, "unknown")
            wait_ms, until_ms = wait_before_poll(wait_ms, answer)

    async def _poll_once(self, run: _Ongoing, adapter: Adapter, receipt: Receipt) -> Answer:
        """Polls once. A request gets some time to be answered even after the run's deadline."""
        least_ms = self._clock.now_ms() + STOP_MS
        deadline_ms = max(run.request.deadline_ms, least_ms)
        request = replace(run.request, deadline_ms=deadline_ms, token="", callback="")
        return await self._send(
            replace(run, request=request), partial(adapter.poll, receipt=receipt)
        )

    async def _send(self, run: _Ongoing, send: Callable[[Request], Awaitable[Answer]]) -> Answer:
        """Sends a request with credentials; once more with new ones if they were refused."""
        try:
            authorizer = self._authorizers.of(run.request.target, run.owner)
        except SecretError as error:  # a run that is polled waits until the secret is set again
            transient = run.receipt is not None
            return Fault.saying(PERMISSION, str(error), "no", transient=transient)
        request = replace(run.request, authorizer=authorizer)
        answer = await send(request)
        refused = (
            isinstance(answer, Fault) and answer.code == PERMISSION and answer.may_have_run == "no"
        )
        if refused and authorizer is not None and authorizer.refused():
            answer = await send(request)
        return answer

    async def _stop(self, run: _Ongoing, receipt: Receipt) -> None:
        """Stops a run that nothing waits for any more. The cloud's answer changes nothing."""
        deadline_ms = self._clock.now_ms() + STOP_MS
        request = replace(run.request, deadline_ms=deadline_ms, token="", callback="")
        stopping = replace(run, request=request)
        adapter = self._adapters[request.target.kind]
        try:
            await self._send(stopping, partial(_stopped, adapter, receipt))
        except Exception:
            log.exception("The adapter for '%s' could not stop a run.", request.target.kind)

    def _left_ms(self, run: _Ongoing) -> int:
        return run.request.deadline_ms - self._clock.now_ms()

    async def _pause(self, wait_ms: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._closed.wait()

    # --- the result --------------------------------------------------------------------------

    def _finish(self, run: _Ongoing, answer: Answer) -> None:
        report = answer.report
        if not isinstance(answer, Pending):
            kind = run.request.target.kind
            self.ended[kind, answer.code if isinstance(answer, Fault) else "Success"] += 1
            self.repeats[kind] += run.attempts - 1
        completion = Completion(
            Success({}) if isinstance(answer, Pending) else outcome_of_answer(answer),
            run.started_ms,
            self._clock.now_ms(),
            report.logs,
            None if report.cold_ms is None else round(report.cold_ms),
            may_have_run=answer.may_have_run if isinstance(answer, Fault) else None,
            remote=self._remoted(run, report),
            ticket=self._ticket(run, answer).to_json() if isinstance(answer, Pending) else None,
        )
        try:
            run.done(completion)
        except Exception:
            log.exception("The result of a run of '%s' was not taken.", run.request.target.kind)

    def _remoted(self, run: _Ongoing, report: Report) -> Remoted:
        target, spent = run.request.target, run.spent
        told = spent.untold < spent.charged
        return Remoted(
            self._adapters[target.kind].cloud,
            run.request_id or report.request,
            spent.ran_ms if told and report.ran_ms is not None else report.ran_ms,
            spent.billed_ms if told or not spent.charged else None,
            run.attempts,
            charged=spent.charged,
            untold=spent.untold,
            waited_ms=spent.waited_ms,
            memory_mb=spent.memory_mb,
            region=target.region,
        )

    def _ticket(self, run: _Ongoing, answer: Pending) -> Ticket:
        return Ticket(
            remote=run.request.target.to_json(),
            owner=run.owner,
            started_ms=run.started_ms,
            deadline_ms=run.request.deadline_ms,
            attempts=run.attempts,
            poll_from_ms=self._clock.now_ms() + answer.after_ms,
            request=answer.report.request,
            spent=run.spent,
            receipt=answer.receipt,
        )


async def _stopped(adapter: Adapter, receipt: Receipt, request: Request) -> Answer:
    fault = await adapter.stop(request, receipt)
    return Done(None) if fault is None else fault


def _lost(text: str) -> Fault:
    return Fault.saying(LOST, text, "unknown")


def outcome_of_answer(answer: Done | Fault) -> Success | Failure:
    """An answer as the outcome of the action."""
    if isinstance(answer, Fault):
        return Failure(answer.code, answer.error)
    return outcome_of({} if answer.value is None else boxed(answer.value))


def _accepted(answer: Done | Fault) -> Done | Fault:
    """The answer about an accepted run: no failure to poll for it proves that it has not run."""
    if isinstance(answer, Fault) and answer.may_have_run == "no":
        return replace(answer, may_have_run="unknown")
    return answer
