"""The records and versions of state machines, as they are stored.

The action holds the current definition. A record beside it holds how it is configured, its tags, its
aliases and what was published of it; a document each holds a version, with its definition. They are
committed together with the action, and are removed with it, also if another API changes or removes it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import MACHINE, Action, Document
from ...composer import Name
from ..engine import Attachment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...actions import Catalog, Change, Store
    from ...composer import JSON

RECORD = "machine"  # documents, by namespace and name
VERSION = "machine-version"  # documents, by namespace, name and number
DIGITS = 10  # of a version's number in its key, so that keys are in order
ROLE = "arn:aws:iam::{account}:role/xingqiao"  # of a machine that was deployed without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration of a revision, besides its definition. The server stores it and does not use it.

    `logging` and `encryption` are as AWS spells them.
    """

    role: str
    logging: dict[str, JSON] = field(
        default_factory=lambda: {"level": "OFF", "includeExecutionData": False}
    )
    tracing: bool = False
    encryption: dict[str, JSON] = field(default_factory=lambda: {"type": "AWS_OWNED_KEY"})

    def same_but_role(self, other: Configuration) -> bool:
        """True if the two are the same, but perhaps for their roles."""
        return (self.logging, self.tracing, self.encryption) == (
            other.logging, other.tracing, other.encryption,
        )  # fmt: skip


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
    """The record of a machine, besides its action and its versions.

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


class Records:
    """The records and the versions of all state machines, as they are stored. A `Companion` of the engine.

    Args:
        store: where they are.
        account: the account of the role of a machine that has none.
    """

    def __init__(self, store: Store, account: str) -> None:
        self._store = store
        self.defaults = Configuration(role=ROLE.format(account=account))
        self._records: dict[str, Record] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._stored: dict[tuple[str, str], int] = {}  # the version of each document

    async def load(self, catalog: Catalog) -> Attachment:
        """Reads them from the store. Returns the removal of those whose action is not in the catalog."""
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
        keys = {*self._records, *self._versions}
        gone = [key for key in keys if action_of(catalog, *key.split("/")) is None]
        documents = [document for key in gone for document in self._removed(key)]
        return Attachment(documents, partial(self._forget, gone, documents))

    # --- what there is -----------------------------------------------------------------------

    def record(self, action: Action) -> Record:
        """The record of a state machine; a new one if there is none yet."""
        return self._records.get(key_of(action)) or self._fresh(action)

    def versions(self, action: Action) -> dict[int, Version]:
        """The versions of a state machine, by number."""
        return self._versions.get(key_of(action), {})

    async def definition(self, action: Action, number: int) -> str:
        """The definition of a version that is there."""
        key = version_key(action, number)
        async for document in self._store.documents(VERSION, key):
            return str(orjson.loads(document.body or b"")["definition"])
        raise AssertionError(key)  # its entry is made and removed with it

    def _fresh(self, action: Action) -> Record:
        return Record(
            created_ms=action.updated_ms, first=action.version, configuration=self.defaults
        )

    # --- changes -----------------------------------------------------------------------------

    def written(self, kind: str, key: str, doc: Mapping[str, JSON] | None) -> Document:
        """A document, on the condition that nobody else has changed it; without JSON, its removal."""
        body = None if doc is None else orjson.dumps(doc)
        return Document(kind=kind, key=key, body=body, expected=self._stored.get((kind, key), 0))

    def kept(
        self,
        action: Action,
        record: Record,
        versions: dict[int, Version],
        documents: Iterable[Document],
    ) -> Attachment:
        """Stores the record and the versions of a state machine, with further documents."""
        key = key_of(action)
        together = [self.written(RECORD, key, record.to_json()), *documents]

        def applied() -> None:
            self._records[key], self._versions[key] = record, versions
            self._noted(together)

        return Attachment(together, applied)

    def attachment(self, change: Change) -> Attachment:
        """Goes with a change that others make: adds a new machine's record, and removes all of one that goes."""
        documents: list[Document] = []
        fresh: dict[str, Record] = {}
        gone: list[str] = []
        for entity in (*change.put, *change.gone):
            if not isinstance(entity, Action) or entity.name.package is not None:
                continue
            key = key_of(entity)
            if entity.kind != MACHINE or entity in change.gone:
                documents += self._removed(key)
                gone.append(key)
            elif key not in self._records:
                fresh[key] = self._fresh(entity)
                documents.append(self.written(RECORD, key, fresh[key].to_json()))

        def applied() -> None:
            self._forget(gone, documents)
            self._records.update(fresh)

        return Attachment(documents, applied)

    def _forget(self, gone: Iterable[str], documents: Iterable[Document]) -> None:
        for key in gone:
            self._records.pop(key, None)
            self._versions.pop(key, None)
        self._noted(documents)

    def _removed(self, key: str) -> list[Document]:
        records = [self.written(RECORD, key, None)] if key in self._records else []
        numbers = self._versions.get(key, {})
        return records + [self.written(VERSION, f"{key}/{n:0{DIGITS}}", None) for n in numbers]

    def _noted(self, documents: Iterable[Document]) -> None:
        for document in documents:
            place = document.kind, document.key
            if document.body is None:
                self._stored.pop(place, None)
            else:
                self._stored[place] = (document.expected or 0) + 1


def action_of(catalog: Catalog, namespace: str, name: str) -> Action | None:
    """The action of the state machine of this name, if there is one."""
    action = catalog.find(Action, Name(namespace, None, name))
    return None if action is None or action.kind != MACHINE else action


def key_of(action: Action) -> str:
    """The key of a state machine's record."""
    return f"{action.name.namespace}/{action.name.path}"


def version_key(action: Action, number: int) -> str:
    """The key of the document of a version."""
    return f"{key_of(action)}/{number:0{DIGITS}}"
