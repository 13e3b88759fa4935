"""Where states lead."""

from __future__ import annotations

import pytest

from tests.kit.asl.hooks import HOOKS
from xingqiao.composer.languages.asl import diagnose, refusal

TARGET = "MISSING_TRANSITION_TARGET"


def shown(start, states):
    found = diagnose({"StartAt": start, "States": states}, type="STANDARD", hooks=HOOKS)
    return [(f.code, f.message, f.location) for f in found]


def to(name):
    return {"Type": "Pass", "Next": name}


END = {"Type": "Succeed"}


def test_a_start_that_is_no_state_leaves_all_unreachable():
    # Seen on AWS: https://github.com/aws-cloudformation/cfn-lint/issues/4074
    assert shown("Not sure", {"One": to("Two"), "Two": END}) == [
        (TARGET, "Missing 'Next' target: Not sure", "/StartAt"),
        (TARGET, 'State "One" is not reachable.', "/States/One"),
        (TARGET, 'State "Two" is not reachable.', "/States/Two"),
    ]


@pytest.mark.parametrize(
    ("state", "place"),
    [
        (to("gone"), "Next"),
        ({"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "Z"}],
          "Default": "gone"}, "Default"),
        ({"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "gone"}],
          "Default": "Z"}, "Choices[0]/Next"),
        ({"Type": "Task", "Resource": "known", "Next": "Z",
          "Catch": [{"ErrorEquals": ["e"], "Next": "gone"}]}, "Catch[0]/Next"),
    ],
)  # fmt: skip
def test_a_target_that_is_no_state_is_named_where_it_stands(state, place):
    # AWS says 'Next' of every field (floci-io/floci#2786, measured).
    states = {"A": state, "Z": END, "Y": END} if "Next" in place else {"A": state, "Z": END}
    states.pop("Y", None)
    found = shown("A", states)

    assert (TARGET, "Missing 'Next' target: gone", f"/States/A/{place}") in found


def test_a_machine_needs_an_end_and_then_is_not_walked():
    # Measured: floci-io/floci#2735 and #2786.
    loop = {"A": to("B"), "B": to("A"), "C": to("A")}
    without = [("MISSING_END_STATE", "Workflow has no terminal state", None)]
    text = "Invalid State Machine Definition: 'MISSING_END_STATE: Workflow has no terminal state at null'"

    assert shown("A", loop) == without
    assert (
        refusal("", diagnose({"StartAt": "A", "States": loop}, type="STANDARD", hooks=HOOKS))
        == text
    )
    assert shown("A", loop | {"C": END}) == [(TARGET, 'State "C" is not reachable.', "/States/C")]
    assert shown("A", {"A": to("NOPE")}) == [
        (TARGET, "Missing 'Next' target: NOPE", "/States/A/Next"),
        *without,
    ]


@pytest.mark.parametrize("end", [END, {"Type": "Fail"}, {"Type": "Pass", "End": True}])
def test_what_ends_is_an_end(end):
    assert shown("A", {"A": to("B"), "B": end}) == []


def test_several_findings_are_told_in_one_line():
    # Seen on AWS: localstack/localstack#12487
    states = {"pass1": to("pass3"), "pass2": {"Type": "Pass", "End": True}}
    definition = {"StartAt": "pass1", "States": states}

    assert refusal("", diagnose(definition, type="STANDARD", hooks=HOOKS)) == (
        "Invalid State Machine Definition: 'MISSING_TRANSITION_TARGET: Missing 'Next' target: pass3 "
        'at /States/pass1/Next, MISSING_TRANSITION_TARGET: State "pass2" is not reachable. '
        "at /States/pass2'"
    )


def test_what_is_nested_has_targets_of_its_own_and_needs_no_end():
    loop = {"StartAt": "X", "States": {"X": to("Y"), "Y": to("X"), "Z": to("A")}}
    states = {"A": {"Type": "Parallel", "Branches": [loop], "End": True}}

    assert shown("A", states) == [
        (TARGET, "Missing 'Next' target: A", "/States/A/Branches[0]/States/Z/Next"),
        (TARGET, 'State "Z" is not reachable.', "/States/A/Branches[0]/States/Z"),
    ]


def inner(name):
    return {"StartAt": name, "States": {name: END}}


def test_a_name_is_used_once_in_the_whole_machine():
    states = {
        "A": {"Type": "Map", "ItemProcessor": inner("B"), "Next": "B"},
        "B": {"Type": "Map", "Iterator": inner("C"), "End": True},
    }

    assert shown("A", states) == [
        ("DUPLICATE_STATE_NAME", "Duplicate State name: B", "/States/A/ItemProcessor/States/B"),
    ]


def test_a_label_is_used_once_in_the_whole_machine():
    states = {
        "A": {"Type": "Map", "ItemProcessor": inner("X"), "Label": "L", "Next": "B"},
        "B": {"Type": "Map", "ItemProcessor": inner("Y"), "Label": "L", "End": True},
    }

    assert shown("A", states) == [
        ("DUPLICATE_LABEL_NAME", "Duplicate Label name: L", "/States/B/Label")
    ]


def test_the_graph_is_not_asked_about_when_fields_are_wrong():
    assert [code for code, *_ in shown("gone", {"A": {"Type": "Pass"}})] == [
        "SCHEMA_VALIDATION_FAILED"
    ]
