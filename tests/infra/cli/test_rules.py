"""`xingqiao rule ...`, against a real server."""

from __future__ import annotations

from tests.kit.infra.commands import got, ok


def test_triggers_and_rules(xingqiao, hello, server):
    ok(xingqiao("action", "create", "w8", hello))
    ok(xingqiao("trigger", "create", "wt", "--param", "name", "Trigger"))
    assert "no action was invoked" in ok(xingqiao("trigger", "fire", "wt")).out
    ok(xingqiao("rule", "create", "wr", "wt", "w8"))
    ok(xingqiao("rule", "disable", "wr"))
    assert ok(xingqiao("rule", "status", "wr")).out == "inactive\n"
    ok(xingqiao("rule", "enable", "wr"))

    fired = ok(xingqiao("trigger", "fire", "wt", "-p", "x", "1", "--json")).json

    record = ok(xingqiao("activation", "get", fired["activationId"], "--json")).json
    assert record["response"]["result"] == {"name": "Trigger", "x": 1}
    assert "w8" in ok(xingqiao("rule", "list")).out
    assert "wt" in ok(xingqiao("trigger", "list")).out
    assert got(xingqiao, "trigger", "wt")["rules"]["guest/wr"]["status"] == "active"
    ok(xingqiao("trigger", "update", "wt", "-a", "x", "1"))
    ok(xingqiao("rule", "update", "wr", "wt", "w8"))
    assert got(xingqiao, "rule", "wr")["version"] == "0.0.2"
    ok(xingqiao("rule", "delete", "wr", "--disable"))
    ok(xingqiao("trigger", "delete", "wt"))


def test_a_rule_is_switched(xingqiao, action):
    action("js_act")
    xingqiao("trigger", "create", "js_trigger")
    made = xingqiao("rule", "create", "js_rule", "js_trigger", "js_act", "--json").json
    off = xingqiao("rule", "disable", "js_rule", "--json").json
    told = xingqiao("rule", "status", "js_rule", "--json").json
    on = xingqiao("rule", "enable", "js_rule", "--json").json

    assert made["status"] == "active"
    assert off == told == {"name": "js_rule", "status": "inactive"}
    assert on == {"name": "js_rule", "status": "active"}
