"""Cron expressions and calendars: which walls they name."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import InvalidError
from xingqiao.actions.calendars import Calendar, Cron, cron_flaw

NEW_YEAR = datetime.fromisoformat("2026-01-01")
WALLS = st.datetimes(datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2050-01-01"))


def walls(named, after, count):
    found = []
    while len(found) < count and (after := named.after(after)) is not None:
        found.append(after)
    return [str(wall) for wall in found]


def calendar(**parts):
    return Calendar.read("calendars", parts)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, ["2026-01-02 00:00:00", "2026-01-03 00:00:00"]),
        ({"hour": "9-17/4"}, ["2026-01-01 09:00:00", "2026-01-01 13:00:00", "2026-01-01 17:00:00"]),
        ({"weekday": "mon-fri", "hour": 9, "comment": "work"},
         ["2026-01-01 09:00:00", "2026-01-02 09:00:00", "2026-01-05 09:00:00"]),
        ({"weekday": "sat-mon", "hour": "12"},
         ["2026-01-03 12:00:00", "2026-01-04 12:00:00", "2026-01-05 12:00:00"]),
        ({"weekday": [7]}, ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
        ({"month": "feb", "day": 29}, ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ({"year": 2027, "month": [1, "mar"], "day": 31, "hour": 23, "minute": 59, "second": 59},
         ["2027-01-31 23:59:59", "2027-03-31 23:59:59"]),
        ({"hour": "*", "minute": "*", "second": "58/1"},
         ["2026-01-01 00:00:58", "2026-01-01 00:00:59", "2026-01-01 00:01:58"]),
        ({"hour": [0, 1], "minute": "0, 30", "second": 0},
         ["2026-01-01 00:30:00", "2026-01-01 01:00:00", "2026-01-01 01:30:00", "2026-01-02 00:00:00"]),
        ({"month": 2, "day": 30}, []),
        ({"year": 2025}, []),
    ],
)  # fmt: skip
def test_a_calendar_names_all_that_fits_all_its_parts(parts, expected):
    assert walls(calendar(**parts), NEW_YEAR, len(expected) or 1) == expected


def test_only_times_that_name_no_hour_are_hourly():
    assert calendar(hour="*", minute=30).hourly
    assert not calendar(hour="0-22").hourly
    assert Cron("*/30 * * * *").hourly
    assert Cron("0 0 */2 * * *").hourly
    assert not Cron("30 2 * * *").hourly


@pytest.mark.parametrize(
    ("parts", "wall", "past"),
    [
        ({"month": 12, "day": 25}, "2026-12-25T10:11:12", "2026-12-26T00:00:00"),
        ({"hour": "8-10"}, "2026-12-25T10:11:12", "2026-12-25T11:00:00"),
        ({"minute": [11]}, "2026-12-25T10:11:12", "2026-12-25T10:12:00"),
        ({"second": 12}, "2026-12-25T10:11:12", "2026-12-25T10:11:13"),
        ({"second": 13}, "2026-12-25T10:11:12", None),
        ({"weekday": "sat"}, "2026-12-25T10:11:12", None),
    ],
)
def test_what_is_skipped_ends_where_its_finest_part_says(parts, wall, past):
    skipped = Calendar.read("skip", parts, whole=True)
    found = skipped.past(datetime.fromisoformat(wall))

    assert (found and found.isoformat()) == past


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "the field 'c' must be an object with some of year, month"),
        ({"hours": 5}, "the field 'c.hours' does not exist: year, month"),
        ({"hour": 24}, "the field 'c.hour' must be numbers from 0 to 23"),
        ({"hour": -1}, "the field 'c.hour' must be"),
        ({"hour": True}, "the field 'c.hour' must be"),
        ({"hour": "9-8"}, "the field 'c.hour' must be"),
        ({"hour": "*-8"}, "the field 'c.hour' must be"),
        ({"hour": "*/0"}, "the field 'c.hour' must be"),
        ({"hour": "99999"}, "the field 'c.hour' must be"),
        ({"hour": "jan"}, "the field 'c.hour' must be"),
        ({"hour": []}, "the field 'c.hour' must be"),
        ({"weekday": 8}, "the field 'c.weekday' must be"),
        ({"weekday": "5-12"}, "the field 'c.weekday' must be"),
        ({"year": 1969}, "the field 'c.year' must be numbers from 1970"),
    ],
)
def test_a_part_that_is_malformed_is_named(value, text):
    with pytest.raises(InvalidError) as refused:
        Calendar.read("c", value)
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    "value", ["* * * *", 5, "61 * * * *", "a b c d e", "@reboot", "r * * * *", "0 0 0 0 0 0 0"]
)
def test_a_cron_expression_that_is_malformed_is_refused(value):
    with pytest.raises(InvalidError, match=r"^the field 'spec.cron' must be a cron expression of"):
        Cron.read("spec.cron", value)


def test_an_alias_stands_for_its_expression():
    assert Cron.read("cron", "@Daily") == Cron("0 0 * * *")
    assert Cron.read("cron", "  0  9 * * MON ") == Cron("0 9 * * mon")
    assert cron_flaw("0 9 * * *") == ""
    assert Cron("0 0 30 2 *").after(NEW_YEAR) is None


FIELDS = {
    "second": st.integers(0, 59),
    "minute": st.integers(0, 59),
    "hour": st.integers(0, 23),
    "day": st.integers(1, 28),
    "month": st.integers(1, 12),
}


@given(
    st.fixed_dictionaries({name: st.one_of(st.just("*"), field) for name, field in FIELDS.items()}),
    WALLS,
)
def test_a_calendar_agrees_with_the_cron_expression_of_its_parts(parts, after):
    after = after.replace(microsecond=0)
    text = " ".join(str(parts[name]) for name in FIELDS) + " *"
    times = croniter(text, after, second_at_beginning=True)
    expected = [str(times.get_next(datetime)) for _ in range(3)]

    assert walls(calendar(**parts), after, 3) == expected
    assert walls(Cron(text), after, 3) == expected


@given(
    st.fixed_dictionaries({name: st.one_of(st.just("*"), field) for name, field in FIELDS.items()}),
    WALLS,
)
def test_what_is_skipped_is_left_after_its_end_and_held_before_it(parts, wall):
    skipped = Calendar.read("skip", parts, whole=True)
    past = skipped.past(wall)
    if past is not None:
        assert past > wall
        assert all(
            skipped.past(past - timedelta(seconds=n)) == past
            for n in islice(range(1, 60), int((past - wall).total_seconds()))
        )
