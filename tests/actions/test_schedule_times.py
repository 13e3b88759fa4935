"""The times of schedules: zones and their changes of the clocks, intervals, what is skipped, and jitter."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import InvalidError, instant_ms, spec_of
from xingqiao.actions.schedule_times import duration_ms

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
