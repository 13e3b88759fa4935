"""The recipes of the cookbook, as a reader follows them: files, commands and what the commands print.

Each recipe has an empty directory, and all share a server. `ID` is the newest execution, `URL` the last
address that a command has printed.
"""

from __future__ import annotations

import linecache
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.docs.blocks import ROOT, blocks, commands
from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.cli import main

COOKBOOK = ROOT / "docs" / "cookbook.md"
RECIPES = {}
for block in blocks(COOKBOOK):
    RECIPES.setdefault(block.heading, []).append(block)
LOOKS = 500  # at what has been started and goes on: none takes as long as this
READING = re.compile(r"xingqiao \w+ (get|list|show|waiting|logs|history)\b")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("server"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


@pytest.fixture
def shell(server, capfd, monkeypatch, tmp_path):
    """Runs a command in an empty directory. Returns what it has printed, and whether it has failed."""
    for name in [*os.environ]:
        if name.startswith(("XINGQIAO_", "WSK_CONFIG_FILE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XINGQIAO_URL", server.url)
    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    def run(words):
        if (
            words[0] == "xingqiao"
        ):  # in this process, as starting Python takes longer than the command
            linecache.clearcache()  # another process would not know the file as it was
            with pytest.raises(SystemExit) as ended:
                main(words[1:])
            return "".join(capfd.readouterr()), ended.value.code != 0
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr, done.returncode != 0

    return run


@pytest.fixture
def meant(server):
    """Puts the execution's id and the webhook's address into the words of a command."""

    def replaced(words, printed):
        meanings = {
            "ID": lambda: newest(server),
            "URL": lambda: re.findall(r"http://\S+", printed)[-1],
        }
        return [meanings[word]() if word in meanings else word for word in words]

    return replaced


def newest(server):
    with server.client() as client:
        return client.get("/executions", params={"limit": 1}).json()[0]["executionId"]


def missing(expected, printed):
    """The first line of `expected` that `printed` lacks, in this order; None if all are there."""
    text, at = " ".join(printed.split()), 0
    for line in expected.splitlines():
        pattern = r".*?".join(re.escape(" ".join(part.split())) for part in line.split("..."))
        found = re.compile(pattern).search(text, at)
        if found is None:
            return line
        at = found.end()
    return None


def follow(script, expected, shell, meant, printed):
    """Runs the commands of a block, and looks again until what it promises is there."""
    shown, asked = "", []
    for words, fails in commands(script):
        called = meant(words, printed + shown)
        said, failed = shell(called)
        assert failed == fails, f"{shlex.join(called)}: {said}"
        asked.append([words, said])
        shown = "".join(said for _, said in asked)
    for _ in range(LOOKS):
        if missing(expected, shown) is None:
            break
        for look in asked:
            if READING.match(shlex.join(look[0])):
                look[1], _ = shell(meant(look[0], printed + shown))
        shown = "".join(said for _, said in asked)
    assert missing(expected, shown) is None, f"{missing(expected, shown)!r} is not in:\n{shown}"
    return printed + shown


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works_as_it_is_written(recipe, shell, meant, tmp_path):
    printed = ""
    shown = [block for block in RECIPES[recipe] if not block.fragment]
    for block, after in zip(shown, [*shown[1:], None], strict=True):
        if block.language == "sh":
            expected = after.text if after is not None and after.language == "text" else ""
            printed = follow(block.text, expected, shell, meant, printed)
        elif block.language != "text" and not block.file.startswith("/"):
            (tmp_path / block.file).write_text(block.text, "utf-8")


def test_the_commands_of_the_readme_work_in_a_checkout(shell, monkeypatch):
    usage = next(block for block in blocks(ROOT / "README.md") if block.heading == "Usage")
    shown = [words for words, _ in commands(usage.text)]
    monkeypatch.chdir(ROOT / next(words[1] for words in shown if words[0] == "cd"))

    ran = [words for words in shown if words[1] in {"deploy", "invoke", "run"}]
    ended = [shell(words) for words in ran]

    assert [words[1] for words in ran] == ["deploy", "invoke", "run"]
    assert [failed for _, failed in ended] == [False, False, False], ended


def test_the_cookbook_has_the_thirteen_recipes():
    assert len(RECIPES) == 13


def test_output_is_compared_line_by_line_and_in_order():
    printed = "  +0 ms   ✓ card     {}\n +3 ms   ✗ failed  Declined\n"

    assert missing("✓ card ...\n✗ failed ... Declined\n", printed) is None
    assert missing("✗ failed ...\n✓ card ...\n", printed) == "✓ card ..."
    assert missing("✓ bank\n", printed) == "✓ bank"
