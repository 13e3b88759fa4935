"""TestState: one state by itself. What is recorded on AWS, and what the recordings do not show."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import FN, INVOKE, jsonata, machine, task
from tests.kit.asl.recorded import cases, checker
from tests.kit.asl.single_states import (
    CALL,
    DISTRIBUTED,
    MAP,
    PARALLEL,
    PASS,
    RUN,
    begun,
    refused,
    tried,
)
from xingqiao.composer import asl

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


# --- states that ask for nothing -----------------------------------------------------------------


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


def test_an_evaluation_that_fails_tells_how_far_it_came():
    state = {"Type": "Pass", "InputPath": "$.a", "Parameters": {"b.$": "$.b"}, "End": True}
    assert tried(state, {"a": {}}) == {
        "status": "FAILED",
        "error": "States.Runtime",
        "cause": "The JSONPath '$.b' specified for the field 'b.$' could not be found in the input '{}'",
        "inspectionData": {"input": {"a": {}}, "afterInputPath": {}},
    }


def test_what_is_too_large_to_be_shown_is_left_out():
    items = [{"n": n, "x": "x" * 300} for n in range(100)]
    state = {**MAP, "ItemSelector": {"all.$": "$"}}
    shown = tried(state, items, result=[1] * 100)["inspectionData"]
    assert "afterItemSelector" not in shown
    assert shown["afterItemsPath"] == items


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
