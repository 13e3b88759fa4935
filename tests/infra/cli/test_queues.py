"""`xingqiao queue ...`, against a real server."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["gpu", "gpu@eu", "a.b-c_d"])
def test_a_queue_is_limited_by_its_name(xingqiao, name):
    assert xingqiao("queue", "set", name, "--concurrent", "2").code == 0
    assert name in {each["name"] for each in xingqiao("queue", "list", "--json").json}
    shown = xingqiao("queue", "get", name, "--json").json
    assert shown["name"] == name
    assert xingqiao("queue", "unset", name).code == 0
    assert name not in {each["name"] for each in xingqiao("queue", "list", "--json").json}


def test_limits_are_not_removed_by_a_command_without_any(xingqiao):
    assert xingqiao("queue", "set", "kept", "--concurrent", "2").code == 0
    refused = xingqiao("queue", "set", "kept")
    assert refused.code == 2
    assert "Give a limit, or remove all of them with 'queue unset kept'" in refused.err
    assert xingqiao("queue", "get", "kept", "--json").json["settings"]["concurrent"] == 2
    assert xingqiao("queue", "unset", "kept").code == 0
