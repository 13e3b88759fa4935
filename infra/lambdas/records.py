"""The records of Lambda functions: everything that the store keeps of a function beside its actions.

The function `greet` is the action `greet`, and its version 3 is the action `greet@3`. A record names the
versions and holds the aliases, permissions, URLs, tags and limits. It is committed together with the actions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import AT, Action, ConflictError, Document, chosen, function_of
from ..engine import Attachment

if TYPE_CHECKING:
    from ...actions import Change, Store
    from ...composer import JSON, Name

RECORD = "lambda"  # documents, by the full name of the function's action
RETRIES, EVENT_AGE_S = 2, 21_600  # of an event, unless it is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a version; `weights` are the shares of calls that other versions get, from 0 to 1."""

    name: str
    version: str
    description: str
    weights: tuple[tuple[str, float], ...]
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The permissions of a function, a version or an alias, as AWS spells statements."""

    revision: str
    statements: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """The URL of a function or of an alias; `cors` is as AWS spells it."""

    id: str
    auth: str
    cors: dict[str, Any] | None
    mode: str
    created_ms: int
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The rules for asynchronous invocations of a function, a version or an alias."""

    modified_ms: int
    retries: int = RETRIES
    age_s: int = EVENT_AGE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of a function. Policies, URLs and events are by qualifier, "" for the function itself.

    `published` is the number of the last version, which is never given again; `source` is the hash of the
    settings that the last version was made of; `reserved` is the number of calls at the same time.
    """

    published: int = 0
    source: str = ""
    versions: tuple[int, ...] = ()
    aliases: dict[str, Alias] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    urls: dict[str, Url] = field(default_factory=dict)
    events: dict[str, Events] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    reserved: int | None = None

    def to_json(self) -> dict[str, JSON]:
        return asdict(self)

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> Record:
        """Reads what `to_json` wrote."""
        return cls(
            **{
                **doc,
                "versions": tuple(doc["versions"]),
                "aliases": {name: _alias(alias) for name, alias in doc["aliases"].items()},
                "policies": {name: _policy(policy) for name, policy in doc["policies"].items()},
                "urls": {name: Url(**url) for name, url in doc["urls"].items()},
                "events": {name: Events(**events) for name, events in doc["events"].items()},
            }
        )


def _alias(doc: dict[str, Any]) -> Alias:
    weights = tuple((version, weight) for version, weight in doc["weights"])
    return Alias(**{**doc, "weights": weights})


def _policy(doc: dict[str, Any]) -> Policy:
    return Policy(revision=doc["revision"], statements=tuple(doc["statements"]))


class Records:
    """The records of all functions, as they are stored. A `Companion` of the engine."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[str, Record] = {}
        self._stored: dict[str, int] = {}  # the version of each document
        self._urls: dict[
            str, tuple[str, str]
        ] = {}  # a record's key and a qualifier, by the URL's id
        self._owners: dict[str, str] = {}  # a record's key, by the full name of a version's action

    async def load(self) -> None:
        """Reads the records from the store."""
        async for document in self._store.documents(RECORD):
            self._stored[document.key] = document.version
            self._set(document.key, Record.from_json(orjson.loads(document.body or b"")))

    def record(self, action: Action) -> Record:
        """The record of a function; a new one if an earlier version of this server has created the function."""
        found = self._records.get(str(action.name))
        if found is not None:
            return found
        tags = (function_of(action) or {}).get("Tags", {})
        return Record(tags=dict(tags))

    def published(self, name: Name) -> int:
        """The number of the last version of all functions that have had this name."""
        found = self._records.get(str(name))
        return 0 if found is None else found.published

    def aliased(self, name: Name, alias: str, chance: str) -> str | None:
        """The version that an alias of a function calls; None if there is no such alias."""
        record = self._records.get(str(name))
        found = None if record is None else record.aliases.get(alias)
        return None if found is None else chosen(found.version, found.weights, chance)

    def url(self, id: str) -> tuple[str, str] | None:
        """The full name of the action and the qualifier that a URL belongs to."""
        return self._urls.get(id)

    def kept(self, name: Name, record: Record | None) -> Attachment:
        """Stores the record of a function, or removes it."""
        key = str(name)
        body = None if record is None else orjson.dumps(record.to_json())
        expected = self._stored.get(key, 0)
        if body is None and not expected:
            return Attachment()
        document = Document(kind=RECORD, key=key, body=body, expected=expected)

        def applied() -> None:
            self._set(key, record)
            if body is None:
                del self._stored[key]
            else:
                self._stored[key] = expected + 1

        return Attachment((document,), applied)

    def attachment(self, change: Change) -> Attachment:
        """Goes with a change that another API makes: versions do not change, and a record goes with its function.

        Raises:
            ConflictError: the change is to a version, or leaves versions without their function.
        """
        put = {str(entity.name) for entity in change.put if isinstance(entity, Action)}
        gone = {
            str(entity.name): entity.name for entity in change.gone if isinstance(entity, Action)
        }
        for name in (*put, *gone):
            if name in self._owners and (name in put or self._owners[name] not in gone):
                raise ConflictError(
                    f"'{name}' is a published version of a Lambda function, and cannot be changed. To delete it, "
                    "use Lambda's DeleteFunction with the Qualifier."
                )
        kept = []
        for key in gone.keys() & self._records.keys():
            record = self._records[key]
            if not {f"{key}{AT}{number}" for number in record.versions} <= gone.keys():
                raise ConflictError(
                    f"'{key}' is a Lambda function with published versions. To delete it with its versions, use "
                    "Lambda's DeleteFunction."
                )
            kept.append(self.kept(gone[key], remnant(record)))

        def applied() -> None:
            for attachment in kept:
                attachment.applied()

        return Attachment([document for one in kept for document in one.documents], applied)

    def _set(self, key: str, record: Record | None) -> None:
        before = self._records.pop(key, None)
        if before is not None:
            for url in before.urls.values():
                self._urls.pop(url.id, None)
            for number in before.versions:
                self._owners.pop(f"{key}{AT}{number}", None)
        if record is not None:
            self._records[key] = record
            self._urls.update({url.id: (key, name) for name, url in record.urls.items()})
            self._owners.update({f"{key}{AT}{number}": key for number in record.versions})


def remnant(record: Record) -> Record | None:
    """The record that stays when a function is deleted: numbers of versions are never given again."""
    return Record(published=record.published) if record.published else None
