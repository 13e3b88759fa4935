"""Rehearsals: a year of a schedule without a server."""

from __future__ import annotations

import pytest

from xingqiao.composer import Failure, Success
from xingqiao.testing import schedule_runs

NIGHTLY = {"cron": "30 2 * * *", "zone": "Europe/Berlin"}
MINUTE = 60_000


def test_a_year_has_a_run_each_night():
    year = schedule_runs({"spec": NIGHTLY}, "2027-01-01", "2027-12-31T23:59", durations=600)

    assert len(year.runs) == 365
    assert year.runs[0].name == "rehearsed-2027-01-01T01:30:00Z"
    assert {run.status for run in year.runs} == {"succeeded"}
    assert {run.ended_ms - run.started_ms for run in year.runs} == {600_000}


def test_a_year_of_each_quarter_of_an_hour_loses_none():
    spec = {"cron": "*/15 * * * *", "zone": "Europe/Berlin"}
    month = schedule_runs({"spec": spec}, "2027-10-15", "2027-11-14T23:59")

    assert len(month.runs) == 31 * 24 * 4


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        (90, [0, 120, 240]),
        ([90, 10], [0, 120, 180, 240]),
        (lambda at_ms: 200 if at_ms == 60_000 else 0, [0, 60]),
    ],
)
def test_runs_take_as_long_as_is_said(durations, expected):
    made = schedule_runs({"spec": {"intervals": "60s"}}, 0, 240_000, durations=durations)
    assert [run.at_ms // 1000 for run in made.runs] == expected


def test_outcomes_are_given_and_a_run_that_is_open_has_no_end():
    made = schedule_runs(
        {"spec": {"intervals": "60s"}, "pause_on_failure": True}, 0, 5 * MINUTE,
        outcomes=lambda at_ms: Failure("Broken", "x") if at_ms == MINUTE else Success({"at": at_ms}),
    )  # fmt: skip
    assert [run.status for run in made.runs] == ["succeeded", "failed"]
    assert made.runs[1].params == {"__ow_last_result": {"at": 0}}
    assert made.state.paused
    long = schedule_runs({"spec": {"intervals": "60s"}}, 0, MINUTE, durations=600)
    assert (long.runs[0].status, long.runs[0].ended_ms) == ("running", None)
