"""Decides whether a row matches a query, where a store has no index that does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...actions import holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...actions import ExecutionRow, Field, Filter, Query, Scalar


def matches(row: Any, query: Query) -> bool:
    """True if an execution's or an activation's row matches a query, regardless of its page."""
    return (
        query.namespace in (None, row.namespace)
        and query.id in (None, row.id)
        and query.name in (None, row.name)
        and query.status in (None, row.status)
        and (query.cause is None or row.cause == query.cause)
        and (query.kind is None or row.kind == query.kind)
        and (query.since_ms is None or row.started_ms >= query.since_ms)
        and (query.upto_ms is None or row.started_ms <= query.upto_ms)
    )


def fits(row: ExecutionRow, indexed: Sequence[tuple[str, Scalar]], query: Query) -> bool:
    """True if an execution's row, which is found under these values, matches a query, regardless of its page."""
    where = query.where
    if not matches(row, query):
        return False
    if where is None:
        return True
    if query.after is not None:
        place = where.place(row.started_ms, row.ended_ms, row.id)
        if place == query.after or (place > query.after) is not where.ascending:
            return False
    return where.predicate is None or holds(
        where.predicate, lambda field: _values(field, row, indexed)
    )


def in_order(rows: Sequence[Any], where: Filter) -> list[Any]:
    """Returns executions' rows in the order of a filter."""
    return sorted(
        rows,
        key=lambda row: where.place(row.started_ms, row.ended_ms, row.id),
        reverse=not where.ascending,
    )


def _values(field: Field, row: ExecutionRow, indexed: Sequence[tuple[str, Scalar]]) -> list[Scalar]:
    if field.key:
        return [value for key, value in indexed if key == field.key]
    value: Scalar | None
    match field.name:
        case "action":
            value = row.name
        case "duration":
            value = None if row.ended_ms is None else row.ended_ms - row.started_ms
        case "ended":
            value = row.ended_ms
        case "run":
            value = row.id
        case "started":
            value = row.started_ms
        case _:
            value = row.status
    return [] if value is None else [value]
