"""The data flow of a state, above all as AWS was recorded."""

from __future__ import annotations

import pytest

from tests.kit.asl.recorded_paths import agrees, recorded
from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.fields import InputSide, OutputSide, selected_by
from xingqiao.composer.languages.asl.jsonpath.functions import Chance
from xingqiao.composer.languages.asl.jsonpath.paths import Path, Scope
from xingqiao.composer.languages.asl.jsonpath.templates import Template
from xingqiao.composer.languages.asl.state_errors import StatesError

CHANCE = Chance(number=lambda: 0.5, uuid=lambda: "5e8c9f0e-1c0b-4b8e-9f5d-000000000001")
ARN = "arn:aws:states:us-east-1:111111111111:"


def context(name, document):
    return {
        "Execution": {
            "Id": f"{ARN}execution:machine:run",
            "Input": document,
            "Name": "run",
            "RedriveCount": 0,
            "RoleArn": "snf_role_arn",
            "StartTime": "2026-01-01T00:00:00.000Z",
        },
        "State": {"EnteredTime": "2026-01-01T00:00:00.000Z", "Name": name},
        "StateMachine": {"Id": f"{ARN}stateMachine:machine", "Name": "machine"},
    }


def output(side, result, scope):
    return side.combined(side.selected(result, scope, CHANCE), scope)


def passed(states, document):
    """What a machine of Pass states gives: enough of a machine to see the fields at work."""
    raw, variables = document, {}
    for state in states:
        scope = Scope(raw, context(state["Name"], document), variables)
        result = state.get("Result", InputSide.parse(state).effective(scope, CHANCE))
        assigned = Template(state.get("Assign", {}))
        raw = output(OutputSide.parse(state), result, scope)
        variables = {
            **variables,
            **assigned.fill(Scope(result, scope.context, variables), CHANCE),
        }
    return raw


@pytest.mark.parametrize("case", recorded("passes"), ids=lambda case: str(case["states"])[:60])
def test_passes_do_what_aws_does(case):
    if "error" in case:
        with pytest.raises(StatesError) as caught:
            passed(case["states"], case["input"])
        assert caught.value.name == case["error"]
        assert agrees(case["cause"], caught.value.cause)
    else:
        assert agrees(case["output"], passed(case["states"], case["input"]))


@pytest.mark.parametrize(
    ("state", "raw", "expected"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({}, None, None),
        ({"InputPath": "$"}, None, None),
        ({"InputPath": None}, {"a": 1}, {}),
        ({"InputPath": "$.a"}, {"a": 1}, 1),
        ({"InputPath": "$.a[3]"}, {"a": []}, None),
        ({"InputPath": "$.a[*]"}, {"a": [1]}, [1]),
        ({"InputPath": "$.a", "Parameters": {"x.$": "$.b", "n.$": "$$.State.Name"}}, {"a": {"b": 2}}, {"x": 2, "n": "s"}),
        ({"InputPath": None, "Parameters": {"x.$": "$"}}, {"a": 1}, {"x": {}}),
        ({"InputPath": "$$.Execution.Input"}, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_the_effective_input(state, raw, expected):
    side = InputSide.parse(state)
    assert side.effective(Scope(raw, context("s", raw)), CHANCE) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, {"r": 1}),
        ({"ResultPath": None}, {"raw": 0}),
        ({"ResultPath": "$.x"}, {"raw": 0, "x": {"r": 1}}),
        ({"ResultPath": "$.x.y", "OutputPath": "$.x"}, {"y": {"r": 1}}),
        ({"OutputPath": None}, {}),
        ({"OutputPath": "$.r"}, 1),
        ({"ResultSelector": {"z.$": "$.r"}}, {"z": 1}),
        ({"ResultSelector": {"z.$": "$.r"}, "ResultPath": "$.raw"}, {"raw": {"z": 1}}),
        (
            {"ResultSelector": {"n.$": "$$.State.Name"}, "ResultPath": None, "OutputPath": "$.raw"},
            0,
        ),
    ],
)
def test_the_output(state, expected):
    raw = {"raw": 0}
    side = OutputSide.parse(state)
    assert output(side, {"r": 1}, Scope(raw, context("s", raw))) == expected


@pytest.mark.parametrize(
    ("path", "document", "cause"),
    [
        ("$.a", {}, "Invalid path '$.a' : No results for path: $['a']"),
        ("$.a.b", {}, "Invalid path '$.a.b' : Missing property in path $['a']"),
        ("$.a[0]", {"a": 1}, "Invalid path '$.a[0]' : Filter: [0] can only be applied to arrays. Current context is: 1"),
        ("$.a", None, "Unable to apply Path transformation to null or empty input."),
    ],
)  # fmt: skip
def test_a_path_that_finds_nothing_says_so_in_aws_words(path, document, cause):
    with pytest.raises(StatesError) as caught:
        selected_by(Path.compile(path), Scope(document))
    assert (caught.value.name, caught.value.cause) == ("States.Runtime", cause)


def test_a_result_that_fits_nowhere_is_a_conflict():
    with pytest.raises(StatesError) as caught:
        OutputSide.parse({"ResultPath": "$.x"}).combined(1, Scope([1]))
    assert caught.value.cause == 'Unable to apply step "x" to input [1]'


@pytest.mark.parametrize(
    ("side", "state", "why"),
    [
        (InputSide, {"InputPath": "a"}, "InputPath: path 'a': expected '$' at character 1"),
        (InputSide, {"InputPath": 5}, "InputPath: a path must be a string such as '$.name', not 5"),
        (InputSide, {"Parameters": {"x.$": 1}}, "The value for the field 'x.$' must be a valid JSONPath"),
        (OutputSide, {"OutputPath": []}, "OutputPath: a path must be a string"),
        (OutputSide, {"ResultPath": "$.a[*]"}, "ResultPath: Value is not a Reference Path"),
        (OutputSide, {"ResultPath": "$$.a"}, "ResultPath: Value is not a Reference Path: '$$.a' is not of the state's input"),
        (OutputSide, {"ResultPath": "$v"}, "ResultPath: Value is not a Reference Path: '$v' is not of the state's input"),
        (OutputSide, {"ResultSelector": {"x.$": "x"}}, "The value for the field 'x.$' must be a valid JSONPath"),
    ],
)  # fmt: skip
def test_a_field_that_is_wrong_is_named(side, state, why):
    with pytest.raises(ExpressionError) as caught:
        side.parse(state)
    assert why in str(caught.value)
