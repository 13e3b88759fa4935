"""The data flow of a state: what comes in, what goes on, and how large it may be."""

from __future__ import annotations

import pytest

from tests.kit.asl.catching import MINE, caught
from tests.kit.asl.machines import (
    machine,
    ran,
    task,
    types,
)


@pytest.mark.parametrize(("size", "fits"), [(262_142, True), (262_143, False)])
def test_an_output_is_as_large_as_aws_takes(size, fits):
    text = "é" * (size // 2) + "x" * (size % 2)
    run = ran({"Type": "Pass", "Result": text})

    assert (run.outcome.value == text) if fits else run.error["Error"] == "States.DataLimitExceeded"


def test_parameters_are_bounded_too():
    large = {"Type": "Pass", "Result": "x" * 200_000, "ResultPath": "$.a", "Next": "B"}
    run = ran(machine({
        "A": large,
        "B": task(Parameters={"one.$": "$.a", "two.$": "$.a"}, End=True),
    }))  # fmt: skip

    assert run.error["Error"] == "States.DataLimitExceeded"


@pytest.mark.parametrize("path", ["$.Payload", "$.none", None])
def test_the_output_of_a_caught_error_is_not_cut_by_the_output_path(path):
    caught = {"ErrorEquals": ["States.ALL"], "Next": "B"}
    first = task(ResultPath="$.Payload", OutputPath=path, Catch=[caught], End=True)
    states = {"A": first, "B": {"Type": "Pass", "End": True}}
    run = ran(machine(states), {"n": 1}, actions={"/_/fn": MINE})
    put = ran(
        machine({**states, "A": {**first, "Catch": [{**caught, "ResultPath": "$.error"}]}}),
        {"n": 1}, actions={"/_/fn": MINE},
    )  # fmt: skip

    error = {"Error": "Mine", "Cause": "why"}
    assert run.outcome.value == error
    assert put.outcome.value == {"n": 1, "error": error}


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({}, {"Error": "Mine", "Cause": "why"}),
        ({"ResultPath": "$.e"}, {"n": 1, "e": {"Error": "Mine", "Cause": "why"}}),
        ({"ResultPath": None}, {"n": 1}),
    ],
)
def test_an_error_is_put_where_the_catcher_says(fields, output):
    run = caught({"ErrorEquals": ["Mine"], "Next": "B", **fields})

    assert run.outcome.value == output
    assert types(run)[4:7] == ["LambdaFunctionFailed", "TaskStateExited", "PassStateEntered"]


def test_a_catcher_that_cannot_put_the_error_anywhere_fails():
    run = ran(
        machine({
            "A": task(Catch=[{"ErrorEquals": ["Mine"], "Next": "B", "ResultPath": "$.e"}], End=True),
            "B": {"Type": "Pass", "End": True},
        }),
        [1], actions={"/_/fn": MINE},
    )  # fmt: skip

    assert run.error["Error"] == "States.ReferencePathConflict"


def test_a_failure_of_the_output_is_an_error_of_the_state():
    run = caught(
        {"ErrorEquals": ["States.ALL"], "Next": "B"}, answer={"x": 1},
        ResultPath="$.n.deep",
    )  # fmt: skip

    assert run.outcome.value["Error"] == "States.ReferencePathConflict"
