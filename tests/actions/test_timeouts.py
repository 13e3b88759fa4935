"""Time limits of runs as a start or an annotation gives them."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError, checked_ms, timeout_ms
from xingqiao.actions.timeouts import LONGEST_S, check_annotations


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (5, 5000), (0.25, 250), (0.0001, 1), (LONGEST_S, LONGEST_S * 1000), (LONGEST_S + 1, None),
        (0, None), (-1, None), (True, None), ("5", None), (None, None), (float("nan"), None),
    ],
)  # fmt: skip
def test_a_time_limit_is_a_number_of_seconds(seconds, ms):
    assert timeout_ms(seconds) == ms


def test_none_is_no_limit():
    assert checked_ms(None, "It") is None
    assert checked_ms(3, "It") == 3000


def test_what_is_no_limit_is_refused_by_its_name():
    with pytest.raises(
        InvalidError, match="It must be a number of seconds > 0 and <= 316224000, not 'x'"
    ):
        checked_ms("x", "It")
    with pytest.raises(InvalidError, match="The annotation 'execution_timeout' must be"):
        check_annotations({"execution_timeout": 0})
    check_annotations({"run_timeout": 5, "other": "x"})
