"""Commands of `wsk` have the same effect here."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.kit.infra.commands import HELLO, got, ok


def noted(doc):
    return {note["key"]: note["value"] for note in doc["annotations"]}


def test_an_action_is_created_with_all_its_options(xingqiao, hello):
    ok(xingqiao(
        "action", "create", "w1", hello, "--kind", "python:default", "--main", "main",
        "--param", "name", "Ann", "-a", "about", "x", "-t", "2000", "-m", "128", "-l", "1",
        "-c", "500", "--web", "raw", "--web-secure", "secret",
    ))  # fmt: skip

    doc = got(xingqiao, "action", "w1")
    assert doc["parameters"] == [{"key": "name", "value": "Ann"}]
    assert doc["limits"] == {"concurrency": 500, "logs": 1, "memory": 128, "timeout": 2000}
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


def test_the_host_says_what_it_is(xingqiao, server):
    shown = ok(xingqiao("api-host")).out

    assert server.url in shown
    assert "python:3" in shown
    assert "sequence length" in shown
    assert ok(xingqiao("api-host", "--json")).json["url"] == server.url
