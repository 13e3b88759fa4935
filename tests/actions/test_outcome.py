"""The failure taxonomy, and how OpenWhisk shows it."""

from __future__ import annotations

import pytest

from xingqiao.actions.outcome import (
    FAILURES,
    Completion,
    FailureKind,
    Remoted,
    outcome_of,
    status_of,
)
from xingqiao.composer import RUN_TIMED_OUT, Failure, Success
from xingqiao.composer.machine.sagas.compensations import UNKNOWN
from xingqiao.composer.machine.transactions.coordinator import CONFLICT, NEVER_RAN, RETRYABLE
from xingqiao.transactions import errors


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, Success({})),
        ({"a": 1}, Success({"a": 1})),
        ([], Success([])),
        ([{"error": 1}], Success([{"error": 1}])),
        ({"Error": 1}, Success({"Error": 1})),
        ({"error": "no"}, Failure("ApplicationError", "no")),
        ({"error": None}, Failure("ApplicationError", None)),
        ({"error": {"code": 7}, "more": 1}, Failure("ApplicationError", {"code": 7})),
    ],
)
def test_an_object_with_an_error_is_an_applications_failure(result, expected):
    assert outcome_of(result) == expected


def test_an_invocation_does_not_end_before_it_began():
    """The clock may be set back in between."""
    assert Completion(Success({}), 10, 7).ended_ms == 10


STATUS = {
    "ApplicationError": 1,
    "PayloadTooLarge": 1,
    "NotFound": 1,
    "InvalidRequest": 1,
    "Permission": 1,
    "Cancelled": 1,
    "RunTimedOut": 2,
    "Timeout": 2,
    "Crashed": 2,
    "BadResponse": 2,
    "Throttled": 3,
    "Unavailable": 3,
    "Lost": 3,
    "InternalError": 3,
}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (Success({}), 0),
        (Failure("ExpressionError", ""), 1),
        (Failure("a code of the user's own", ""), 1),
        *((Failure(code, ""), status) for code, status in STATUS.items()),
    ],
)
def test_an_outcome_has_openwhisks_status(given, status):
    assert status_of(given) == status


def test_only_what_has_surely_not_run_and_may_pass_is_retryable():
    retryable = {code for code, kind in FAILURES.items() if kind.retryable}

    assert retryable == {"Throttled", "Unavailable"}


@pytest.mark.parametrize("ran", ["no", "yes", "unknown"])
@pytest.mark.parametrize("transient", [True, False])
def test_retryable_is_what_is_transient_and_has_not_run(ran, transient):
    assert FailureKind(3, ran, transient=transient).retryable == (transient and ran == "no")


def test_the_taxonomy_is_what_is_tabled_here():
    assert set(FAILURES) == set(STATUS)


def test_a_saga_knows_what_the_taxonomy_knows():
    unknown = {code for code, kind in FAILURES.items() if kind.may_have_run == "unknown"}
    never = {code for code, kind in FAILURES.items() if kind.may_have_run == "no"}

    assert unknown - {RUN_TIMED_OUT} == UNKNOWN, "a step fails with Timeout in place of that"
    assert never | {errors.MALFORMED} == NEVER_RAN


def test_coordinators_and_entities_agree_on_what_may_be_tried_again():
    assert (errors.CONFLICT, errors.RETRYABLE) == (CONFLICT, RETRYABLE)


def test_a_bill_tells_what_differs_from_one_attempt_that_is_told_whole():
    doc = Remoted("aws", "r1", billed_ms=6.0, attempts=3, charged=2, untold=1).to_json(9)

    assert (doc["charged"], doc["untold"]) == (2, 1)
    assert "untold" not in Remoted("aws", "r1", untold=1).to_json(9)


def test_between_a_run_and_its_later_answer_is_no_overhead():
    at_once = Remoted("aws", "r1", ran_ms=5.0, billed_ms=6.0).to_json(9)
    later = Remoted("here", ran_ms=5.0, billed_ms=5.0, later=True).to_json(86_400_000)

    assert (at_once["overhead"], "later" in at_once) == (4.0, False)
    assert ("overhead" in later, later["later"], later["billed"]) == (False, True, 5.0)
