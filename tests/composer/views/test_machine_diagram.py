"""State machines, drawn."""

from __future__ import annotations

import json
import re

import pytest

from xingqiao.composer import CompositionError, dot, mermaid

MACHINE = json.dumps(
    {
        "StartAt": "Ask",
        "States": {
            "Ask": {
                "Type": "Task",
                "Resource": "ask",
                "Catch": [{"ErrorEquals": ["States.Timeout", "No"], "Next": "Lost"}],
                "Next": "Which",
            },
            "Which": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.n", "NumericEquals": 1, "Next": "Both"},
                    {
                        "And": [
                            {"Variable": "$.a", "IsPresent": True},
                            {"Not": {"Variable": "$.b", "StringEquals": "x" * 60}},
                        ],
                        "Next": "Each",
                    },
                    {
                        "Or": [
                            {"Variable": "$.a", "IsNull": True},
                            {"Variable": "$.b", "IsNull": True},
                        ],
                        "Next": "Ask",
                    },
                ],
                "Default": "Late",
            },
            "Both": {
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}},
                    {"StartAt": "B", "States": {"B": {"Type": "Wait", "Seconds": 1, "End": True}}},
                ],
                "End": True,
            },
            "Each": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "C", "States": {"C": {"Type": "Pass", "End": True}}},
                "Next": "Late",
            },
            "Late": {"Type": "Succeed"},
            "Lost": {"Type": "Fail"},
        },
    }
)  # fmt: skip


def edges(drawn):
    """Edges by the labels of their ends; what has none is `-`."""
    names = {
        id: label.strip() or "-"
        for id, label in re.findall(r'^\s*(n\d+)[\[({]+"([^"]*)"', drawn, flags=re.MULTILINE)
    }
    found = re.findall(r'(n\d+) -->(?:\|"([^"]*)"\|)? (n\d+)', drawn)
    return [(names[start], text, names[end]) for start, text, end in found]


def test_states_are_drawn_with_where_they_lead_and_when():
    assert sorted(edges(mermaid(MACHINE))) == sorted(
        [
            ("start", "", "Ask"),
            ("Ask", "", "Which"),
            ("Ask", "States.Timeout, No", "Lost"),
            ("Which", "$.n NumericEquals 1", "-"),
            ("Which", "$.a IsPresent true and not $.b StringEquals xxx…", "-"),
            ("Which", "$.a IsNull true or $.b IsNull true", "Ask"),
            ("Which", "else", "Late"),
            ("-", "", "A"), ("-", "", "B"), ("A", "", "-"), ("B", "", "-"),
            ("-", "", "C"), ("C", "", "-"),
            ("-", "", "Late"),
            ("-", "", "end"),
        ]
    )  # fmt: skip


def test_what_is_nested_is_drawn_inside():
    drawn = mermaid(MACHINE)

    assert re.findall(r'subgraph \S+\["(.*)"\]', drawn) == ["Both", "1", "2", "Each"]
    assert dot(MACHINE).count("subgraph cluster_") == 4
    assert dot(MACHINE).startswith("digraph")


def test_in_jsonata_a_condition_is_what_stands_in_it():
    machine = {
        "QueryLanguage": "JSONata",
        "StartAt": "A",
        "States": {
            "A": {"Type": "Choice", "Choices": [{"Condition": "{% 1 < 2 %}", "Next": "B"}], "Default": "B"},
            "B": {"Type": "Succeed"},
        },
    }  # fmt: skip

    assert ("A", "1 &lt; 2", "B") in edges(mermaid(json.dumps(machine)))
    assert "end" not in mermaid(json.dumps(machine))


@pytest.mark.parametrize("text", ["", "{}", '{"StartAt": "A", "States": {}}', "nothing"])
def test_what_has_errors_is_not_drawn(text):
    with pytest.raises(CompositionError):
        mermaid(text)
