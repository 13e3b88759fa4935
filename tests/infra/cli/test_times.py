"""Durations and instants as users write them."""

from __future__ import annotations

import time

import click
import pytest

from xingqiao.infra.cli.times import Duration, Instant, zoned

NOW_MS = 1_800_000_000_000


@pytest.fixture
def in_berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read(kind, text):
    return kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("500", 500),
        ("500ms", 500),
        ("90s", 90_000),
        ("30m", 1_800_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("1.5h", 5_400_000),
        ("1h30m", 5_400_000),
        ("0", 0),
    ],
)
def test_a_duration_has_a_unit_or_is_a_plain_number(text, ms):
    assert read(Duration("ms"), text) == ms


def test_a_plain_number_is_of_the_unit_of_its_option():
    assert (read(Duration("s"), "90"), read(Duration("ms"), "90")) == (90, 90)
    assert (read(Duration("s"), "2m"), read(Duration("ms"), "2m")) == (120, 120_000)


@pytest.mark.parametrize("text", ["", "soon", "2x", "2 h", "h", "1e3", "--", "1" * 19, "1h 30m"])
def test_another_text_is_not_a_duration(text):
    with pytest.raises(click.BadParameter, match="is not a duration: give a number of seconds, or"):
        read(Duration("s"), text)


def test_a_duration_is_a_whole_number_of_its_unit():
    assert read(Duration("s"), "2000ms") == 2
    with pytest.raises(click.BadParameter, match="'500ms' is not a whole number of seconds"):
        read(Duration("s"), "500ms")


def test_a_duration_has_a_least_value():
    assert read(Duration("s", 1), "1") == 1
    with pytest.raises(click.BadParameter, match="'0s' is too short: give at least 1s"):
        read(Duration("s", 1), "0s")


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1790000000000", 1_790_000_000_000),
        ("0", 0),
        ("2h", NOW_MS - 7_200_000),
        ("30m", NOW_MS - 1_800_000),
        ("30000d", 0),
        ("2026-11-22T21:00", 1_795_377_600_000),
        ("2026-11-22 21:00:00", 1_795_377_600_000),
        ("2026-11-22T20:00Z", 1_795_377_600_000),
        ("2026-11-22T21:00+01:00", 1_795_377_600_000),
        ("2026-11-22", 1_795_302_000_000),
        ("1960-01-01", 0),
    ],
)
def test_an_instant_is_a_time_ago_or_iso_8601_or_milliseconds(text, ms):
    assert read(Instant(lambda: NOW_MS), text) == ms


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "-1", "21:00", "1" * 19, "2 h"])
def test_another_text_is_not_an_instant(text):
    with pytest.raises(click.BadParameter, match="is not a time: give a time ago such as 2h"):
        read(Instant(lambda: NOW_MS), text)


@pytest.mark.usefixtures("in_berlin")
def test_a_date_without_a_zone_gets_this_machines_zone():
    assert zoned("2026-11-22T21:00") == "2026-11-22T21:00:00+01:00"
    assert zoned("2026-11-22T20:00:00Z") == "2026-11-22T20:00:00+00:00"
    assert (zoned("1790000000"), zoned("soon")) == ("1790000000", "soon")
