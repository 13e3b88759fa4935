"""Schedules that are deployed with the actions of a project, in one commit."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from ...actions import (
    ConflictError,
    InvalidError,
    ScheduleRules,
    planned_schedules,
    with_schedules,
)
from ...composer import Name
from .hooks import Attachment
from .schedule_records import Kept, check_times, definition_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ...actions import (
        Catalog,
        Clock,
        Document,
        Plan,
        ScheduleDefinition,
        ScheduleState,
        ScheduleStep,
    )
    from ...composer import JSON
    from .registry import Registry
    from .schedule_records import ScheduleRecords


class DeployedSchedules:
    """Changes the schedules of deployments.

    Args:
        records: the schedules.
        clock: the time.
        wake: has a schedule that has changed meet its times.
    """

    def __init__(
        self, records: ScheduleRecords, clock: Clock, wake: Callable[[Kept], None]
    ) -> None:
        self._records, self._clock, self._wake = records, clock, wake

    async def deploy(self, registry: Registry, namespace: str, doc: JSON, *, dry_run: bool) -> Plan:
        """Deploys all actions and schedules of a document in one commit, or none. A dry run changes nothing.

        Raises:
            RefusedError: a definition is malformed, or changed by another.
        """
        async with self._held(namespace, doc) as held:

            def beside(plan: Plan, staged: Catalog) -> tuple[Plan, Attachment]:
                known = {key: kept.definition for key, kept in held.items()}
                steps = planned_schedules(known, namespace, plan.deployment)
                whole = with_schedules(plan, steps, known, staged)
                return whole, self._attachment(held, steps)

            return await registry.deploy(namespace, doc, dry_run=dry_run, beside=beside)

    @asynccontextmanager
    async def _held(self, namespace: str, doc: JSON) -> AsyncIterator[dict[str, Kept]]:
        """The schedules of a namespace. In the block nobody else changes those that a deployment may change.

        If there is a conflict, another server may have changed one of them: they are read again.
        """
        named = _named(doc)
        async with AsyncExitStack() as locks:
            locked: list[Kept] = []
            for one in sorted(self._of(namespace).values(), key=lambda kept: kept.key):
                if one.definition.deployed_from or Name.parse(one.key).name in named:
                    await locks.enter_async_context(one.lock)
                    locked.append(one)
            try:
                yield self._of(namespace)
            except ConflictError:
                for one in locked:
                    if not one.gone:
                        await self._records.reload(one)
                raise

    def _of(self, namespace: str) -> dict[str, Kept]:
        return {key: one for key, one in self._records.kept.items() if one.namespace == namespace}

    def _attachment(self, held: dict[str, Kept], steps: list[ScheduleStep]) -> Attachment:
        """The documents of the schedules that change, and their change in memory once those are durable."""
        documents: list[Document] = []
        changes: list[Callable[[], None]] = []
        for step in steps:
            if not step.is_written:
                continue
            kept = held.get(step.definition.key)
            if kept is None:
                made, change = self._created(step)
            elif step.is_removed:
                made, change = kept.removal(), partial(self._remove, kept)
            else:
                made, change = self._changed(kept, step)
            documents += made
            changes.append(change)
        return Attachment(documents, partial(_do_all, changes))

    def _created(self, step: ScheduleStep) -> tuple[list[Document], Callable[[], None]]:
        definition, now_ms = step.definition, self._clock.now_ms()
        _check(step, now_ms)
        kept = Kept(definition, ScheduleRules(definition).created(now_ms), 0)
        documents = [definition_document(definition), kept.state_document(kept.state)]
        return documents, partial(self._become, kept, definition, kept.state)

    def _changed(self, kept: Kept, step: ScheduleStep) -> tuple[list[Document], Callable[[], None]]:
        definition, now_ms = step.definition, self._clock.now_ms()
        if definition.spec != kept.definition.spec:
            _check(step, now_ms)
        state = ScheduleRules(definition).updated(kept.definition, kept.state, now_ms).state
        documents = [definition_document(definition), kept.state_document(state)]
        return documents, partial(self._become, kept, definition, state)

    def _become(self, kept: Kept, definition: ScheduleDefinition, state: ScheduleState) -> None:
        kept.definition, kept.state, kept.version = definition, state, kept.version + 1
        self._records.kept[kept.key] = kept
        self._wake(kept)

    def _remove(self, kept: Kept) -> None:
        kept.gone = True
        self._records.kept.pop(kept.key, None)


def _named(doc: JSON) -> set[JSON]:
    """The names of the schedules in a document, which may be malformed."""
    items = doc.get("schedules") if isinstance(doc, dict) else None
    found = (
        (item.get("name") for item in items if isinstance(item, dict))
        if isinstance(items, list)
        else ()
    )
    return {name for name in found if isinstance(name, str)}


def _check(step: ScheduleStep, now_ms: int) -> None:
    try:
        check_times(step.definition, now_ms)
    except InvalidError as error:
        raise InvalidError(f"schedule {step.name}: {error}") from error


def _do_all(changes: list[Callable[[], None]]) -> None:
    for change in changes:
        change()
