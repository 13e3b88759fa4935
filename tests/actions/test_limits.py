"""The limits of an activation."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError, Limits, named_limits
from xingqiao.actions.limits import changed

CODE = {"kind": "python:3", "code": "def main(params): ..."}


def test_limits_that_wait_are_written_only_if_they_are_set():
    assert "concurrent" not in Limits().to_json()
    limits = changed({"concurrent": 2, "per_minute": 60}, Limits())
    assert (limits.waits, Limits().waits) == (True, False)
    assert Limits.from_json(limits.to_json()) == limits
    assert changed({"concurrent": None}, limits) == Limits(per_minute=60)
    assert changed({"timeout": None}, limits) == limits


@pytest.mark.parametrize("value", [0, 1_000_001, "2", True])
@pytest.mark.parametrize("name", ["concurrent", "per_minute"])
def test_a_wrong_number_is_refused(name, value):
    with pytest.raises(InvalidError, match=name):
        changed({name: value}, Limits())


@pytest.mark.parametrize("concurrent", [None, 2])
@pytest.mark.parametrize("per_minute", [None, 60])
def test_a_list_of_limits_has_those_that_are_set(concurrent, per_minute):
    limits = Limits(concurrent=concurrent, per_minute=per_minute)

    assert Limits.from_json(named_limits(limits.to_list())) == limits
    assert len(Limits().to_list()) == 4, "as those that were stored before limits could wait"
