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
