"""The code of users, as a hosted action runs it."""

from __future__ import annotations

from tests.kit.deploy.wrapped import APPLICATION, BAD, MESSAGE, run
from xingqiao.infra.deploy.hosted import Wrapped
from xingqiao.infra.deploy.hosted.user_code import define, run_inline


def test_code_is_taken_in_once():
    action = Wrapped.of_source(
        "double", "n = 0\ndef main(p):\n    global n\n    n += 1\n    return {'n': n}", "main"
    )

    assert [action.run(MESSAGE)["outcome"]["value"]["n"] for _ in range(3)] == [1, 2, 3]


def test_a_traceback_quotes_the_users_code(capsys):
    run("def main(p):\n    raise ValueError('why')  # this line\n")

    assert "# this line" in capsys.readouterr().err


def test_an_inline_function_leaves_its_variables_whatever_it_does():
    keep = define("f", "def f(p, v):\n    v['n'] = 2\n", "f")
    fail = define("f", "def f(p, v):\n    v['n'] = 2\n    raise ValueError('why')\n", "f")
    spoil = define("f", "def f(p, v):\n    v['n'] = {1}\n", "f")
    alone = define("f", "def f(p):\n    return p\n", "f")

    assert run_inline(keep, {"p": 1}, {"n": 1}) == {"value": {"p": 1}, "variables": {"n": 2}}
    assert run_inline(fail, {}, {"n": 1}) == {
        "code": APPLICATION,
        "error": "why",
        "raised": ["ValueError", "Exception"],
        "variables": {"n": 2},
    }
    assert run_inline(spoil, {}, {"n": 1})["code"] == BAD
    assert run_inline(alone, {"p": 1}, {}) == {"value": {"p": 1}}
