"""The conductor's table in Firestore, by its REST API.

Documents of one collection, `executions`. The names of an execution's documents begin with its id, so one query
reads all of them as they were at one instant, and one commit changes them as a whole:

    ...:head              what never changes, the first fiber, when it is due, the outcome
    ...:v:000000000007    its version, by name alone: the next one takes its place, or nothing is written; so
                          a write is under a condition, and nothing needs to be read for it
    ...:f:0:1.0           another fiber; slashes of its id are colons
    ...:u:000000000007:0  a piece of what version 7 may not have sent yet

Ids begin with the time. Two digits of a checksum stand before them, or all writes would go to one machine.
Only `due` and `expires` are indexed: `main.tf.json` exempts the texts.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

from .google_account import Account, GoogleError, host_of
from .ports import Record, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....composer import JSON
    from .ports import Change

log = logging.getLogger(__name__)

Body: TypeAlias = "dict[str, Any]"

COLLECTION = "executions"
HEAD, ROOT = "head", "0"
DAY_MS = 24 * 3600 * 1000
KEPT_MS = 7 * DAY_MS  # an execution that has ended can be looked at for so long
PIECE_CHARS = 900_000  # of one document, which has at most 1 MiB
PAGE = 300  # documents that a query asks for at once
DROPPED_AT_ONCE = 200  # beside what a commit writes anyhow
SPREAD = 2  # digits before an id
TEXTS = ("about", "fiber", "outcome", "text")
# How Firestore refuses a write because of the version. ABORTED means that others change the same documents: then a
# new execution is not taken for one that has begun.
_EXISTS = ("ALREADY_EXISTS",)
_CHANGED = ("ALREADY_EXISTS", "NOT_FOUND", "FAILED_PRECONDITION", "ABORTED")


class FirestoreTable:
    """A `Table`: see the module's text.

    Args:
        account: the service account of this function.
        database: `projects/.../databases/...`.
    """

    def __init__(self, account: Account, database: str) -> None:
        self._account, self._documents = account, f"{database}/documents"
        self._host = host_of("firestore.googleapis.com", "FIRESTORE_EMULATOR_HOST")
        self._pieces: dict[tuple[str, int], int] = {}  # of what versions have to send

    def load(self, id: str) -> Record | None:
        """An execution; None if no execution has this id."""
        record: Record | None = None
        version, fibers, unsent = 0, {}, dict[int, dict[int, str]]()
        for document in self._of(id):
            row, fields = _row(document), document.get("fields", {})
            match row.split(":"):
                case ["head"]:
                    record = Record(
                        id=id,
                        version=0,
                        about=_json(fields, "about"),
                        outcome=_json(fields, "outcome"),
                        ended_ms=_number(fields, "ended"),
                    )
                    if "fiber" in fields:
                        fibers[ROOT] = _json(fields, "fiber")
                case ["v", number]:
                    version = int(number)
                case ["u", number, piece]:
                    unsent.setdefault(int(number), {})[int(piece)] = _text(fields, "text")
                case ["f", *name]:
                    fibers["/".join(name)] = _json(fields, "fiber")
        if record is None:
            return None
        record.version = version
        record.fibers = {} if record.outcome is not None else fibers
        for of, pieces in unsent.items():
            self._pieces[id, of] = len(pieces)
            record.unsent[of] = json.loads("".join(text for _, text in sorted(pieces.items())))
        return record

    def save(self, change: Change) -> bool:
        """Writes all of it, or answers False and writes nothing."""
        dropped = [name for name in change.dropped if name != ROOT]
        pieces = _pieces(change)
        writes = [
            *self._versions(change),
            self._head(change),
            *(
                self._set(change.id, _fiber(name), {"fiber": _string(row)})
                for name, row in change.fibers.items()
                if name != ROOT
            ),
            *(self._set(change.id, row, {"text": {"stringValue": t}}) for row, t in pieces.items()),
            *(self._delete(change.id, _fiber(name)) for name in dropped[:DROPPED_AT_ONCE]),
        ]
        try:
            self._commit(writes, repeat=False)
        except GoogleError as error:
            if _is_too_large(error):
                raise TooLargeError(
                    f"the change is too large for Firestore: {error.text}"
                ) from error
            if error.reason not in (_EXISTS if change.version == 1 else _CHANGED):
                raise
            return False
        if pieces:
            self._pieces[change.id, change.version] = len(pieces)
        self._drop(change.id, dropped[DROPPED_AT_ONCE:])
        return True

    def sent(self, id: str, version: int) -> None:
        """Removes what is unsent under this version."""
        count = self._pieces.pop((id, version), 1)
        self._commit([self._delete(id, _unsent(version, at)) for at in range(count)])

    def due(self, now_ms: int) -> Iterator[str]:
        """The executions whose time has come."""
        for document in self._found("due", now_ms):
            yield _id(document)

    def expire(self, now_ms: int) -> None:
        """Removes executions that ended long ago."""
        for head in self._found("expires", now_ms):
            id = _id(head)
            names = [document["name"] for document in self._of(id, select="__name__")]
            # The head goes last: as long as it is there, the rest is found again.
            names.sort(key=lambda name: name.endswith(f":{HEAD}"))
            for at in range(0, len(names), PAGE):
                self._commit([{"delete": name} for name in names[at : at + PAGE]])

    # --- requests ------------------------------------------------------------------------------

    def _commit(self, writes: list[Body], *, repeat: bool = True) -> None:
        path = f"/v1/{self._documents}:commit"
        self._account.post(self._host, path, {"writes": writes}, repeat=repeat)

    def _query(self, where: Body, **rest: Any) -> list[Body]:
        query: Body = {"from": [{"collectionId": COLLECTION}], "where": where, **rest}
        path = f"/v1/{self._documents}:runQuery"
        found = self._account.post(self._host, path, {"structuredQuery": query})
        return [row["document"] for row in found if "document" in row]

    def _of(self, id: str, *, select: str | None = None) -> list[Body]:
        """The documents of one execution, as they were at one instant."""
        bounds = [
            _filter("__name__", op, {"referenceValue": f"{self._place(id)}{end}"})
            for op, end in (
                ("GREATER_THAN_OR_EQUAL", ":"),
                ("LESS_THAN", ";"),
            )  # a semicolon comes next
        ]
        only: Body = {} if select is None else {"select": _fields(select)}
        return self._query({"compositeFilter": {"op": "AND", "filters": bounds}}, **only)

    def _found(self, field: str, until_ms: int) -> Iterator[Body]:
        """The heads whose `field` is no later, page by page, the earliest first."""
        after: Body = {}
        while True:
            page = self._query(
                _filter(field, "LESS_THAN_OR_EQUAL", _integer(until_ms)),
                orderBy=[{"field": {"fieldPath": field}}, {"field": {"fieldPath": "__name__"}}],
                select=_fields(field),
                limit=PAGE,
                **after,
            )
            yield from page
            if len(page) < PAGE:
                return
            values = [page[-1]["fields"][field], {"referenceValue": page[-1]["name"]}]
            after = {"startAt": {"values": values, "before": False}}

    def _drop(self, id: str, names: list[str]) -> None:
        """Removes fibers that are gone, best effort: they do no harm."""
        for at in range(0, len(names), PAGE):
            try:
                self._commit([self._delete(id, _fiber(name)) for name in names[at : at + PAGE]])
            except (GoogleError, OSError):
                log.warning("%s: some fibers that are gone stay in Firestore", id, exc_info=True)
                return

    # --- documents -----------------------------------------------------------------------------

    def _place(self, id: str) -> str:
        return f"{self._documents}/{COLLECTION}/{crc32(id.encode()) & 0xFF:0{SPREAD}x}{id}"

    def _set(self, id: str, row: str, fields: Body) -> Body:
        return {"update": {"name": f"{self._place(id)}:{row}", "fields": fields}}

    def _delete(self, id: str, row: str) -> Body:
        return {"delete": f"{self._place(id)}:{row}"}

    def _versions(self, change: Change) -> Iterator[Body]:
        """The version before, which must be there, and the version that takes its place."""
        if change.version > 1:
            before = self._delete(change.id, _version(change.version - 1))
            yield {**before, "currentDocument": {"exists": True}}
        now = self._set(change.id, _version(change.version), {})
        yield {**now, "currentDocument": {"exists": False}}

    def _head(self, change: Change) -> Body:
        """Writes the head: fields that the mask names and `fields` lacks are removed."""
        fields: Body = {}
        mask = ["due"]
        if change.due_ms is not None:
            fields["due"] = _integer(change.due_ms)
        if change.about is not None:
            fields["about"] = _string(change.about)
        if ROOT in change.fibers:
            fields["fiber"] = _string(change.fibers[ROOT])
        if change.outcome is not None:
            mask.append("fiber")
            fields["outcome"] = _string(change.outcome)
        if change.ended_ms is not None:
            fields["ended"] = _integer(change.ended_ms)
            fields["expires"] = _integer(change.ended_ms + KEPT_MS)
        head = self._set(change.id, HEAD, fields)
        if change.version == 1:
            return {**head, "currentDocument": {"exists": False}}
        return {**head, "updateMask": {"fieldPaths": sorted({*mask, *fields})},
                "currentDocument": {"exists": True}}  # fmt: skip


def _filter(field: str, op: str, value: Body) -> Body:
    return {"fieldFilter": {"field": {"fieldPath": field}, "op": op, "value": value}}


def _fields(name: str) -> Body:
    return {"fields": [{"fieldPath": name}]}


def _string(value: JSON) -> Body:
    return {"stringValue": json.dumps(value)}


def _integer(value: int) -> Body:
    return {"integerValue": str(value)}


def _text(fields: Body, name: str) -> str:
    return str(fields[name]["stringValue"])


def _json(fields: Body, name: str) -> Any:
    """The value that `_string` wrote; None if the field is missing. Its type is what this package wrote there."""
    return json.loads(_text(fields, name)) if name in fields else None


def _number(fields: Body, name: str) -> int | None:
    return int(fields[name]["integerValue"]) if name in fields else None


def _version(version: int) -> str:
    return f"v:{version:012}"


def _unsent(version: int, piece: int) -> str:
    return f"u:{version:012}:{piece}"


def _pieces(change: Change) -> dict[str, str]:
    """The documents of the messages to send."""
    if not change.unsent:
        return {}
    text = json.dumps({"at": change.at_ms, "sends": change.unsent})
    starts: Iterable[int] = range(0, len(text), PIECE_CHARS)
    return {
        _unsent(change.version, at): text[start : start + PIECE_CHARS]
        for at, start in enumerate(starts)
    }


def _fiber(name: str) -> str:
    return f"f:{name.replace('/', ':')}"  # no name of a document may have a slash


def _row(document: Body) -> str:
    """The part of a document's name after the execution's id."""
    return str(document["name"]).rpartition("/")[2].partition(":")[2]


def _id(document: Body) -> str:
    return str(document["name"]).rpartition("/")[2].partition(":")[0][SPREAD:]


def _is_too_large(error: GoogleError) -> bool:
    """True if a write is too large. Google says so in words only."""
    words = ("size", "longer than", "too big", "too large")
    return error.status in (400, 413, 429) and any(word in error.text.lower() for word in words)
