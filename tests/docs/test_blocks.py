"""What README and docs show is true: Python runs, commands exist, data can be read.

A block that cannot run is marked in the line before it: `<!-- fragment: needs a server -->`.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import dropwhile

import click
import pytest

from tests.kit.docs.blocks import DOCUMENTS, ROOT, blocks, commands, parsed
from xingqiao.infra.cli.main import cli

PROMISED = re.compile(r"^(?:asyncio\.run\(main\(\)\)|print\(.*\))  # (.*)$", flags=re.MULTILINE)
READERS = {
    "json": json.loads,
    "toml": tomllib.loads,
    "ini": lambda text: configparser.ConfigParser(interpolation=None).read_string(text),
}


def name(document):
    return str(document.relative_to(ROOT))


ELSEWHERE = {ROOT / "docs" / "cookbook.md"}  # test_cookbook.py follows each recipe


def python(document):
    return [
        block for block in blocks(document) if block.language == "python" and not block.fragment
    ]


def program(shown):
    """One module of all blocks. Its line numbers are the document's, so that an error says where it is."""
    lines = []
    for block in shown:
        lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path not in ELSEWHERE and python(path)], ids=name
)
def test_the_python_of_a_document_runs_and_prints_what_it_promises(document, tmp_path):
    """The blocks of a document run one after another, as one module."""
    module = tmp_path / f"{document.stem.lower().replace('-', '_')}_blocks.py"
    module.write_text(program(python(document)), "utf-8")
    asserts = "def test_" in module.read_text("utf-8")

    done = run(module, cwd=tmp_path)
    tested = (
        run("-m", "pytest", "-q", "-p", "no:randomly", module, cwd=tmp_path) if asserts else done
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert PROMISED.findall(module.read_text("utf-8")) == done.stdout.splitlines()


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_the_data_that_a_document_shows_can_be_read(document):
    for block in blocks(document):
        if block.language in READERS and not block.fragment:
            try:
                READERS[block.language](block.text)
            except ValueError as error:
                pytest.fail(f"{name(document)}, line {block.line}: {error}")


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path not in ELSEWHERE], ids=name
)
def test_a_block_in_another_language_is_marked(document):
    read = {"", "text", "sh", "python", "yaml", *READERS}
    unread = [(block.line, block.language) for block in blocks(document) if not block.fragment]

    assert [found for found in unread if found[1] not in read] == []


# --- commands ------------------------------------------------------------------------------------


def refused(words):
    """The reason why the command line would not run a command; None if it would. Nothing is run."""
    context, command = click.Context(cli, **cli.context_settings), cli
    try:
        while isinstance(command, click.Group) and words:
            found, command, words = command.resolve_command(context, words)
            context = click.Context(command, parent=context, info_name=found)
        command.make_context(context.info_name, list(words), parent=context.parent)
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):  # shows a help text
        return None
    except click.MissingParameter as error:
        return error.format_message()
    except click.BadParameter:  # a file that is not there, for example
        return None
    except click.UsageError as error:
        return error.format_message()
    return None


def shown_commands(document):
    """The `xingqiao` commands in the shell blocks and transcripts of a document: (line of the block, words)."""
    for block in blocks(document):
        text = block.text
        if block.language == "" and re.search(r"^\$ ", text, flags=re.MULTILINE):
            text = "\n".join(re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE))
        elif block.language != "sh":
            continue
        for words, _ in commands(text):
            called = list(dropwhile(re.compile(r"[A-Z_]+=").match, words))
            if called[:1] == ["xingqiao"]:
                shell = [called.index(word) for word in ("|", ">") if word in called]
                yield block.line, called[1 : min(shell, default=None)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_the_commands_that_a_document_shows_exist(document):
    wrong = [(line, words, refused(words)) for line, words in shown_commands(document)]

    assert [found for found in wrong if found[2]] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_the_commands_in_the_text_of_a_document_exist(document):
    """Arguments may be left out there, unlike in a block."""
    text = re.sub(
        r"^ *```.*?^ *```", "", document.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    spans = re.findall(r"(?<!`)`xingqiao ([a-z][^`]*)`", " ".join(text.split()))
    called = [shlex.split(span.partition("...")[0]) for span in spans]
    wrong = [(words, refused(words)) for words in called]

    assert [found for found in wrong if found[1] and not found[1].startswith("Missing")] == []


def test_a_command_that_does_not_exist_is_found():
    assert refused(["execution", "list", "--status", "failed"]) is None
    assert "--colour" in refused(["execution", "list", "--colour", "red"])
    assert "fly" in refused(["execution", "fly", "ID"])
    assert "NAME" in refused(["invoke"])
    assert "ID" in refused(["execution", "get", "ID", "ID"])


def test_a_unit_of_systemd_starts_the_server_with_options_that_exist():
    starts = [
        shlex.split(start)[1:]
        for document in DOCUMENTS
        for block in blocks(document)
        if block.language == "ini"
        for start in re.findall(r"^ExecStart=(.*)$", block.text, flags=re.MULTILINE)
    ]

    assert starts
    assert [(start, refused(start)) for start in starts if refused(start)] == []


# --- the reader of documents ---------------------------------------------------------------------

DOCUMENT = """\
# Title

Write `pay.py`:

```python
pay = 1
```

<!-- fragment: needs Slack -->
```python
post()
```
"""


def test_a_block_knows_its_place_its_file_and_what_it_needs():
    first, second = parsed(DOCUMENT)

    assert (first.line, first.text, first.file, first.fragment) == (6, "pay = 1\n", "pay.py", None)
    assert (second.line, second.heading, second.fragment) == (11, "Title", "needs Slack")


def test_a_block_without_an_end_is_an_error():
    with pytest.raises(AssertionError, match="line 1 has no end"):
        list(parsed("```python\npay = 1\n"))


def test_a_command_goes_on_after_a_backslash_and_a_comment_may_say_that_it_fails():
    found = list(commands("a --b \\\n  'c d'  # once\n\n# only a comment\ne  # fails: no e\n"))

    assert found == [(["a", "--b", "c d"], False), (["e"], True)]
