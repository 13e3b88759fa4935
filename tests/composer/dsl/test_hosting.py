"""The reasons why an OpenWhisk conductor action cannot run a combinator."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer.dsl.composition import ROWS
from xingqiao.composer.dsl.hosting import (
    NO_ENTITIES,
    NO_EVENTS,
    NO_KEY,
    NO_LIMITS,
    NO_MESSAGES,
    NO_QUERIES,
    NO_SEARCH,
    NO_STORE,
    NO_TIMER,
    NO_UPDATES,
    ONE_THREAD,
)

ARGUMENTS_DECIDE = {"function", "retry"}
REASONS = {
    "parallel": ONE_THREAD,
    "map": ONE_THREAD,
    "race": ONE_THREAD,
    "graph": ONE_THREAD,
    "async": NO_KEY,
    "wait": NO_TIMER,
    "timeout": NO_TIMER,
    "within": NO_TIMER,
    "saga": NO_STORE,
    "step": NO_STORE,
    "transaction": NO_STORE,
    "participant": NO_STORE,
    "call": NO_ENTITIES,
    "queries": NO_QUERIES,
    "updates": NO_UPDATES,
    "until": NO_UPDATES,
    "receive": NO_MESSAGES,
    "tell": NO_MESSAGES,
    "child": NO_STORE,
    "continue_as_new": NO_KEY,
    "limit": NO_LIMITS,
    "annotate": NO_SEARCH,
    "emit": NO_EVENTS,
}
JAVASCRIPT = {"type": "function", "function": {"exec": {"kind": "nodejs:20", "code": "p => p"}}}


@pytest.mark.parametrize("type", sorted(ROWS.keys() - ARGUMENTS_DECIDE - {"twice"}))
def test_a_combinator_has_one_reason_or_none(type):
    assert ROWS[type].unhosted({}) == REASONS.get(type)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (composer.retry(2, "a"), None),
        (composer.retry(2, "a", delay=1), f"it cannot wait for a 'delay': {NO_TIMER}"),
        (
            composer.retry(2, "a", on_exhausted="pause"),
            f"it cannot 'pause' for an operator: {NO_STORE}",
        ),
        (composer.function(lambda params: params), None),
        (
            composer.parse(JAVASCRIPT),
            "a conductor action runs only Python inline, and the function is of kind 'nodejs:20'",
        ),
    ],
)
def test_arguments_of_a_retry_and_of_a_function_decide(part, reason):
    assert part.row.unhosted(part.arguments) == reason
