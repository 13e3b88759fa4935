"""TestState: one state by itself. What is recorded on AWS, and what the recordings do not show."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.machines import ACTIVITY, FN, HOOKS, INVOKE, START, jsonata, machine, task
from tests.kit.asl.recorded import cases, checker
from xingqiao.composer import asl
from xingqiao.composer.values import Failure, Success

NOW_MS = 1_763_733_600_000
RUN = {
    "Execution": {"Id": "arn:e", "Name": "e", "StartTime": "2025-11-21T14:00:00.000Z"},
    "StateMachine": {"Id": "arn:m", "Name": "m"},
}
TEXTS = {"definition", "variables", "context"}
PROCESSOR = {"StartAt": "In", "States": {"In": {"Type": "Pass", "End": True}}}
DISTRIBUTED = {
    **PROCESSOR,
    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
}
BRANCHES = [
    {"StartAt": "B1", "States": {"B1": {"Type": "Pass", "End": True}}},
    {"StartAt": "B2", "States": {"B2": {"Type": "Pass", "End": True}}},
]


def fits(asked, result, strict):
    """A service that is asked for nothing but objects, which name their service if they are whole."""
    if not isinstance(result, dict):
        return "no object"
    return f"{asked.service} is missing" if strict and asked.service not in result else None


def begun(definition, input=None, **request):
    """What a test answers, or what it asks for; INFO is no level here if none is asked for."""
    request = {"definition": definition, "roleArn": "arn:r", "inspectionLevel": "TRACE", **request}
    if request["inspectionLevel"] is None:
        del request["inspectionLevel"]
    if request["roleArn"] is None:
        del request["roleArn"]
    written = {
        name: json.dumps(value) if name in TEXTS and not isinstance(value, str) else value
        for name, value in request.items()
    }
    around = asl.Surroundings(HOOKS, fits, RUN, "0" * 32, NOW_MS)
    return asl.begin_test(written, {} if input is None else input, around)


def tried(definition, input=None, result=None, error=None, mode=None, **request):
    """The answer, with its texts as the values that they are."""
    mock = {}
    if result is not None:
        mock["result"] = result if isinstance(result, str) else json.dumps(result)
    if error is not None:
        mock["errorOutput"] = error
    if mode is not None:
        mock["fieldValidationMode"] = mode
    if mock:
        request["mock"] = mock
    return read(begun(definition, input, **request))


def read(answer):
    answer = dict(answer)
    if "output" in answer:
        answer["output"] = json.loads(answer["output"])
    if "inspectionData" in answer:
        answer["inspectionData"] = {
            name: json.loads(value) if isinstance(value, str) else value
            for name, value in answer["inspectionData"].items()
        }
    return answer


def refused(*args, **request):
    with pytest.raises(asl.RefusedTestError) as caught:
        tried(*args, **request)
    return caught.value.code, str(caught.value)


# --- what is recorded ----------------------------------------------------------------------------

BY_CLIENT = "ParamValidationError"  # what AWS' client refuses does not come here


@pytest.mark.parametrize(
    "case",
    [c for c in cases("test_state") if c["expect"].get("exception_typename") != BY_CLIENT],
    ids=lambda case: case["id"],
)
def test_what_aws_was_recorded_to_answer(case):
    expected = case["expect"]
    if case["raises"]:
        told = expected.get("Error") or {
            "Code": expected["exception_typename"],
            "Message": expected["exception_value"].split("operation: ", 1)[1],
        }
        with pytest.raises(asl.RefusedTestError) as caught:
            begun(case["definition"], case["input"], **case["request"])
        assert (caught.value.code, str(caught.value)) == (told["Code"], told["Message"])
    else:
        got = begun(case["definition"], case["input"], **case["request"])
        assert checker().agrees(expected, got, case["wild"])


# --- refusals ------------------------------------------------------------------------------------

PASS = {"Type": "Pass", "End": True}
MAP = {"Type": "Map", "ItemProcessor": PROCESSOR, "End": True}
PARALLEL = {"Type": "Parallel", "Branches": BRANCHES, "End": True}
CALL = task(FN, End=True)
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


# --- states that ask for nothing -----------------------------------------------------------------


def test_at_the_least_level_nothing_of_the_way_is_told():
    state = {"Type": "Pass", "Result": 1, "Next": "B"}
    assert tried(state, inspectionLevel=None) == {
        "status": "SUCCEEDED", "output": 1, "nextState": "B",
    }  # fmt: skip


def test_a_wait_is_not_waited_for():
    state = {"Type": "Wait", "SecondsPath": "$.s", "OutputPath": "$.x", "Next": "B"}
    assert tried(state, {"s": 300, "x": 1}) == {
        "status": "SUCCEEDED",
        "output": 1,
        "nextState": "B",
        "inspectionData": {
            "input": {"s": 300, "x": 1},
            "afterInputPath": {"s": 300, "x": 1},
        },
    }


def test_a_test_ends_after_five_minutes():
    answer = tried({"Type": "Wait", "Seconds": 301, "End": True}, inspectionLevel="INFO")
    assert answer == {"status": "FAILED", "error": "States.Timeout"}


def test_an_evaluation_that_fails_tells_how_far_it_came():
    state = {"Type": "Pass", "InputPath": "$.a", "Parameters": {"b.$": "$.b"}, "End": True}
    assert tried(state, {"a": {}}) == {
        "status": "FAILED",
        "error": "States.Runtime",
        "cause": "The JSONPath '$.b' specified for the field 'b.$' could not be found in the input '{}'",
        "inspectionData": {"input": {"a": {}}, "afterInputPath": {}},
    }


def test_variables_are_as_they_are_afterwards():
    state = {
        "Type": "Pass",
        "Assign": {"b.$": "$a", "a": 2},
        "Parameters": {"v.$": "$a"},
        "End": True,
    }
    answer = tried(state, variables={"a": 1, "c": 3})
    assert answer["output"] == {"v": 1}
    assert answer["inspectionData"]["variables"] == {"a": 2, "b": 1, "c": 3}


def test_what_is_too_large_to_be_shown_is_left_out():
    items = [{"n": n, "x": "x" * 300} for n in range(100)]
    state = {**MAP, "ItemSelector": {"all.$": "$"}}
    shown = tried(state, items, result=[1] * 100)["inspectionData"]
    assert "afterItemSelector" not in shown
    assert shown["afterItemsPath"] == items


def test_a_state_draws_by_its_test():
    state = {"Type": "Pass", "Parameters": {"u.$": "States.UUID()"}, "End": True}
    assert tried(state) == tried(state)


# --- states of a machine -------------------------------------------------------------------------

NESTED = jsonata(
    {
        "Outer": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Both",
                "States": {
                    "Both": {
                        "Type": "Parallel",
                        "Branches": [{"StartAt": "In", "States": {"In": {
                            "Type": "Pass", "Output": "{% $states.context.Map.Item %}", "End": True,
                        }}}],
                        "End": True,
                    }
                },
            },
            "Next": "Last",
        },
        "Last": {"Type": "Pass", "Output": "{% $states.context %}", "End": True},
    }
)  # fmt: skip


def test_a_state_in_a_map_has_an_item():
    answer = tried(NESTED, {"x": 1}, stateName="In")
    assert answer["output"] == {"Index": 0, "Value": {"x": 1}}


def test_the_context_object_is_that_of_an_execution():
    answer = tried(NESTED, {"x": 1}, stateName="Last")
    assert answer["output"] == {
        "Execution": {**RUN["Execution"], "Input": {"x": 1}},
        "StateMachine": RUN["StateMachine"],
        "State": {"Name": "Last", "EnteredTime": "2025-11-21T14:00:00.000Z"},
    }


def test_a_state_by_itself_has_a_name():
    state = {"Type": "Pass", "Parameters": {"n.$": "$$.State.Name"}, "End": True}
    assert tried(state)["output"] == {"n": "StateName"}


def test_a_context_object_is_what_is_given():
    state = task(FN, QueryLanguage="JSONata", Arguments="{% $states.context %}", End=True)
    context = {
        "Execution": {"Id": "arn:x", "Input": [1], "RedriveCount": 1},
        "State": {},
        "StateMachine": {},
    }
    for given in (context, {}):
        answer = tried(state, result=1, context=given)
        assert answer["inspectionData"]["afterArguments"] == given


def test_the_token_of_a_task_that_waits_for_one_may_be_given():
    arguments = {"FunctionName": "f", "Payload": "{% $states.context.Task.Token %}"}
    state = task(
        f"{INVOKE}.waitForTaskToken", QueryLanguage="JSONata", Arguments=arguments, End=True
    )
    answer = tried(state, result={"lambda": 1}, context={"Task": {"Token": "abc"}})
    assert answer["inspectionData"]["afterArguments"]["Payload"] == "abc"


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


@pytest.mark.parametrize("kind", [{"Type": "Pass"}, {**MAP, "Items": [1]}, {**CALL}])
@pytest.mark.parametrize(
    "whole", ["{% $states %}", "{% ($s := $states; $s) %}", "{% $lookup($states, 'context') %}"]
)
def test_all_that_jsonata_has_of_a_state_has_the_context_object(kind, whole):
    state = {**kind, "QueryLanguage": "JSONata", "Output": whole, "End": True}
    mock = {"result": [1]} if kind["Type"] != "Pass" else {}
    output = tried(state, {"n": 1}, **mock)["output"]

    context = output if "lookup" in whole else output.pop("context")
    about = {} if kind["Type"] == "Pass" else {"RetryCount": 0}
    assert context == {
        "Execution": {
            **RUN["Execution"],
            "Input": {"n": 1},
            "StartTime": "2025-11-21T14:00:00.000Z",
        },
        "StateMachine": RUN["StateMachine"],
        "State": {"Name": "StateName", "EnteredTime": "2025-11-21T14:00:00.000Z", **about},
    }
    if context is not output:
        assert output == {"input": {"n": 1}, "result": {"n": 1}, **mock}


# --- tasks ---------------------------------------------------------------------------------------


def test_a_mocked_task_shows_all_its_stages():
    state = task(
        FN, InputPath="$.i", Parameters={"p.$": "$.q"}, ResultSelector={"s.$": "$.r"},
        ResultPath="$.o", OutputPath="$.o", Next="B",
    )  # fmt: skip
    assert tried(state, {"i": {"q": 1}}, result={"r": 2}) == {
        "status": "SUCCEEDED",
        "output": {"s": 2},
        "nextState": "B",
        "inspectionData": {
            "input": {"i": {"q": 1}},
            "afterInputPath": {"q": 1},
            "afterParameters": {"p": 1},
            "result": {"r": 2},
            "afterResultSelector": {"s": 2},
            "afterResultPath": {"i": {"q": 1}, "o": {"s": 2}},
        },
    }


def test_a_jsonata_task_shows_its_arguments():
    state = task(
        INVOKE, QueryLanguage="JSONata", Arguments={"FunctionName": "f", "Payload": "{% $states.input %}"},
        Output="{% $states.result.lambda %}", End=True,
    )  # fmt: skip
    assert tried(state, [1], result={"lambda": 2}) == {
        "status": "SUCCEEDED",
        "output": 2,
        "inspectionData": {
            "input": [1],
            "afterArguments": {"FunctionName": "f", "Payload": [1]},
            "result": {"lambda": 2},
        },
    }


def test_a_result_that_is_not_to_be_looked_at_may_be_anything():
    state = task(START, Parameters={"StateMachineArn": "arn:m"}, End=True)
    assert tried(state, result=1, mode="NONE")["output"] == 1
    assert tried(state, result={}, mode="PRESENT")["output"] == {}


def test_a_task_without_a_mock_is_asked_for():
    test = begun(
        task(FN, Parameters={"p.$": "$.x"}, TimeoutSeconds=7, ResultPath="$.r", Next="B"), {"x": 1}
    )

    assert test.task == asl.TaskRequest(FN, {"p": 1}, 7)
    answer = read(test.finish(Success({"y": 2})))
    assert (answer["output"], answer["nextState"]) == ({"x": 1, "r": {"y": 2}}, "B")


def test_a_task_that_is_performed_may_fail():
    test = begun(CALL)
    answer = read(test.finish(Failure("E", {"Error": "E", "Cause": "C"})))
    assert answer == {
        "status": "FAILED",
        "error": "E",
        "cause": "C",
        "inspectionData": {"input": {}, "afterInputPath": {}, "afterParameters": {}},
    }


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (Failure("States.Timeout", {"Error": "States.Timeout", "Status": "TIMED_OUT"}), {"Error": "States.Timeout", "Cause": ""}),
        (Failure("LimitExceeded", "too much"), {"Error": "LimitExceeded", "Cause": ""}),
    ],
)  # fmt: skip
def test_only_the_error_and_its_cause_are_handed_on(failure, told):
    state = task(FN, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}], End=True)
    assert read(begun(state).finish(failure))["output"] == told


def test_a_result_can_be_too_large():
    answer = read(begun(CALL, inspectionLevel="INFO").finish(Success("x" * 263_000)))
    assert (answer["status"], answer["error"]) == ("FAILED", "States.DataLimitExceeded")


# --- errors --------------------------------------------------------------------------------------

HANDLED = task(
    FN,
    Retry=[
        {"ErrorEquals": ["Other"]},
        {"ErrorEquals": ["E"], "IntervalSeconds": 3, "BackoffRate": 2, "MaxAttempts": 2},
    ],
    Catch=[
        {"ErrorEquals": ["Other"], "Next": "C"},
        {"ErrorEquals": ["States.ALL"], "Next": "D", "ResultPath": "$.e", "Assign": {"v": 1}},
    ],
    End=True,
)


def test_an_error_may_be_retried():
    answer = tried(HANDLED, error={"error": "E"}, stateConfiguration={"retrierRetryCount": 1})
    assert answer == {
        "status": "RETRIABLE",
        "error": "E",
        "inspectionData": {
            "input": {},
            "afterInputPath": {},
            "afterParameters": {},
            "errorDetails": {"retryIndex": 1, "retryBackoffIntervalSeconds": 6},
        },
    }


def test_an_error_is_caught_when_it_was_retried_often_enough():
    answer = tried(
        HANDLED, {"x": 1}, error={"error": "E", "cause": "C"}, stateConfiguration={"retrierRetryCount": 2},
    )  # fmt: skip
    shown = answer.pop("inspectionData")
    assert answer == {
        "status": "CAUGHT_ERROR",
        "error": "E",
        "cause": "C",
        "output": {"x": 1, "e": {"Error": "E", "Cause": "C"}},
        "nextState": "D",
    }
    assert shown["errorDetails"] == {"retryIndex": 1, "catchIndex": 1}
    assert shown["variables"] == {"v": 1}


def test_how_often_it_was_retried_is_in_the_context_object():
    state = {**HANDLED, "Parameters": {"n.$": "$$.State.RetryCount"}}
    answer = tried(state, error={"error": "E"}, stateConfiguration={"retrierRetryCount": 1})
    assert answer["inspectionData"]["afterParameters"] == {"n": 1}


def test_an_error_that_is_for_nobody_fails():
    answer = tried(task(FN, End=True), error={"error": "E"}, inspectionLevel="INFO")
    assert answer == {"status": "FAILED", "error": "E"}


def test_what_a_catcher_makes_of_an_error_may_fail_too():
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "C", "ResultPath": "$.a.b"}]
    answer = tried(task(FN, Catch=catch, End=True), [1], error={"error": "E"})
    assert (answer["status"], answer["error"]) == ("FAILED", "States.ReferencePathConflict")


def test_an_evaluation_that_fails_can_be_caught():
    state = task(
        FN, QueryLanguage="JSONata", Arguments={"a": "{% $states.input.no %}"},
        Catch=[{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "C"}], End=True,
    )  # fmt: skip
    answer = tried(state, {}, result=1)
    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "C")


# --- branches and iterations ---------------------------------------------------------------------


def test_a_mocked_map_shows_its_items():
    state = {
        **MAP, "ItemsPath": "$.items", "ItemSelector": {"i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value"},
        "MaxConcurrency": 2, "ToleratedFailurePercentage": 50, "ItemProcessor": DISTRIBUTED, "ResultPath": "$.r",
    }  # fmt: skip
    assert tried(state, {"items": ["a", "b"]}, result=[1, 2])["inspectionData"] == {
        "input": {"items": ["a", "b"]},
        "afterInputPath": {"items": ["a", "b"]},
        "afterItemsPath": ["a", "b"],
        "afterItemSelector": [{"i": 0, "v": "a"}, {"i": 1, "v": "b"}],
        "maxConcurrency": 2,
        "toleratedFailurePercentage": 50,
        "afterResultSelector": [1, 2],
        "afterResultPath": {"items": ["a", "b"], "r": [1, 2]},
    }


def test_iterations_may_fail_as_far_as_is_tolerated():
    state = {**MAP, "ToleratedFailureCount": 1, "ItemProcessor": DISTRIBUTED}
    few = tried(state, [1, 2], result=[1], stateConfiguration={"mapIterationFailureCount": 1})
    many = tried(state, [1, 2], result=[], stateConfiguration={"mapIterationFailureCount": 2})

    assert (few["status"], few["output"]) == ("SUCCEEDED", [1])
    assert (many["status"], many["error"], many["cause"]) == (
        "FAILED",
        "States.ExceedToleratedFailureThreshold",
        "The specified tolerated failure threshold was exceeded",
    )


def counted(failures, **fields):
    """A test of a Map of three items, of which so many have failed."""
    state = {**MAP, "ItemProcessor": DISTRIBUTED, **fields}
    return state, [1, 2, 3], {"stateConfiguration": {"mapIterationFailureCount": failures}}


@pytest.mark.parametrize(
    ("failures", "fields", "status"),
    [
        (2, {}, "SUCCEEDED"),  # recorded: who does not say how many are tolerated is not asked
        (0, {"ToleratedFailureCount": 1}, "SUCCEEDED"),
        (1, {"ToleratedFailureCount": 1}, "SUCCEEDED"),
        (2, {"ToleratedFailureCount": 1}, "FAILED"),
        (1, {"ToleratedFailurePercentage": 34}, "SUCCEEDED"),
        (2, {"ToleratedFailurePercentage": 34}, "FAILED"),
    ],
)
def test_a_mock_may_have_a_result_for_each_item(failures, fields, status):
    state, items, request = counted(failures, **fields)
    answer = tried(state, items, result=[0, 0, 1], **request)

    assert answer["status"] == status
    assert answer.get("output", answer.get("error")) == (
        [0, 0, 1] if status == "SUCCEEDED" else "States.ExceedToleratedFailureThreshold"
    )


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_mocked_error_is_told_however_many_have_failed(failures):
    state, items, request = counted(failures, ToleratedFailureCount=1)
    answer = tried(state, items, error={"error": "Mine", "cause": "why"}, **request)

    assert (answer["status"], answer["error"], answer["cause"]) == ("FAILED", "Mine", "why")


def test_handlers_are_found_for_failures_that_are_too_many():
    handlers = [{"ErrorEquals": ["Mine"], "Next": "B"}, {"ErrorEquals": ["States.ExceedToleratedFailureThreshold"], "Next": "C"}]  # fmt: skip
    retriers = [{"ErrorEquals": each["ErrorEquals"], "MaxAttempts": 2} for each in handlers]
    states = {"B": {"Type": "Pass", "End": True}, "C": {"Type": "Pass", "End": True}}
    for fields, status, details in (
        ({"Catch": handlers}, "CAUGHT_ERROR", {"catchIndex": 1}),
        ({"Catch": handlers, "Retry": retriers}, "RETRIABLE", {"retryIndex": 1, "retryBackoffIntervalSeconds": 1}),
    ):  # fmt: skip
        state, items, request = counted(2, ToleratedFailureCount=1, **fields)
        definition = machine({"A": state, **states})
        answer = tried(definition, items, result=[0, 0, 1], stateName="A", **request)
        assert (answer["status"], answer["inspectionData"]["errorDetails"]) == (status, details)


def test_the_results_of_a_map_may_be_in_files():
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}}
    state = {**MAP, "ItemProcessor": DISTRIBUTED, "ResultWriter": writer}
    assert tried(state, [1, 2], result={"MapRunArn": "arn"})["output"] == {"MapRunArn": "arn"}


def test_an_error_may_come_from_within():
    state = machine({"A": PARALLEL | {"Catch": [{"ErrorEquals": ["E"], "Next": "C"}]}, "C": PASS})
    answer = tried(
        state, error={"error": "E"}, stateName="A", stateConfiguration={"errorCausedByState": "B2"},
    )  # fmt: skip
    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "C")


READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "Parameters": {"Bucket": "b", "Key.$": "$.key"},
}


def reads(config, **fields):
    return {
        **MAP,
        "ItemProcessor": DISTRIBUTED,
        "ItemReader": {**READER, "ReaderConfig": config},
        **fields,
    }


def test_items_are_read_from_what_is_given():
    state = reads({"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW", "MaxItems": 2})
    answer = tried(
        state, {"key": "k"}, result=[1, 2], stateConfiguration={"mapItemReaderData": "a,b\n1,2\n3,4\n5,6\n"},
    )  # fmt: skip
    assert answer["output"] == [1, 2]
    assert answer["inspectionData"]["afterItemsPath"] == [
        {"a": "1", "b": "2"},
        {"a": "3", "b": "4"},
    ]


def test_items_may_be_deep_in_what_is_given():
    state = reads({"InputType": "JSON", "ItemsPointer": "/a/b"})
    answer = tried(
        state, {"key": "k"}, result=[0], stateConfiguration={"mapItemReaderData": '{"a":{"b":[7]}}'},
    )  # fmt: skip
    assert answer["inspectionData"]["afterItemsPointer"] == [7]
    assert "afterItemsPath" not in answer["inspectionData"]


def test_what_a_reader_reads_must_be_given():
    code, message = refused(reads({"InputType": "JSON"}), {"key": "k"}, result=[])
    assert (code, message) == (
        "ValidationException",
        "ItemReader data must be specified when testing a Map state with ItemReader specified.",
    )


def test_what_is_read_may_be_no_items():
    catch = [{"ErrorEquals": ["States.ItemReaderFailed"], "Next": "C"}]
    answer = tried(
        reads({"InputType": "JSON"}, Catch=catch), {"key": "k"}, result=[],
        stateConfiguration={"mapItemReaderData": "1"},
    )  # fmt: skip
    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "C")


def test_items_are_put_together():
    state = {
        **MAP, "ItemProcessor": DISTRIBUTED, "ItemSelector": {"v.$": "$$.Map.Item.Value"},
        "ItemBatcher": {"MaxItemsPerBatch": 2, "BatchInput": {"b": 1}},
    }  # fmt: skip
    shown = tried(state, [1, 2, 3], result=["x", "y"])["inspectionData"]
    assert shown["afterItemSelector"] == [{"v": 1}, {"v": 2}, {"v": 3}]
    assert shown["afterItemBatcher"] == [
        {"BatchInput": {"b": 1}, "Items": [{"v": 1}, {"v": 2}]},
        {"BatchInput": {"b": 1}, "Items": [{"v": 3}]},
    ]
