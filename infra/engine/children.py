"""Children: steps that are executions of their own, with ids, policies and ends of their own.

The step's activation is the id of the child's run, so a step that is sent again after a crash finds the child
that it has started. The run's id goes into the step's ticket: once that is durable the step only waits for
the end of that run, as for the result of an action on a cloud.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...actions import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LOST,
    Call,
    Completion,
    NotFoundError,
    RefusedError,
    StartOptions,
    TakenIdError,
    ThrottledError,
    TooLargeError,
    UnavailableError,
)
from ...composer import (
    CANCELLED,
    LIMIT_EXCEEDED,
    Failure,
    Success,
    child_failed,
    child_started,
    decided,
)
from .calls import Beside
from .offspring import ABANDON, CHILD, TERMINATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...actions import Invocation
    from ...composer import JSON, Child, Outcome
    from .calls import Calls
    from .core import Core
    from .endings import Endings
    from .live import LiveExecution
    from .recovery import Recovery

log = logging.getLogger(__name__)

FOREVER_S = 366 * 24 * 3600.0
AGAIN_S = 0.25  # between attempts to start a child, when the store does not commit


@dataclass(slots=True)
class _Step:
    """A step that starts a child or waits for one: `used` if the child was there before.

    `parent` is the first run of the chain that starts it: the child is the chain's.
    """

    namespace: str
    done: Callable[[Completion], None]
    on_cancel: str
    id: str = ""
    run: str = ""
    parent: str = ""
    used: bool = False
    stopping: bool = False
    depth: int = 0
    hops: int = 0
    task: asyncio.Task[None] | None = None


class Children:
    """The `RemoteInvoker` of children, and what closes them when their parents end."""

    kinds = frozenset({CHILD})

    def __init__(self, core: Core, calls: Calls, recovery: Recovery, endings: Endings) -> None:
        self._parts, self._tasks, self._tick = core.parts, core.tasks, core.tick
        self._calls, self._recovery, self._endings = calls, recovery, endings
        self._chains = core.chains
        self._steps: dict[str, _Step] = {}  # by activation

    # --- steps -------------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Starts a child."""
        child = invocation.child
        assert child is not None  # noqa: S101  no other step is of this kind
        step = _Step(invocation.namespace, done, child.on_cancel, child.id)
        origin = self._parts.runs[invocation.transaction].origin
        step.depth, step.parent = origin.depth + 1, origin.chain_of(invocation.transaction)
        step.hops = origin.hops
        self._steps[invocation.activation] = step
        step.task = self._tasks.create_task(self._begin(invocation, child, step))

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        """Waits for the end of a child."""
        told: dict[str, Any] = ticket
        before = self._steps.get(invocation.activation)
        step = _Step(
            invocation.namespace,
            done,
            told["on_cancel"],
            told["id"],
            told["run"],
            used=told["used"],
        )
        self._steps[invocation.activation] = step
        step.task = self._tasks.create_task(self._wait(invocation.activation, step))
        if before is not None and before.stopping:
            self.cancel(invocation.activation)

    def cancel(self, activation: str) -> None:
        """A step is not waited for any more, or has to ask its child to stop."""
        step = self._steps.get(activation)
        if step is not None and not step.stopping:
            step.stopping = True
            if step.run:
                self._stop(activation, step)

    def stop(self) -> None:
        """Waits for nothing more: steps are taken up again after the next start."""
        for step in self._steps.values():
            if step.task is not None:
                step.task.cancel()

    def _stop(self, activation: str, step: _Step) -> None:
        """Asks a child to stop, if it is this step's to ask."""
        asks = step.on_cancel != ABANDON and not step.used
        if asks:
            self._recovery.reach(step.run, self._calls.cancel)
        if asks and step.on_cancel == "wait":
            return
        self._steps.pop(activation, None)
        if step.task is not None:
            step.task.cancel()
        self._end(step, Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"}))

    async def _begin(self, invocation: Invocation, child: Child, step: _Step) -> None:
        try:
            step.run = await self._started(invocation, child, step)
        except RefusedError as error:
            self._steps.pop(invocation.activation, None)
            self._end(step, _refusal(child.id, error))
            return
        except Exception:
            log.exception("the child of %s cannot be started", invocation.transaction)
            self._steps.pop(invocation.activation, None)
            text = "The child could not be started; the log of the server says why."
            self._end(step, Failure(INTERNAL_ERROR, text))
            return
        if not child.wait:
            self._steps.pop(invocation.activation, None)
            self._end(step, Success(child_started(child.id, step.run)))
            return
        ticket: dict[str, JSON] = {
            "run": step.run, "id": step.id, "used": step.used, "on_cancel": step.on_cancel,
        }  # fmt: skip
        now_ms = self._parts.clock.now_ms()
        step.done(Completion(Success({}), now_ms, now_ms, ticket=ticket))
        if step.stopping:
            self._stop(invocation.activation, step)

    async def _started(self, invocation: Invocation, child: Child, step: _Step) -> str:
        """The run of the child: it starts, has been started before a crash, or is there by its id."""
        options = StartOptions(
            id=child.id, on_open=child.on_open, on_closed=child.on_closed,
            parent=step.parent, close=child.close, depth=step.depth, hops=step.hops,
        )  # fmt: skip
        call = Call(
            name=invocation.action.listed_as, params=invocation.params, trace=invocation.trace,
            namespace=invocation.namespace, options=options,
        )  # fmt: skip
        while True:
            try:
                if await self._calls.knows(invocation.namespace, invocation.activation):
                    await self._tick.committed()  # it may still be taken back
                    if await self._calls.knows(invocation.namespace, invocation.activation):
                        return invocation.activation
                invoked = await self._calls.invoke(call, beside=Beside(run=invocation.activation))
            except UnavailableError as error:
                log.warning("a child cannot be started: %s. It is tried again", error)
                await asyncio.sleep(AGAIN_S)  # noqa: TID251  the store may work by then
                continue
            step.used = invoked.used
            if not invoked.used and not await self._chains.is_open(step.parent):
                self.close(self._parts.offspring.pop(step.parent, {}))
            return invoked.activation

    async def _wait(self, activation: str, step: _Step) -> None:
        outcome = None
        try:
            while outcome is None and not self._recovery.stopping:
                outcome = await self._calls.outcome(step.namespace, step.run, FOREVER_S)
        except NotFoundError:
            outcome = Failure(LOST, f"Of the child {step.run} nothing is kept.")
        except UnavailableError as error:
            log.warning("a child cannot be waited for: %s. It is tried again", error)
            await asyncio.sleep(AGAIN_S)  # noqa: TID251  the store may work by then
            step.task = self._tasks.create_task(self._wait(activation, step))
            return
        if outcome is None:
            return  # the engine stops
        if self._steps.get(activation) is step:
            del self._steps[activation]
        if isinstance(outcome, Failure):
            outcome = child_failed(step.id, step.run, outcome)
        self._end(step, outcome)

    def _end(self, step: _Step, outcome: Outcome) -> None:
        now_ms = self._parts.clock.now_ms()
        step.done(Completion(outcome, now_ms, now_ms))

    # --- ends of parents ---------------------------------------------------------------------

    def close(self, children: Mapping[str, str]) -> None:
        """Ends or cancels children whose parent has ended, in turn with others."""
        for child, how in children.items():
            change = self._terminate if how == TERMINATE else self._calls.cancel
            self._recovery.reach(child, change)

    def _terminate(self, run: LiveExecution) -> None:
        if decided(run.execution.fibers.values()):
            self._calls.cancel(run)  # it ends when all know of the decision
        else:
            self._endings.end(run)


def _refusal(id: str, error: RefusedError) -> Failure:
    """The failure of a step whose child may not start."""
    code = error.code or (
        LIMIT_EXCEEDED if isinstance(error, ThrottledError | TooLargeError) else INVALID_REQUEST
    )
    doc: dict[str, JSON] = {"code": code, "message": str(error)}
    if isinstance(error, TakenIdError):
        doc |= {"id": id, "run": error.run}
    return Failure(code, doc)
