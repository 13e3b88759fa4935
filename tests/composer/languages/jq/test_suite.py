"""jq's own test suite (suite/, from jq 1.8.2, under its licence): each case but the listed ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.kit.jq import same
from xingqiao.composer.languages import jq

SUITE = Path(__file__).with_name("suite")
FILES = ("jq", "man", "manonig", "onig", "base64", "uri")
# Beginnings of programs whose results differ, and why.
DIFFERENT = {
    "modules are refused": ("import ", "include ", "modulemeta"),
    "the environment and the input files are not there": ("$ENV.PAGER", "env.PAGER", "try input "),
    "values nest 240 levels deep": (
        "reduce range(9999)", "reduce range(10000)", "reduce range(10001)", "setpath([range(10000)",
        "try setpath([range(10001)", "getpath([range(10000)", "try getpath([range(10001)",
        "delpaths([[range(10000)", "try delpaths([[range(10001)", "try (reduce range(10001)",
        "try ((reduce range(10001)",
    ),
    "too large a value is a budget error, which nothing catches": ("try (. * 1000000000)",),
    "a text of JSON that cannot be read has another message": (
        ".[] | try (fromjson | isnan)", "try fromjson catch",
    ),
    "-NaN is not JSON": (".[] = 1",),
    "integers keep their digits, fractions do not: jq has both, or neither": (
        ".[0] | tostring | . == if have_decnum", ".x | tojson | . == if have_decnum",
        "(13911860366432393 == 13911860366432392)", '-. | tojson == if have_decnum then "-1',
        "[., tojson] == if have_decnum", "[1234567890987654321,-1234567890987654321 | tojson]",
        "map([., . == 1]) | tojson == if have_decnum", ". as $big | [$big, $big + 1]",
        ".[] as $n | $n+0 | [., tostring", 'try (. + "x") catch . == if have_decnum',
    ),
}  # fmt: skip


def cases():
    for name in FILES:
        text = (SUITE / f"{name}.test").read_text("utf-8")
        for block in re.split(r"\n\s*\n", text):
            lines = [line for line in block.split("\n") if line and not line.startswith("#")]
            if lines:
                yield lines


CASES = list(cases())
FAILING = [lines[1] for lines in CASES if lines[0].startswith("%%FAIL")]
WORKING = [lines for lines in CASES if not lines[0].startswith("%%FAIL")]


def read(text):
    return next(jq.compile("fromjson").results(text.lstrip("\ufeff")))


def different(program):
    return any(program.startswith(starts) for starts in DIFFERENT.values())


@pytest.mark.parametrize("program", FAILING)
def test_a_program_that_jq_refuses_is_refused(program):
    with pytest.raises(jq.ProgramError):
        jq.compile(program, variables=())


@pytest.mark.parametrize("lines", WORKING, ids=[lines[0][:60] for lines in WORKING])
def test_a_program_has_the_results_that_jq_states(lines):
    program, given, *wanted = lines
    if different(program):
        assert told(program, given) != [json_of(line) for line in wanted]
        return

    results = []
    try:
        for result in jq.compile(program).results(read(given), now=0, budget=jq.Budget(10**7)):
            results.append(result)  # noqa: PERF402 - those before an error count
    except jq.EvaluationError:
        pass

    assert len(results) == len(wanted)
    assert all(same(*pair) for pair in zip(results, map(read, wanted), strict=True)), results


def told(program, given):
    """The results as JSON; an error is none."""
    try:
        found = jq.compile(program).evaluate(read(given), budget=jq.Budget(10**7))
    except jq.JqError:
        return None
    return [jq.tojson(result, jq.Budget()) for result in found]


def json_of(line):
    try:
        return json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return line


def test_nearly_all_cases_are_the_same():
    unlike = [lines for lines in WORKING if different(lines[0])]

    assert len(unlike) <= len(CASES) * 0.06
