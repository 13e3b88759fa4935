"""`xingqiao rule ...`, against a real server."""

from __future__ import annotations

import json

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


def send(xingqiao, type, *bins):
    for bin in bins:
        data = json.dumps({"bin": bin})
        ok(xingqiao("event", "send", "--type", type, "--source", "/cli", "--id", bin, "--data", data, "--wait"))  # fmt: skip


def test_a_rule_with_a_condition_shows_what_it_remembers_and_forgets_it(xingqiao, action, tmp_path):
    count = action("rm_count")
    condition = tmp_path / "condition.json"
    condition.write_text('{"join": {"of": ["a", "b", "c"], "member": "$.event.data.bin"}}')
    filter = '{"exact": {"type": "rm.counted"}}'
    ok(xingqiao("trigger", "create", "rm_counted", "--filter", filter))
    put = ("rm_rule", "rm_counted", count)

    ok(xingqiao("rule", "create", *put, "--condition", condition, "--context", '{"n": 1}'))
    send(xingqiao, "rm.counted", "c", "a")

    [remembers] = got(xingqiao, "rule", "rm_rule")["remembers"]
    shown = {"context": {"n": 1}, "joined": 2, "seen": ["c", "a"], "missing": ["b"]}
    assert remembers == shown
    ok(xingqiao("rule", "update", *put))
    assert got(xingqiao, "rule", "rm_rule")["remembers"] == [shown]
    ok(xingqiao("rule", "update", *put, "--context", "{}", "--condition", "null"))
    assert not {"remembers", "condition", "context"} & got(xingqiao, "rule", "rm_rule").keys()


def test_a_transient_rule_is_inactive_when_it_has_fired(xingqiao, action):
    once = action("tr_once")
    ok(xingqiao("trigger", "create", "tr_trigger"))
    put = ("tr_rule", "tr_trigger", once)
    ok(
        xingqiao(
            "rule", "create", *put, "--transient", "--assign", '{"n": {"$path": "$.event.data.n"}}'
        )
    )

    ok(xingqiao("trigger", "fire", "tr_trigger", "-p", "n", "7"))
    again = ok(xingqiao("trigger", "fire", "tr_trigger", "-p", "n", "8"))

    assert "no action was invoked" in again.out
    assert got(xingqiao, "rule", "tr_rule")["status"] == "inactive"
    assert got(xingqiao, "rule", "tr_rule")["remembers"] == [{"context": {"n": 7}}]
    ok(xingqiao("rule", "update", *put, "--no-transient"))
    assert "transient" not in got(xingqiao, "rule", "tr_rule")


def test_a_filter_is_set_and_removed(xingqiao):
    made = ok(xingqiao("trigger", "create", "fl", "--filter", '{"exact": {"type": "a"}}', "--json"))
    ok(xingqiao("trigger", "update", "fl", "-a", "x", "1"))
    kept = got(xingqiao, "trigger", "fl")
    ok(xingqiao("trigger", "update", "fl", "--filter", '{"prefix": {"type": "b"}}'))
    changed = got(xingqiao, "trigger", "fl")
    ok(xingqiao("trigger", "update", "fl", "--filter", "null"))

    assert made.json["filter"] == kept["filter"] == {"exact": {"type": "a"}}
    assert changed["filter"] == {"prefix": {"type": "b"}}
    assert "filter" not in got(xingqiao, "trigger", "fl")


def test_a_condition_that_cannot_be_read_is_told_with_its_option(xingqiao, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")

    for given, why in (("{", "is not valid JSON"), (broken, "broken.json is not valid JSON"),
                       (tmp_path / "none", "cannot be read")):  # fmt: skip
        ended = xingqiao("rule", "create", "r", "t", "a", "--condition", given)
        assert ended.code == 2
        assert "--condition" in ended.err
        assert why in " ".join(ended.err.split())
