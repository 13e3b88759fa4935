"""Fields: which a state has, of which type, within which bounds, in which query language."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import DISTRIBUTED, INNER, PASS, said, warned
from tests.kit.asl.hooks import HOOKS
from tests.kit.asl.least_states import CHOICE, FAIL, MAP, PARALLEL, SUCCEED, TASK, WAIT
from xingqiao.composer.languages.asl import diagnose

JSONPATH = "The QueryLanguage is set to 'JSONPath', but field"
JSONATA = "The QueryLanguage is set to 'JSONata', but field"


@pytest.mark.parametrize("end", [{"Type": "Succeed", "End": True}, {"Type": "Fail", "Next": "A"},
                                 {**CHOICE, "End": True}])  # fmt: skip
def test_some_types_lead_nowhere_by_themselves(end):
    assert [message for message, _ in said(end)] == [
        f"Field '{'Next' if 'Next' in end else 'End'}' is not supported"
    ]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"Type": "Pass"}, "This object should have only one of the following fields: [Next, End]"),
        ({"Type": "Pass", "End": False},
         "This object should have only one of the following fields: [Next, End]"),
        ({"Type": "Pass", "End": True, "Next": "A"},
         "There should only be one of the following fields: [Next, End]"),
        ({"Type": "Wait", "End": True}, ("This object should have only one of the following fields: "
         "[SecondsPath, Seconds, TimestampPath, Timestamp]")),
        ({**WAIT, "Timestamp": "2026-01-01T00:00:00Z"}, ("There should only be one of the following "
         "fields: [SecondsPath, Seconds, TimestampPath, Timestamp]")),
        ({"Type": "Map", "End": True},
         "This object should have only one of the following fields: [ItemProcessor, Iterator]"),
        ({"Type": "Map", "End": True, "ItemProcessor": INNER, "Iterator": INNER},
         "There should only be one of the following fields: [ItemProcessor, Iterator]"),
        ({**TASK, "TimeoutSeconds": 1, "TimeoutSecondsPath": "$.a"},
         "There should only be one of the following fields: [TimeoutSeconds, TimeoutSecondsPath]"),
        ({**FAIL, "Error": "e", "ErrorPath": "$.e"},
         "There should only be one of the following fields: [Error, ErrorPath]"),
        ({**MAP, "Parameters": {}, "ItemSelector": {}},
         "There should only be one of the following fields: [Parameters, ItemSelector]"),
        ({"Type": "Task", "End": True}, "These fields are required: [Resource]"),
        ({"Type": "Parallel", "End": True}, "These fields are required: [Branches]"),
        ({"Type": "Choice"}, "These fields are required: [Choices]"),
        ({}, "These fields are required: [Type]"),
    ],
)  # fmt: skip
def test_fields_that_must_be_there_and_that_exclude_each_other(state, message):
    assert (message, "") in [(m, at) for m, at in said(state)]


def test_an_end_that_is_false_is_none():
    states = {"A": {"Type": "Pass", "End": False, "Next": "B"}, "B": SUCCEED}
    assert diagnose({"StartAt": "A", "States": states}, type="STANDARD", hooks=HOOKS) == []


# --- query languages -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "field"),
    [
        ({**PASS, "Output": 1}, "Output"),
        ({**TASK, "Arguments": {}}, "Arguments"),
        ({**MAP, "Items": []}, "Items"),
    ],
)
def test_jsonpath_has_no_fields_of_jsonata(state, field):
    message = f"{JSONPATH} '{field}' is only supported for the 'JSONata' QueryLanguage"

    assert said(state) == [(message, "")]
    assert said(state, "JSONPath") == [(message, "")]
    assert said(state, "JSONata") == []
    assert said({**state, "QueryLanguage": "JSONata"}) == []


@pytest.mark.parametrize(
    ("state", "field"),
    [
        ({**PASS, "InputPath": "$"}, "InputPath"),
        ({**PASS, "OutputPath": "$"}, "OutputPath"),
        ({**PASS, "ResultPath": "$"}, "ResultPath"),
        ({**PASS, "Parameters": {}}, "Parameters"),
        ({**PASS, "Result": {}}, "Result"),
        ({**TASK, "ResultSelector": {}}, "ResultSelector"),
        ({**TASK, "TimeoutSecondsPath": "$.a"}, "TimeoutSecondsPath"),
        ({**MAP, "ItemsPath": "$.a"}, "ItemsPath"),
        ({**MAP, "MaxConcurrencyPath": "$.a"}, "MaxConcurrencyPath"),
        ({**MAP, "ToleratedFailureCountPath": "$.a"}, "ToleratedFailureCountPath"),
        ({**FAIL, "CausePath": "$.a"}, "CausePath"),
        ({"Type": "Wait", "End": True, "SecondsPath": "$.a"}, "SecondsPath"),
    ],
)
def test_jsonata_has_no_fields_of_jsonpath(state, field):
    message = f"{JSONATA} '{field}' is only supported for the 'JSONPath' QueryLanguage"

    assert said(state, "JSONata") == [(message, "")]
    assert said(state) == []


def test_a_state_may_be_jsonata_in_a_jsonpath_machine_but_not_the_other_way():
    message = "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine"

    assert said({**PASS, "QueryLanguage": "JSONata", "Output": 1}, "JSONPath") == []
    # That is all that is said, though Output is JSONata's: floci-io/floci#2968, measured.
    assert said({**PASS, "QueryLanguage": "JSONPath", "Output": 1}, "JSONata") == [(message, "")]


@pytest.mark.parametrize("field", ["ItemProcessor", "Iterator"])
def test_what_is_nested_speaks_the_machines_language_and_not_its_states(field):
    inner = {"StartAt": "I", "States": {"I": {**PASS, "Output": 1}}}
    state = {"Type": "Map", "QueryLanguage": "JSONata", field: inner, "End": True}
    message = f"{JSONPATH} 'Output' is only supported for the 'JSONata' QueryLanguage"

    assert said(state) == [(message, f"/{field}/States/I")]
    assert said(state, "JSONata") == []
    branch = {"Type": "Parallel", "QueryLanguage": "JSONata", "Branches": [inner], "End": True}
    assert said(branch) == [(message, "/Branches[0]/States/I")]


@pytest.mark.parametrize("field", ["QueryLanguage", "Version", "TimeoutSeconds"])
def test_what_is_nested_has_no_settings_of_a_machine(field):
    message = f"Field '{field}' is not supported"
    inner = {**INNER, field: "JSONPath"}

    assert said({**MAP, "ItemProcessor": inner}) == [(message, "/ItemProcessor")]
    assert said({**PARALLEL, "Branches": [INNER, inner]})[0] == (message, "/Branches[1]")


def test_a_word_that_is_no_query_language_is_taken_for_jsonata():
    message = "Value should be one of the following: [JSONPath, JSONata]"
    assert said({**PASS, "QueryLanguage": "x", "Output": 1}) == [(message, "/QueryLanguage")]


def test_texts_that_look_like_paths_are_warned_of():
    assert warned({**FAIL, "Error": "$.code", "Cause": "fine"}) == [("NO_PATH", "/Error")]
    assert warned({**FAIL, "Error": "$.code"}, "JSONata") == []
    assert warned({**MAP, "ItemProcessor": DISTRIBUTED}) == []
