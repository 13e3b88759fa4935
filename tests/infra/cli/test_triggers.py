"""`xingqiao trigger ...`, against a real server."""

from __future__ import annotations

from tests.kit.infra.commands import got, ok


def test_a_trigger_is_made_together_with_what_feeds_it(xingqiao, server):
    feed = ("--feed", "/whisk.system/alarms/alarm")
    bad = xingqiao("trigger", "create", "wa", *feed, "-p", "cron", "never")
    assert bad.code == 1
    assert "'cron' must be" in bad.err
    assert xingqiao("trigger", "get", "wa").code == 5

    ok(xingqiao("trigger", "create", "wa", *feed, "-p", "cron", "0 12 * * *",
                "-p", "trigger_payload", '{"x": 1}'))  # fmt: skip
    ok(xingqiao("trigger", "update", "wa", "-p", "cron", "0 13 * * *"))

    shown = got(xingqiao, "trigger", "wa")
    assert shown["feed"]["config"]["cron"] == "0 13 * * *"
    assert shown["feed"]["config"]["payload"] == {"x": 1}
    assert "alarms/alarm" in ok(xingqiao("trigger", "list")).out
    ok(xingqiao("trigger", "delete", "wa"))
    hook = ok(xingqiao("trigger", "create", "wh", "--feed", "/whisk.system/webhooks/webhook"))
    assert f"{server.url}/api/v1/webhooks/" in hook.out
    ok(xingqiao("trigger", "delete", "wh"))


HOOK = "/whisk.system/webhooks/webhook"


def test_a_trigger_with_a_url_is_created(xingqiao, server):
    made = xingqiao("trigger", "create", "js_hook", "--feed", HOOK, "--json").json

    assert made["name"] == "js_hook"
    assert made["url"].startswith(f"{server.url}/")
