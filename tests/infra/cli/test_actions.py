"""`xingqiao invoke` and `action ...`, against a real server."""

from __future__ import annotations

import zipfile

import pytest

from xingqiao import composer
from xingqiao.composer import path

DOUBLE = "def main(params):\n    print('doubling')\n    return {'n': 2 * params.get('n', 1)}\n"


# --- invoke ------------------------------------------------------------------------------------


def test_an_invocation_shows_its_id_its_record_or_its_result(xingqiao, action):
    name = action("shown", DOUBLE)

    told = xingqiao("invoke", name)
    id = xingqiao("invoke", name, "--json").json["activationId"]
    record = xingqiao("invoke", name, "--blocking", "-p", "n", "2")
    result = xingqiao("invoke", name, "--result", "-p", "n", "2")

    assert told.out.startswith("✓ shown is invoked: activation ")
    assert len(id) == 32
    assert record.json["response"]["result"] == {"n": 4}
    assert record.json["logs"][0].endswith("stdout: doubling")
    assert result.out == '{\n  "n": 4\n}\n'
    assert xingqiao("invoke", name, "-r", "--json").out == '{"n": 2}\n'
    assert {told.code, record.code, result.code} == {0}
    assert told.err == record.err == result.err == ""


def test_an_action_that_fails_makes_the_command_fail_and_shows_the_error(xingqiao, action):
    name = action("failing", "def main(params):\n    return {'error': 'no luck'}\n")

    result = xingqiao("invoke", name, "--result")
    record = xingqiao("invoke", name, "--blocking", "--json")

    assert (result.code, result.json) == (1, {"error": "no luck"})
    assert (record.code, record.json["response"]["status"]) == (1, "application error")
    assert xingqiao("invoke", name).code == 0, "nobody has waited for it"


def test_what_the_server_refuses_is_told_with_its_status(xingqiao, refused):
    assert refused("invoke", "never-deployed").endswith("(404)")
    assert refused("invoke", "pkg/never").endswith("(404)")
    assert refused("invoke", "$").endswith("(400)")


# --- action ------------------------------------------------------------------------------------


def test_an_action_is_created_once_updated_got_and_deleted(xingqiao, refused, tmp_path):
    file = tmp_path / "code.py"
    file.write_text(DOUBLE)

    created = xingqiao(
        "action", "create", "cared", file, "-p", "n", "5", "-a", "about", "numbers",
        "--timeout", "0.5s", "--memory", "128",
    )  # fmt: skip
    assert (created.code, created.out) == (0, "✓ cared 0.0.1 (python:3)\n")
    assert refused("action", "create", "cared", file).endswith(
        "exists already: change it with `xingqiao action update cared` (409)"
    )

    updated = xingqiao("action", "update", "cared", "-a", "more", "1", "--json").json
    assert updated["version"] == "0.0.2"
    assert updated["parameters"] == [{"key": "n", "value": 5}]
    assert {"key": "about", "value": "numbers"} in updated["annotations"]
    assert {"key": "more", "value": 1} in updated["annotations"]
    assert updated["limits"]["timeout"] == 500
    assert updated["limits"]["memory"] == 128

    got = xingqiao("action", "get", "cared", "--json").json
    assert got == updated
    assert xingqiao("action", "get", "cared").json == got
    assert xingqiao("invoke", "cared", "-r").json == {"n": 10}

    assert xingqiao("action", "delete", "cared").out == "✓ cared is deleted\n"
    for verb in ("get", "delete"):
        assert refused("action", verb, "cared").startswith("the action 'cared' does not exist")


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("code.py", ["requests>=2.31", "lxml"], ["requests>=2.31", "lxml"]),
        ("code.js", ["ms@^2", "uuid", "@a/b@1"], {"ms": "^2", "uuid": "*", "@a/b": "1"}),
        ("code.js", ["@a/b"], {"@a/b": "*"}),
    ],
)
def test_an_action_names_the_packages_that_it_imports(xingqiao, tmp_path, name, given, told):
    file = tmp_path / name
    file.write_text(DOUBLE)
    options = [word for text in given for word in ("--requirement", text)]

    assert xingqiao("action", "update", "packed", file, *options).code == 0

    assert xingqiao("action", "get", "packed", "--json").json["exec"]["requirements"] == told


def test_packages_without_code_are_misuse(xingqiao):
    assert (
        "--requirement belongs to code"
        in xingqiao("action", "update", "packed", "--requirement", "a").err
    )


def test_another_function_than_main_can_be_called(xingqiao, tmp_path):
    file = tmp_path / "named.py"
    file.write_text("def other(params):\n    return {'called': 'other'}\n")

    xingqiao("action", "create", "named", file, "--main", "other", "--kind", "python:default")

    assert xingqiao("invoke", "named", "-r").json == {"called": "other"}


def test_code_and_compositions_are_saved_as_they_were(xingqiao, action, composition, tmp_path):
    action("saved", DOUBLE)
    composition("saved_too", composer.sequence("saved", composer.select({"m": path("$.n")})))
    archive = tmp_path / "saved_zip.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("__main__.py", DOUBLE)
    xingqiao("action", "create", "saved_zip", archive)

    for name, file in (("saved", "a.py"), ("saved_too", "b.json"), ("saved_zip", "c.zip")):
        ended = xingqiao("action", "get", name, "--save", tmp_path / file)
        assert ended.out == f"✓ {name} is saved in {tmp_path / file}\n"

    assert (tmp_path / "a.py").read_text() == DOUBLE
    assert (tmp_path / "c.zip").read_bytes() == archive.read_bytes()
    again = xingqiao("action", "create", "saved_again", tmp_path / "b.json")
    assert again.code == 0
    assert xingqiao("invoke", "saved_again", "-p", "n", "1", "-r").json == {"m": 2}


def test_actions_are_listed(xingqiao, action):
    action("listed_first")
    action("listed_last")

    table = xingqiao("action", "list", "--limit", "2").out.splitlines()
    documents = xingqiao("action", "list", "--limit", "1", "--skip", "1", "--json").json

    assert table[0].split() == ["name", "kind", "version", "updated"]
    assert [line.split()[:3] for line in table[1:]] == [
        ["listed_last", "python:3", "0.0.1"],
        ["listed_first", "python:3", "0.0.1"],
    ]
    assert [action["name"] for action in documents] == ["listed_first"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["action", "create", "a"], "FILE is missing"),
        (["action", "create"], "Missing argument 'NAME'"),
        (["action", "list", "--limit", "many"], "'many' is not a valid integer"),
        (["action", "list", "--limit", "-1"], "-1 is not in the range"),
        (["invoke"], "Missing argument 'NAME'"),
        (["invoke", "a", "-p", "n"], "Option '-p' requires 2 arguments"),
        (["deploy"], "Missing argument 'FILE|FOLDER...'"),
        (["fly"], "the command 'fly' does not exist"),
        (["action", "fly"], "No such command 'fly'"),
        (["action", "list", "--fly"], "No such option"),
    ],
)
def test_misuse_exits_with_2_and_says_what_would_do(xingqiao, refused, arguments, text):
    line = refused(*arguments, code=2)

    assert text in line
    assert "--help)" in line or "requires 2 arguments" in line


def test_code_that_cannot_be_read_is_named(xingqiao, refused, tmp_path):
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe")

    assert refused("action", "create", "a", tmp_path / "none.py").startswith(
        str(tmp_path / "none.py")
    )
    assert refused("action", "create", "a", binary).startswith(str(binary))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--kind", "cobol:1"], "The specified runtime 'cobol:1' is not supported"),
        (["--timeout", "1"], "timeout 1 milliseconds is below allowed threshold"),
        (["--memory", "4096"], "memory 4096 MB exceeds allowed threshold of 512 MB (400)"),
        (["--concurrency", "501"], "concurrency 501 exceeds allowed threshold of 500 (400)"),
    ],
)
def test_what_the_server_cannot_take_is_told_in_one_line(
    xingqiao, refused, tmp_path, options, text
):
    file = tmp_path / "code.py"
    file.write_text(DOUBLE)

    assert text in refused("action", "create", "never", file, *options)


def test_a_call_with_a_token_starts_one_execution(xingqiao, action):
    action("act_once")

    first = xingqiao("invoke", "act_once", "--json", "--token", "t-1").json
    second = xingqiao("invoke", "act_once", "--blocking", "--json", "--token", "t-1").json

    assert first["activationId"] == second["activationId"]
    assert second["response"]["success"]


def test_a_start_may_have_time_limits(xingqiao, composition):
    name = composition("act_waits", composer.sequence(composer.wait(3600)))

    late = xingqiao("invoke", name, "--blocking", "--run-timeout", "1s")
    started = xingqiao("invoke", name, "--execution-timeout", "2h", "--json").json
    history = xingqiao("execution", "history", started["activationId"], "--json").out

    assert (late.code, "the run has not ended within 1 seconds" in late.err) == (6, True)
    assert '"bound":"execution_timeout"' in history.replace(" ", "")
    xingqiao("execution", "cancel", started["activationId"])
