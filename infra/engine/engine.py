"""The engine's face: it composes the parts, and runs, finds and stops executions."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ...actions import (
    KINDS,
    PLAIN,
    Catalog,
)
from .alarms import Alarms
from .annotations import Annotations
from .batch_items import Items
from .batches import Batches
from .bounds import Bounds
from .calls import Calls
from .chains import Chains
from .children import Children
from .completion_tokens import Tokens
from .completions import Answering
from .contexts import Contexts
from .core import Core
from .dead_letter_records import DeadLetterRecords
from .dead_letters import DeadLetters
from .deletions import Deletions
from .dispatch import Dispatch
from .due import Due
from .endings import Endings, ended
from .entities.heuristics import Heuristics
from .entities.mailboxes import Mailboxes
from .executions import Executions
from .finding import Finding
from .firing import Firing
from .functions import Functions
from .hearing import Hearing
from .hooks import Attachment, NoHooks
from .identities import Identities
from .inbox.inbox import Inbox
from .inbox.pending import withdraw
from .limits.limits import Limits
from .limits.steps import StepLimits
from .lingering import Lingering
from .matching import Matching
from .messages import Messages
from .news import News, life
from .offspring import CHILD
from .pauses import Pauses
from .queries import Queries
from .queues.queues import Queues
from .records import Records
from .recovery import Recovery
from .redrives import Redrives
from .registry import Registry
from .resets import Resets
from .restoring import Restoring
from .schedules import Schedules
from .shared import Counters, EngineSettings, Parts
from .tick import Tick
from .timers import Elapsed, Timers
from .units import Unit, nothing
from .updates import Updates
from .waiters import Waiters
from .watching import Watching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence

    from ...actions import Call, Change, Clock, Ids, Invoker, Quotas, Store, Write
    from ...composer import JSON, Acquired, Composition, Invoke, Name, Outcome, Resolved, Resumed
    from .calls import Invoked
    from .functions import ParkedStep
    from .hooks import Companion, Hooks
    from .live import ActiveInvocation, LiveExecution
    from .threads import Threads
    from .timers import Timer
    from .units import Also
    from .visits import Visit


log = logging.getLogger(__name__)


class Engine:
    """Runs actions. Use it with `async with`: it recovers what was under way, and stops in order.

    Args:
        store: the system of record, open.
        invokers: what runs actions, by kind; those that use this engine join the table before it starts.
        clock: the time.
        ids: names for executions.
        settings: limits.
        secret: of this service, for completion triggers' tokens.
        hooks: additions of a wing to executions of its language.
        integrations: True for a service integration that state machines may use.
        alias: version that an alias of a Lambda function calls, by function, alias and id of the call.
        companions: called with each change to the catalog, for the documents that go with it.
        paused: nothing that was under way goes on, and no step runs, before `recovery.begin`.
    """

    def __init__(  # noqa: PLR0913  the ports it needs
        self,
        store: Store,
        invokers: MutableMapping[str, Invoker],
        *,
        clock: Clock,
        ids: Ids,
        settings: EngineSettings,
        secret: bytes,
        hooks: Hooks | None = None,
        integrations: Callable[[str], bool] = lambda _: True,
        alias: Callable[[Name, str, str], str | None] = lambda *_: None,
        companions: Sequence[Companion] = (),
        paused: bool = False,
    ) -> None:
        self._paused = paused
        kinds = [kind for kind in KINDS if kind in invokers]
        self._catalog = Catalog(kinds=kinds, integrations=integrations, alias=alias)
        self._tokens = Tokens(secret)
        self._parts = Parts(
            clock=clock, ids=ids, catalog=self._catalog, store=store,
            settings=settings.signed(self._tokens.tasks), hooks=hooks or NoHooks(),
        )  # fmt: skip
        self._tasks, self._closing = asyncio.TaskGroup(), AsyncExitStack()
        self._waiters, self._news = Waiters(), News(life(clock), settings.followed)
        self._tick = Tick(store, clock, self._withdraw, settings.pacing, self._news.tell)
        self._bounds = Bounds(self._parts)
        self._timers: Timers[Timer] = Timers(Elapsed(clock), self._passed, settings.pacing.look_s)
        self._alarms: Timers[str] = Timers(clock, self._shown, settings.pacing.look_s)
        core = self._core = self._made(invokers)
        invokers[CHILD] = self._composed(core, companions)
        invokers.update(dict.fromkeys(Batches.kinds, self.batches))

    def _made(self, invokers: Mapping[str, Invoker]) -> Core:
        """The parts that the others work with."""
        parts, tick, tokens = self._parts, self._tick, self._tokens
        self.entities = Mailboxes(parts, tick, invokers, self._found, self._tasks)
        self.heuristics = Heuristics(self.entities, tick)
        self.queues = Queues(parts, tick, tokens)
        self.limits = Limits(parts, tick, self._entered)
        send = lambda *step: self._inbox.send(*step)  # noqa: E731, PLW0108  the inbox is made later
        self._step_limits = StepLimits(parts, tick, send)
        self._dispatch = Dispatch(
            invokers, self.entities, tokens, parts.clock, self._cancel_child, self.queues
        )
        alarms = Alarms(self._tasks, self._catalog, self._fire)
        self.chains = Chains(parts, tick)
        self._letters = DeadLetterRecords(parts, tick, alarms.letter)
        self._functions = Functions(parts, tick)
        return Core(
            parts=parts, tick=tick, bounds=self._bounds, lingering=Lingering(parts, self._bounds), chains=self.chains,
            timers=self._timers, alarms=self._alarms, waiters=self._waiters, starter=self._dispatch,
            letters=self._letters, functions=self._functions, limits=self.limits, step_limits=self._step_limits, tasks=self._tasks, stuck=alarms.stuck,
            tell=self._tell, emit=lambda *event: self.events.emitted(*event), unwaited=self._unwaited_ended, close=self._close,  # noqa: PLW0108  the events are made later
        )  # fmt: skip

    def _composed(self, core: Core, companions: Sequence[Companion]) -> Children:
        """Makes the parts that callers use. Returns the invoker of children."""
        parts, tick, tokens, inbox = self._parts, self._tick, self._tokens, Inbox(core)
        self._inbox, restoring = inbox, Restoring(parts)
        self._when = due = Due(parts.clock, inbox, self._alarms)
        self.recovery = self._recovery = Recovery(core, inbox, self._dispatch, due, restoring)
        self.answering = Answering(parts, tick, inbox, self._recovery, tokens, self.queues)
        self.endings = Endings(core, inbox, self._recovery)
        self._redrives = Redrives(core, inbox, restoring)
        self.contexts = Contexts(parts, tick, lambda rule: self.registry.deactivate(rule))  # noqa: PLW0108  made later
        self.firing = Firing(parts, tick, inbox, self._letters, self.contexts)
        self.events = Hearing(parts, tick, Matching(parts, tick, self.firing, self._letters))
        self.letters = DeadLetters(parts, tick, inbox, self._letters, self._redrives, self.firing)
        self.records, self.queries = Records(core, restoring), Queries(core, restoring)
        self.annotations, self.identities = Annotations(core, self._recovery), Identities(core)
        self.finding = Finding(parts, self.records)
        self.watching = Watching(core, self.records, self._news)
        self.calls = Calls(self.identities, inbox, self.records, self.endings)
        self.children = Children(core, self.calls, self._recovery, self.endings)
        attached = (self._unregister, self.contexts.attachment, *companions)
        self.registry = Registry(parts, tick, attached)
        self.pauses = Pauses(core, inbox, self._recovery, self.queues)
        self.messages = Messages(self.identities, inbox, self._recovery, self.calls)
        self.updates = Updates(core, inbox, self._recovery, self._news)
        notes = (self.messages, self.updates)
        self.resets = Resets(inbox, restoring, self.endings, notes, self.identities)
        self.executions = Executions(self.identities, inbox, self._recovery, self.answering)
        self.schedules = Schedules(self.identities, inbox, self.records, self.cancel)
        items = Items(
            annotations=self.annotations, pauses=self.pauses, resets=self.resets, messages=self.messages,
            deletions=Deletions(core, self.annotations, self._redrives), cancel=self.cancel, redrive=self.redrive,
        )  # fmt: skip
        self.batches = Batches(self.calls, self.records, self.identities, items)
        return self.children

    # --- its life ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        for part in (
            self.registry, self.contexts, self.annotations,
            self._functions,  # a function that is known was registered later
            self.entities, self._letters, self.events, self.schedules, self.queues.settings, self.limits.settings,
        ):  # fmt: skip
            await part.load()
        await self._recovery.look()
        ticking = self._tasks.create_task(self._tick.run())
        self._closing.callback(ticking.cancel)
        self._closing.callback(self.schedules.tasks.cancel)
        opening = self._tasks.create_task(self.queues.begin(self._recovery.settled))
        self._closing.callback(opening.cancel)
        entering = self._tasks.create_task(self.limits.begin(self._recovery, self._step_limits))
        self._closing.callback(entering.cancel)
        self._closing.callback(self.children.stop)
        self._closing.callback(self.batches.tasks.cancel)
        self._dispatch.hold()
        if not self._paused:
            self._recovery.begin()
            self.contexts.begin()
            self.events.begin()
            self.schedules.begin()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Commits all that has happened. Executions under way go on after the next start."""
        self._dispatch.hold()
        self.queues.close()
        self.limits.close()
        self._step_limits.close()
        for part in (
            self._timers, self._alarms, self._recovery, self.schedules, self.events, self.endings,
            self._inbox.stretching, self.answering, self.entities,
        ):  # fmt: skip
            part.stop()
        self._inbox.close()
        await self._tick.end()
        self._note_held()
        await self._tick.end(last=True)
        self._waiters.close()
        self._news.close()
        await self._closing.aclose()
        await self._tasks.__aexit__(None, None, None)

    def _note_held(self) -> None:
        """Writes down which steps were committed but not sent, so that the next start knows they have not run."""
        for run in self._parts.runs.values():
            if run.held and run.recorded:
                self._tick.gathering.write.executions.append(run.row(run.standing, None))
                self._tick.wake()

    async def drain(self, seconds: float) -> bool:
        """Begins no further step, and waits for those under way. Returns True if they end in time."""
        self._tick.give_up()
        self.batches.rest()
        self.queues.close()
        self._waiters.close()
        self._news.close()
        return await self._dispatch.drain(seconds)

    @property
    def healthy(self) -> bool:
        """True if the store commits."""
        return self._tick.healthy

    def quotas(self, namespace: str) -> Quotas:
        """The quotas of a namespace; "" stands for one without quotas of its own."""
        return self._parts.settings.quotas(namespace)

    @property
    def now_ms(self) -> int:
        """The time, in milliseconds since the epoch."""
        return self._parts.clock.now_ms()

    @property
    def counters(self) -> Counters:
        """Counts of events since the start."""
        return self._parts.counters

    def gauges(self) -> dict[str, int]:
        """Gauges: the current number of executions, steps, timers, waiters, ..."""
        return {
            "executions_in_memory": len(self._parts.runs),
            "steps_under_way": self._dispatch.under_way,
            "timers": len(self._timers) + len(self._alarms),
            "live": self._bounds.live,
            "recovery_left": self._recovery.left,
            "put_off": self._tick.waiting,
            "parked_steps": len(self._functions),
            "evaluating": len(self._inbox.stretching),
            "waiters": len(self._waiters) + len(self._news),
            **self.entities.gauges(),
            **self.queues.gauges(),
            **self.limits.gauges(),
            **self._step_limits.gauges(),
            **self.events.gauges(),
            "dead_letters": len(self.letters),
            "schedules": len(self.schedules),
            "stuck": len(self._parts.stuck),
            "stuck_longest_s": self._longest(self._parts.stuck.values()),
            "commits": self._tick.commits,
            "calls_refused_by_store": self._tick.turned_away,
        }

    def _longest(self, instants_ms: Iterable[int]) -> int:
        now_ms = self._parts.clock.now_ms()
        return max(0, now_ms - min(instants_ms, default=now_ms)) // 1000

    # --- actions -----------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """The actions, packages, triggers and rules. Read it only; `registry` changes it."""
        return self._catalog

    @property
    def threads(self) -> Threads:
        """Runs work that takes long on a thread."""
        return self._parts.threads

    def register(
        self,
        name: Name,
        function: Callable[..., Any],
        annotations: dict[str, JSON] | None = None,
        limits: dict[str, JSON] | None = None,
    ) -> None:
        """Makes a function of this program an action, for as long as the engine runs.

        Steps that have waited for it are sent.

        Raises:
            InvalidError: a limit is not valid.
        """
        self._send(self._functions.register(name, function, annotations or {}, limits or {}))

    async def commit(self, write: Write) -> None:
        """Commits a write that belongs to no execution, however long it takes."""
        await self._tick.submit(Unit(write))

    # --- executions --------------------------------------------------------------------------

    async def invoke(self, call: Call, *, wait_s: float | None = None) -> Invoked:
        """Runs an action. Returns as soon as the call is durable, or has ended if it is waited for.

        Args:
            call: what to run.
            wait_s: seconds to wait for the end; then it goes on by itself.

        Raises:
            RefusedError: when there is no such action, or it may not run now.
            TakenIdError: when an execution has its id already, and it does not say what to do then.
            ReusedKeyError: when its idempotency key was used for another call.
            InDoubtError: when it may run, though the store did not say so in time.
        """
        if call.options is not PLAIN:
            self.annotations.check(call.namespace, call.options)
        return await self.calls.invoke(call, wait_s=wait_s)

    async def start(
        self, name: Name, composition: Composition, params: dict[str, JSON], namespace: str
    ) -> str:
        """Runs a composition that is not an action, under a name. Returns its id, once it is durable.

        Raises:
            RefusedError: when it may not run now.
        """
        return await self.calls.start(name, composition, params, namespace)

    async def wait(self, namespace: str, id: str, seconds: float) -> bool:
        """Waits for an execution, with all runs of its chain, to end. Returns True if it has ended in time.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        return await self.calls.wait(namespace, id, seconds)

    async def complete(self, token: str, outcome: Outcome) -> None:
        """Answers a step that answers later; the answer is durable when this returns.

        Raises:
            NotFoundError: when the token is not one of ours.
            ConflictError: when the step is not waited for any more; the first answer counts.
        """
        await self.answering.complete(token, outcome)

    async def cancel(
        self, namespace: str, id: str, *, terminate: bool = False, also: Also = nothing
    ) -> None:
        """Asks an execution to stop; with `terminate` it ends at once, without finalizers.

        With it ends what it has started, also what it does not wait for. `also` adds to the same commit.

        Raises:
            NotFoundError: when there is none in this namespace.
            ConflictError: when it has ended.
        """
        self._tick.ensure()
        if terminate:
            await self.endings.terminate(namespace, id, also)
            return
        self._inbox.cancel(await self._recovery.standing(namespace, id))
        also(self._tick.gathering.write)
        await self._tick.committed()

    async def resume(
        self,
        namespace: str,
        id: str,
        event: Resumed | Resolved | None = None,
        fiber: str | None = None,
    ) -> None:
        """Lets a paused execution try again, or with an event decides about its stuck saga.

        Args:
            namespace: that it is in.
            id: of the execution.
            event: what an operator has decided about the saga.
            fiber: where it is stuck, if it is so in several places; None is for all.

        Raises:
            NotFoundError: when there is none in this namespace.
            ConflictError: when it is not paused, or not stuck there.
        """
        await self.pauses.resume(namespace, id, event, fiber)

    async def redrive(
        self, namespace: str, id: str, composition: JSON = None, also: Also = nothing
    ) -> None:
        """Continues a failed or cancelled execution from the steps that failed.

        Args:
            namespace: that it is in.
            id: of the execution.
            composition: to go on with another program, which must agree with what is done.
            also: adds to the commit of the redrive.

        Raises:
            NotFoundError: when there is none in this namespace.
            ConflictError: when it cannot be taken up; the text says why.
        """
        self._tick.ensure()
        async with self.identities.redriving(namespace, id):
            await self._redrives.redrive(namespace, id, composition)
            also(self._tick.gathering.write)
        await self._tick.committed()

    # --- inside ------------------------------------------------------------------------------

    def _passed(self, execution: str, timer: Timer) -> None:
        self._due(execution, partial(self._when.passed, timer=timer))

    def _shown(self, execution: str, fiber: str) -> None:
        self._due(execution, partial(self._when.shown, fiber=fiber))

    def _due(self, execution: str, visit: Visit) -> None:
        """In turn with others: many timers may be due at the same time."""
        run = self._parts.runs.get(execution)
        visit_later = partial(self._recovery.visit, execution, visit)
        self._tick.later("" if run is None else run.origin.namespace, visit_later)

    async def _found(self, execution: str) -> LiveExecution | None:
        return await self._recovery.found(execution)

    def _unregister(self, change: Change) -> Attachment:
        return self._functions.unregister(change, self._send)

    def _send(self, steps: Iterable[ParkedStep]) -> None:
        for step in steps:
            self._inbox.send(step.run, step.fiber, step.command)

    def _withdraw(self, begun: list[LiveExecution]) -> None:
        withdraw(begun, self._core)
        self.calls.keys.withdrawn({run.id for run in begun})

    def _entered(self, execution: str, fiber: str, event: Acquired) -> None:
        self._due(execution, lambda run: self._inbox.deliver(run, fiber, event))

    def _unwaited_ended(self, run: LiveExecution, outcome: Outcome) -> None:
        self.schedules.ended(run, outcome)

    async def _fire(self, trigger: Name, payload: dict[str, JSON]) -> None:
        await self.firing.fire(trigger, payload)

    def _tell(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        self.messages.carry_out(run, fiber, command)

    def _close(self, children: Mapping[str, str]) -> None:
        self.children.close(children)

    def _cancel_child(self, active: ActiveInvocation) -> None:
        """In turn with others: an execution may have started many."""
        if active.child is not None:
            change = partial(ended, self._inbox) if active.ending else self._inbox.cancel
            visit = partial(self._recovery.reach, active.child, change)
            self._tick.later(active.opened.namespace, visit)
