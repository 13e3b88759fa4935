"""The packages of `/whisk.system`, compared with OpenWhisk's own catalog."""

from __future__ import annotations

import pytest
from things import StandingClock

from actions import Action, Inline
from infra.system import MAX_LINES, system_entities


def called(name, **params):
    """What an action of the package `utils` answers."""
    (action,) = [
        entity
        for entity in system_entities(StandingClock())
        if isinstance(entity, Action) and entity.name.path == f"utils/{name}"
    ]
    assert isinstance(action.exec, Inline)
    return action.exec.function(params)


@pytest.mark.parametrize("lines", [{}, {"lines": None}, {"lines": []}, {"lines": ""}])
def test_no_lines_are_sorted_joined_and_cut_to_none(lines):
    assert called("sort", **lines) == {"lines": [], "length": 0}
    assert called("cat", **lines) == {"lines": [], "payload": ""}
    assert called("head", **lines) == {"lines": [], "num": 1}


def test_lines_are_sorted_joined_and_cut():
    lines = ["b", "a", "c"]

    assert called("sort", lines=lines) == {"lines": ["a", "b", "c"], "length": 3}
    assert called("cat", lines=lines) == {"lines": lines, "payload": "b\na\nc"}
    assert called("head", lines=lines, num=2) == {"lines": ["b", "a"], "num": 2}
    assert called("head", lines=lines, num=0) == {"lines": ["b"], "num": 1}


@pytest.mark.parametrize("lines", ["a text", {"a": 1}, 5])
@pytest.mark.parametrize("name", ["sort", "cat", "head"])
def test_what_are_not_lines_is_refused(name, lines):
    assert "'lines' must be a list" in called(name, lines=lines)["error"]


def test_so_many_lines_are_sorted_at_once():
    assert called("sort", lines=["x"] * MAX_LINES)["length"] == MAX_LINES
    assert "at most 100000" in called("sort", lines=["x"] * (MAX_LINES + 1))["error"]
    assert "'num' must be" in called("head", lines=[], num=-1)["error"]
