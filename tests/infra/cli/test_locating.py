"""Errors of a user's file: each names the line of the file that made it."""

from __future__ import annotations

import pytest

IMPORT = "from xingqiao import composer\n"


@pytest.fixture
def told(refused, tmp_path):
    """The error of a file that cannot be loaded, without the file's name."""

    def run(code, name="flow.py"):
        (tmp_path / name).write_text(code)
        return refused("show", name).removeprefix(name)

    return run


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("p = composer.sequnce('a')\n",
         ", line 2: AttributeError: module 'xingqiao.composer' has no attribute 'sequnce': did you"),
        ("p = composer.if_('a', 'b')\n", "'if_': did you mean 'when'?"),
        ("p = composer.sequence(\n    'a',\n    composer.retry('3', 'b'),\n)\n",
         ", line 4: retry: 'count' must be an int >= 0, not '3'"),
        ("def part():\n    return composer.repeat('x', 'a')\np = part()\n", ", line 3: repeat: "),
        ("p = composer.retry(3, 'a', eror='b')\n", ", line 2: TypeError: retry() got an unexpected"),
        ("backup = 'a'\np = composer.sequence(bakup)\n",
         ", line 3: NameError: name 'bakup' is not defined: did you mean 'backup'?"),
        ("p = composer.sequence('a'\n", ", line 2: SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)\n", ", line 2: the file ends the program (3): move the call below if"),
    ],
)  # fmt: skip
def test_an_error_names_the_line(told, code, text):
    assert text in told(IMPORT + code)


def test_an_error_in_a_module_beside_names_that_module(told, tmp_path):
    (tmp_path / "beside_flow.py").write_text(f"{IMPORT}part = composer.retry('3', 'b')\n")

    assert told("import beside_flow\n").startswith("beside_flow.py, line 2: retry: 'count' must")


def test_an_error_in_a_library_names_the_line_that_called_it(told):
    assert told("import json\njson.loads('{')\n").startswith(", line 2: JSONDecodeError: ")
