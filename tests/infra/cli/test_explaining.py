"""Refusals with their remedies: where the URL and the key come from, similar names, other kinds."""

from __future__ import annotations

import socket

import pytest

from tests.kit.infra.servers import AUTH

CODE = "def main(params):\n    return params\n"


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "code.py"
    made.write_text(CODE)
    return made


# --- the server and the credentials --------------------------------------------------------------


def test_a_server_that_is_down_is_named_with_the_place_of_its_url(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    properties = tmp_path / ".wskprops"

    properties.write_text("APIHOST=http://127.0.0.1:1\n")
    assert f"The URL comes from APIHOST in {properties}. Start a server" in refused("list")
    monkeypatch.setenv("XINGQIAO_URL", "http://127.0.0.1:1")
    assert "The URL comes from XINGQIAO_URL. Start a server" in refused("list")
    option = refused("list", "--url", "http://127.0.0.1:1")
    assert "The URL comes from --url. Start a server with `xingqiao serve`" in option


def test_credentials_are_refused_with_the_place_that_they_come_from(
    refused, server, monkeypatch, tmp_path
):
    monkeypatch.setenv("XINGQIAO_URL", server.url)
    file = tmp_path / "key"
    file.write_text("wrong:key")

    (tmp_path / ".wskprops").write_text("AUTH=wrong:key\n")
    assert f"come from AUTH in {tmp_path / '.wskprops'}, and" in refused("list")
    monkeypatch.setenv("XINGQIAO_AUTH_FILE", str(file))
    assert "come from the file in XINGQIAO_AUTH_FILE, and" in refused("list")
    assert f"come from the file {file}, and" in refused("list", "--auth-file", file)
    assert "come from --operator, and" in refused("namespace", "create", "n", "--operator", "a:b")
    assert refused("list", "--auth", "half") == (
        "the credentials from --auth must have the form UUID:KEY, with a ':'"
    )


def test_https_to_a_server_of_http_names_the_other_url(refused, server):
    line = refused("list", "--url", server.url.replace("http", "https"), "--auth", AUTH)

    assert f"If the server does not serve HTTPS, use {server.url}. The URL comes from --url" in line


def test_http_to_a_server_that_closes_the_connection_names_https(refused, closing):
    line = refused("list", "--url", f"http://{closing}", "--auth", AUTH)

    assert f"If the server serves HTTPS, use https://{closing}. The URL comes from --url" in line


@pytest.fixture
def closing():
    """The address of a socket that closes each connection, as a TLS server does on plain text."""
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def close():
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)

        thread = threading.Thread(target=close)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


# --- names ---------------------------------------------------------------------------------------


def test_a_missing_action_is_told_with_its_namespace_and_similar_names(refused, action):
    action("resize")

    assert refused("invoke", "resise") == (
        "the action 'resise' does not exist in the namespace 'guest': did you mean 'resize'? (404)"
    )
    assert refused("action", "get", "qqq").endswith(
        "'guest': `xingqiao action list` shows the actions (404)"
    )


def test_a_missing_package_is_told_before_the_action(refused, xingqiao, file):
    assert xingqiao("package", "create", "images").code == 0

    assert "did you mean 'images'?" in refused("action", "get", "image/a")
    assert "create it with `xingqiao package create qqq`" in refused(
        "action", "create", "qqq/a", file
    )
    assert refused("action", "get", "images/a").startswith(
        "the action 'a' does not exist in the package '/guest/images'"
    )
    assert "xingqiao package list /guest" in refused("action", "get", "qqq/a")


def test_a_missing_feed_does_not_exist(refused, xingqiao):
    assert xingqiao("list").code == 0

    wrong = refused("trigger", "create", "t1", "--feed", "/whisk.system/alarms/alrm")
    assert wrong.endswith("in the package '/whisk.system/alarms': did you mean 'alarm'? (404)")
    wrong = refused("trigger", "create", "t1", "--feed", "/whisk.system/alarm/alarm")
    assert "the package 'alarm' does not exist" in wrong
    assert wrong.endswith("did you mean 'alarms'? (404)")


@pytest.mark.parametrize("words", [("batch", "get"), ("batch", "cancel"), ("limit", "get")])
def test_what_is_no_definition_is_told_with_the_command_that_lists_it(refused, xingqiao, words):
    kind = words[0]

    assert f"the {kind} 'nope' does not exist in the namespace 'guest': `xingqiao {kind} list`" in (
        refused(*words, "nope")
    )


def test_another_namespace_is_told_with_the_own_one(refused, xingqiao):
    assert xingqiao("list").code == 0

    assert "Your credentials belong to the namespace 'guest': check the namespace 'gest'" in (
        refused("invoke", "/gest/a")
    )


def test_a_name_that_exists_names_the_command_that_changes_it(refused, xingqiao):
    assert xingqiao("trigger", "create", "noon").code == 0

    assert refused("trigger", "create", "noon") == (
        "the trigger 'noon' exists already: change it with `xingqiao trigger update noon` (409)"
    )


def test_a_name_of_another_kind_names_the_kind(refused, xingqiao, action):
    action("taken")

    assert refused("package", "create", "taken") == (
        "the name 'taken' belongs to an action: choose another name, or delete the action with "
        "`xingqiao action delete taken` (409)"
    )


def test_deploy_refuses_a_name_of_another_kind_and_deploys_nothing(refused, xingqiao, tmp_path):
    assert xingqiao("package", "create", "pipe").code == 0
    file = tmp_path / "two.py"
    file.write_text(
        "from xingqiao import composer\n@composer.action\ndef part(params):\n    return params\n"
        "pipe = composer.sequence(part)\n"
    )

    assert refused("deploy", file) == (
        "nothing is deployed: the name 'pipe' belongs to a package: choose another name, or deploy "
        "with 'replace' (--replace) (409)"
    )
    assert "the action 'part' does not exist" in refused("action", "get", "part")


def test_a_name_of_too_many_parts_is_shown_as_it_was_written(refused, xingqiao):
    assert xingqiao("list").code == 0

    for name in ("a/b/c", "a/b/c/d"):
        assert refused("invoke", name).startswith(f"the name '{name}' has too many parts: ")


@pytest.mark.parametrize(
    ("value", "warned"),
    [("{bad", True), ("[1,", True), ('"a', True), ("{}", False), ("bad", False)],
)
def test_a_value_that_looks_like_json_and_is_not_is_sent_as_text_with_a_warning(
    xingqiao, action, value, warned
):
    ended = xingqiao("invoke", action("echoes"), "-r", "-p", "a", value)

    assert ended.code == 0
    assert (
        "warning: the value of 'a' looks like JSON and is not valid JSON (" in ended.err
    ) == warned
    assert ended.json["a"] == ({} if value == "{}" else value)
