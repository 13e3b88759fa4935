"""Commands of `wsk` have the same effect here."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.kit.infra.servers import AUTH

HELLO = "def main(params):\n    return {'greeting': 'Hello, ' + params.get('name', 'nobody')}\n"


@pytest.fixture
def hello(tmp_path):
    file = tmp_path / "hello.py"
    file.write_text(HELLO)
    return file


def ok(ended):
    assert ended.code == 0, ended.err
    return ended


def noted(doc):
    return {note["key"]: note["value"] for note in doc["annotations"]}


def got(xingqiao, noun, name):
    return ok(xingqiao(noun, "get", name, "--json")).json


def test_an_action_is_created_with_all_its_options(xingqiao, hello):
    ok(xingqiao(
        "action", "create", "w1", hello, "--kind", "python:default", "--main", "main",
        "--param", "name", "Ann", "-a", "about", "x", "-t", "2000", "-m", "128", "-l", "1",
        "-c", "1", "--web", "raw", "--web-secure", "secret",
    ))  # fmt: skip

    doc = got(xingqiao, "action", "w1")
    assert doc["parameters"] == [{"key": "name", "value": "Ann"}]
    assert doc["limits"] == {"concurrency": 1, "logs": 1, "memory": 128, "timeout": 2000}
    assert noted(doc) == {
        "about": "x", "exec": "python:3", "provide-api-key": False, "web-export": True,
        "raw-http": True, "final": True, "require-whisk-auth": "secret",
    }  # fmt: skip
    invoked = xingqiao("action", "invoke", "w1", "--result", "-p", "more", "1")
    assert json.loads(ok(invoked).out) == {"greeting": "Hello, Ann"}


@pytest.mark.parametrize(
    ("web", "notes"),
    [
        ("true", {"web-export": True, "raw-http": False, "final": True}),
        ("no", {"web-export": False, "raw-http": False, "final": False}),
    ],
)
def test_an_action_is_put_on_the_web_and_taken_off(xingqiao, hello, server, web, notes):
    ok(xingqiao("action", "update", "w2", hello, "--web", web))

    assert notes.items() <= noted(got(xingqiao, "action", "w2")).items()
    url = ok(xingqiao("action", "get", "w2", "--url")).out.strip()
    assert url == (
        f"{server.url}/api/v1/web/guest/default/w2"
        if web == "true"
        else f"{server.url}/api/v1/namespaces/guest/actions/w2"
    )


def test_annotations_are_added_and_removed(xingqiao, hello, tmp_path):
    (tmp_path / "notes.json").write_text('{"a": 1, "b": [2]}')
    ok(xingqiao("action", "update", "w3", hello, "-A", tmp_path / "notes.json"))
    ok(xingqiao("action", "update", "w3", "--del-annotation", "a", "-a", "c", "3"))

    assert {"b": [2], "c": 3}.items() <= noted(got(xingqiao, "action", "w3")).items()
    assert "a" not in noted(got(xingqiao, "action", "w3"))
    version = ok(xingqiao("action", "get", "w3", "version"))
    assert json.loads(version.out) == "0.0.2"


def test_sequences_and_copies(xingqiao, hello):
    ok(xingqiao("action", "create", "w4", hello))
    ok(xingqiao("action", "create", "w5", "--sequence", "w4,/whisk.system/utils/echo"))
    ok(xingqiao("action", "create", "w6", "--copy", "w4"))

    assert got(xingqiao, "action", "w5")["exec"]["components"] == [
        "/guest/w4", "/whisk.system/utils/echo",
    ]  # fmt: skip
    assert got(xingqiao, "action", "w6")["exec"]["code"] == HELLO


@pytest.mark.parametrize(
    ("name", "entry", "kind"),
    [("index.js", "package.json", "nodejs:20"), ("__main__.py", "__main__.py", "python:3")],
)
def test_the_kind_of_an_archive_is_seen_from_what_is_in_it(xingqiao, tmp_path, name, entry, kind):
    file = tmp_path / "it.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "exports.main = () => ({})" if kind[0] == "n" else HELLO)
        if entry != name:
            archive.writestr(entry, "{}")

    ok(xingqiao("action", "update", "w7", file))

    assert got(xingqiao, "action", "w7")["exec"]["kind"] == kind


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("action", "create", "w", "--docker", "image"), "Xingqiao runs no containers"),
        (("action", "create", "w", "--native"), "Xingqiao runs no containers"),
        (("api", "create", "/path", "get", "w"), "needs an API gateway"),
        (("property", "set"), "nothing to set"),
        (("property", "unset"), "nothing to unset"),
    ],
)
def test_what_is_not_there_is_refused_clearly(refused, xingqiao, arguments, why):
    assert why in refused(*arguments, code=2)


def test_a_package_hides_and_shows_again(xingqiao):
    def hides():
        found = json.loads(ok(xingqiao("package", "get", "tools", "--json")).out)
        return {note["key"]: note["value"] for note in found["annotations"]}

    ok(xingqiao("package", "create", "tools", "--shared", "yes", "--hide", "-a", "by", "me"))
    assert hides() == {"hide": True, "by": "me"}
    ok(xingqiao("package", "update", "tools", "--shared", "no"))
    assert hides()["hide"] is True
    ok(xingqiao("package", "update", "tools", "--show"))
    assert hides() == {"hide": False, "by": "me"}
    ok(xingqiao("package", "update", "others", "--hide"))


def test_packages_and_bindings(xingqiao, hello):
    ok(xingqiao("package", "create", "wp", "--param", "name", "Package", "-a", "about", "x"))
    ok(xingqiao("action", "create", "wp/hello", hello))
    ok(xingqiao("package", "update", "wp", "--shared", "yes"))
    ok(xingqiao("package", "bind", "/guest/wp", "wb", "--param", "name", "Binding"))

    listed = ok(xingqiao("package", "list")).out
    assert "/guest/wp" in listed
    assert "shared" in listed
    assert "/guest/wp " in ok(xingqiao("package", "list", "/guest")).out
    assert "hello" in ok(xingqiao("package", "get", "wp", "--summary")).out
    assert "wp/hello" in ok(xingqiao("action", "list", "wp")).out
    called = ok(xingqiao("action", "invoke", "wb/hello", "-r"))
    assert json.loads(called.out) == {"greeting": "Hello, Binding"}
    assert "utils" in ok(xingqiao("package", "list", "/whisk.system")).out
    assert "echo" in ok(xingqiao("package", "get", "/whisk.system/utils", "--summary")).out
    full = xingqiao("package", "delete", "wp")
    assert full.code == 1
    assert "Package not empty (contains 1 entity)" in full.err
    ok(xingqiao("package", "delete", "wb"))
    ok(xingqiao("package", "delete", "wp", "--force"))


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


def test_activations_are_found_by_status_kind_and_cause_and_drawn_as_a_tree(xingqiao, hello):
    ok(xingqiao("action", "create", "w9", hello))
    ok(xingqiao("action", "create", "ws", "--sequence", "w9,w9"))
    ok(xingqiao("action", "create", "wss", "--sequence", "ws,w9"))
    record = ok(xingqiao("invoke", "wss", "-b", "--json")).json
    id = record["activationId"]

    def found(*options):
        docs = ok(xingqiao("activation", "list", "--json", *options)).json
        return [doc["activationId"] for doc in docs]

    assert found("wss", "--kind", "sequence", "--status", "success") == [id]
    assert found("wss", "--status", "application error") == []
    assert sorted(found("--cause", id)) == sorted(record["logs"])
    tree = ok(xingqiao("activation", "get", id, "--tree", "--json")).json
    assert [part["name"] for part in tree["components"]] == ["ws", "w9"]
    assert [part["name"] for part in tree["components"][0]["components"]] == ["w9", "w9"]
    drawn = ok(xingqiao("activation", "get", id, "--tree")).out
    assert drawn.count("w9") == 3
    full = ok(xingqiao("activation", "list", "wss", "--full", "--json")).json
    assert full[0]["response"]["result"] == record["response"]["result"]


def test_a_run_under_way_is_cancelled(xingqiao, tmp_path):
    file = tmp_path / "slow.py"
    file.write_text("import time\ndef main(params):\n    time.sleep(60)\n    return {}\n")
    ok(xingqiao("action", "create", "slow", file))
    id = ok(xingqiao("invoke", "slow", "--json")).json["activationId"]

    ok(xingqiao("activation", "cancel", id))

    record = ok(xingqiao("activation", "get", id, "--json")).json
    assert record["response"]["result"]["error"]["code"] == "Cancelled"


def test_properties_are_kept_in_wskprops(command, server, tmp_path):
    (tmp_path / ".wskprops").write_text("OTHER=kept\nNAMESPACE=_\n")
    ok(command("property", "set", "--apihost", server.url, "--auth", AUTH))

    assert (tmp_path / ".wskprops").stat().st_mode & 0o777 == 0o600
    assert "OTHER=kept" in (tmp_path / ".wskprops").read_text()
    assert ok(command("property", "get", "--apihost", "--json")).json == {"APIHOST": server.url}
    assert ok(command("namespace", "list", "--json")).json == ["guest"]
    (tmp_path / "auth").write_text(f"{AUTH}\n")
    ok(command("property", "unset", "--auth"))
    assert command("namespace", "list").code == 4
    ok(command("property", "set", "--auth-file", tmp_path / "auth"))
    assert ok(command("namespace", "list", "--json")).json == ["guest"]
    ok(command("property", "unset", "--auth"))
    assert set(ok(command("property", "get", "--all", "--json")).json) == {"APIHOST", "NAMESPACE"}
    assert command("namespace", "list").code == 4


def test_the_host_says_what_it_is(xingqiao, server):
    shown = ok(xingqiao("api-host")).out

    assert server.url in shown
    assert "python:3" in shown
    assert "sequence length" in shown
    assert ok(xingqiao("api-host", "--json")).json["url"] == server.url


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
