"""State machines: actions with a record, versions and aliases."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ...actions import MACHINE, Action, Change, Composed, Document, define_action
from ..engine import MODIFIED, Attachment, program_document
from .records import (
    VERSION,
    Configuration,
    Record,
    Records,
    Version,
    action_of,
    version_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...composer import JSON, Name
    from ..engine import Engine

INITIAL = "INITIAL"  # the revision of a machine that was never changed
_REVISIONS = uuid.UUID("9a3d1a46-9f0c-4a4e-8b53-6f0f7d3f6f0e")


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine as it is now: its action, its record, and its versions by number."""

    action: Action
    record: Record
    versions: dict[int, Version]

    @property
    def name(self) -> str:
        return self.action.name.name

    @property
    def definition(self) -> str:
        return str(_document(self.action)["definition"])

    @property
    def type(self) -> str:
        return str(_document(self.action)["type"])

    @property
    def revision(self) -> str | None:
        """The id of what it is now; None when it was never changed."""
        if self.action.version == self.record.first:
            return None
        text = f"{self.action.name}/{self.record.created_ms}/{self.action.version}"
        return str(uuid.uuid5(_REVISIONS, text))

    @property
    def current(self) -> Version | None:
        """The version that is what the machine is now, if it has been published."""
        found = (v for v in self.versions.values() if v.revision == self.revision)
        return max(found, key=lambda version: version.number, default=None)


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication of a machine as soon as it is stored."""

    description: str | None


class Machines:
    """Knows the state machines of an engine that runs. Read them with `load` before anything else.

    Args:
        records: their records; a companion of the engine.
        engine: whose catalog has the actions.
        ready: versions that are kept compiled.
    """

    def __init__(self, records: Records, engine: Engine, ready: int = 64) -> None:
        self._most_ready = ready
        self._records, self._engine = records, engine
        self.defaults = records.defaults
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ready: dict[tuple[str, int], tuple[Version, Action]] = {}

    async def load(self) -> None:
        """Reads them from the store, and drops the records of those whose action is gone."""
        removal = await self._records.load(self._engine.catalog)
        await self._engine.registry.change(Change(None), attached=removal)

    # --- what there is -----------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> Machine | None:
        """The state machine of this name, if there is one."""
        action = action_of(self._engine.catalog, namespace, name)
        return None if action is None else self._of(action)

    def all(self, namespace: str) -> list[Machine]:
        """Those of a namespace, in order of name."""
        found = [
            self._of(action)
            for action in self._engine.catalog.all(Action, namespace)
            if action.kind == MACHINE and action.name.package is None
        ]
        return sorted(found, key=lambda machine: machine.name)

    async def definition(self, machine: Machine, number: int) -> str:
        """The definition of a version that is there."""
        return await self._records.definition(machine.action, number)

    async def action(self, machine: Machine, number: int) -> Action:
        """The action that a version which is there would be: to be run, not in the catalog."""
        place, version = (str(machine.action.name), number), machine.versions[number]
        ready = self._ready.pop(place, None)
        if ready is None or ready[0] is not version:  # it may be that of a machine that was removed
            ready = version, await self._compiled(machine, version)
        self._ready[place] = ready
        if len(self._ready) > self._most_ready:
            del self._ready[next(iter(self._ready))]
        return ready[1]

    async def _compiled(self, machine: Machine, version: Version) -> Action:
        definition = await self.definition(machine, version.number)
        doc: JSON = {"exec": _executed(definition, version.type)}
        define = partial(define_action, machine.action.name, doc, None, version.created_ms)
        found = await self._engine.threads.weigh(definition, define)
        found = replace(found, limits=machine.action.limits, version=f"0.0.{version.number}")
        # An execution is pinned to the program, so it must be there after a crash.
        programs = [program_document(program) for program in found.programs]
        await self._engine.registry.change(Change(None), attached=Attachment(programs))
        return found

    def _of(self, action: Action) -> Machine:
        return Machine(action, self._records.record(action), self._records.versions(action))

    # --- changes -----------------------------------------------------------------------------

    def changing(self, namespace: str, name: str) -> asyncio.Lock:
        """The lock that a caller holds from reading a machine to having changed it."""
        return self._locks.setdefault(f"{namespace}/{name}", asyncio.Lock())

    async def define(
        self,
        name: Name,
        exec: dict[str, JSON],
        given: Record | Configuration,
        publication: Publication | None,
    ) -> Machine:
        """Makes a machine with this record, or changes one and how it is configured.

        Raises:
            RefusedError: when the action cannot be put.
        """
        now_ms = self._engine.now_ms
        new = isinstance(given, Record)
        change = await self._engine.registry.defined(
            Action, name, {"exec": exec}, overwrite=not new, now_ms=now_ms
        )
        action: Action = change.definition
        before = self._of(action)
        record = (
            replace(given, first=action.version, created_ms=now_ms)
            if isinstance(given, Record)
            else replace(before.record, configuration=given)
        )
        machine = Machine(action, record, {} if new else before.versions)
        documents: list[Document] = []
        if publication is not None:
            machine, documents = self._published(machine, publication)
        await self._commit(machine, change, documents)
        return machine

    async def publish(self, machine: Machine, publication: Publication) -> Machine:
        """Publishes what a machine is now. Returns it with its new version.

        Raises:
            ConflictError: when another has changed it in between.
        """
        after, documents = self._published(machine, publication)
        await self._commit(after, Change(None), documents)
        return after

    async def keep(self, machine: Machine, record: Record, dropped: Iterable[int] = ()) -> None:
        """Stores the record of a machine, without some of its versions.

        Raises:
            ConflictError: when another has changed it in between.
        """
        gone = frozenset(dropped)
        versions = {n: version for n, version in machine.versions.items() if n not in gone}
        keys = [version_key(machine.action, number) for number in gone & machine.versions.keys()]
        documents = [self._records.written(VERSION, key, None) for key in keys]
        await self._commit(Machine(machine.action, record, versions), Change(None), documents)

    async def remove(self, machine: Machine) -> None:
        """Removes a machine, its versions and its aliases. Executions that are under way go on.

        Raises:
            ConflictError: when another has changed it in between.
        """
        await self._engine.registry.remove(Action, machine.action.name)

    def _published(
        self, machine: Machine, publication: Publication
    ) -> tuple[Machine, list[Document]]:
        number = machine.record.published + 1
        version = Version(
            number=number,
            revision=machine.revision,
            description=publication.description,
            created_ms=self._engine.now_ms,
            type=machine.type,
            configuration=machine.record.configuration,
        )
        record = replace(machine.record, published=number)
        after = Machine(machine.action, record, {**machine.versions, number: version})
        doc = {**asdict(version), "definition": machine.definition}
        return after, [self._records.written(VERSION, version_key(machine.action, number), doc)]

    async def _commit(
        self, machine: Machine, change: Change, documents: Sequence[Document]
    ) -> None:
        attached = self._records.kept(machine.action, machine.record, machine.versions, documents)
        await self._engine.registry.change(change, MODIFIED, attached)


def _executed(definition: str, type: str) -> JSON:
    return {"kind": MACHINE, "definition": definition, "type": type}


def _document(action: Action) -> dict[str, JSON]:
    """The document that a state machine was deployed with."""
    document = action.exec.document if isinstance(action.exec, Composed) else None
    return document if isinstance(document, dict) else {}
