"""Expressions evaluated here, with the answer in the shape that the peer gives."""

from __future__ import annotations

from xingqiao.composer.languages.jsonata import MISSING, Bindings, Expression, QueryError, evaluate

NOW_MS = 1_700_000_000_123


def bound(states=None, *, chance=lambda: 0.5, steps=200_000, **variables):
    return Bindings(
        states=states or {}, variables=variables, chance=chance, now_ms=NOW_MS, steps=steps
    )


def asked(expression, bindings=None):
    """What it comes to: {value}, {} if undefined, or {code, message}."""
    try:
        value = evaluate(Expression.compile(expression), bindings or bound())
    except QueryError as error:
        return {"code": error.code, "message": error.text}
    return {} if value is MISSING else {"value": value}
