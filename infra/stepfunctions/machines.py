"""State machines: what is known of one besides the action that it is, its versions and its aliases.

The action holds the current definition. A record beside it holds how it is configured, its tags, its
aliases and what was published of it; a document each holds a version, with its definition. They are
committed together with the action, and go with it, whoever changes or removes it.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import orjson

from ...actions import MACHINE, Action, Change, Document, define_action
from ...composer import Name
from ..engine import MODIFIED, Beside, program_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...actions import Store
    from ...composer import JSON
    from ..engine import Engine

RECORD = "machine"  # documents, by namespace and name
VERSION = "machine-version"  # documents, by namespace, name and number
DIGITS = 10  # of a version's number in its key, so that keys are in order
INITIAL = "INITIAL"  # the revision of a machine that was never changed
READY = 64  # versions that are kept compiled
ROLE = "arn:aws:iam::{account}:role/xingqiao"  # of a machine that was deployed without one
_REVISIONS = uuid.UUID("9a3d1a46-9f0c-4a4e-8b53-6f0f7d3f6f0e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How a revision is configured, besides its definition. None of it changes what it does here.

    `logging` and `encryption` are as AWS spells them.
    """

    role: str
    logging: dict[str, JSON] = field(
        default_factory=lambda: {"level": "OFF", "includeExecutionData": False}
    )
    tracing: bool = False
    encryption: dict[str, JSON] = field(default_factory=lambda: {"type": "AWS_OWNED_KEY"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A published revision; `revision` is None for the one that the machine was created with."""

    number: int
    revision: str | None
    description: str | None
    created_ms: int
    type: str
    configuration: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for one or two versions, each with its share of starts, of 100."""

    name: str
    description: str | None
    routes: tuple[tuple[int, int], ...]
    created_ms: int
    updated_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is kept of a machine besides its action and its versions.

    `first` is the action's version that it was created with; `published` the last version's number.
    """

    created_ms: int
    first: str
    configuration: Configuration
    tags: dict[str, str] = field(default_factory=dict)
    published: int = 0
    aliases: dict[str, Alias] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        return asdict(self)

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> Record:
        doc["configuration"] = Configuration(**doc["configuration"])
        for name, alias in doc["aliases"].items():
            routes = tuple((number, weight) for number, weight in alias.pop("routes"))
            doc["aliases"][name] = Alias(**alias, routes=routes)
        return cls(**doc)


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
    """What is to be published of a machine as soon as it is stored."""

    description: str | None


class Machines:
    """Knows the state machines of an engine that runs. Read them with `load` before anything else.

    Args:
        store: where they are.
        engine: whose catalog has the actions.
        account: that the role of a machine which has none is in.
    """

    def __init__(self, store: Store, engine: Engine, account: str) -> None:
        self._store, self._engine = store, engine
        self.defaults = Configuration(role=ROLE.format(account=account))
        self._records: dict[str, Record] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._stored: dict[tuple[str, str], int] = {}  # the version of each document
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ready: dict[tuple[str, int], Action] = {}
        engine.registry.beside = self._beside

    async def load(self) -> None:
        """Reads them from the store, and drops what is left of those whose action is gone."""
        async for document in self._store.documents(RECORD):
            self._stored[RECORD, document.key] = document.version
            self._records[document.key] = Record.from_json(orjson.loads(document.body or b""))
        async for document in self._store.documents(VERSION):
            self._stored[VERSION, document.key] = document.version
            doc = orjson.loads(document.body or b"")
            del doc["definition"]
            configuration = Configuration(**doc.pop("configuration"))
            version = Version(**doc, configuration=configuration)
            key = document.key.rpartition("/")[0]
            self._versions.setdefault(key, {})[version.number] = version
        gone = [k for k in {*self._records, *self._versions} if self.find(*k.split("/")) is None]
        documents = [document for key in gone for document in self._forgotten(key)]
        await self._engine.registry.change(
            Change(None), beside=Beside(documents, partial(self._forget, gone, documents))
        )

    # --- what there is -----------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> Machine | None:
        """The state machine of this name, if there is one."""
        action = self._engine.catalog.find(Action, Name(namespace, None, name))
        return None if action is None or action.kind != MACHINE else self._of(action)

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
        key = _version_key(machine.action, number)
        async for document in self._store.documents(VERSION, key):
            return str(orjson.loads(document.body or b"")["definition"])
        raise AssertionError(key)  # its entry is made and removed with it

    async def action(self, machine: Machine, number: int) -> Action:
        """The action that a version which is there would be: to be run, not in the catalog."""
        place = str(machine.action.name), number
        found = self._ready.pop(place, None)
        if found is None:
            definition = await self.definition(machine, number)
            version = machine.versions[number]
            doc = {"exec": _executed(definition, version.type)}
            define = partial(define_action, machine.action.name, doc, None, version.created_ms)
            found = await self._engine.aside.weigh(definition, define)
            found = replace(found, limits=machine.action.limits, version=f"0.0.{number}")
            # What an execution is pinned to must be there after a crash, whoever compiled it.
            programs = [program_document(program) for program in found.programs]
            await self._engine.registry.change(Change(None), beside=Beside(programs))
        self._ready[place] = found
        if len(self._ready) > READY:
            del self._ready[next(iter(self._ready))]
        return found

    def _of(self, action: Action) -> Machine:
        key = _key(action)
        record = self._records.get(key) or self._fresh(action)
        return Machine(action, record, self._versions.get(key, {}))

    def _fresh(self, action: Action) -> Record:
        return Record(
            created_ms=action.updated_ms, first=action.version, configuration=self.defaults
        )

    # --- changes -----------------------------------------------------------------------------

    def changing(self, namespace: str, name: str) -> asyncio.Lock:
        """What is held from looking at a machine to having changed it."""
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
        """Stores what is known of a machine, without some of its versions.

        Raises:
            ConflictError: when another has changed it in between.
        """
        gone = frozenset(dropped)
        versions = {n: version for n, version in machine.versions.items() if n not in gone}
        keys = [_version_key(machine.action, number) for number in gone & machine.versions.keys()]
        documents = [self._written(VERSION, key, None) for key in keys]
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
        return after, [self._written(VERSION, _version_key(machine.action, number), doc)]

    async def _commit(
        self, machine: Machine, change: Change, documents: Sequence[Document]
    ) -> None:
        key = _key(machine.action)
        record = self._written(RECORD, key, machine.record.to_json())

        def applied() -> None:
            self._records[key] = machine.record
            self._versions[key] = machine.versions
            self._noted([record, *documents])

        beside = Beside([record, *documents], applied)
        await self._engine.registry.change(change, MODIFIED, beside)

    def _beside(self, change: Change) -> Beside:
        """What goes with a change that others make: a new machine's record, and all of one that goes."""
        documents: list[Document] = []
        fresh: dict[str, Record] = {}
        gone: list[str] = []
        for entity in (*change.put, *change.gone):
            if not isinstance(entity, Action) or entity.name.package is not None:
                continue
            key = _key(entity)
            if entity.kind != MACHINE or entity in change.gone:
                documents += self._forgotten(key)
                gone.append(key)
            elif key not in self._records:
                fresh[key] = self._fresh(entity)
                documents.append(self._written(RECORD, key, fresh[key].to_json()))

        def applied() -> None:
            self._forget(gone, documents)
            self._records.update(fresh)

        return Beside(documents, applied)

    def _forget(self, gone: Iterable[str], documents: Iterable[Document]) -> None:
        for key in gone:
            self._records.pop(key, None)
            self._versions.pop(key, None)
            for place in [place for place in self._ready if place[0] == f"/{key}"]:
                del self._ready[place]
        self._noted(documents)

    def _forgotten(self, key: str) -> list[Document]:
        records = [self._written(RECORD, key, None)] if key in self._records else []
        numbers = self._versions.get(key, {})
        return records + [self._written(VERSION, f"{key}/{n:0{DIGITS}}", None) for n in numbers]

    def _written(self, kind: str, key: str, doc: dict[str, JSON] | None) -> Document:
        body = None if doc is None else orjson.dumps(doc)
        return Document(kind=kind, key=key, body=body, expected=self._stored.get((kind, key), 0))

    def _noted(self, documents: Iterable[Document]) -> None:
        for document in documents:
            place = document.kind, document.key
            if document.body is None:
                self._stored.pop(place, None)
            else:
                self._stored[place] = (document.expected or 0) + 1


def _key(action: Action) -> str:
    return f"{action.name.namespace}/{action.name.path}"


def _version_key(action: Action, number: int) -> str:
    return f"{_key(action)}/{number:0{DIGITS}}"


def _executed(definition: str, type: str) -> dict[str, JSON]:
    return {"kind": MACHINE, "definition": definition, "type": type}


def _document(action: Action) -> dict[str, JSON]:
    document: dict[str, JSON] = action.exec.document  # type: ignore[union-attr]
    return document
