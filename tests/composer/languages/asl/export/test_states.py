"""States as they are exported: their names, and how deep they may nest."""

from __future__ import annotations

import pytest

from xingqiao import composer as c
from xingqiao.composer.languages.asl import ExportError, export


def test_what_nests_too_deep_is_told():
    composition = c.task("a")
    for _ in range(58):
        composition = c.parallel(composition)

    with pytest.raises(ExportError, match="the composition: its states are nested too deeply"):
        export(composition)


def test_names_are_used_once_and_short_enough():
    long = "n" * 100
    states = export(c.sequence(long, long, "a", "a"))["States"]

    assert {"a", "a 2", "n" * 80, "n" * 78 + " 2"} <= states.keys()
    assert max(map(len, states)) == 80
