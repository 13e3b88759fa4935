"""Actions that are Lambda functions: what their code is asked, and what its answers are."""

from __future__ import annotations

from base64 import b64decode

import pytest

from xingqiao.actions import (
    FUNCTION,
    Action,
    Catalog,
    Change,
    Code,
    Invocation,
    Limits,
    NotFoundError,
    chosen,
    found_function,
    function_of,
    qualified,
    request_id,
    version_of,
)
from xingqiao.actions.lambdas import (
    TAIL_BYTES,
    handler_outcome,
    handler_request,
    lambda_failure,
    log_tail,
)
from xingqiao.composer import Failure, Name, Success

ARN = "arn:aws:lambda:eu-west-1:111111111111:function:charge"
ABOUT = {"FunctionArn": ARN, "MemorySize": 512}
ID = "0123456789abcdef0123456789abcdef"
NAME = Name("guest", None, "charge")
ACTION = Action(NAME, Code("python:3", "x"), annotations={FUNCTION: ABOUT}, limits=Limits(2500))


def invocation(event):
    return Invocation(activation=ID, action=ACTION, params=event, namespace="guest", token="")


def test_an_action_is_a_function_by_its_annotation():
    plain = Action(NAME, Code("python:3", "x"), annotations={FUNCTION: True})

    assert (function_of(ACTION), function_of(plain)) == (ABOUT, None)


def test_its_code_is_asked_with_what_a_handler_may_know():
    assert handler_request(invocation([1]), ABOUT, 99_000) == {
        "event": [1],
        "request": "01234567-89ab-cdef-0123-456789abcdef",
        "name": "charge",
        "version": "$LATEST",
        "arn": ARN,
        "memory_mb": 512,
        "log_group": "/aws/lambda/charge",
        "log_stream": f"[$LATEST]{ID}",
        "deadline_ms": 99_000,
    }


@pytest.mark.parametrize("result", [None, 1, "text", [], {"error": 1}, {"payload": 2}])
def test_what_its_handler_returns_is_its_outcome_as_it_is(result):
    assert handler_outcome({"payload": result}) == Success(result)


def test_what_its_handler_raises_is_its_failure():
    error = {"errorMessage": "m", "errorType": "E"}

    assert handler_outcome({"error": error}) == Failure("ApplicationError", error)


@pytest.mark.parametrize("answer", [{}, {"value": 1}, [1]])
def test_any_other_answer_is_not_the_codes(answer):
    assert handler_outcome(answer).code == "BadResponse"


def test_what_cuts_it_off_has_lambdas_names():
    late = lambda_failure(Failure("Timeout", "late"), invocation({}))
    dead = lambda_failure(Failure("Crashed", "it is gone"), invocation({}))

    start = f"RequestId: {request_id(ID)} Error: "
    assert late == Failure("Timeout", {
        "errorType": "Sandbox.Timedout", "errorMessage": f"{start}Task timed out after 2.50 seconds",
    })  # fmt: skip
    assert dead == Failure("Crashed", {
        "errorType": "Runtime.ExitError", "errorMessage": f"{start}Runtime exited: it is gone",
    })  # fmt: skip


def test_what_else_fails_is_left_as_it_is():
    failure = Failure("Unavailable", "stopping")

    assert lambda_failure(failure, invocation({})) is failure


def tail(action, *logs):
    return b64decode(log_tail(action, ID, 12, logs))


def test_the_end_of_a_log_stands_between_lambdas_lines():
    request = request_id(ID)
    printed = "2026-01-01T00:00:00.000Z stdout: a: b", "2026-01-01T00:00:01.000Z stderr: c"

    assert tail(ACTION, *printed).decode().splitlines() == [
        f"START RequestId: {request} Version: $LATEST", "a: b", "c", f"END RequestId: {request}",
        f"REPORT RequestId: {request}\tDuration: 12.00 ms\tBilled Duration: 12 ms\tMemory Size: 512 MB\t",
    ]  # fmt: skip


def test_the_memory_of_what_is_no_function_is_the_actions():
    plain = Action(NAME, Code("python:3", "x"), limits=Limits(2500, 128))

    assert b"Memory Size: 128 MB" in tail(plain)


@pytest.mark.parametrize("more", [0, 1])
def test_a_log_is_told_from_its_end_as_far_as_lambda_does(more):
    room = TAIL_BYTES - len(tail(ACTION, "TIME stdout: ")) + more
    told = tail(ACTION, f"TIME stdout: {'x' * room}")

    assert len(told) == TAIL_BYTES
    assert told.startswith(b"START" if more == 0 else b"TART")


def test_half_a_character_does_not_stop_a_log():
    assert b"?" in tail(ACTION, "TIME stdout: \ud800")


# --- versions and aliases ------------------------------------------------------------------------

PLAIN = Name("guest", None, "plain")
VERSION = {**ABOUT, "FunctionName": "charge", "Version": "1"}


def catalog():
    known = {"live": "1", "newest": "$LATEST"}
    made = Catalog(alias=lambda name, alias, _: known.get(alias))
    for action in (
        ACTION,
        Action(PLAIN, Code("python:3", "x")),
        Action(qualified(NAME, "1"), Code("python:3", "y"), annotations={FUNCTION: VERSION}),
    ):
        made.apply(Change(action, (action,)))
    return made


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("charge", "charge"), ("charge@1", "charge@1"), ("charge@live", "charge@1"),
        ("charge@newest", "charge"), ("plain@live", "plain"),
    ],
)  # fmt: skip
def test_a_name_is_that_of_a_function_a_version_or_an_alias(name, found):
    action = found_function(catalog(), Name("guest", None, name), "guest", "a call")

    assert action.name.name == found


@pytest.mark.parametrize("name", ["charge@2", "charge@other", "none", "none@1"])
def test_a_name_of_neither_is_not_found(name):
    with pytest.raises(NotFoundError):
        found_function(catalog(), Name("guest", None, name), "guest", "a call")


def test_a_version_is_a_name_of_its_own():
    assert [qualified(NAME, q).name for q in (None, "$LATEST", "7")] == [
        "charge",
        "charge",
        "charge@7",
    ]
    assert (version_of(ABOUT), version_of(VERSION)) == ("$LATEST", "1")


def test_the_code_of_a_version_knows_its_version():
    asked = handler_request(invocation([1]), VERSION, 99_000)

    assert (asked["name"], asked["version"], asked["log_stream"]) == ("charge", "1", f"[1]{ID}")


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_an_alias_shares_its_calls_by_weight_and_the_same_call_is_always_the_same(weight):
    calls = [f"request {number}" for number in range(2000)]
    found = [chosen("1", [("2", weight)], call) for call in calls]

    assert found == [chosen("1", [("2", weight)], call) for call in calls]
    assert abs(found.count("2") / len(calls) - weight) < 0.03
