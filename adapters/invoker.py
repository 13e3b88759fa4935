"""Runs actions on clouds: the `Invoker` of all adapters, with one policy for asking again and for asking after.

A run that the cloud has taken in is handed back with a ticket, and goes on when that is durable: so a crash asks
after it again, and never asks for it twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..actions import Clock, Invocation
    from ..composer import JSON
    from .port import Adapter, Answer
    from .secrets import Authorizers

log = logging.getLogger(__name__)

CHECK_MS = 20_000
MAX_BUDGETS = 10_000
STOP_MS = 20_000  # that stopping what nobody waits for any more may take
CALLBACK = "/api/v1/completions/"


@dataclass(slots=True)
class _Spent:
    """The cost of a run's attempts: a refused attempt costs nothing."""

    billed_ms: float = 0.0
    ran_ms: float = 0.0
    charged: int = 0
    untold: int = 0
    waited_ms: float = 0.0
    memory_mb: int | None = None

    def count(self, answer: Done | Fault) -> None:
        """Counts an attempt that has ended."""
        if isinstance(answer, Fault) and answer.may_have_run == "no":
            return
        report = answer.report
        self.charged += 1
        self.untold += report.billed_ms is None
        self.billed_ms += report.billed_ms or 0
        self.ran_ms += report.ran_ms or 0
        self.memory_mb = report.memory_mb or self.memory_mb


@dataclass(slots=True)
class _Job:
    """One run: what it is, and how far it has come."""

    request: Request
    invocation: Invocation
    owner: str
    started_ms: int
    done: Callable[[Completion], None]
    attempts: int = 0
    ticket: dict[str, JSON] | None = field(default=None, repr=False)
    from_ms: int = 0  # before which it is not to be asked after
    spent: _Spent = field(default_factory=_Spent)
    asked_as: str | None = None  # what the cloud called the request that it took in
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class CloudInvoker:
    """Runs actions on clouds. A `RemoteInvoker`; use it with `async with`.

    It counts runs that have `ended`, by kind and by `Success` or the code of their failure, and by kind
    the `repeats` of what was asked for again.

    Args:
        adapters: by kind of action.
        authorizers: who asks.
        clock: the time.
        url: by which clouds reach this server; "" when they cannot.
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
        self._jobs: dict[str, list[_Job]] = {}
        self._tasks = asyncio.TaskGroup()
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    @property
    def under_way(self) -> tuple[int, int]:
        """How many runs are under way, and how many of these were taken in and are asked after."""
        jobs = [job for jobs in self._jobs.values() for job in jobs]
        return len(jobs), sum(job.ticket is not None for job in jobs)

    async def __aexit__(self, *exc: object) -> None:
        self._closed.set()
        for job in [job for jobs in self._jobs.values() for job in jobs]:
            self._end(job, _lost("the server was stopped while it was under way"))
        await self._tasks.__aexit__(None, None, None)

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        remote = invocation.action.exec
        assert isinstance(remote, Remote)  # noqa: S101  the kind says so
        now_ms = self._clock.now_ms()
        request = self._request(remote, invocation, now_ms + invocation.action.limits.timeout_ms)
        self._begin(_Job(request, invocation, invocation.action.name.namespace, now_ms, done))

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        """Asks after what was taken in, where it was taken in, whatever the action is by now."""
        try:
            remote = parsed_remote(ticket["remote"])
        except InvalidError:  # of a server that knew other options
            now_ms = self._clock.now_ms()
            text = "it was taken in, and what is known of it cannot be read by this version"
            lost = Completion(
                outcome_told(_lost(text)), ticket["started"], now_ms, may_have_run="unknown"
            )
            asyncio.get_running_loop().call_soon(done, lost)
            return
        request = self._request(remote, invocation, ticket["deadline"])
        job = _Job(request, invocation, ticket["owner"], ticket["started"], done)
        job.attempts, job.ticket = ticket["attempts"], ticket["ticket"]
        job.from_ms, job.asked_as = ticket["from"], ticket["request"]
        job.spent = _Spent(**ticket.get("spent", {}))
        self._begin(job)

    def cancel(self, activation: str) -> None:
        for job in list(self._jobs.get(activation, ())):
            if job.ticket is not None:
                self._tasks.create_task(self._stop(job, job.ticket))
            error = {"code": CANCELLED, "message": "cancelled"}
            self._end(job, Fault(CANCELLED, error, "unknown"))

    async def check(self, remote: Remote, owner: str) -> Fault | str:
        """Whether a function can be reached and would let us in; it is not run."""
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

    def _begin(self, job: _Job) -> None:
        self._jobs.setdefault(job.invocation.activation, []).append(job)
        job.task = self._tasks.create_task(self._run(job))

    def _leaves(self, job: _Job) -> bool:
        """Takes a run from those under way. Whether it was there: whoever takes it answers it, once."""
        jobs = self._jobs.get(job.invocation.activation, [])
        there = any(one is job for one in jobs)
        left = [one for one in jobs if one is not job]
        if left:
            self._jobs[job.invocation.activation] = left
        else:
            self._jobs.pop(job.invocation.activation, None)
        return there

    def _end(self, job: _Job, answer: Fault) -> None:
        """Ends a run from outside."""
        if job.task is not None:
            job.task.cancel()
        if self._leaves(job):
            job.spent.count(answer)
            self._finish(job, answer)

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
        )

    # --- one run -----------------------------------------------------------------------------

    async def _run(self, job: _Job) -> None:
        try:
            if job.ticket is None:
                answer = await self._invoked(job)
            else:
                answer = await self._polled(job, job.ticket)
                job.spent.count(answer)
        except Exception:
            log.exception(
                "the adapter of '%s' has failed by a mistake of ours", job.request.target.kind
            )
            error = {"code": INTERNAL_ERROR, "message": "It could not be run; the log says why."}
            answer = Fault(INTERNAL_ERROR, error, "unknown")
        if self._leaves(job):
            self._finish(job, answer)

    async def _invoked(self, job: _Job) -> Answer:
        """Asks for it, again where that may help and cannot do anything twice."""
        remote, action = job.request.target, job.invocation.action
        adapter = self._adapters[remote.kind]
        if len(self._budgets) >= MAX_BUDGETS:
            self._budgets.clear()  # most are of actions that nobody asks for any more
        budget = self._budgets.setdefault(str(action.name), Budget())
        budget.earn()
        doubted = False  # whether an attempt before may have run
        while True:
            job.attempts += 1
            answer = await self._asked(job, adapter.invoke)
            if not isinstance(answer, Pending):
                job.spent.count(answer)
            if not isinstance(answer, Fault):
                return answer
            if doubted:
                answer = _doubted(answer)
            doubted = answer.may_have_run != "no"
            seed = f"{job.invocation.activation}/{job.attempts}"
            wait_ms = wait_before_retry(
                answer, job.attempts, remote.retrying, repeatable=action.repeatable, seed=seed
            )
            if wait_ms is None or self._left_ms(job) <= wait_ms or not budget.spend():
                return answer
            await self._pause(wait_ms)
            job.spent.waited_ms += wait_ms

    async def _polled(self, job: _Job, ticket: dict[str, JSON]) -> Done | Fault:
        """Asks after it until it has ended or its deadline has come."""
        adapter = self._adapters[job.request.target.kind]
        wait_ms: float = POLL_MS
        until_ms = max(wait_ms, job.from_ms - self._clock.now_ms())
        while True:
            await self._pause(min(until_ms, max(0, self._left_ms(job))))
            answer = await self._looked(job, adapter, ticket)
            if isinstance(answer, Pending):
                ticket = job.ticket = answer.ticket
            elif isinstance(answer, Done) or not answer.transient:
                return _taken_in(answer)
            if self._left_ms(job) <= 0:
                self._tasks.create_task(self._stop(job, ticket))
                text = "it had not ended by its deadline, and was told to stop"
                return Fault.saying(TIMEOUT, text, "unknown")
            wait_ms, until_ms = wait_before_poll(wait_ms, answer)

    async def _looked(self, job: _Job, adapter: Adapter, ticket: dict[str, JSON]) -> Answer:
        """Asks after it, and waits for the answer for some time also when its deadline has come."""
        least_ms = self._clock.now_ms() + STOP_MS
        deadline_ms = max(job.request.deadline_ms, least_ms)
        request = replace(job.request, deadline_ms=deadline_ms, token="", callback="")
        return await self._asked(
            replace(job, request=request), partial(adapter.poll, ticket=ticket)
        )

    async def _asked(self, job: _Job, ask: Callable[[Request], Awaitable[Answer]]) -> Answer:
        """Asks; once more if credentials were refused that can be had anew."""
        try:
            authorizer = self._authorizers.of(job.request.target, job.owner)
        except SecretError as error:  # what was taken in waits for it to be set again
            error_told = {"code": PERMISSION, "message": str(error)}
            return Fault(PERMISSION, error_told, "no", transient=job.ticket is not None)
        request = replace(job.request, authorizer=authorizer)
        answer = await ask(request)
        refused = (
            isinstance(answer, Fault) and answer.code == PERMISSION and answer.may_have_run == "no"
        )
        if refused and authorizer is not None and authorizer.refused():
            answer = await ask(request)
        return answer

    async def _stop(self, job: _Job, ticket: dict[str, JSON]) -> None:
        """Stops what nobody waits for any more; what comes of that concerns nobody, either."""
        deadline_ms = self._clock.now_ms() + STOP_MS
        request = replace(job.request, deadline_ms=deadline_ms, token="", callback="")
        stopping = replace(job, request=request)
        adapter = self._adapters[request.target.kind]
        try:
            await self._asked(stopping, partial(_stopped, adapter, ticket))
        except Exception:
            log.exception("the adapter of '%s' could not stop a run", request.target.kind)

    def _left_ms(self, job: _Job) -> int:
        return job.request.deadline_ms - self._clock.now_ms()

    async def _pause(self, wait_ms: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._closed.wait()

    # --- what came of it ---------------------------------------------------------------------

    def _finish(self, job: _Job, answer: Answer) -> None:
        report = answer.report
        if not isinstance(answer, Pending):
            kind = job.request.target.kind
            self.ended[kind, answer.code if isinstance(answer, Fault) else "Success"] += 1
            self.repeats[kind] += job.attempts - 1
        target, spent = job.request.target, job.spent
        told = spent.untold < spent.charged
        remote = Remoted(
            self._adapters[target.kind].cloud,
            job.asked_as or report.request,
            spent.ran_ms if told and report.ran_ms is not None else report.ran_ms,
            spent.billed_ms if told or not spent.charged else None,
            job.attempts,
            charged=spent.charged,
            untold=spent.untold,
            waited_ms=spent.waited_ms,
            memory_mb=spent.memory_mb,
            region=target.region,
        )
        completion = Completion(
            Success({}) if isinstance(answer, Pending) else outcome_told(answer),
            job.started_ms,
            self._clock.now_ms(),
            report.logs,
            None if report.cold_ms is None else round(report.cold_ms),
            may_have_run=answer.may_have_run if isinstance(answer, Fault) else None,
            remote=remote,
            ticket=self._ticket(job, answer) if isinstance(answer, Pending) else None,
        )
        try:
            job.done(completion)
        except Exception:
            log.exception("nobody has taken in what came of a run of '%s'", job.request.target.kind)

    def _ticket(self, job: _Job, answer: Pending) -> dict[str, JSON]:
        """What is stored, so that it can be asked after by whoever starts next."""
        return {
            "remote": job.request.target.to_json(),
            "owner": job.owner,
            "started": job.started_ms,
            "deadline": job.request.deadline_ms,
            "attempts": job.attempts,
            "from": self._clock.now_ms() + answer.after_ms,
            "request": answer.report.request,
            "spent": asdict(job.spent),
            "ticket": answer.ticket,
        }


async def _stopped(adapter: Adapter, ticket: dict[str, JSON], request: Request) -> Answer:
    fault = await adapter.stop(request, ticket)
    return Done(None) if fault is None else fault


def _lost(text: str) -> Fault:
    return Fault.saying(LOST, text, "unknown")


def outcome_told(answer: Done | Fault) -> Success | Failure:
    """What an answer is to whoever waits for the action."""
    if isinstance(answer, Fault):
        return Failure(answer.code, answer.error)
    return outcome_of({} if answer.value is None else boxed(answer.value))


def _taken_in(answer: Done | Fault) -> Done | Fault:
    """What is asked after was taken in: that nobody answers does not tell that it has not run."""
    if isinstance(answer, Fault) and answer.may_have_run == "no":
        return replace(answer, may_have_run="unknown")
    return answer


def _doubted(fault: Fault) -> Fault:
    """What may have run before has perhaps run, whatever came of it this time."""
    return replace(fault, may_have_run="unknown")
