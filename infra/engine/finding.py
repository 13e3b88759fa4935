"""Finds executions by filters, a page at a time, and counts them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import orjson

from ...actions import EVERYTHING, TEXT, And, ExecutionRow, Field, InvalidError, Query, Term, parse
from ...composer import changed

if TYPE_CHECKING:
    from ...actions import Filter
    from .records import Records
    from .shared import Parts
    from .stored_values import Stored

STATUSES = (  # that an execution may have; those of none are left out of a count by status
    "running", "paused", "stuck", "succeeded", "failed", "timed_out", "cancelled", "terminated",
    "continued",
)  # fmt: skip


class FoundPage(NamedTuple):
    """A page of executions; `next` is the cursor after which the next page begins, None for the last page."""

    executions: list[Stored]
    next: str | None


class Finding:
    """Finds and counts executions. A change is found as soon as it is committed."""

    def __init__(self, parts: Parts, records: Records) -> None:
        self._parts, self._records = parts, records

    def filter(self, namespace: str, text: str) -> Filter:
        """Reads a filter for the executions of a namespace.

        Raises:
            InvalidFilterError: it is malformed, or names what is not there.
        """
        return parse(text, self._parts.attributes.get(namespace, {}))

    async def page(self, query: Query, where: str, after: str | None = None) -> FoundPage:
        """A page of the executions that a filter finds, in its order.

        Args:
            query: its namespace and limit, and other conditions.
            where: the filter; "" for all.
            after: the cursor of the page before.

        Raises:
            InvalidFilterError: the filter is malformed, or names what is not there.
            InvalidError: the cursor is malformed, or of another order.
        """
        found = self.filter(query.namespace or "", where)
        place = None if after is None else _place(after, found)
        asked = replace(query, where=found, after=place, limit=query.limit + 1)
        docs = await self._records.executions(asked)
        shown = docs[: query.limit]
        if len(docs) == len(shown) or not shown:
            return FoundPage(shown, None)
        last = shown[-1]
        ending = found.place(last["start"], last.get("end"), last["executionId"])
        return FoundPage(shown, _cursor(found, ending))

    async def count(self, query: Query, where: str, group: str | None = None) -> Stored:
        """The number of executions that a filter finds, as `{"count"}`; with `groups` by status, if asked.

        Raises:
            InvalidFilterError: the filter is malformed, or names what is not there.
            InvalidError: there is no such group.
        """
        asked = replace(query, where=self.filter(query.namespace or "", where))
        store = self._parts.store
        if group is None:
            return {"count": await store.count(ExecutionRow, asked)}
        if group != "status":
            raise InvalidError(f"'group' must be status, not {group[:80]!r}.")
        groups = {}
        for status in STATUSES:
            number = await store.count(ExecutionRow, _of_status(asked, status))
            if number:
                groups[status] = number
        return {"count": sum(groups.values()), "groups": groups}


def _of_status(query: Query, status: str) -> Query:
    """A query with one more condition in its filter, where a store can find it by an index."""
    found = query.where or EVERYTHING
    tested = Term(Field("status", TEXT), "=", (status,))
    both = tested if found.predicate is None else And((tested, found.predicate))
    return replace(query, where=changed(found, predicate=both))


def _cursor(where: Filter, place: tuple[int, str]) -> str:
    doc = [where.order, where.ascending, *place]
    return base64.urlsafe_b64encode(orjson.dumps(doc)).decode().rstrip("=")


def _place(cursor: str, where: Filter) -> tuple[int, str]:
    """Reads a cursor.

    Raises:
        InvalidError: it is malformed, or of another order.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        order, ascending, ms, id = orjson.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error):
        raise InvalidError("'after' is not a cursor: give the 'next' of the page before.") from None
    if not (type(ms) is int and abs(ms) < 1 << 63 and type(id) is str):
        raise InvalidError("'after' is not a cursor: give the 'next' of the page before.")
    if (order, ascending) != (where.order, where.ascending):
        raise InvalidError("'after' is of a list in another order: begin again without it.")
    return ms, id
