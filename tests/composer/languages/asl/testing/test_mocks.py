"""Mocks: which stand for the work of a state, and what is wrong with the others."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import ACTIVITY, INVOKE, START, task
from tests.kit.asl.single_states import CALL, DISTRIBUTED, MAP, PARALLEL, PASS, refused, tried

ALONE = (
    "TestState API does not support Map or Parallel states. Supported state types include: "
    "[Task, Wait, Pass, Succeed, Fail, Choice]"
)


ONE_OF = "This object should have only one of the following fields: [Next, End] at /"


@pytest.mark.parametrize(
    ("state", "given", "message"),
    [
        ({"Type": "Wait", "Seconds": 0, "End": True}, {"result": 1}, "State type 'Wait' is not supported when a mock is specified"),
        (CALL, {"result": 1, "revealSecrets": True}, "TestState does not support RevealSecrets when a mock is specified."),
        (CALL, {"result": 1, "error": {"error": "E"}}, "A test mock should have only one of the following fields: [result, errorOutput]."),
        (CALL, {"mode": "NONE"}, "A test mock should have only one of the following fields: [result, errorOutput]."),
        (CALL, {"error": {"cause": "C"}}, "An error was not specified in the mocked error output."),
        (CALL, {"result": "{"}, "Mocked result must be valid JSON"),
        (CALL, {"result": "[" * 300 + "]" * 300}, "Mocked result must be valid JSON"),
        (MAP, {"result": {"a": 1}}, "Mocked result must be an array."),
        (MAP | {"ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {}}, "ItemProcessor": DISTRIBUTED}, {"result": [1]}, "Mocked result must be a JSON object."),
        (task(START, Parameters={"StateMachineArn": "arn:m"}, End=True), {"result": 1, "mode": "PRESENT"}, "no object"),
        (task(START, Parameters={"StateMachineArn": "arn:m"}, End=True), {"result": {}}, "states is missing"),
        (CALL, {"roleArn": None}, "RoleArn must be specified when testing a Task state"),
        (PASS, {"context": {}}, "A context object can be specified only when a mock is specified."),
        (CALL, {"result": 1, "context": "[]"}, "Invalid context: it is not a JSON object"),
        (CALL, {"result": 1, "context": "{"}, 'Invalid context: Unexpected end-of-input: expected close marker for Object (start marker at [Source: (String)"{"; line: 1, column: 1])'),
        (PASS, {"variables": "[" * 300 + "]" * 300}, "Invalid variables: it nests deeper than 200 levels"),
        (MAP, {"result": [1], "stateConfiguration": {"mapIterationFailureCount": 2}, "input": [1]}, "Map iteration failure count must be less than or equal to the number of Map iterations."),
        (MAP, {"result": [1], "input": [1, 2]}, "Input array does not equal the mocked result array's size."),
        (MAP | {"ItemSelector": {}}, {"result": [1], "input": [1] * 1001}, "The Map state has 1001 items, and a test works out at most 1000."),
        (MAP, {"stateConfiguration": {"mapIterationFailureCount": 2}}, "stateConfiguration.mapIterationFailureCount can be specified only when a mock is specified."),
        (PASS, {"stateConfiguration": {"mapItemReaderData": "[]"}}, "stateConfiguration.mapItemReaderData can be specified only for a Map state."),
        (MAP, {"error": {"error": "E"}, "stateConfiguration": {"errorCausedByState": "B1"}}, "stateConfiguration.errorCausedByState: the tested state has no state 'B1'."),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(state, given, message):
    assert refused(state, **given) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (MAP, ALONE),
        (PARALLEL, ALONE),
        (task(ACTIVITY, End=True), "TestState API does not support Activity tasks."),
        (
            task(f"{INVOKE}.waitForTaskToken", Parameters={"FunctionName": "f"}, End=True),
            "TestState API does not support '.sync' or '.waitForTaskToken' integration patterns.",
        ),
        (
            {"Type": "Pass"},
            f"Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: {ONE_OF}'",
        ),
    ],
)
def test_what_cannot_be_run_by_itself_is_no_definition(state, message):
    code, told = refused(state)
    assert (code, told) == ("InvalidDefinition", message)


@pytest.mark.parametrize(
    ("context", "why"),
    [  # recorded, but for the last two
        ({"Execution": {"Id": 1}}, "Execution.Id must be a string"),
        ({"Map": {}}, "'Map' field is not supported when mocking a Context object"),
        ({"Execution": {"colour": "red"}}, "Field 'colour' is not allowed"),
        ({"Colour": {}}, "Field 'Colour' is not allowed"),
        ({"Task": {"Token": "t"}}, "Context object contains 'Task' when state is not a Task state with a '.sync' or '.waitForTaskToken' service integration pattern"),
        ({"State": {"RetryCount": "1"}}, "State.RetryCount must be a number"),
        ({"State": 1}, "State must be an object"),
    ],
)  # fmt: skip
def test_a_context_object_that_is_none_is_refused(context, why):
    message = f"Invalid Context object provided: {why}"
    assert refused(CALL, result=1, context=context) == ("ValidationException", message)
    assert refused(MAP, result=[], input=[], context=context) == ("ValidationException", message)


def test_a_result_that_is_not_to_be_looked_at_may_be_anything():
    state = task(START, Parameters={"StateMachineArn": "arn:m"}, End=True)
    assert tried(state, result=1, mode="NONE")["output"] == 1
    assert tried(state, result={}, mode="PRESENT")["output"] == {}
