"""Options that several commands share: parameters, and where the server is."""

from __future__ import annotations

import pytest

from tests.kit.infra.servers import AUTH


def test_parameters_are_json_or_else_text(xingqiao, action):
    name = action("told")

    ended = xingqiao(
        "invoke", name, "--result",
        "-p", "number", "1.5", "-p", "object", '{"a": [true, null]}', "-p", "text", "hello world",
        "-p", "quoted", '"5"', "-p", "empty", "", "-p", "no_number", "NaN", "-p", "broken", "{",
        "-p", "twice", "1", "-p", "twice", "2", "-p", "星桥", "桥",
    )  # fmt: skip

    assert ended.json == {
        "number": 1.5, "object": {"a": [True, None]}, "text": "hello world", "quoted": "5",
        "empty": "", "no_number": "NaN", "broken": "{", "twice": 2, "星桥": "桥",
    }  # fmt: skip


def test_parameters_of_the_command_go_over_those_of_a_file(xingqiao, action, tmp_path):
    name = action("filed")
    file = tmp_path / "params.json"
    file.write_text('{"a": 1, "b": 1}')

    ended = xingqiao("invoke", name, "--param-file", file, "--param", "b", "2", "-r")

    assert ended.json == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "No such file"),
        ("[1]", "must contain a JSON object"),
        ("{", "Expecting"),
        ('{"a": NaN}', "NaN"),
        (b"\xff", "decode"),
    ],
)
def test_a_file_of_parameters_that_holds_none_is_misuse(xingqiao, refused, tmp_path, content, text):
    file = tmp_path / "params.json"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    line = refused("invoke", "anything", "-P", file, code=2)

    assert line.startswith(f"--param-file: {file} ")
    assert text in line


NO_CREDENTIALS = (
    "the credentials are missing: set XINGQIAO_AUTH to UUID:KEY, or give --auth-file FILE "
    "(the server prints the credentials at its first start)"
)


def test_without_credentials_nothing_is_asked(refused):
    for arguments in (["invoke", "a"], ["action", "list"], ["execution", "list"], ["show", "a"]):
        assert refused(*arguments) == NO_CREDENTIALS


def test_options_go_over_the_environment_and_that_over_wskprops(
    command, server, monkeypatch, wskprops
):
    wskprops(APIHOST=server.url, AUTH=AUTH)
    assert command("action", "list").code == 0

    monkeypatch.setenv("XINGQIAO_AUTH", "wrong:wrong-key")
    assert "the credentials come from XINGQIAO_AUTH, and" in command("action", "list").err
    assert command("action", "list", "--auth", AUTH).code == 0

    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    monkeypatch.setenv("XINGQIAO_URL", "http://127.0.0.1:1")
    assert "http://127.0.0.1:1 cannot be reached" in command("action", "list").err
    assert command("action", "list", "--url", server.url).code == 0
    assert command("action", "list", "--url", server.url + "/").code == 0


def test_credentials_may_stand_in_a_file(command, refused, server, monkeypatch, tmp_path):
    file = tmp_path / "auth"
    file.write_text(f"{AUTH}\n")
    monkeypatch.setenv("XINGQIAO_URL", server.url)

    assert command("action", "list", "--auth-file", file).code == 0
    assert command("show", "nothing", "--auth-file", file).err.strip().endswith("(404)")
    monkeypatch.setenv("XINGQIAO_AUTH_FILE", str(file))
    assert command("action", "list").code == 0
    monkeypatch.setenv("XINGQIAO_AUTH", "wrong:wrong-key")
    assert "the credentials come from XINGQIAO_AUTH, and" in command("action", "list").err
    assert command("action", "list", "--auth-file", file).code == 0
    assert "--auth and --auth-file are both given" in refused(
        "action", "list", "--auth", AUTH, "--auth-file", file
    )
    missing = refused("action", "list", "--auth-file", tmp_path / "none")
    assert f"the credentials file {tmp_path / 'none'} cannot be read" in missing


def test_credentials_that_no_header_can_hold_are_refused(refused, server):
    line = refused("action", "list", "--url", server.url, "--auth", "user:wröng-key")

    assert line == (
        "The supplied authentication is invalid: the credentials come from --auth, and the server at "
        f"{server.url} does not accept them: check that they belong to this server (401)"
    )


@pytest.mark.parametrize(
    "value", ["\udcff", '"\\ud800"', "[" * 100_000], ids=["byte", "half", "deep"]
)
def test_a_parameter_that_cannot_travel_is_misuse(refused, server, value):
    line = refused(
        "invoke", "a", "-p", "n", value, "--url", server.url, "--auth", AUTH, code=2
    )  # fmt: skip

    assert line.startswith(("JSON is nested too deeply", "the parameter 'n' cannot be sent"))
