"""The times of schedules: zones and their changes of the clocks, intervals, what is skipped, and jitter."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import InvalidError, instant_ms, spec_of
from xingqiao.actions.schedule_times import MOST, Work, duration_ms

BERLIN, CAIRO, LORD_HOWE = "Europe/Berlin", "Africa/Cairo", "Australia/Lord_Howe"
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000


def ms(text):
    return instant_ms("", text)


def iso(at_ms):
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


def times(after, count, **spec):
    return [iso(at_ms) for at_ms in islice(spec_of(spec).upcoming(ms(after)), count)]


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # 02:30 does not exist on 2027-03-28: right after the gap
        ("30 2 * * *", BERLIN, "2027-03-27T12:00", ["2027-03-28T01:00Z", "2027-03-29T00:30Z"]),
        # 02:30 comes twice on 2027-10-31: the first time
        ("30 2 * * *", BERLIN, "2027-10-30T12:00", ["2027-10-31T00:30Z", "2027-11-01T01:30Z"]),
        ("30 2 * * *", BERLIN, "2027-10-31T00:30", ["2027-11-01T01:30Z"]),
        ("30 2 * * *", BERLIN, "2027-10-31T01:10", ["2027-11-01T01:30Z"]),
        # several times in the gap are one
        ("0,30 2 * * *", BERLIN, "2027-03-27T12:00", ["2027-03-28T01:00Z", "2027-03-29T00:00Z"]),
        ("30 2,3 * * *", BERLIN, "2027-03-28T00:00", ["2027-03-28T01:00Z", "2027-03-28T01:30Z"]),
        # each half hour is each half hour
        ("*/30 * * * *", BERLIN, "2027-03-28T00:00",
         ["2027-03-28T00:30Z", "2027-03-28T01:00Z", "2027-03-28T01:30Z"]),
        ("*/30 * * * *", BERLIN, "2027-10-31T00:00",
         ["2027-10-31T00:30Z", "2027-10-31T01:00Z", "2027-10-31T01:30Z", "2027-10-31T02:00Z"]),
        # the gap is at midnight: 2027-04-30 begins at 01:00
        ("0 0 * * *", CAIRO, "2027-04-28T12:00",
         ["2027-04-28T22:00Z", "2027-04-29T22:00Z", "2027-04-30T21:00Z"]),
        ("30 0 * * *", CAIRO, "2027-04-29T12:00", ["2027-04-29T22:00Z", "2027-04-30T21:30Z"]),
        # the last hour of 2027-10-28 comes twice
        ("30 23 * * *", CAIRO, "2027-10-27T21:00", ["2027-10-28T20:30Z", "2027-10-29T21:30Z"]),
        # half an hour is skipped, and half an hour comes twice
        ("15 2 * * *", LORD_HOWE, "2027-10-01T16:00", ["2027-10-02T15:30Z", "2027-10-03T15:15Z"]),
        ("45 1 * * *", LORD_HOWE, "2027-04-02T15:00", ["2027-04-03T14:45Z", "2027-04-04T15:15Z"]),
        ("*/15 * * * *", LORD_HOWE, "2027-04-03T14:30",
         ["2027-04-03T14:45Z", "2027-04-03T15:00Z", "2027-04-03T15:15Z", "2027-04-03T15:30Z"]),
        # a leap day
        ("0 12 29 2 *", BERLIN, "2026-01-01", ["2028-02-29T11:00Z", "2032-02-29T11:00Z"]),
        # once a year, and a weekday by its number in the month
        ("0 0 1 1 *", "UTC", "2026-06-01", ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]),
        ("0 9 * * mon#1", "UTC", "2026-11-23", ["2026-12-07T09:00Z", "2027-01-04T09:00Z"]),
        ("0 9 L * *", "UTC", "2026-11-23", ["2026-11-30T09:00Z", "2026-12-31T09:00Z"]),
    ],
)  # fmt: skip
def test_a_change_of_the_clocks_neither_loses_nor_repeats_a_time(cron, zone, after, expected):
    assert times(after, len(expected), cron=cron, zone=zone) == expected


@pytest.mark.parametrize(
    ("options", "after", "expected"),
    [
        ({"gap": "skip"}, "2027-03-27T12:00", ["2027-03-29T00:30Z"]),
        ({"repeat": "both"}, "2027-10-30T12:00",
         ["2027-10-31T00:30Z", "2027-10-31T01:30Z", "2027-11-01T01:30Z"]),
    ],
)  # fmt: skip
def test_what_becomes_of_them_can_be_chosen(options, after, expected):
    spec = {"cron": "30 2 * * *", "zone": BERLIN, **options}
    assert times(after, len(expected), **spec) == expected


@given(
    st.sampled_from([BERLIN, CAIRO, LORD_HOWE, "America/New_York", "UTC"]),
    st.integers(0, 23), st.integers(0, 59),
    st.integers(ms("2026-01-01"), ms("2028-01-01")),
)  # fmt: skip
def test_a_time_of_day_is_met_once_on_each_day(zone, hour, minute, after_ms):
    spec = spec_of({"cron": f"{minute} {hour} * * *", "zone": zone})
    found = [*islice(spec.upcoming(after_ms), 5)]
    local = [datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)) for at_ms in found]
    days = [at.toordinal() for at in local]

    assert found == sorted(found)
    assert days == [*range(days[0], days[0] + 5)]
    assert all((at.hour, at.minute) >= (hour, minute) for at in local)


@given(
    st.sampled_from([BERLIN, CAIRO, LORD_HOWE, "America/New_York"]),
    st.integers(ms("2026-01-01"), ms("2028-01-01")),
)
def test_each_quarter_of_an_hour_is_each_quarter_of_an_hour(zone, after_ms):
    found = [*islice(spec_of({"cron": "*/15 * * * *", "zone": zone}).upcoming(after_ms), 9)]
    assert {later - at_ms for at_ms, later in pairwise(found)} == {15 * MINUTE}


def test_the_times_of_all_parts_are_met_once():
    found = times(
        "2026-01-01", 6,
        cron=["0 6 * * *", "@every 12h", "@daily"], intervals=[{"every": "1d", "offset": "6h"}, "3d"],
        calendars=[{"hour": 7}],
    )  # fmt: skip
    assert found == [
        "2026-01-01T06:00Z", "2026-01-01T07:00Z", "2026-01-01T12:00Z", "2026-01-02T00:00Z",
        "2026-01-02T06:00Z", "2026-01-02T07:00Z",
    ]  # fmt: skip


def test_what_is_skipped_is_left_out():
    work = {"intervals": "6h", "skip": [{"weekday": "sat,sun"}, {"hour": [0, 6]}]}
    assert times("2026-11-27T13:00", 3, **work) == [
        "2026-11-27T18:00Z", "2026-11-30T12:00Z", "2026-11-30T18:00Z",
    ]  # fmt: skip
    seconds = {"intervals": "1s", "skip": {"month": 11}, "zone": BERLIN}
    assert times("2026-11-03T13:00", 1, **seconds) == ["2026-11-30T23:00Z"]
    never = {"intervals": "1s", "skip": {"second": "0-58"}, "end": "2026-11-03"}
    assert times("2026-11-03T13:00", 1, **never) == []
    assert spec_of({"intervals": "1s", "skip": {}}).after(ms("2026-01-01")) is None
    gap = {"cron": "15 * * * *", "zone": BERLIN, "skip": {"hour": 1, "minute": "0-59"}}
    assert times("2027-03-27T23:30", 2, **gap) == ["2027-03-28T01:15Z", "2027-03-28T02:15Z"]


def test_start_and_end_are_included():
    spec = {"intervals": "1h", "start": "2026-01-01T01:00Z", "end": "2026-01-01T03:00:00+00:00"}
    assert times("2020-01-01", 9, **spec) == [
        "2026-01-01T01:00Z", "2026-01-01T02:00Z", "2026-01-01T03:00Z",
    ]  # fmt: skip


@given(st.integers(0, 10**13), st.integers(1, 10**6), st.integers(0, 10**6))
def test_an_interval_counts_from_the_epoch(after_ms, every, offset):
    found = spec_of({"intervals": {"every": every, "offset": offset}}).after(after_ms)
    assert found > after_ms
    assert (found // SECOND - offset) % every == 0
    assert found - after_ms <= every * SECOND


@given(st.integers(0, 10**6), st.text(min_size=1, max_size=5), st.sampled_from(["10s", "1h", 5000]))
def test_a_jitter_is_always_the_same_and_ends_before_the_next_time(minute, key, jitter):
    spec = spec_of({"intervals": "60s", "jitter": jitter})
    at_ms = minute * MINUTE
    due_ms = spec.due_ms(key, at_ms)

    assert due_ms == spec_of({"intervals": "60s", "jitter": jitter}).due_ms(key, at_ms)
    assert at_ms <= due_ms < at_ms + MINUTE
    assert jitter != "10s" or due_ms <= at_ms + 10 * SECOND


def test_a_jitter_differs_between_schedules_and_times_and_may_be_the_last():
    spec = spec_of({"intervals": "1h", "jitter": "30m", "end": 3 * HOUR})
    drawn = {spec.due_ms(key, at) - at for key in "abc" for at in range(0, 3 * HOUR, HOUR)}
    assert len(drawn) == 9
    assert 3 * HOUR <= spec.due_ms("a", 3 * HOUR) <= 3.5 * HOUR
    assert spec_of({"intervals": "1h"}).due_ms("a", 5) == 5


def test_the_latest_times_of_a_period():
    spec = spec_of({"intervals": "1h"})
    assert spec.latest(3, 0, 10 * HOUR) == [8 * HOUR, 9 * HOUR, 10 * HOUR]
    assert spec.latest(9, HOUR, 2 * HOUR) == [HOUR, 2 * HOUR]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (5, "the field 'spec' must be an object, such as"),
        ({}, "the field 'spec' names no time"),
        ({"cron": None}, "the field 'spec' names no time"),
        ({"crons": []}, "the field 'spec.crons' does not exist: cron, calendars"),
        ({"cron": ["0 0 * * *", "x"]}, "the field 'spec.cron[1]' must be a cron expression"),
        ({"cron": "@every soon"}, "the field 'spec.cron' must be a duration of at least 1 s"),
        ({"cron": ["@daily"] * 21}, "the field 'spec.cron' must have 20 items at most"),
        ({"intervals": "0s"}, "the field 'spec.intervals.every' must be a duration of at least 1"),
        ({"intervals": {"each": 5}}, "the field 'spec.intervals.each' does not exist"),
        ({"intervals": "1500ms"}, "the field 'spec.intervals.every' must be whole seconds"),
        ({"intervals": {"every": 5, "offset": 0.5}}, "the field 'spec.intervals.offset' must be"),
        ({"intervals": "5s", "zone": "Nowhere"}, "the field 'spec.zone' must be a time zone"),
        ({"intervals": "5s", "zone": 5}, "the field 'spec.zone' must be a time zone"),
        ({"intervals": "5s", "gap": "x"}, "the field 'spec.gap' must be after or skip"),
        ({"intervals": "5s", "repeat": 1}, "the field 'spec.repeat' must be first or both"),
        ({"intervals": "5s", "start": "soon"}, "the field 'spec.start' must be an instant"),
        ({"intervals": "5s", "end": True}, "the field 'spec.end' must be an instant"),
        ({"intervals": "5s", "start": 2, "end": 1}, "the field 'spec.end' must not be before"),
        ({"intervals": "5s", "jitter": -1}, "the field 'spec.jitter' must be a duration"),
        ({"intervals": "5s", "jitter": "9999999d"}, "the field 'spec.jitter' must be a duration"),
    ],
)
def test_a_field_that_is_malformed_is_named(spec, text):
    with pytest.raises(InvalidError) as refused:
        spec_of(spec)
    assert str(refused.value).startswith(text)


def test_durations_and_instants_are_read():
    assert [duration_ms("", value) for value in (5, 0.25, "5s", "1h30m", "250ms", "1d")] == [
        5000, 250, 5000, 90 * MINUTE, 250, 24 * HOUR,
    ]  # fmt: skip
    assert instant_ms("", "2026-01-01T01:00:00+01:00") == instant_ms("", "2026-01-01")
    assert instant_ms("", 1234) == 1234


# --- bounds ------------------------------------------------------------------------------------

MEAN = {
    "cron": ["* * * * * *"] * 20,
    "skip": [{"second": "0-58"}, {"second": 59, "minute": "0-58"}],
}


def test_a_search_that_skips_too_much_finds_nothing():
    work = Work()

    assert next(spec_of(MEAN).upcoming(ms("2026-11-23"), work=work), None) is None
    assert work.done < 2 * MOST


def test_what_is_shown_of_times_that_are_hard_to_find_is_less():
    spec = spec_of(
        {"cron": "* * * * * *", "skip": {"second": "*", "minute": "0-29", "hour": "*/2"}}
    )
    hard = spec_of({"cron": "* * * * * *", "skip": [{"second": "0-58"}, {"minute": "0-14"}]})

    assert len(spec.dues_ms("a", 0, 10)) == 10
    assert len(hard.dues_ms("a", 0, 200)) < 200
    assert hard.dues_ms("a", 0, 1) == [15 * MINUTE + 59 * SECOND]


def test_many_dates_of_which_most_have_passed_are_found():
    days = [{"year": 2026, "month": 1, "day": day} for day in range(1, 21)]

    assert times("2026-01-18T12:00", 3, calendars=days) == [
        "2026-01-19T00:00Z",
        "2026-01-20T00:00Z",
    ]


def test_each_second_of_an_hour_that_comes_twice_is_met_once():
    """The 3,600 times of the second showing are left out at once."""
    work, after_ms = Work(), ms("2027-10-31T00:59:58Z")
    found = spec_of({"cron": "* * 2 * * *", "zone": BERLIN}).upcoming(after_ms, work=work)

    assert [iso(at_ms) for at_ms in islice(found, 2)] == ["2027-10-31T00:59Z", "2027-11-01T01:00Z"]
    assert work.done < 9


@pytest.mark.parametrize(
    "spec", [{"cron": "0 0 * * *"}, {"intervals": "36500d"}, {"calendars": {"hour": 12}}]
)
@pytest.mark.parametrize("zone", ["UTC", BERLIN, "America/New_York", "Asia/Tokyo"])
def test_time_ends_with_the_year_9999(spec, zone):
    found = spec_of({**spec, "zone": zone, "jitter": 60, "skip": {"hour": 1}})

    for at in ("9999-12-29T12:00Z", "9999-12-30T12:00Z", "9999-12-31T23:59:59Z", "0001-01-01"):
        assert len(found.dues_ms("a", ms(at), 3)) <= 3
        found.due_ms("a", ms(at))
    assert found.after(ms("9999-12-31T12:00Z")) is None


def test_a_schedule_must_start_before_the_year_9000():
    with pytest.raises(InvalidError, match=r"'spec\.start' must be before the year 9000"):
        spec_of({"cron": "0 0 * * *", "start": "9000-01-01T00:00Z"})
    assert spec_of({"cron": "0 0 * * *", "start": "8999-12-31T00:00Z"}).after(0) is not None


@given(
    st.integers(0, 10**12),
    st.sampled_from(["UTC", BERLIN, CAIRO, LORD_HOWE]),
    st.sampled_from(["first", "both"]),
    st.sampled_from(["after", "skip"]),
)
def test_instants_are_the_same_one_by_one_as_in_a_row(after_ms, zone, repeat, gap):
    spec = spec_of(
        {
            "cron": ["30 2 * * *", "*/50 * * * *", "0 1 * * sun"], "intervals": "5h", "zone": zone,
            "calendars": {"hour": 2, "minute": 15}, "repeat": repeat, "gap": gap, "skip": {"day": 3},
        }
    )  # fmt: skip
    at_ms = after_ms

    for found_ms in islice(spec.upcoming(after_ms), 40):
        at_ms = spec.after(at_ms)
        assert at_ms == found_ms
