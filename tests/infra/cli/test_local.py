"""`xingqiao run` and `show`: what needs no server."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer

PROGRAM = """
from xingqiao import composer
from xingqiao.composer import path

@composer.action
def double(params):
    print("doubling")
    return {"n": params["n"] * 2}

@composer.action
def refuse(params):
    return {"error": {"code": "No", "message": "not today"}}

good = composer.sequence(double, lambda params: {"n": params["n"] + 1})
bad = composer.sequence(double, refuse)
last = composer.sequence(double, double)
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def test_a_composition_runs_here_and_shows_its_history_and_its_result(command, program):
    ended = command("run", program, "--param", "n", "3")

    history, _, result = ended.out.partition("{\n")
    assert ended.code == 0
    assert history.count("✓ double") == 2
    assert "✓ succeeded" in history
    assert json.loads("{" + result) == {"n": 12}


def test_the_one_that_is_named_runs(command, program):
    ended = command("run", program, "--name", "good", "--param", "n", "3", "--json")

    assert ended.code == 0
    assert (ended.json["success"], ended.json["result"]) == (True, {"n": 7})
    assert ended.json["history"][0]["value"] == {"n": 3}


def test_one_that_fails_makes_the_command_fail(command, program):
    text = command("run", program, "--name", "bad", "-p", "n", "1")
    ended = command("run", program, "--name", "bad", "-p", "n", "1", "--json")

    assert text.code == ended.code == 1
    assert "✗ refuse" in text.out
    assert "No: not today" in text.out
    assert ended.json["success"] is False
    assert ended.json["result"] == {"error": {"code": "No", "message": "not today"}}


def test_a_composition_runs_from_json(command, tmp_path):
    file = tmp_path / "made.json"
    file.write_text(json.dumps(composer.literal({"made": True}).to_json()))

    assert command("run", file, "--json").json["result"] == {"made": True}


def test_a_state_machine_runs_from_its_file(command, refused, tmp_path):
    good, bad = tmp_path / "good.asl.json", tmp_path / "bad.asl.json"
    good.write_text('{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}')
    bad.write_text('{"StartAt": "A", "States": {"A": {"Type": "Fail", "Error": "No"}}}')

    ended, failed = command("run", good, "-p", "n", "1", "--json"), command("run", bad, "--json")

    assert (ended.code, ended.json["result"]) == (0, {"n": 1})
    assert ended.json["history"][0]["type"] == "ExecutionStarted"
    assert (failed.code, failed.json["success"]) == (1, False)
    assert "one state machine: leave --name out" in refused("run", good, "--name", "x", code=2)


def test_what_cannot_run_is_told_in_one_line(refused, program, tmp_path):
    plain = tmp_path / "plain.py"
    plain.write_text("def main(params):\n    return params\n")
    captured = tmp_path / "captured.py"
    captured.write_text(
        "from xingqiao import composer\n"
        "def make(n):\n    return composer.sequence(lambda params: {'n': n})\n"
        "made = make(object())\n"
    )

    assert refused("run", program, "--name", "none") == (
        f"{program} defines no composition 'none'; it defines good, bad, last"
    )
    assert refused("run", plain) == f"{plain} defines no composition"
    assert (
        refused("run", tmp_path / "none.py")
        == f"{tmp_path / 'none.py'} does not exist or is not a file: check the path"
    )
    assert "n" in refused("run", captured)


# --- show --------------------------------------------------------------------------------------


def test_a_file_is_drawn_for_mermaid_and_for_graphviz(command, program):
    good = composer.sequence("double", "double")

    assert command("show", program).out == composer.mermaid(good) + "\n"
    assert command("show", program, "--mermaid").out == composer.mermaid(good) + "\n"
    assert command("show", program, "--dot").out == composer.dot(good) + "\n"
    named = command("show", program, "--name", "bad", "--dot").out
    assert named == composer.dot(composer.sequence("double", "refuse")) + "\n"


def test_what_is_deployed_is_drawn_by_its_name(xingqiao, composition):
    made = composer.sequence("a", composer.retry(1, "b"))
    composition("drawn", made)

    assert xingqiao("show", "drawn").out == composer.mermaid(made) + "\n"
    assert xingqiao("show", "drawn", "--dot").out == composer.dot(made) + "\n"


def test_what_cannot_be_drawn_is_told(xingqiao, refused, action, tmp_path):
    action("not_drawn")

    assert refused("show", "not_drawn") == "not_drawn is not a composition: its kind is python:3"
    assert refused("show", "never").startswith("the action 'never' does not exist")
    assert refused("show", tmp_path / "none.py").endswith(
        "does not exist or is not a file: check the path"
    )


def test_a_sequence_is_drawn_as_the_composition_that_it_is(xingqiao, server):
    document = {"exec": {"kind": "sequence", "components": ["/_/a", "/_/b"]}}
    code = {"exec": {"kind": "python:3", "code": "def main(params): return params"}}
    with server.client() as client:
        for name in "ab":
            assert client.put(f"/actions/{name}", json=code).status_code == 200
        assert client.put("/actions/in_order", json=document).status_code == 200

    drawn = xingqiao("show", "in_order")

    assert drawn.code == 0
    assert drawn.out == composer.mermaid(composer.sequence("/guest/a", "/guest/b")) + "\n"


def test_a_composition_cannot_be_called_as_an_action_of_its_file(refused, tmp_path):
    file = tmp_path / "twice.py"
    file.write_text(
        "from xingqiao import composer\n"
        "far = composer.sequence(composer.action('far', kind='http', function='https://example.com'))\n"
    )

    assert "a composition and an action have the same name 'far'" in refused("show", file)


def test_a_state_machine_is_drawn_from_its_file_and_by_its_name(xingqiao, refused, tmp_path):
    text = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
    file, broken = tmp_path / "drawn_machine.asl.json", tmp_path / "broken.asl.json"
    file.write_text(text)
    broken.write_text("{}")

    assert xingqiao("show", file, "--dot").out == composer.dot(text) + "\n"
    assert xingqiao("deploy", file).code == 0
    assert xingqiao("show", "drawn_machine").out == composer.mermaid(text) + "\n"
    told = refused("show", broken)
    assert told.startswith(f"{broken}: ")
    assert "These fields are required: [States, StartAt]" in told
    assert refused("show", tmp_path / "none.asl.json").endswith(
        f"{tmp_path / 'none.asl.json'} cannot be read: No such file or directory"
    )
