"""`xingqiao audit` on a real server."""

from __future__ import annotations

import re

import pytest

from tests.kit.infra.servers import AUTH
from xingqiao.infra.cli.audit import audit_entries
from xingqiao.infra.cli.client import connect


@pytest.fixture
def changes(xingqiao, action):
    """Three changes of one action."""

    def make(name):
        action(name)
        action(name)
        assert xingqiao("action", "delete", name).code == 0

    return make


def of(ended, name):
    return [entry for entry in ended.json if entry["resource"] == f"actions/{name}"]


def test_changes_are_listed_the_newest_first(xingqiao, changes):
    changes("au_listed")

    found = of(xingqiao("audit", "--json"), "au_listed")
    shown = xingqiao("audit").out

    assert [entry["verb"] for entry in found] == ["delete", "put", "put"]
    assert {entry["key"] for entry in found} == {"guest/admin"}
    assert re.search(r"guest +guest/admin +delete +actions/au_listed +done +127\.0\.0\.1", shown)


def test_more_than_a_page_is_listed_and_not_more_than_asked_for(xingqiao, server, changes):
    changes("au_pages")

    with connect(server.url, AUTH) as client:
        path = "/api/v1/namespaces/_/audit"
        found = [len(audit_entries(client, path, None, limit, page_size=2)) for limit in (1, 2, 3)]

    assert found == [1, 2, 3]
    assert len(of(xingqiao("audit", "--limit", "3", "--json"), "au_pages")) == 3
    assert len(xingqiao("audit", "--limit", "1", "--json").json) == 1


def test_since_leaves_out_what_is_older(xingqiao, changes):
    changes("au_since")

    assert of(xingqiao("audit", "--since", "1h", "--json"), "au_since")
    assert xingqiao("audit", "--since", "2100-01-01T00:00", "--json").json == []
    assert xingqiao("audit", "--since", "2100-01-01T00:00").out == "no changes are recorded\n"


def test_the_operator_sees_all_namespaces_and_others_do_not(xingqiao, changes, server):
    changes("au_all")
    operator = ("--auth-file", server.data / "operator")

    assert of(xingqiao("audit", "--all", *operator, "--json"), "au_all")
    assert of(xingqiao("audit", "--namespace", "guest", *operator, "--json"), "au_all")
    assert xingqiao("audit", *operator, "--json").json == []
    assert xingqiao("audit", "--all").code == 4
    assert xingqiao("audit", "--namespace", "whisk.system").code == 4
    assert xingqiao("audit", "--all", "--namespace", "guest").code == 2


def test_a_refused_attempt_is_shown_with_its_status(xingqiao):
    made = xingqiao("access-key", "create", "au_reader", "--role", "read", "--json").json

    assert xingqiao("trigger", "create", "au_never", "--auth", made["auth"]).code == 4

    pattern = r"guest/au_reader +put +triggers/au_never +refused \(403\)"
    assert re.search(pattern, xingqiao("audit").out)
