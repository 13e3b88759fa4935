"""Which variables states use: what AWS was seen to tell, and what follows from it."""

from __future__ import annotations

import json

import pytest

from xingqiao.composer import asl

# What DescribeStateMachine was seen to answer (recorded in LocalStack's tests, 2024-11-20).
RECORDED = [
    (
        {
            "State0": {"Type": "Pass", "Parameters": {"result": "$result"}, "Assign": {"result": "foobar"}, "Next": "State1"},
            "State1": {"Type": "Pass", "ResultPath": "$.result", "Parameters": {"result.$": "$result"}, "End": True},
        },
        {"State1": ["result"]},
    ),
    (
        {
            "Setup": {"Type": "Pass", "Assign": {"guess": "the_guess", "answer": "the_answer"}, "Next": "CheckAnswer"},
            "CheckAnswer": {
                "Type": "Choice",
                "Choices": [{"Variable": "$guess", "StringEqualsPath": "$answer", "Next": "CorrectAnswer"}],
                "Default": "WrongAnswer",
            },
            "CorrectAnswer": {"Type": "Pass", "Result": {"state": "CORRECT"}, "End": True},
            "WrongAnswer": {"Type": "Pass", "Assign": {"guess.$": "$answer"}, "Result": {"state": "WRONG"}, "Next": "CheckAnswer"},
        },
        {"CheckAnswer": ["answer", "guess"], "WrongAnswer": ["answer"]},
    ),
    (
        {
            "Input": {"Type": "Pass", "Assign": {"bias": 4.3}, "Next": "IterateLevels"},
            "IterateLevels": {
                "Type": "Map",
                "ItemProcessor": {
                    "StartAt": "AssignCurrentVector",
                    "States": {
                        "AssignCurrentVector": {"Type": "Pass", "Assign": {"xCurrent.$": "$[0]", "yCurrent.$": "$[1]"}, "Next": "Calculate"},
                        "Calculate": {
                            "Type": "Map",
                            "ItemProcessor": {
                                "StartAt": "Summate",
                                "States": {
                                    "Summate": {"Type": "Pass", "Assign": {"Sum.$": "States.MathAdd(States.MathAdd($yCurrent, $xCurrent), $bias)"}, "End": True}
                                },
                            },
                            "End": True,
                        },
                    },
                },
                "End": True,
            },
        },
        {"Summate": ["bias", "xCurrent", "yCurrent"]},
    ),
]  # fmt: skip


def used(states, **fields):
    start = next(iter(states))
    return asl.variables_used(json.dumps({"StartAt": start, "States": states, **fields}))


@pytest.mark.parametrize(("states", "expected"), RECORDED, ids=range(len(RECORDED)))
def test_what_is_told_is_what_aws_tells(states, expected):
    assert used(states) == expected


def test_a_text_that_is_only_like_a_variable_is_none():
    states = {
        "A": {"Type": "Pass", "Assign": {"x": 1}, "Next": "B"},
        "B": {
            "Type": "Pass", "Result": {"a.$": "$x"}, "ResultPath": "$.x", "InputPath": "$.x",
            "Comment": "$x", "Next": "C",
        },
        "C": {"Type": "Pass", "Parameters": {"a.$": "States.Format('$x {}', $$.x)", "b": ["$x"]}, "End": True},
    }  # fmt: skip

    assert used(states) == {}


def test_in_jsonata_it_is_what_an_expression_names():
    states = {
        "A": {"Type": "Pass", "Assign": {"x": 1, "y": "{% $x %}"}, "Next": "B"},
        "B": {
            "Type": "Pass",
            "Output": {"a": ["{% $sum($y) & '$x' /* $x */ %}"], "b": "$x", "c": 1, "d": "{% $states.input.y %}"},
            "Next": "C",
        },
        "C": {
            "Type": "Parallel",
            "Branches": [{"StartAt": "D", "States": {"D": {"Type": "Pass", "Output": "{% $x %}", "End": True}}}],
            "End": True,
        },
    }  # fmt: skip

    assert used(states, QueryLanguage="JSONata") == {"A": ["x"], "B": ["y"], "D": ["x"]}
