"""`xingqiao namespace ...`, against a real server."""

from __future__ import annotations

import json

from tests.kit.infra.commands import ok
from tests.kit.infra.servers import AUTH


def test_the_operator_makes_and_ends_namespaces(xingqiao, server, hello):
    data = server.data
    made = ok(xingqiao("namespace", "create", "team", "--per-minute", "2", "--data", data)).out
    auth = made.split("XINGQIAO_AUTH=")[1].strip()
    assert "team" in ok(xingqiao("namespace", "list", "--all", "--data", data)).out

    ok(xingqiao("action", "create", "theirs", hello, "--auth", auth))
    assert "theirs" in ok(xingqiao("list", "--auth", auth)).out
    assert xingqiao("action", "get", "/team/theirs").code == 4
    for _ in range(2):
        ok(xingqiao("invoke", "theirs", "-r", "--auth", auth))
    throttled = xingqiao("invoke", "theirs", "--auth", auth)
    assert "Too many requests in the last minute (count: 3, allowed: 2)." in throttled.err
    ok(xingqiao("namespace", "limit", "team", "--data", data))
    ok(xingqiao("invoke", "theirs", "-r", "--auth", auth))

    new = ok(xingqiao("namespace", "rotate", "team", "--data", data, "--json")).json["auth"]
    assert xingqiao("list", "--auth", auth).code == 4
    ok(xingqiao("list", "--auth", new))
    ok(xingqiao("namespace", "delete", "team", "--yes", "--data", data))
    assert xingqiao("list", "--auth", new).code == 4
    again = xingqiao("namespace", "create", "team", "--data", data)
    assert "was deleted" in again.err
    nobody = xingqiao("namespace", "create", "x", "--operator", AUTH)
    assert "not authorized" in nobody.err
    lost = xingqiao("namespace", "create", "x", "--data", "/nowhere")
    assert "give --data" in lost.err


def test_a_confirmed_deletion_is_one_document(command, server, monkeypatch):
    monkeypatch.setenv("XINGQIAO_URL", server.url)
    monkeypatch.setenv("XINGQIAO_OPERATOR", (server.data / "operator").read_text().strip())
    command("namespace", "create", "js_team", "--json")

    gone = command("namespace", "delete", "js_team", "--yes", "--json")

    assert gone.code == 0
    json.loads(gone.out)
