"""Fields: which there are, of which type, and within which bounds."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import PASS, machine, said
from tests.kit.asl.hooks import HOOKS
from tests.kit.asl.least_states import CHOICE, FAIL, MAP, PARALLEL, SUCCEED, TASK, WAIT
from xingqiao.composer.languages.asl import diagnose

ALL = {"Pass": PASS, "Task": TASK, "Wait": WAIT, "Map": MAP, "Parallel": PARALLEL, "Choice": CHOICE,
       "Succeed": SUCCEED, "Fail": FAIL}  # fmt: skip


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
