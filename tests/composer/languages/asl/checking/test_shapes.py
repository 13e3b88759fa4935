"""Fields: which a state has, of which type, within which bounds, in which query language."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import DISTRIBUTED, INNER, PASS, machine, said, warned
from tests.kit.asl.hooks import HOOKS
from xingqiao.composer.languages.asl import diagnose

TASK = {"Type": "Task", "Resource": "known", "End": True}
WAIT = {"Type": "Wait", "Seconds": 1, "End": True}
MAP = {"Type": "Map", "ItemProcessor": INNER, "End": True}
PARALLEL = {"Type": "Parallel", "Branches": [INNER], "End": True}
CHOICE = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "A"}]}
SUCCEED, FAIL = {"Type": "Succeed"}, {"Type": "Fail"}
ALL = {"Pass": PASS, "Task": TASK, "Wait": WAIT, "Map": MAP, "Parallel": PARALLEL, "Choice": CHOICE,
       "Succeed": SUCCEED, "Fail": FAIL}  # fmt: skip
JSONPATH = "The QueryLanguage is set to 'JSONPath', but field"
JSONATA = "The QueryLanguage is set to 'JSONata', but field"


@pytest.mark.parametrize(
    ("field", "value", "kinds"),
    [
        ("TimeoutSeconds", 5, "Task"),
        ("HeartbeatSeconds", 5, "Task"),
        ("Catch", [], "Task Parallel Map"),
        ("Retry", [], "Task Parallel Map"),
        ("ResultSelector", {}, "Task Parallel Map"),
        ("Parameters", {}, "Pass Task Parallel Map"),
        ("ResultPath", "$.a", "Pass Task Parallel Map"),
        ("Result", 1, "Pass"),
        ("Assign", {}, "Pass Task Wait Parallel Map Choice"),
        ("InputPath", "$", "Pass Task Wait Parallel Map Choice Succeed"),
        ("Comment", "c", "Pass Task Wait Parallel Map Choice Succeed Fail"),
        ("Error", "e", "Fail"),
        ("Default", "A", "Choice"),
        ("Label", "l", "Map"),
        ("_comment", "c", ""),
        ("resultPath", "$", ""),
    ],
)
def test_a_field_is_supported_by_some_types(field, value, kinds):
    # Measured: floci-io/floci#2735.
    for kind, state in ALL.items():
        wrong = [] if kind in kinds.split() else [(f"Field '{field}' is not supported", "")]
        assert said({**state, field: value}) == wrong, kind


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


@pytest.mark.parametrize(
    ("state", "message", "place"),
    [
        ({**TASK, "TimeoutSeconds": 0}, "Minimum value is 1", "/TimeoutSeconds"),
        ({**TASK, "TimeoutSeconds": 10**8}, "Maximum value is 99999999", "/TimeoutSeconds"),
        ({**TASK, "HeartbeatSeconds": 0}, "Minimum value is 1", "/HeartbeatSeconds"),
        ({**WAIT, "Seconds": -1}, "Minimum value is 0", "/Seconds"),
        ({**WAIT, "Seconds": 1.0}, "Expected value of type Integer", "/Seconds"),
        ({**WAIT, "Seconds": True}, "Expected value of type Integer", "/Seconds"),
        ({**WAIT, "Seconds": "{% 1 %}"}, "Expected value of type Integer", "/Seconds"),
        ({**MAP, "MaxConcurrency": -1}, "Minimum value is 0", "/MaxConcurrency"),
        ({**MAP, "ToleratedFailureCount": -1}, "Minimum value is 0", "/ToleratedFailureCount"),
        ({**MAP, "ToleratedFailurePercentage": -1}, "Minimum value is 0.0",
         "/ToleratedFailurePercentage"),
        ({**MAP, "ToleratedFailurePercentage": 101}, "Maximum value is 100.0",
         "/ToleratedFailurePercentage"),
        ({**MAP, "ToleratedFailurePercentage": "1"}, "Expected value of type Float",
         "/ToleratedFailurePercentage"),
        ({**PASS, "Comment": 1}, "Expected value of type [STRING]", "/Comment"),
        ({**PASS, "End": "true"}, "Expected value of type Boolean", "/End"),
        ({**PASS, "QueryLanguage": 1}, "Expected value of type [STRING]", "/QueryLanguage"),
        ({**PASS, "QueryLanguage": "jsonata"},
         "Value should be one of the following: [JSONPath, JSONata]", "/QueryLanguage"),
        ({"Type": 1}, "Expected value of type [STRING]", "/Type"),
        ({"Type": "pass"}, ("Value should be one of the following: "
         "[Pass, Task, Choice, Wait, Succeed, Fail, Parallel, Map]"), "/Type"),
        ([], "Expected value of type Object", ""),
        ({**PARALLEL, "Branches": {}}, "Expected value of type Array", "/Branches"),
        ({**PARALLEL, "Branches": []}, "Value cannot be empty", "/Branches"),
        ({**PARALLEL, "Branches": [1]}, "Expected value of type Object", "/Branches[0]"),
        ({**TASK, "Retry": {}}, "Expected value of type Array", "/Retry"),
    ],
)  # fmt: skip
def test_types_and_bounds(state, message, place):
    assert said(state) == [(message, place)]


def test_bounds_themselves_are_within():
    assert said({**TASK, "TimeoutSeconds": 99_999_999, "HeartbeatSeconds": 1}) == []
    assert said({**WAIT, "Seconds": 0}) == []
    assert said({**MAP, "MaxConcurrency": 0, "ToleratedFailurePercentage": 100}) == []


# --- the whole machine ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message", "place"),
    [
        ({"TimeoutSeconds": -1}, "Minimum value is 0", "/TimeoutSeconds"),
        ({"Version": "2.0"}, "Value should be one of the following: [1.0]", "/Version"),
        ({"Foo": 1}, "Field 'Foo' is not supported", "/"),
        (
            {"QueryLanguage": "jsonata"},
            "Value should be one of the following: [JSONPath, JSONata]",
            "/QueryLanguage",
        ),
        ({"StartAt": 1}, "Expected value of type [STRING]", "/StartAt"),
        ({"States": {}}, "Value cannot be empty", "/States"),
        ({"States": []}, "Expected value of type Object", "/States"),
    ],
)
def test_the_fields_of_a_machine(fields, message, place):
    found = diagnose({**machine(PASS), **fields}, type="STANDARD", hooks=HOOKS)

    assert [(f.message, f.location) for f in found] == [(message, place)]


def test_a_machine_may_say_all_that_it_can_say():
    more = {"Comment": "c", "Version": "1.0", "TimeoutSeconds": 0, "QueryLanguage": "JSONPath"}
    assert diagnose({**machine(PASS), **more}, type="STANDARD", hooks=HOOKS) == []


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
