"""The documents in which entities are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from ....actions import Document
from ....transactions import DeletePrepared, DeleteTombstone, Prepared, Row, Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....transactions import EntityWrite

STATE = "state"  # the kind of rows and tombstones: an entity's name, and what a tombstone is of
PREPARED = "prepared"  # the kind of votes of yes: an entity's name, and the transaction's id


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity's row, if it has one, and its tombstones."""

    row: Row | None
    tombstones: tuple[Tombstone, ...]


def name_of(action: str, key: str) -> str:
    """Returns the key of an entity's documents, from the full name of its type and its key."""
    return f"{action}:{key}\n"


def parts_of(name: str) -> tuple[str, str]:
    """Returns the full name of the entity's type, and the entity's key."""
    action, _, key = name.rstrip("\n").partition(":")
    return action, key


def read_entity(name: str, documents: Iterable[Document]) -> StoredEntity:
    """Reads all documents of kind `STATE` whose keys begin with an entity's name."""
    row, stones = None, []
    for document in documents:
        body = orjson.loads(document.body or b"")
        if document.key == name:
            row = Row.from_json(body)
        else:
            stones.append(Tombstone.from_json(body))
    return StoredEntity(row, tuple(stones))


def read_vote(document: Document) -> tuple[str, Prepared]:
    """Reads a document of kind `PREPARED`. Returns the entity's name and its vote."""
    name, _, _ = document.key.partition("\n")
    return f"{name}\n", Prepared.from_json(orjson.loads(document.body or b""))


def document_of(name: str, write: EntityWrite) -> Document:
    """Returns the document that stores or deletes a record of an entity."""
    match write:
        case Row():
            body = None if write.empty else orjson.dumps(write.to_json())
            return Document(kind=STATE, key=name, body=body)
        case Tombstone():
            body = orjson.dumps(write.to_json())
            return Document(kind=STATE, key=name + write.of, body=body)
        case DeleteTombstone(of):
            return Document(kind=STATE, key=name + of, body=None)
        case Prepared():
            body = orjson.dumps(write.to_json())
            return Document(kind=PREPARED, key=name + write.transaction.id, body=body)
        case DeletePrepared(id):
            return Document(kind=PREPARED, key=name + id, body=None)
