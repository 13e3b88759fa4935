"""Alarms: what their parameters may be, and when they fire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import ALARM, INTERVAL, ONCE, InvalidError, Schedule, scheduled
from xingqiao.actions.feeds import CAUGHT_UP

NOW = 1_790_000_000_000  # 2026-09-21T14:13:20Z
MINUTE = 60_000


def ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def iso(at_ms):
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()


def times(schedule, count):
    """The next times it fires."""
    found = []
    while schedule.due_ms is not None and len(found) < count:
        found.append(schedule.due_ms)
        schedule = schedule.fired()
    return found


@pytest.mark.parametrize(
    ("cron", "zone", "expected"),
    [
        ("*/5 * * * *", None, ["2026-09-21T14:15:00+00:00", "2026-09-21T14:20:00+00:00"]),
        ("*/30 * * * * *", None, ["2026-09-21T14:13:30+00:00", "2026-09-21T14:14:00+00:00"]),
        ("  0   12 * * * ", "UTC", ["2026-09-22T12:00:00+00:00", "2026-09-23T12:00:00+00:00"]),
        ("0 12 * * *", "Europe/Berlin", ["2026-09-22T10:00:00+00:00", "2026-09-23T10:00:00+00:00"]),
    ],
)
def test_a_cron_expression_says_when(cron, zone, expected):
    params = {"cron": cron} | ({"timezone": zone} if zone else {})

    assert [*map(iso, times(scheduled(ALARM, params, NOW), 2))] == expected


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # the clocks go forward: 02:30 is left out, and met at once afterwards
        ("30 2 * * *", "2026-03-28T12:00:00+00:00",
         ["2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"]),
        # the clocks go back: 02:30 comes twice, and is met once
        ("30 2 * * *", "2026-10-24T12:00:00+00:00",
         ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"]),
        # every half hour is every half hour
        ("*/30 * * * *", "2026-10-25T00:10:00+00:00",
         ["2026-10-25T00:30:00+00:00", "2026-10-25T01:00:00+00:00", "2026-10-25T01:30:00+00:00"]),
    ],
)  # fmt: skip
def test_a_change_of_the_clocks_neither_loses_nor_repeats_a_time(cron, start, expected):
    schedule = scheduled(ALARM, {"cron": cron, "timezone": "Europe/Berlin"}, ms(start))

    assert [*map(iso, times(schedule, len(expected)))] == expected


def test_an_interval_begins_at_once_or_at_its_start():
    now = scheduled(INTERVAL, {"minutes": "2"}, NOW)
    later = scheduled(INTERVAL, {"minutes": 2, "startDate": NOW + 5}, NOW)
    past = scheduled(INTERVAL, {"minutes": 2, "startDate": NOW - 5}, NOW)

    assert times(now, 3) == [NOW, NOW + 2 * MINUTE, NOW + 4 * MINUTE]
    assert times(later, 2) == [NOW + 5, NOW + 5 + 2 * MINUTE]
    assert times(past, 1) == [NOW]


def test_an_alarm_waits_for_its_start_and_ends_at_its_stop():
    params = {"cron": "* * * * *", "startDate": "2026-10-01T00:00:00Z",
              "stopDate": "2026-10-01T00:03:00"}  # fmt: skip

    assert [*map(iso, times(scheduled(ALARM, params, NOW), 9))] == [
        "2026-10-01T00:00:00+00:00", "2026-10-01T00:01:00+00:00", "2026-10-01T00:02:00+00:00",
    ]  # fmt: skip


def test_it_fires_so_many_times_and_no_more():
    schedule = scheduled(INTERVAL, {"minutes": 1, "maxTriggers": 2}, NOW)

    assert len(times(schedule, 9)) == 2
    assert len(times(scheduled(INTERVAL, {"minutes": 1, "maxTriggers": -1}, NOW), 9)) == 9


@pytest.mark.parametrize("date", [NOW + 1000, str(NOW + 1000), iso(NOW + 1000)])
def test_once_is_once(date):
    schedule = scheduled(ONCE, {"date": date, "deleteAfterFire": "rules"}, NOW)

    assert times(schedule, 5) == [NOW + 1000]
    assert schedule.params["deleteAfterFire"] == "rules"


@pytest.mark.parametrize(
    ("payload", "taken"), [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), (None, {})]
)
def test_a_payload_is_an_object_or_the_text_of_one(payload, taken):
    params = {"minutes": 1, "trigger_payload": payload, "unknown": object()}

    assert scheduled(INTERVAL, params, NOW).payload == taken


@pytest.mark.parametrize(
    ("feed", "params", "why"),
    [
        (ALARM, {}, "the parameter 'cron' is missing"),
        (INTERVAL, {}, "the parameter 'minutes' is missing"),
        (ONCE, {}, "the parameter 'date' is missing"),
        (ALARM, {"cron": "* * * *"}, "'cron' must be five fields"),
        (ALARM, {"cron": 5}, "'cron' must be five fields"),
        (ALARM, {"cron": "61 * * * *"}, "'cron' must be a cron expression"),
        (ALARM, {"cron": "a b c d e"}, "'cron' must be a cron expression"),
        (ALARM, {"cron": "* * * * *", "timezone": "Nowhere"}, "'timezone' must be a time zone"),
        (ALARM, {"cron": "* * * * *", "timezone": 5}, "'timezone' must be a time zone"),
        (ALARM, {"cron": "0 0 30 2 *"}, "it would never fire"),
        (ALARM, {"cron": "* * * * *", "strict": "perhaps"}, "'strict' must be true or false"),
        (ALARM, {"cron": "* * * * *", "stopDate": NOW}, "'stopDate' must be in the future"),
        (ALARM, {"cron": "* * * * *", "startDate": NOW + 9, "stopDate": NOW + 9},
         "'stopDate' must be after 'startDate'"),
        (INTERVAL, {"minutes": 0}, "'minutes' must be a whole number of at least 1"),
        (INTERVAL, {"minutes": True}, "'minutes' must be a whole number"),
        (INTERVAL, {"minutes": "soon"}, "'minutes' must be a whole number"),
        (INTERVAL, {"minutes": 1 << 40}, "'minutes' must be a whole number"),
        (INTERVAL, {"minutes": 1, "maxTriggers": 0}, "'maxTriggers' must be a whole number"),
        (INTERVAL, {"minutes": 1, "trigger_payload": "[1]"}, "must be a JSON object"),
        (INTERVAL, {"minutes": 1, "trigger_payload": "{"}, "must be a JSON object"),
        (ONCE, {"date": NOW}, "'date' must be in the future"),
        (ONCE, {"date": "tomorrow"}, "'date' must be an instant"),
        (ONCE, {"date": True}, "'date' must be an instant"),
        (ONCE, {"date": NOW + 1, "deleteAfterFire": 5}, "'deleteAfterFire' must be true or false"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_used_are_refused_by_name(feed, params, why):
    with pytest.raises(InvalidError, match=why):
        scheduled(feed, params, NOW)


@pytest.mark.parametrize("strict", [True, "false"])
def test_flags_may_be_text(strict):
    taken = scheduled(ALARM, {"cron": "* * * * *", "strict": strict}, NOW).params["strict"]

    assert taken is (strict is True)


@pytest.mark.parametrize(
    ("feed", "params", "every"),
    [(INTERVAL, {"minutes": 1}, MINUTE), (ALARM, {"cron": "* * * * * *"}, 1000)],
)
def test_what_was_missed_is_met_late_but_not_for_ever(feed, params, every):
    schedule = scheduled(feed, params, NOW)
    first = schedule.due_ms

    few = schedule.caught_up(first + 3 * every)
    many = schedule.caught_up(first + 1000 * every)

    assert schedule.caught_up(first - 1) is schedule
    assert few.due_ms == first
    assert many.due_ms == first + (1000 - CAUGHT_UP + 1) * every
    assert [t for t in times(many, CAUGHT_UP + 5) if t <= first + 1000 * every][-1] == (
        first + 1000 * every
    )


def test_what_happens_once_is_met_however_late():
    schedule = scheduled(ONCE, {"date": NOW + 1}, NOW)

    assert schedule.caught_up(NOW + 10**10) is schedule
    assert schedule.fired().caught_up(NOW).due_ms is None


def test_what_passes_while_it_is_paused_is_not_met():
    every = scheduled(INTERVAL, {"minutes": 1}, NOW)
    once = scheduled(ONCE, {"date": NOW + 1}, NOW)

    assert every.suspended().paused
    assert every.suspended().resumed(NOW - 1) == every
    assert every.suspended().resumed(NOW + 90_000).due_ms == NOW + 90_000 + MINUTE
    assert once.suspended().resumed(NOW + 5).due_ms is None
    assert every.resumed(NOW + 5) == every


@given(
    st.sampled_from([
        (ALARM, {"cron": "*/7 * * * *", "maxTriggers": 3}),
        (INTERVAL, {"minutes": 3, "trigger_payload": {"a": [1]}}),
        (ONCE, {"date": NOW + 5}),
    ]),
    st.booleans(),
)  # fmt: skip
def test_a_schedule_comes_back_as_it_was_written(asked, paused):
    schedule = scheduled(*asked, NOW)
    schedule = schedule.suspended() if paused else schedule.fired()

    assert Schedule.from_json(schedule.to_json()) == schedule
