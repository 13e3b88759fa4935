"""Decides whether a row matches a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...actions import Query


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
