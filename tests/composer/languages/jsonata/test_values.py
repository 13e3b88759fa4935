"""Values on their way in and out."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata import (
    MISSING,
    Expression,
    evaluate,
)


def test_a_value_is_shared_where_nothing_in_it_changes():
    value = {"a": [1, {"b": "c"}]}

    found = evaluate(Expression.compile("$states.input"), bound({"input": value}))

    assert found is value
    assert evaluate(Expression.compile("$no"), bound()) is MISSING
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    ("expression", "value"),
    [('"\\uD83D\\uDE00"', "\U0001f600"), ('"a\\uD83D"', "a\ufffd"), ('{"\\uD83D": 1}', {"\ufffd": 1}), ("$parse('\"\\\\ud800\"')", "\ufffd")],
)  # fmt: skip
def test_halves_of_characters_do_not_leave(expression, value):
    assert asked(expression) == {"value": value}


def test_zero_is_zero_however_it_is_written():
    assert asked("$v & ''", bound(v=0.0)) == {"value": "0"}
