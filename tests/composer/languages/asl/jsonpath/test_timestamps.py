"""Timestamps of the States Language."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.jsonpath.timestamps import nanoseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1969-12-31T23:59:59Z", -1_000_000_000),
        ("2000-02-29T00:00:00-18:00", 951_847_200_000_000_000),
        ("0001-01-01T00:00:00+01:00", -62_135_600_400_000_000_000),
    ],
)
def test_a_timestamp_is_an_instant(text, expected):
    assert nanoseconds(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "2016", "2016-12-05", "2016-12-05 21:29:29Z", "2016-12-05T21:29:29", "2016-12-05t21:29:29Z",
     "2016-12-05T21:29:29z", "2016-13-05T21:29:29Z", "05-12-2016T21:29:29Z", "2016-12-05T25:29:29Z",
     "2016-12-05T21:29Z", "2016-12-05T21:29:29.Z", "2016-12-05T21:29:29.1234567890Z",
     "2016-12-05T21:29:29+01", "2016-12-05T21:29:29+01:60", "2016-12-05T21:29:29+18:01",
     "2001-02-29T00:00:00Z", "2016-12-05T21:29:60Z", "0000-01-01T00:00:00Z", "2016-12-05T21:29:29Z\n",
     "\uff12016-12-05T21:29:29Z"],
)  # fmt: skip
def test_anything_else_is_none(text):
    assert nanoseconds(text) is None
