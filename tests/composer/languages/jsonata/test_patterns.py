"""Dates by pictures: the time that an expression is given, never the clock's."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import asked


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$toMillis('10:30', '[H01]:[m01]')", "2023-11-14T10:30:00.000Z"),
        ("$toMillis('30:15', '[m01]:[s01]')", "2023-11-14T22:30:15.000Z"),
        ("$toMillis('07', '[D01]')", "2023-11-07T00:00:00.000Z"),
        ("$toMillis('March', '[MNn]')", "2023-03-01T00:00:00.000Z"),
        ("$toMillis('2018-060', '[Y0001]-[d001]')", "2018-03-01T00:00:00.000Z"),
        ("$toMillis('5', '[s]')", "2023-11-14T22:13:05.000Z"),
    ],
)
def test_a_date_without_its_first_parts_has_those_of_now(expression, value):
    assert asked(f"$fromMillis({expression})") == {"value": value}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$toMillis('x', 'no parts')", "undefined"),
        ("$toMillis($pad('1', 200, '1'), '[Y][M][D][d][W][w][x][X]')", None),
        ("$toMillis($pad('1', 300, '1'), '[Y]')", None),
        ("$fromMillis(0, $pad('', 300, '[Y]'))", None),
        ("$fromMillis(0, '[Y,30000000-*]')", None),
        ("$fromMillis(0, '[Y]', $pad('', 300, '1'))", None),
        ("$fromMillis(0, '[YN]')", "D3133"),
        ("$toMillis('2018-03', '[XN]-[M]')", "D3133"),
        ("$formatInteger(1, '')", "D3130"),
        ("$parseInteger('1', '')", "D3130"),
        ("$toMillis('2018-13-01')", "NaN"),
        ("$parseInteger($pad('1', 300, '1'), '0')", "NaN"),
    ],
)
def test_pictures_that_do_not_work(expression, code):
    told = asked(expression)

    assert told.get("code", told.get("value", "undefined")) == code
