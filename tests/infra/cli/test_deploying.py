"""`xingqiao deploy` and `undeploy`, against a real server."""

from __future__ import annotations

import io
import sys

import pytest

from tests.kit.infra.folders import DOUBLE, written

PIPELINE = """
from xingqiao import composer
from xingqiao.composer import path

@composer.action
def deployed_double(params):
    return {"n": params["n"] * 2}

_hidden = composer.sequence("nowhere")
deployed_once = composer.sequence(deployed_double)
deployed_twice = composer.sequence(deployed_double, deployed_double)
"""


# --- deploy ------------------------------------------------------------------------------------


def test_a_program_is_deployed_with_the_actions_that_it_defines(xingqiao, tmp_path):
    file = tmp_path / "pipeline.py"
    file.write_text(PIPELINE)

    ended = xingqiao("deploy", file)

    assert ended.code == 0
    assert ended.out.splitlines() == [
        "+ deployed_double 0.0.1 (python:3)",
        "+ deployed_once 0.0.1 (composition)",
        "+ deployed_twice 0.0.1 (composition)",
    ]
    assert xingqiao("invoke", "deployed_twice", "-p", "n", "3", "-r").json == {"n": 12}
    again = xingqiao("deploy", file, "--json")
    assert [action["version"] for action in again.json["actions"]] == ["0.0.1"] * 3


def test_a_name_that_is_none_is_refused_by_the_server(xingqiao, refused, tmp_path):
    file = tmp_path / "fine.py"
    file.write_text(DOUBLE)

    assert refused("deploy", file, "--name", "$").endswith("(400)")


# --- projects ----------------------------------------------------------------------------------------

SHOP = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop_pipeline.py": """
from xingqiao import composer
from lib.prices import total

RATE = 2

def rated(n):
    return RATE * n

@composer.action
def shop_price(params):
    return {"n": total(params["n"])}

shop_all = composer.sequence(shop_price, lambda p: {"n": rated(p["n"])})
""",
    "shop_plain.py": "from lib import prices\n\ndef main(params):\n    return {'v': prices.total(1)}\n",
    "shop_script.py": "raise SystemExit('a script is not run')\n\ndef main():\n    pass\n",
    "shop_node.js": "function main(params) { return {js: 1} }\n",
    "shop_machine.asl.json": '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}',
    "lib/prices.py": "STEP = 10\n\ndef total(n):\n    return n + STEP\n",
    "tsconfig.json": "{}",
}


@pytest.fixture
def shop(tmp_path):
    """A project in a folder of its own."""
    return written(tmp_path / "shop", SHOP)


def shown(ended):
    assert ended.code == 0, ended.err
    return {step["name"]: step["change"] for step in ended.json["actions"]}


def test_a_folder_is_deployed_with_the_modules_that_its_functions_import(xingqiao, shop):
    first = xingqiao("deploy", shop, "--json")
    again = xingqiao("deploy", shop, "--json")
    (shop / "lib" / "prices.py").write_text("STEP = 20\n\ndef total(n):\n    return n + STEP\n")
    after = xingqiao("deploy", shop)

    names = ["shop_price", "shop_all", "shop_plain", "shop_node", "shop_machine"]
    assert set(shown(first)) == set(names)
    assert set(shown(first).values()) == {"new"}
    assert set(shown(again).values()) == {"unchanged"}
    assert "~ shop_price 0.0.2 (python:3): code" in after.out
    assert "= shop_all 0.0.1 (composition)" in after.out
    assert xingqiao("invoke", "shop_all", "-r", "-p", "n", "1").json == {"n": 42}
    assert xingqiao("invoke", "shop_plain", "-r").json == {"v": 21}
    assert xingqiao("run", shop / "shop_pipeline.py", "-p", "n", "1", "--json").json["result"] == {
        "n": 42
    }

    removed = xingqiao("undeploy", shop, "--yes", "--json")
    assert shown(removed) == dict.fromkeys(sorted(names), "removed")
    assert xingqiao("invoke", "shop_plain").code == 5
    assert (
        "nothing to remove: the server has no action and no schedule from shop/"
        in xingqiao("undeploy", shop).out
    )
    assert xingqiao("undeploy", shop, "--json").json["actions"] == []


def test_a_dry_run_shows_the_changes_and_makes_none(xingqiao, tmp_path):
    file = written(tmp_path, {"dry.py": DOUBLE}) / "dry.py"

    assert xingqiao("deploy", file, "--dry-run").out == (
        "+ dry 0.0.1 (python:3)\nnothing is changed: --dry-run\n"
    )
    assert xingqiao("action", "get", "dry").code == 5
    xingqiao("deploy", file)
    assert xingqiao("undeploy", file, "--dry-run").out.startswith("- dry 0.0.1 (python:3)\n")
    assert xingqiao("action", "get", "dry").code == 0


def test_one_file_that_cannot_be_deployed_keeps_all_from_it(xingqiao, refused, tmp_path):
    written(tmp_path / "half", {"half_a.py": DOUBLE, "half_b.asl.json": "{}"})

    assert refused("deploy", tmp_path / "half").startswith("half_b: ")
    assert xingqiao("action", "get", "half_a").code == 5


def test_an_action_that_left_its_file_is_shown_and_removed_on_demand(
    xingqiao, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    text = "from xingqiao import composer\n\n@composer.action\ndef {}(p): return p\n"
    file = tmp_path / "left.py"
    file.write_text(text.format("left_old"))
    xingqiao("deploy", file)
    file.write_text(text.format("left_new"))

    kept = xingqiao("deploy", file)
    gone = xingqiao("deploy", file, "--prune")

    origin = f"./{tmp_path.name}/left.py"
    assert kept.out == (
        "+ left_new 0.0.1 (python:3)\n"
        f"- left_old 0.0.1 (python:3): no longer in {origin}: remove it with --prune\n"
    )
    assert gone.out == "= left_new 0.0.1 (python:3)\n- left_old 0.0.1 (python:3)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["left.py"]  # no bytecode of it


def test_a_name_that_belongs_to_something_else_is_taken_only_on_demand(xingqiao, refused, tmp_path):
    file = written(tmp_path, {"owned.py": DOUBLE}) / "owned.py"
    other = written(tmp_path / "other", {"another.py": DOUBLE}) / "another.py"
    xingqiao("trigger", "create", "owned")

    line = refused("deploy", file)
    assert line.startswith(
        "nothing is deployed: the name 'owned' belongs to a trigger: choose another"
    )
    assert "(--replace)" in line
    assert xingqiao("deploy", file, "--replace").out.startswith("+ owned")
    assert f"deployed from './{tmp_path.name}/owned.py'" in refused(
        "deploy", other, "--name", "owned"
    )
    assert xingqiao("deploy", other, "--replace", "--name", "owned").out == (
        "~ owned 0.0.2 (python:3): origin\n"
    )


def test_parts_that_exist_nowhere_are_warned_about(xingqiao, tmp_path):
    file = tmp_path / "parts.py"
    file.write_text("from xingqiao import composer\nparts = composer.sequence('parts_none')\n")

    ended = xingqiao("deploy", file)

    assert ended.out == "+ parts 0.0.1 (composition)\n"
    assert "parts: the action '/guest/parts_none' does not exist" in ended.err


def test_undeploy_asks_and_names_what_still_uses_an_action(xingqiao, tmp_path, monkeypatch):
    text = "from xingqiao import composer\n{}\n"
    part = "@composer.action\ndef used_part(p): return p"
    written(
        tmp_path,
        {
            "part.py": text.format(part),
            "whole.py": text.format("used_whole = composer.sequence('used_part')"),
        },
    )
    xingqiao("deploy", tmp_path / "part.py", tmp_path / "whole.py")

    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said = xingqiao("undeploy", tmp_path / "part.py")

    assert said.code == 130
    assert "- used_part 0.0.1 (python:3); still used by action used_whole" in said.err
    assert xingqiao("action", "get", "used_part").code == 0


def test_an_import_that_will_not_be_there_is_refused_with_file_and_line(
    refused, xingqiao, tmp_path
):
    file = tmp_path / "importing.py"
    file.write_text("import os\nimport yarl\n\ndef main(params):\n    return {}\n")

    line = refused("deploy", file)

    assert line.startswith(
        f"{file.resolve()}, line 2: the module 'yarl' will not be there at run time"
    )
    (tmp_path / "requirements.txt").write_text("yarl\n")
    assert xingqiao("deploy", file).code == 0


def test_files_that_do_not_go_together_are_refused(refused, xingqiao, tmp_path):
    written(tmp_path / "one", {"same.py": DOUBLE})
    written(tmp_path / "two", {"same.py": DOUBLE + "\n"})
    (tmp_path / "empty").mkdir()

    line = refused("deploy", tmp_path / "one" / "same.py", tmp_path / "two" / "same.py")
    assert "the name 'same' is also defined in" in line
    assert "has nothing to deploy: add a .py file" in refused("deploy", tmp_path / "empty")
    named = refused("deploy", tmp_path / "one", tmp_path / "two", "--name", "x")
    assert "is also defined in" in named


def test_a_file_that_is_gone_can_be_undeployed(xingqiao, tmp_path):
    file = written(tmp_path, {"gone.py": DOUBLE}) / "gone.py"
    xingqiao("deploy", file)
    file.unlink()

    assert xingqiao("undeploy", file, "--yes").out == "- gone 0.0.1 (python:3)\n"
