"""AWS' findings in our words."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.hooks import HOOKS
from xingqiao.composer import asl

PASS = {"Type": "Pass", "End": True}


def told(definition):
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return asl.advice(text, asl.diagnose(text, type="STANDARD", hooks=HOOKS))


def machine(**states):
    return {"StartAt": next(iter(states)), "States": states}


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (machine(A={"Type": "Tsk"}), "/States/A/Type is \"Tsk\": did you mean 'Task'?"),
        (machine(A={"Type": "zzz"}), '/States/A/Type is "zzz": use one of Pass, Task'),
        (machine(A={**PASS, "Resultt": 1}),
         "/States/A has the field 'Resultt', which a Pass state does not have: did you mean 'Result'?"),
        (machine(A={**PASS, "InputPath": "foo"}), '/States/A/InputPath is "foo": a JSONPath starts'),
        ({"StartAt": "A"}, "/ lacks States: add the field"),
        (machine(A={"Type": "Pass", "Next": "Bb"}, B=PASS),
         "/States/A/Next names the state 'Bb', which does not exist"),
        (machine(A=PASS, B=PASS), "/States/B is never reached: name 'B' in 'Next'"),
        (machine(A={"Type": "Pass", "Next": "A"}), 'no state ends the machine: add "End": true'),
        (machine(A={"Type": "Pass"}), "/States/A needs one of the fields"),
        ('{"StartAt": "A",\n "States": {},\n}',
         "line 3, column 1: the definition is not valid JSON: remove the comma before the bracket"),
        ('{"StartAt" "A"}', "line 1, column 12: the definition is not valid JSON: Unexpected character"),
        ("", "the definition is not valid JSON"),
        ("[" * 100_000, ""),
        (json.dumps({"StartAt": "A", "Comment": "x" * (1 << 20)}), ""),
        (machine(**{"a/b": {"Type": "x" * 200}}), '/States/a/b/Type is "xxxx'),
        (machine(**{"A": {**PASS, "Branches": 1}, "A/Type": {"Type": "Zzz"}}), "/States/A has the"),
        ({"StartAt": "A", "States": {"A": 5}}, ""),
        ({"StartAt": "A", "States": {"A": PASS}, "Stats": 1}, "/ has the field 'Stats', which does not"),
    ],
)  # fmt: skip
def test_a_finding_is_told_with_its_place_and_the_remedy(definition, text):
    assert told(definition).startswith(text)


def test_only_the_first_findings_are_told():
    states = {f"S{n}": PASS for n in range(30)}

    assert told(machine(**states)).count("is never reached") == 10


def test_a_place_that_the_definition_does_not_have_has_no_value():
    found = asl.Diagnostic(
        "ERROR", "SCHEMA_VALIDATION_FAILED", "Value must be a valid JSONPath.", "/A/b"
    )

    assert asl.advice('{"A": 1}', [found]).startswith("/A/b is null: a JSONPath")
    assert asl.advice('{"B": 1}', [found]).startswith("/A/b is null: a JSONPath")
