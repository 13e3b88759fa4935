"""What a user's file defines: a program, a composition, a state machine, an action."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.kit.infra.folders import DOUBLE, written
from xingqiao import composer


def test_a_program_with_a_main_is_an_action(xingqiao, tmp_path):
    file = tmp_path / "plain.py"
    file.write_text(DOUBLE)

    assert xingqiao("deploy", file).out == "+ plain 0.0.1 (python:3)\n"
    assert xingqiao("deploy", file, "--name", "renamed").out == "+ renamed 0.0.1 (python:3)\n"
    assert xingqiao("invoke", "renamed", "-p", "n", "2", "--result").json == {"n": 4}


def test_a_composition_is_deployed_from_json(xingqiao, action, tmp_path):
    action("json_double", DOUBLE)
    file = tmp_path / "from_json.json"
    file.write_text(json.dumps(composer.repeat(2, "json_double").to_json()))

    assert xingqiao("deploy", file).out == "+ from_json 0.0.1 (composition)\n"
    assert xingqiao("invoke", "from_json", "--result").json == {"n": 4}


def test_a_state_machine_is_deployed_by_its_files_name(xingqiao, refused, tmp_path):
    text = '{"StartAt": "A",  "States": {"A": {"Type": "Pass", "End": true}}}'
    file, other = tmp_path / "stated.asl.json", tmp_path / "plain.py"
    file.write_text(text)
    other.write_text(DOUBLE)

    assert xingqiao("deploy", file).out == "+ stated 0.0.1 (states)\n"
    assert xingqiao("action", "get", "stated", "exec", "--json").json == {
        "kind": "states", "binary": False, "definition": text, "type": "STANDARD",
    }  # fmt: skip
    assert xingqiao("deploy", file, "--name", "fast", "--type", "express").code == 0
    assert xingqiao("action", "get", "fast", "exec", "--json").json["type"] == "EXPRESS"
    assert xingqiao("invoke", "stated", "-p", "n", "1", "--result").json == {"n": 1}
    assert xingqiao("action", "get", "stated", "--save", tmp_path / "saved.asl.json").code == 0
    assert (tmp_path / "saved.asl.json").read_text() == text
    assert xingqiao("action", "create", "again", tmp_path / "saved.asl.json").code == 0
    assert "is not an .asl.json file" in refused("deploy", other, "--type", "express")
    file.write_text('{"StartAt": "A"}')
    assert "These fields are required: [States]" in refused("deploy", file)


def test_an_archive_is_deployed(xingqiao, tmp_path):
    file = tmp_path / "zipped.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("__main__.py", "from helper import main\n")
        archive.writestr("helper.py", DOUBLE)

    assert xingqiao("deploy", file).code == 0
    assert xingqiao("invoke", "zipped", "-p", "n", "21", "-r").json == {"n": 42}


@pytest.mark.usefixtures("xingqiao")
@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("none.py", None, "does not exist or is not a file: check the path"),
        (
            "empty.py",
            "x = 1",
            "defines nothing to deploy: add a composition, an @composer.action, a schedule or a function 'main'",
        ),
        ("broken.py", "def", "SyntaxError"),
        ("raises.py", "1 / 0", "ZeroDivisionError: division by zero"),
        ("notes.txt", "hello", "has an unknown file type: give a .py, .js"),
        ("broken.json", "{", "Expecting property name"),
        ("machine.json", '{"StartAt": "A"}', "rename the file so that it ends in .asl.json"),
        ("other.json", '{"kind": "nonsense"}', "a composition is an object with a 'type'"),
    ],
)
def test_a_file_that_cannot_be_deployed_is_named(refused, tmp_path, name, content, text):
    file = tmp_path / name
    if content is not None:
        file.write_text(content)

    line = refused("deploy", file)

    assert line.startswith(str(file))
    assert text in line


def test_a_folder_with_a_start_is_one_action(xingqiao, tmp_path):
    folder = written(
        tmp_path / "whole_folder",
        {"__main__.py": "from helper import main\n", "helper.py": DOUBLE, ".hidden": "x"},
    )

    assert xingqiao("deploy", folder).out == "+ whole_folder 0.0.1 (python:3)\n"
    assert xingqiao("invoke", "whole_folder", "-r", "-p", "n", "2").json == {"n": 4}
    assert xingqiao("undeploy", folder, "--yes").code == 0


def test_an_es_module_is_an_action(xingqiao, tmp_path):
    file = (
        written(tmp_path, {"es.mjs": "export function main (p) { return { es: p.n } }\n"})
        / "es.mjs"
    )

    assert xingqiao("deploy", file).out == "+ es 0.0.1 (nodejs:20)\n"
    assert xingqiao("invoke", "es", "-r", "-p", "n", "1").json == {"es": 1}


def test_a_program_may_import_its_neighbours(command, tmp_path):
    (tmp_path / "xq_neighbour.py").write_text("VALUE = {'from': 'next door'}\n")
    file = tmp_path / "importing.py"
    file.write_text(
        "from xingqiao import composer; import xq_neighbour\nmade = composer.literal(xq_neighbour.VALUE)\n"
    )

    assert command("run", file, "--json").json["result"] == {"from": "next door"}


@pytest.mark.parametrize("name", ["xingqiao", "click", "composer"])
def test_a_file_may_be_called_as_a_module_of_ours(command, tmp_path, name):
    file = tmp_path / f"{name}.py"
    file.write_text("from xingqiao import composer\nmade = composer.literal({'n': 1})\n")

    assert command("run", file, "--json").json["result"] == {"n": 1}
