"""Failures as they are exported: names, messages, and policies of retries."""

from __future__ import annotations

import pytest

from tests.kit.asl.exportable import run_exported
from tests.kit.asl.exported_actions import ACTIONS
from xingqiao import composer as c
from xingqiao.composer import path
from xingqiao.composer.languages.asl import export


def test_an_error_of_a_function_keeps_its_message():
    told = c.Failure(
        "ApplicationError", {"errorType": "ValueError", "errorMessage": "bad", "stackTrace": []}
    )
    run = run_exported(
        c.do("a", c.select({"was": path("$.error")}), errors=["ValueError"]), {}, {"a": told}
    )

    assert run.outcome.value == {"was": {"code": "ValueError", "message": "bad"}}


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ({}, {"IntervalSeconds": 0, "BackoffRate": 1.0}),
        ({"delay": 2, "backoff": 1.5}, {"IntervalSeconds": 2, "BackoffRate": 1.5}),
        ({"delay": 2, "backoff": 2, "max_delay": 9},
         {"IntervalSeconds": 2, "BackoffRate": 2.0, "MaxDelaySeconds": 9}),
        ({"delay": 2, "backoff": 2, "max_delay": 2}, {"IntervalSeconds": 2, "BackoffRate": 1.0}),
        ({"delay": 2, "jitter": 1}, {"IntervalSeconds": 2, "BackoffRate": 1.0, "JitterStrategy": "FULL"}),
    ],
)  # fmt: skip
def test_a_retry_that_aws_has_is_one(policy, fields):
    retry = export(c.retry(4, "a", **policy))["States"]["Retry"]

    assert retry["Retry"] == [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 4, **fields}]


def test_names_of_errors_are_aws_own_too():
    retry = export(c.retry(1, "a", errors=["Busy", "Timeout", "LimitExceeded"]))["States"]["Retry"]

    named = retry["Retry"][0]["ErrorEquals"]
    assert named == [
        "Busy",
        "Timeout",
        "LimitExceeded",
        "States.Timeout",
        "States.DataLimitExceeded",
    ]


def test_a_share_of_chance_takes_a_loop():
    composition = c.retry(1, "busy", delay=10, jitter=0.5)

    assert "Retry" not in export(composition)["States"]["Retry"]
    assert 5 <= run_exported(composition, {}, ACTIONS).elapsed <= 10
