"""Schedules start actions: a time is met, its run begins, and the schedule moves on, all in one commit.

Each schedule is changed by one task at a time. Its state in memory is the one that the store has: a decision
takes effect when it is durable. The end of a run is told after it is durable; a crash in between loses nothing,
because the runs that a state calls open are looked up at the next start.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    LOST,
    ConflictError,
    InDoubtError,
    NotFoundError,
    Refuse,
    RefusedError,
    ScheduleDecision,
    ScheduleRules,
    TakenIdError,
    ThrottledError,
    UnavailableError,
    check_call,
    decided,
    schedule_key,
    schedule_of,
)
from ...composer import Failure, Name, changed
from .calls import UNREGISTERED
from .cancellable import Cancellable
from .deployed_schedules import DeployedSchedules
from .inbox.pending import called
from .registry import EXISTS, MODIFIED
from .schedule_records import Kept, ScheduleRecords, check_times, definition_document
from .timers import Timers
from .units import Unit
from .unwaited import SCHEDULE, Unwaited
from .urgency import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from ...actions import Document, ScheduledStart, ScheduleState, StartOptions
    from ...composer import JSON, Outcome
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .inbox.pending import Beginning
    from .live import LiveExecution
    from .records import Records

log = logging.getLogger(__name__)

RETRY_MS = 1_000  # until a time is met that could not be met now
AT_ONCE = 256  # schedules that are met at the same time: a commit must not become too large
LOST_TEXT = "The server stopped while the run was under way, and nothing of the run is kept."


class Schedules:
    """Keeps schedules, meets their times, and hears of the ends of their runs.

    Every method that changes a schedule returns when the change is durable.
    """

    def __init__(
        self,
        identities: Identities,
        inbox: Inbox,
        records: Records,
        cancel: Callable[..., Coroutine[None, None, None]],
    ) -> None:
        core = identities.core
        self._parts, self._tick, self._letters = core.parts, core.tick, core.letters
        self._identities, self._chains = identities, core.chains
        self._inbox, self._records, self._cancel = inbox, records, cancel
        self._schedules = ScheduleRecords(core.parts.store)
        self._kept = self._schedules.kept
        self.deployed = DeployedSchedules(self._schedules, core.parts.clock, self._wake)
        look_s = core.parts.settings.pacing.look_s
        self._timers: Timers[str] = Timers(core.parts.clock, self._ring, look_s)
        self._begun = False
        self.tasks = Cancellable(core.tasks)
        self._line: Line[Kept] = Line()
        self._workers = 0

    def __len__(self) -> int:
        return len(self._kept)

    # --- its life ----------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads the schedules. None of their times is met before `begin`."""
        await self._schedules.load()

    def begin(self) -> None:
        """Meets the times of all schedules, those that were missed first."""
        if not self._begun:
            self._begun = True
            self.tasks.run(self._look())

    def stop(self) -> None:
        """Meets no time any more."""
        self._begun = False
        self._timers.stop()

    async def _look(self) -> None:
        """Looks up the runs that were open: those that have ended meanwhile are met first."""
        for kept in [*self._kept.values()]:
            try:
                await self._look_up(kept)
            except Exception:
                log.exception("the open runs of the schedule %s cannot be looked up", kept.key)
            self._wake(kept)

    async def _look_up(self, kept: Kept) -> None:
        for run in kept.state.open:
            if await self._chains.is_open(run.run):
                continue
            outcome: Outcome
            try:
                outcome = await self._records.outcome(kept.namespace, run.run)
            except NotFoundError:
                outcome = Failure(LOST, LOST_TEXT)
            kept.ends.append((run.run, outcome))

    # --- what users ask for ------------------------------------------------------------------

    async def put(
        self, namespace: str, name: str, doc: JSON, *, overwrite: bool = False
    ) -> dict[str, JSON]:
        """Creates a schedule, or with `overwrite` replaces its definition. Returns its description.

        Raises:
            RefusedError: the document is malformed, or there is a schedule of this name already.
        """
        definition = schedule_of(schedule_key(namespace, name), doc)
        rules, now_ms = ScheduleRules(definition), self._parts.clock.now_ms()
        kept = self._kept.get(definition.key)
        if kept is None:
            check_times(definition, now_ms)
            state = rules.created(now_ms)
            kept = Kept(definition, state, 0)
            documents = [definition_document(definition)]
            doubt = await self._commit(kept, ScheduleDecision(state), documents)
            if kept.overtaken:
                raise ConflictError(EXISTS)
            self._kept[kept.key] = kept
        elif not overwrite:
            raise ConflictError(EXISTS)
        else:
            async with kept.lock:
                self._check_there(kept)
                if definition.spec != kept.definition.spec:
                    check_times(definition, now_ms)
                decision = rules.updated(kept.definition, kept.state, now_ms)
                doubt = await self._asked(kept, decision, [definition_document(definition)])
                kept.definition = definition
        self._wake(kept)
        _raise(doubt)
        return kept.described(now_ms)

    def get(self, namespace: str, name: str, *, brief: bool = False) -> dict[str, JSON]:
        """The description of a schedule: its document, its next times, its last runs, its counts.

        With `brief` it is a line of a list.

        Raises:
            NotFoundError: there is none of this name.
        """
        kept, now_ms = self._found(namespace, name), self._parts.clock.now_ms()
        return kept.summary(now_ms) if brief else kept.described(now_ms)

    def names(self, namespace: str) -> list[str]:
        """The names of the schedules of a namespace, in order."""
        found = [kept.key for kept in self._kept.values() if kept.namespace == namespace]
        return [Name.parse(key).name for key in sorted(found)]

    async def remove(self, namespace: str, name: str) -> dict[str, JSON]:
        """Deletes a schedule. Its open runs go on. Returns its last description.

        Raises:
            RefusedError: there is none of this name, or another server has changed it.
        """
        kept = self._found(namespace, name)
        async with kept.lock:
            self._check_there(kept)
            shown = kept.described(self._parts.clock.now_ms())
            unit = Unit(alone=True)
            unit.write.documents += kept.removal()
            if not await self._tick.submit(unit, patient=False):
                await self._schedules.reload(kept)
                raise ConflictError(MODIFIED)
            kept.gone = True
            self._kept.pop(kept.key, None)
        return shown

    async def pause(self, namespace: str, name: str) -> dict[str, JSON]:
        """Pauses a schedule: its times pass without effect. Its open runs go on.

        Raises:
            NotFoundError: there is none of this name.
        """
        return await self._change(namespace, name, lambda rules, state, _: rules.paused(state))

    async def resume(self, namespace: str, name: str) -> dict[str, JSON]:
        """Resumes a schedule. The times that passed in the pause are not met.

        Raises:
            NotFoundError: there is none of this name.
        """
        return await self._change(namespace, name, ScheduleRules.resumed)

    async def trigger(
        self, namespace: str, name: str, overlap: str | None = None
    ) -> dict[str, JSON]:
        """Starts a run now, under the schedule's overlap policy or another one; also of a paused schedule.

        Raises:
            RefusedError: there is no schedule of this name, or its action cannot run.
        """
        return await self._change(
            namespace, name, lambda rules, state, now_ms: rules.triggered(state, overlap, now_ms)
        )

    async def backfill(
        self, namespace: str, name: str, period_ms: tuple[int, int], overlap: str | None = None
    ) -> dict[str, JSON]:
        """Starts a run for each time of a period, both ends included.

        Raises:
            RefusedError: there is no schedule of this name, or the period has too many times.
        """
        return await self._change(
            namespace, name, lambda rules, state, _: rules.backfilled(state, period_ms, overlap)
        )

    async def _change(
        self,
        namespace: str,
        name: str,
        decide: Callable[[ScheduleRules, ScheduleState, int], ScheduleDecision],
    ) -> dict[str, JSON]:
        kept = self._found(namespace, name)
        async with kept.lock:
            self._check_there(kept)
            now_ms = self._parts.clock.now_ms()
            decision = decide(ScheduleRules(kept.definition), kept.state, now_ms)
            doubt = await self._asked(kept, decision)
        self._wake(kept)
        _raise(doubt)
        return kept.described(self._parts.clock.now_ms())

    async def _asked(
        self, kept: Kept, decision: ScheduleDecision, documents: Iterable[Document] = ()
    ) -> InDoubtError | None:
        """Carries out what a user has asked for. Returns the doubt whether that is durable.

        Raises:
            RefusedError: a run cannot start, or another server has changed the schedule.
        """
        documents, version = [*documents], kept.version
        doubt = await self._commit(kept, decision, documents)
        if kept.overtaken:
            await self._schedules.reload(kept)
            if not kept.contested or kept.gone or kept.version != version:
                raise ConflictError(MODIFIED)
            doubt = await self._commit(kept, decision, documents)  # the id of the run is not new
            if kept.overtaken:
                await self._schedules.reload(kept)
                raise ConflictError(MODIFIED)
        return doubt

    def _found(self, namespace: str, name: str) -> Kept:
        kept = self._kept.get(schedule_key(namespace, name))
        if kept is None:
            raise NotFoundError
        return kept

    @staticmethod
    def _check_there(kept: Kept) -> None:
        if kept.gone:
            raise NotFoundError

    # --- times and ends ----------------------------------------------------------------------

    def ended(self, run: LiveExecution, outcome: Outcome) -> None:
        """Hears that a run ends with the commit that gathers: its schedule is told when that is durable."""
        unwaited = run.origin.unwaited
        if unwaited is not None and unwaited.how == SCHEDULE:
            first = run.origin.chain_of(run.id)  # the schedule knows no other run of the chain
            told = partial(self._told, unwaited.rule, first, outcome)
            self._tick.gathering.effects.append(told)

    def _told(self, key: str, run: str, outcome: Outcome) -> None:
        kept = self._kept.get(key)
        if kept is not None:
            kept.ends.append((run, outcome))
            self._wake(kept, urgent=False)

    def _ring(self, key: str, _: str) -> None:
        kept = self._kept.get(key)
        if kept is not None:
            self._wake(kept)

    def _wake(self, kept: Kept, *, urgent: bool = True) -> None:
        """Has a schedule worked on: those with a time to meet before those of which only a run has ended."""
        if self._begun and not kept.working:
            kept.working = True
            self._line.add(kept, urgent=urgent)
            if self._workers < AT_ONCE:
                self._workers += 1
                self.tasks.run(self._work_off())
        elif urgent:
            self._line.hurry(kept)

    async def _work_off(self) -> None:
        while self._line:
            await self._work(self._line.take())
        self._workers -= 1

    async def _work(self, kept: Kept) -> None:
        """Meets all that has happened: first the ends of runs, then times that wait, then times that are due."""
        again_ms: int | None
        try:
            async with kept.lock:
                while self._begun and not kept.gone and await self._step(kept):
                    if kept.overtaken:
                        await self._schedules.reload(kept)
        except (UnavailableError, ThrottledError) as error:
            log.info("the schedule %s is met later: %s", kept.key, error)
            again_ms = self._parts.clock.now_ms() + RETRY_MS
        except Exception:
            log.exception("the schedule %s failed because of an internal error", kept.key)
            again_ms = self._parts.clock.now_ms() + RETRY_MS
        else:
            again_ms = kept.due_ms
        kept.working = False
        if again_ms is not None and self._begun and not kept.gone:
            self._timers.arm(again_ms, kept.key, "")

    async def _step(self, kept: Kept) -> bool:
        """Meets one thing; False if there is nothing to meet."""
        rules, now_ms = ScheduleRules(kept.definition), self._parts.clock.now_ms()
        if kept.ends:
            decision = rules.ended(kept.state, *kept.ends[0], now_ms)
            if decision is not None:
                await self._commit(kept, decision)
            if not kept.overtaken:
                kept.ends.popleft()
            return True
        if kept.stop:
            await self._stop_open(kept)
            return True
        decided = rules.proceeding(kept.state) or rules.due(kept.state, now_ms)
        if decided is not None:
            await self._meet(kept, decided, now_ms)
        return decided is not None

    async def _meet(self, kept: Kept, decision: ScheduleDecision, now_ms: int) -> None:
        """Carries out what a time asks for. A run that is refused for good becomes a dead letter.

        Raises:
            ThrottledError, UnavailableError: the run may start later.
        """
        try:
            await self._commit(kept, decision)
        except (ThrottledError, UnavailableError):
            raise
        except RefusedError as error:
            if decision.start is None:
                raise
            log.warning("the schedule %s cannot start a run: %s", kept.key, error)
            name, rules = decision.start.name, ScheduleRules(kept.definition)
            refused = rules.refused(decision.state, name, str(error), now_ms)
            lost = None if isinstance(error, TakenIdError) else (decision.start, str(error))
            await self._commit(kept, refused, dead=lost)

    async def _stop_open(self, kept: Kept) -> None:
        for run in kept.state.open:
            try:
                await self._cancel(kept.namespace, run.run, terminate=kept.stop == "terminate")
            except (NotFoundError, ConflictError) as error:  # it ends by itself
                log.info("the run %s is not stopped: %s", run.name, error)
        kept.stop = ""

    # --- carrying out ------------------------------------------------------------------------

    async def _commit(
        self,
        kept: Kept,
        decision: ScheduleDecision,
        documents: Iterable[Document] = (),
        dead: tuple[ScheduledStart, str] | None = None,
    ) -> InDoubtError | None:
        """Stores the next state and starts the run of a decision, in one commit.

        Returns the doubt whether that is durable; None if it is. With `dead` the commit keeps a dead letter: of a run that was refused, and why.

        Raises:
            RefusedError: the run cannot start; then nothing has changed.
        """
        state, start, now_ms = decision.state, decision.start, self._parts.clock.now_ms()
        documents, id = [*documents], ""
        beginning = None if start is None else self._beginning(kept, start)
        if start is not None:
            version = await self._version(kept, start)
            self._tick.ensure()
            self._admit(kept.namespace, now_ms)
            id = self._parts.ids.execution_id(now_ms)
            state = state.begun(start.name, id, now_ms)
            documents += self._identities.documents(kept.namespace, start.name, id, version)
        with self._tick.apart() as unit:
            accepted = self._tick.durable()
            unit.write.documents += [*documents, kept.state_document(state)]
            self._identities.conditional(unit, id, accepted)
            if beginning is not None:
                self._inbox.begin(id, beginning)
            if dead is not None:
                self._bury(kept, *dead)
        doubt = None
        try:
            kept.overtaken = not await accepted
        except InDoubtError as error:  # if another engine was faster, the next commit finds out
            log.warning("the schedule %s: %s", kept.key, error)
            doubt = error
        if kept.overtaken:
            kept.contested = "" if start is None else start.name
            return None
        kept.state, kept.version, kept.contested = state, kept.version + 1, ""
        kept.stop = decision.stop or kept.stop
        return doubt

    async def _version(self, kept: Kept, start: ScheduledStart) -> int:
        """The version of the document of a run's id: a run of an instant has an id of its own, which is new.

        Raises:
            TakenIdError: the id is not new.
        """
        if kept.contested != start.name:
            return 0
        known, version = await self._identities.look(kept.namespace, start.name)
        match decided(_options(kept, start), "", known):
            case Refuse() as refusal:
                raise refusal.error(refusal.text, refusal.run)
        return version

    def _bury(self, kept: Kept, start: ScheduledStart, why: str) -> None:
        """Keeps a run that was refused for good as a dead letter."""
        unwaited = Unwaited(SCHEDULE, kept.key)
        target = str(kept.definition.action)
        self._letters.refused(kept.namespace, target, unwaited, start.params, why)

    def _beginning(self, kept: Kept, start: ScheduledStart) -> Beginning:
        """The run to begin.

        Raises:
            RefusedError: there is no such action, or its parameters are not allowed.
        """
        definition, namespace = kept.definition, kept.namespace
        action = self._parts.catalog.resolve(definition.action, namespace)
        if action.is_unregistered:
            raise UnavailableError(UNREGISTERED.format(name=action.name))
        quotas = self._parts.settings.quotas(namespace)
        check_call(action, start.params, len(orjson.dumps(start.params)), quotas)
        unwaited = Unwaited(SCHEDULE, kept.key)
        beginning = called(action, start.params, namespace, unwaited=unwaited)
        return changed(beginning, options=_options(kept, start))

    def _admit(self, namespace: str, now_ms: int) -> None:
        self._parts.used(namespace).admit(self._parts.settings.quotas(namespace), now_ms)


def _options(kept: Kept, start: ScheduledStart) -> StartOptions:
    """The options of a start: a time of a schedule has one run, also after that has ended."""
    on_closed = "allow" if start.asked else "reject"
    return changed(kept.definition.options, id=start.name, on_open="fail", on_closed=on_closed)


def _raise(doubt: InDoubtError | None) -> None:
    if doubt is not None:
        raise doubt
