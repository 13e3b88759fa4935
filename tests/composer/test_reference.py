"""The machine against the reference interpreter, on compositions drawn at random."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import INPUTS, compositions, plans, shown
from tests.kit.composer.reference import evaluate
from xingqiao.composer.testing import simulate


def calls(run):
    return [
        ("function" if call.action.startswith("function:") else call.action, call.params,
         round(call.at * 1000))
        for call in run.invocations
    ]  # fmt: skip


def in_any_order(calls):
    return sorted(json.dumps(call, sort_keys=True) for call in calls)


def agree(run, result):
    assert shown(run.outcome) == shown(result.outcome)
    assert run.paused == result.paused
    assert in_any_order(calls(run)) == in_any_order(result.calls)
    assert len(run.spawned) == len(result.spawned)
    for part, told in zip(run.spawned, result.spawned, strict=True):
        agree(part, told)


@given(compositions(errors=()), INPUTS, plans())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_sequential_composition_does_what_the_reference_does_in_the_same_order(
    composition, params, fakes
):
    run, result = simulate(composition, params, actions=fakes), evaluate(composition, params, fakes)
    agree(run, result)
    assert calls(run) == result.calls


@given(compositions(timed=True), INPUTS, plans(slow=True, never=True))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_composition_does_what_the_reference_does(composition, params, fakes):
    agree(simulate(composition, params, actions=fakes), evaluate(composition, params, fakes))


@given(compositions(timed=True), INPUTS, plans(slow=True, never=True), st.integers(0, 30))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_composition_cancelled_does_what_the_reference_does(composition, params, fakes, at):
    cancel_at = at + 0.25
    agree(
        simulate(composition, params, actions=fakes, cancel_at=cancel_at),
        evaluate(composition, params, fakes, cancel_at),
    )
