"""Errors of compiling: their codes and their places."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import asked
from xingqiao.composer.languages.jsonata import (
    Expression,
    QueryError,
)


def test_an_error_of_compiling_has_its_place():
    with pytest.raises(QueryError) as failed:
        Expression.compile("a[1,2)")

    assert (failed.value.code, failed.value.position) == ("S0202", 4)
    assert str(failed.value) == 'S0202: Expected "]", got ","'


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1 /", "S0207"),
        ("/* a", "S0106"),
        ("1 ?? 2", "S0211"),
        ("1 ?: 2", "S0211"),
        ("/a{2,1}/", None),
        ("1e999", "S0102"),
    ],
)
def test_what_does_not_compile(expression, code):
    assert asked(expression)["code"] == code
