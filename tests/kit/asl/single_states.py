"""Tests of one state, as TestState is asked for them, with their answers read."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.machines import FN, HOOKS, task
from xingqiao.composer import asl

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


PASS = {"Type": "Pass", "End": True}
MAP = {"Type": "Map", "ItemProcessor": PROCESSOR, "End": True}
PARALLEL = {"Type": "Parallel", "Branches": BRANCHES, "End": True}
CALL = task(FN, End=True)


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
