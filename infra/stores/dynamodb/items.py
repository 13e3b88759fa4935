"""The layout of rows in a DynamoDB table: items, their keys, and the entries that index them. Pure.

One table; each read is a query of one partition, or of the lanes of one list:

| item                    | pk                                   | sk                           |
|-------------------------|--------------------------------------|------------------------------|
| execution               | `execution/ID`                       | `execution`                  |
| its fibers              | `execution/ID`                       | `fiber/FIBER`                |
| its history             | `execution/ID`                       | `history/FIRST`              |
| what it is found by     | `execution/ID`                       | `attributes`                 |
| its large values        | `values/ID`                          | `value/KEY`                  |
| activation              | `activations/LANE`                   | `activation/ID`              |
| document                | `documents/KIND`                     | `document/KEY`               |
| piece of a large body   | `pieces/` and the pk of its item     | the sk of its item, number   |
| entry: executions       | `listing/executions/NAMESPACE/LANE`  | when it began, id            |
| entry: activations      | `listing/activations/NAMESPACE/LANE` | when it began, number        |
| entry: by status        | `status/STATUS/LANE`                 | `execution/ID`               |
| entry: to be recovered  | `standing/LANE`                      | execution, fiber             |
| entry: has large values | `valued/LANE`                        | `execution/ID`               |
| statuses                | `statuses`                           | `status/STATUS`              |

Entries are computed from their item and written in the same transaction: DynamoDB's own indexes are
updated later, and a commit must be visible at once. A list that grows at its end has lanes, since one
partition takes no more than a thousand small writes in a second. An id begins with its time, so that old
items are together; the ids of an execution and of its steps begin alike, so that they share a lane.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from zlib import crc32

from ....actions import ActivationRow, Document, ExecutionRow, FiberRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....actions import Indexed, Scalar

Key: TypeAlias = tuple[str, str]
Item: TypeAlias = "dict[str, dict[str, Any]]"  # as DynamoDB's client takes it: {"name": {"S": "a"}}
Changes: TypeAlias = "dict[Key, Item | None]"  # the new item under each key; None deletes

LANES = 4
SHARED_DIGITS = 12  # of an id are its time
PIECE_BYTES = 350_000  # of a body in one item, which takes 400 KB with its key and fields
KEY_BYTES = 900  # of a document's key in a sort key, which takes 1024 bytes
LATER = "\U0010ffff"  # not a character: sorts after every key with the same prefix
MAX_TIME = (1 << 64) - 1
EXECUTION, FIBERS, HISTORY, INDEXED = "execution", "fiber/", "history/", "attributes"
AFTER_FIBERS = "g"
FIELDS = (  # of all items, without the body
    "pk", "sk", "pieces", "namespace", "name", "status", "started_ms", "ended_ms", "kind", "cause",
    "number", "due_ms", "active", "version", "key", "id",
)  # fmt: skip


class Row(NamedTuple):
    """An item to write, and its body, which may be too large for the item."""

    item: Item
    body: bytes


# --- keys --------------------------------------------------------------------------------------


def lane(id: str) -> int:
    return crc32(id[:SHARED_DIGITS].encode()) % LANES


def lanes(list: str) -> list[str]:
    """The partitions of a list."""
    return [f"{list}/{number}" for number in range(LANES)]


def time_text(ms: int) -> str:
    """Returns a time, or another number, as a text that sorts like the number."""
    return f"{min(max(ms, 0), MAX_TIME):016x}"


def execution_key(id: str) -> Key:
    return f"execution/{id}", EXECUTION


def fiber_key(execution: str, fiber: str) -> Key:
    return f"execution/{execution}", FIBERS + fiber


def history_key(execution: str, first: int) -> Key:
    return f"execution/{execution}", HISTORY + time_text(first)


def indexed_key(execution: str) -> Key:
    return f"execution/{execution}", INDEXED


def value_key(execution: str, key: str) -> Key:
    return f"values/{execution}", f"value/{key}"


def activation_key(id: str) -> Key:
    return f"activations/{lane(id)}", f"activation/{id}"


def document_key(kind: str, key: str) -> Key:
    """Returns a document's key; a long key is cut and made unique by its digest."""
    head = cut(key)
    tail = "" if head == key else LATER + sha256(key.encode()).hexdigest()
    return f"documents/{kind}", f"document/{head}{tail}"


def cut(key: str) -> str:
    """Returns as much of a document's key as fits into a sort key."""
    return key.encode()[:KEY_BYTES].decode(errors="ignore")


def status_row(status: str) -> Row:
    return Row(_item(("statuses", f"status/{status}"), status=status), b"")


def key_of(item: Item) -> Key:
    return item["pk"]["S"], item["sk"]["S"]


def key_item(key: Key) -> Item:
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}


# --- rows to items -----------------------------------------------------------------------------


def execution_row(row: ExecutionRow) -> Row:
    fields = row._asdict()
    body = fields.pop("body")
    return Row(_item(execution_key(fields.pop("id")), **fields), body)


def fiber_row(row: FiberRow) -> Row:
    key = fiber_key(row.execution, row.fiber)
    return Row(_item(key, due_ms=row.due_ms, active=row.active or None), row.body)


def history_row(execution: str, first: int, body: bytes) -> Row:
    return Row(key_item(history_key(execution, first)), body)


def indexed_row(indexed: Indexed) -> Row:
    return Row(key_item(indexed_key(indexed.execution)), json.dumps(indexed.values).encode())


def value_row(execution: str, key: str, body: bytes) -> Row:
    return Row(key_item(value_key(execution, key)), body)


def activation_row(row: ActivationRow, number: int) -> Row:
    """Returns the row. `number` grows with each activation, and orders those that began at once."""
    fields = row._asdict()
    body = fields.pop("body")
    return Row(_item(activation_key(fields.pop("id")), number=number, **fields), body)


def document_row(document: Document, version: int) -> Row:
    key = document_key(document.kind, document.key)
    return Row(_item(key, key=document.key, version=version), document.body or b"")


def _item(key: Key, /, **fields: Any) -> Item:
    item = key_item(key)
    item |= {name: attribute(value) for name, value in fields.items() if value is not None}
    return item


def attribute(value: Any) -> dict[str, Any]:
    """Returns a value as a DynamoDB attribute."""
    if type(value) is bool:
        return {"BOOL": value}
    return {"S": value} if type(value) is str else {"N": str(value)}


def items_of(row: Row) -> Iterator[Item]:
    """Yields the item with its body; or with the number of pieces, and the pieces."""
    if len(row.body) <= PIECE_BYTES:
        yield {**row.item, "body": {"B": row.body}} if row.body else row.item
        return
    pieces = split(row.body)
    yield {**row.item, "pieces": attribute(len(pieces))}
    for number, piece in enumerate(pieces):
        yield {**key_item(piece_key(key_of(row.item), number)), "body": {"B": piece}}


def split(body: bytes) -> list[bytes]:
    return [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]


def piece_key(key: Key, number: int) -> Key:
    return f"pieces/{key[0]}", f"{key[1]}\0{number:05}"


def piece_keys(item: Item) -> list[Key]:
    """Returns the keys of the pieces of an item's body."""
    return [piece_key(key_of(item), number) for number in range(int_of(item, "pieces") or 0)]


def entries(item: Item) -> list[Item]:
    """Returns the entries that index an item."""
    pk, sk = key_of(item)
    match pk.partition("/")[0], sk.partition("/")[0]:
        case "execution", "execution":
            return _execution_entries(item)
        case "execution", "fiber":
            return _fiber_entries(item)
        case "activations", _:
            return [_activation_entry(item)]
        case "values", _:
            id = pk.removeprefix("values/")
            return [key_item((f"valued/{lane(id)}", f"execution/{id}"))]
    return []


def _execution_entries(item: Item) -> list[Item]:
    id = id_of(item)
    shown = _copied(item, "namespace", "name", "status", "started_ms", "ended_ms")
    listing = f"listing/executions/{item['namespace']['S']}/{lane(id)}"
    began = time_text(int_of(item, "started_ms") or 0)
    return [
        {**key_item((listing, f"{began}/{id}")), "id": attribute(id), **shown},
        {**key_item((f"status/{item['status']['S']}/{lane(id)}", f"execution/{id}")), **shown},
    ]


def _fiber_entries(item: Item) -> list[Item]:
    if "active" not in item and "due_ms" not in item:
        return []
    (pk, sk) = key_of(item)
    id, fiber = pk.removeprefix("execution/"), sk.removeprefix(FIBERS)
    key = (f"standing/{lane(id)}", f"{id}\0{fiber}")
    return [
        {
            **key_item(key),
            "id": attribute(id),
            "key": attribute(fiber),
            **_copied(item, "active", "due_ms"),
        }
    ]


def _activation_entry(item: Item) -> Item:
    id = id_of(item)
    listing = f"listing/activations/{item['namespace']['S']}/{lane(id)}"
    place = "/".join(time_text(int_of(item, name) or 0) for name in ("started_ms", "number"))
    shown = _copied(item, "name", "status", "kind", "started_ms")
    return {**key_item((listing, place)), "id": attribute(id), **shown}


def _copied(item: Item, *names: str) -> Item:
    return {name: item[name] for name in names if name in item}


# --- items to rows -----------------------------------------------------------------------------


def id_of(item: Item) -> str:
    """Returns the id at the end of the key of an execution, an activation or an entry."""
    pk, sk = key_of(item)
    return (pk if sk == EXECUTION else sk).partition("/")[2]


def int_of(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def text_of(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def execution_of(item: Item, body: bytes) -> ExecutionRow:
    return ExecutionRow(
        id_of(item),
        item["namespace"]["S"],
        item["name"]["S"],
        item["status"]["S"],
        int(item["started_ms"]["N"]),
        int_of(item, "ended_ms"),
        body,
    )


def indexed_of(body: bytes) -> list[tuple[str, Scalar]]:
    """Returns the values under which an execution is found."""
    return [(key, value) for key, value in json.loads(body)]


def fiber_of(item: Item, body: bytes) -> FiberRow:
    (pk, sk) = key_of(item)
    id, fiber = pk.removeprefix("execution/"), sk.removeprefix(FIBERS)
    return FiberRow(id, fiber, int_of(item, "due_ms"), "active" in item, body)


def activation_of(item: Item, body: bytes) -> ActivationRow:
    return ActivationRow(
        id_of(item),
        item["namespace"]["S"],
        item["name"]["S"],
        int(item["started_ms"]["N"]),
        int(item["status"]["N"]),
        text_of(item, "cause"),
        body,
        item["kind"]["S"],
    )


def document_of(kind: str, item: Item, body: bytes) -> Document:
    return Document(
        kind=kind, key=item["key"]["S"], body=body, version=int_of(item, "version") or 0
    )


def first_of(item: Item) -> int:
    """Returns the number of the first entry of a history item."""
    return int(item["sk"]["S"].removeprefix(HISTORY), 16)


# --- sizes -------------------------------------------------------------------------------------


def size_of(changes: Iterable[tuple[Key, Item | None]]) -> int:
    """Returns the size of changes in bytes, as DynamoDB counts them or a little more."""
    return sum(
        sum(len(name) + _value_size(value) for name, value in (item or key_item(key)).items())
        for key, item in changes
    )


def _value_size(value: dict[str, Any]) -> int:
    (found,) = value.values()
    return len(found.encode()) if type(found) is str else len(found) if type(found) is bytes else 1
