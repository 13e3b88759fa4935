"""`xingqiao limit ...`, against a real server."""

from __future__ import annotations

import pytest

from tests.infra.cli.test_executions import stands
from xingqiao import composer


@pytest.fixture
def waiting(xingqiao, composition):
    """An execution that waits behind another one for the only slot of a limit."""
    part = composer.limit(composer.receive("go"), name="cli", concurrent=1)
    name = composition("limited", part)
    for waits in ("message", "limit"):
        id = xingqiao("invoke", name, "--json").json["activationId"]
        stands(xingqiao, id, "running", waits)
    return id


def test_limits_are_shown_set_and_deleted(xingqiao, waiting):
    (listed,) = [d for d in xingqiao("limit", "list", "--json").json if d["name"] == "cli"]
    assert (listed["holders"], listed["waiting"], listed["setBy"]) == (1, 1, "composition")
    assert "cli" in xingqiao("limit", "list").out
    assert "cli (0 before it)" in xingqiao("execution", "get", waiting).out

    assert (
        "are set" in xingqiao("limit", "set", "cli", "--concurrent", "2", "--per-minute", "600").out
    )
    shown = xingqiao("limit", "get", "cli", "--json").json
    assert (shown["concurrent"], shown["per_minute"], shown["setBy"]) == (2, 600, "operator")
    assert "operator" in xingqiao("limit", "get", "cli").out
    assert "are set" in xingqiao("limit", "set", "cli", "--unlimited").out
    free = xingqiao("limit", "get", "cli", "--json").json
    assert (free.get("concurrent"), free.get("per_minute"), free["waiting"]) == (None, None, 0)
    assert "numbers of compositions count" in xingqiao("limit", "delete", "cli").out
    assert xingqiao("limit", "delete", "cli").code == 5


@pytest.mark.parametrize("name", ["own:components[0]", "crm@2", "50% off", "a:b"])
def test_a_name_may_have_any_characters(xingqiao, name):
    assert xingqiao("limit", "set", name, "--concurrent", "2").code == 0
    assert name in {each["name"] for each in xingqiao("limit", "list", "--json").json}
    shown = xingqiao("limit", "get", name, "--json").json
    assert (shown["name"], shown["concurrent"]) == (name, 2)
    assert xingqiao("limit", "delete", name).code == 0
    assert xingqiao("limit", "delete", name).code == 5


@pytest.mark.parametrize("given", [(), ("--unlimited", "--concurrent", "2")])
def test_bounds_are_removed_only_when_that_is_said(xingqiao, given):
    ended = xingqiao("limit", "set", "asked", *given)

    assert (ended.code, "--unlimited to remove all bounds" in ended.err) == (2, True)
    assert xingqiao("limit", "delete", "asked").code == 5
