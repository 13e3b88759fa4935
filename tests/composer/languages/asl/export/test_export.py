"""A composition exported to the States Language does what the composition does."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import HealthCheck, event, given, settings

from tests.kit.asl.exportable import FAKE_LESS, HOOKS, exportable, in_loops, run_exported, told
from tests.kit.composer.compositions import CODES, INPUTS, compositions, plans
from xingqiao.composer.languages.asl import diagnose, errors
from xingqiao.composer.languages.asl.export.export import ExportError, export
from xingqiao.composer.testing import Fail, simulate
from xingqiao.composer.values import APPLICATION_ERROR, Success

AWS = {"ExpressionError": "States.QueryEvaluationError", "Timeout": "States.Timeout"}
UNDECLARED = "no enclosing let declares"


def wrong(definition):
    return errors(diagnose(json.dumps(definition), type="STANDARD", hooks=HOOKS))


def alike(value):
    """A value without what Step Functions words otherwise: why an expression has no value."""
    if isinstance(value, list):
        return [alike(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: alike(part) for name, part in value.items()}
    return {**made, "message": "*"} if made.get("code") == "ExpressionError" else made


def calls(run):
    return sorted(
        json.dumps([call.action, alike(call.params), round(call.at * 1000)], sort_keys=True)
        for call in run.invocations
    )


def agree(run, exported):
    assert type(run.outcome) is type(exported.outcome)
    if isinstance(run.outcome, Success):
        assert alike(run.outcome.value) == alike(exported.outcome.value)
    elif run.outcome is not None:
        expected, found = told(run.outcome.error), exported.outcome.error
        if expected["Error"] in AWS:
            assert found["Error"] in (expected["Error"], AWS[expected["Error"]])
        elif found["Error"] == "States.TaskFailed":
            assert found["Cause"] == run.outcome.error
        else:
            assert found == expected
    assert calls(run) == calls(exported)


def coded(plan):
    """A fake that asks for no words of AWS', and whose errors say by which name they can be caught."""
    told = {code: {"code": code, "message": "simulated"} for code in CODES}
    answers = tuple(
        Fail(APPLICATION_ERROR, told[a.code]) if isinstance(a, Fail) else a for a in plan.answers
    )
    made = replace(plan, answers=answers)
    return lambda params: made(alike(params))


def exported_or_refused(composition):
    """Its definition, if every part has a counterpart: drawn ones hide variables from each other."""
    try:
        return export(composition)
    except ExportError as error:
        refused = error
    event("refused")
    assert all(UNDECLARED in found.why for found in refused.flaws)
    return None


def check(composition, params, fakes):
    fakes = {**{name: coded(plan) for name, plan in fakes.items()}, **FAKE_LESS}
    definition = exported_or_refused(composition)
    if definition is None:
        return
    assert wrong(definition) == []
    agree(
        simulate(composition, params, actions=fakes),
        run_exported(composition, params, fakes),
    )


EVERY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@given(compositions(errors=()).map(exportable), INPUTS, plans())
@EVERY
def test_a_sequential_composition_does_the_same_exported(composition, params, fakes):
    check(composition, params, fakes)


@given(
    compositions(errors=("wait", "collect"), timed=True).map(exportable), INPUTS, plans(slow=True)
)
@EVERY
def test_a_composition_does_the_same_exported(composition, params, fakes):
    check(composition, params, fakes)


@given(
    compositions(errors=("fail",), timed=True).map(exportable).map(in_loops),
    INPUTS,
    plans(slow=True),
)
@EVERY
def test_one_that_ends_with_its_first_failure_does_the_same_exported(composition, params, fakes):
    check(composition, params, fakes)
