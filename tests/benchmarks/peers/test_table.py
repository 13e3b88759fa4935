"""Medians, spreads, ratios of the same round, and how they are printed."""

from __future__ import annotations

import json

import pytest

from benchmarks.peers.rounds import Floor, Measured
from benchmarks.peers.table import Rounds, Spread, line, quantities
from benchmarks.peers.work import Workload, workloads

ALL = {each.key: each for each in workloads(1)}
ALONE, AT_ONCE, RECOVERY = ALL["steps-5-at-1"], ALL["steps-50-at-32"], ALL["recovery"]


def measured(workload, system, *values, figure="p50_ms", failure=""):
    """One measurement a round, in order."""
    return [
        Measured(
            round=number, workload=workload.key, system=system, figures={figure: value},
            failure=failure,
        )
        for number, value in enumerate(values, 1)
    ]  # fmt: skip


def rounds(*items):
    made = Rounds(list(ALL.values()))
    for item in items:
        made.add(item)
    return made


@pytest.mark.parametrize(
    ("workload", "figures", "seen"),
    [
        (ALONE, {"p50_ms": 3.0, "executions_per_s": 9.0}, {"ms": 3.0}),
        (AT_ONCE, {"p50_ms": 3.0, "executions_per_s": 9.0}, {"steps/s": 450.0}),
        (ALL["fanout-1000"], {"p50_ms": 3.0}, {"ms": 3.0}),
        (
            ALL["messages-at-1"],
            {"accepted_ms": 1.0, "acted_ms": 2.0, "messages_per_s": 9.0},
            {"accepted, ms": 1.0, "acted on, ms": 2.0},
        ),
        (ALL["messages-at-32"], {"acted_ms": 2.0, "messages_per_s": 9.0}, {"messages/s": 9.0}),
        (
            RECOVERY,
            {"first_step_s": 0.5, "all_s": 1.5, "repeated": 40},
            {"first step, s": 0.5, "all ended, s": 1.5, "steps repeated": 40},
        ),
    ],
)
def test_what_is_compared(workload, figures, seen):
    assert {each.unit: each.value(figures) for each in quantities(workload)} == seen


def test_a_ratio_divides_figures_of_the_same_round():
    """The median of the ratios is not the ratio of the medians: the second round was slow for both."""
    made = rounds(
        *measured(ALONE, "xingqiao", 1, 10, 2), *measured(ALONE, "dbos", 10, 30, 4)
    )  # fmt: skip
    (latency,) = quantities(ALONE)

    assert made.spread(ALONE, latency, "dbos") == Spread(10, 4, 30)
    assert made.ratio(ALONE, latency, "xingqiao", "dbos") == Spread(3, 2, 10)


def test_of_a_rate_the_greater_is_the_better():
    made = rounds(
        *measured(AT_ONCE, "xingqiao", 30.0, figure="executions_per_s"),
        *measured(AT_ONCE, "dbos", 10.0, figure="executions_per_s"),
    )
    (rate,) = quantities(AT_ONCE)

    assert made.ratio(AT_ONCE, rate, "xingqiao", "dbos") == Spread(3, 3, 3)


def test_a_round_in_which_one_has_failed_has_no_ratio():
    made = rounds(
        *measured(ALONE, "xingqiao", 1, 2),
        measured(ALONE, "dbos", 4)[0],
        Measured(round=2, workload=ALONE.key, system="dbos", failure="it ended with 1"),
    )
    (latency,) = quantities(ALONE)

    assert made.ratio(ALONE, latency, "xingqiao", "dbos") == Spread(4, 4, 4)
    assert made.failures == ["round 2, steps-5-at-1, dbos: it ended with 1"]
    assert made.ratio(ALONE, latency, "xingqiao", "restate-http") is None


def test_the_tables():
    made = rounds(
        Floor(round=1, rates={"commits_per_s": 5_000, "rows_per_s": 100_000}),
        Floor(round=2, rates={"commits_per_s": 4_000, "rows_per_s": 90_000}),
        *measured(ALONE, "xingqiao", 2, 4),
        *measured(ALONE, "dbos", 20, 60),
        *measured(ALONE, "xingqiao-http", 5, 5),
        *measured(ALONE, "restate-http", 15, 20),
        *measured(ALONE, "dbos-http", failure="x"),
        *measured(ALONE, "dbos-http", 1, failure="it takes more than 300 s"),
    )

    assert made.markdown() == (
        "Floor of each round, synced: 5,000, 4,000 commits/s of one row; 100,000, 90,000 rows/s at 50 a "
        "commit. Figures are medians of 2 rounds (least to most). *times*: how many times better Xingqiao "
        "is, of figures of the same round.\n\n"
        "### In process\n\n"
        "| workload |  | Xingqiao | DBOS | times |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| 5 steps, alone | ms | 3.00 (2.00 to 4.00) | 40.0 (20.0 to 60.0) | 12.5 (10.0 to 15.0) |\n\n"
        "### Over HTTP\n\n"
        "| workload |  | Xingqiao | Restate | times | DBOS | times |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| 5 steps, alone | ms | 5.00 | 17.5 (15.0 to 20.0) | 3.50 (3.00 to 4.00) |  |  |\n\n"
        "### In process, beside Restate over HTTP (not like with like)\n\n"
        "| workload |  | Xingqiao | Restate | times |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| 5 steps, alone | ms | 3.00 (2.00 to 4.00) | 17.5 (15.0 to 20.0) | 6.25 (5.00 to 7.50) |\n\n"
        "Failed:\n\n- round 1, steps-5-at-1, dbos-http: it takes more than 300 s"
    )


def test_what_is_not_divided_is_shown_without_a_ratio():
    figures = {"first_step_s": 1.0, "all_s": 2.0, "repeated": 30}
    both = [
        Measured(round=1, workload=RECOVERY.key, system=system, figures=figures)
        for system in ("xingqiao", "dbos")
    ]

    text = rounds(*both).markdown()

    assert "| recovery of 100 executions | steps repeated | 30.0 | 30.0 |  |" in text
    assert "| recovery of 100 executions | all ended, s | 2.00 | 2.00 | 1.00 |" in text


def test_nothing_measured_is_an_empty_text():
    assert not rounds().markdown()


def test_lines_of_json():
    made = rounds(*measured(ALONE, "xingqiao", 1, 2), *measured(ALONE, "dbos", 4, 10))
    floor = Floor(round=1, rates={"commits_per_s": 5.0})

    assert json.loads(line(floor)) == {"floor": {"commits_per_s": 5.0}, "round": 1}
    assert json.loads(line(measured(ALONE, "dbos", 4)[0])) == {
        "round": 1, "workload": "steps-5-at-1", "system": "dbos", "figures": {"p50_ms": 4},
        "failure": "",
    }  # fmt: skip
    assert [json.loads(text) for text in made.ratios()] == [
        {
            "ratio": "steps-5-at-1", "unit": "ms", "ours": "xingqiao", "theirs": "dbos",
            "median": 4.5, "least": 4.0, "most": 5.0,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (Spread(1.234, 1, 2), "1.23 (1.00 to 2.00)"),
        (Spread(12.34, 9, 20), "12.3 (9.0 to 20.0)"),
        (Spread(1234.5, 900, 2000), "1,234 (900 to 2,000)"),
        (Spread(7, 7, 7), "7.00"),
    ],
)
def test_a_spread_shows_three_digits(spread, text):
    assert spread.text() == text


def test_keys_of_workloads_differ_and_small_ones_keep_them():
    keys = [each.key for each in workloads(1)]

    assert len(set(keys)) == len(keys)
    assert [each.small().key for each in workloads(1)] == keys
    assert all(isinstance(each.small(), Workload) for each in workloads(1))
