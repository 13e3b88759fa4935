"""Hostile programs end in their budget, and quickly: in counted steps, with bounded memory."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from xingqiao.composer.languages import jq

STEPS, SIZE, DEPTH, NESTED = "steps", "bytes", "calls inside each other", "levels of arrays"
HOSTILE = [
    ("def f: f; f", STEPS),
    ("def f: 1 + f; f", DEPTH),
    ("def f: f | f; f", DEPTH),
    ("def f: f, f; f", DEPTH),
    ("def f: [f]; f", DEPTH),
    ("def f: path(f); f", DEPTH),
    ("def f: .. | f; [1] | f", DEPTH),
    ("def f: . as $x | (f | $x); f", DEPTH),
    ("def f(g): f(g | g); f(.)", STEPS),
    ("def f(x): x | f(x); f(.+1)", DEPTH),
    ("def f(g): f(if true then g else . end); f(.)", STEPS),
    ("def f: def g: f; g; f", STEPS),
    ("first(def f: (f, 1); f)", DEPTH),
    ("label $f | def g: g, break $f; g", DEPTH),
    ("try (def f: f; f) catch .", STEPS),
    ("{} | .a.b |= (def f: f; f)", STEPS),
    ("[range(1e12)]", STEPS),
    ("[range(1000000)]", STEPS),
    ("last(range(1e12))", STEPS),
    ("[limit(1e9; repeat(1))]", STEPS),
    ("path(repeat(.))", STEPS),
    ("[repeat(empty)]", STEPS),
    ("until(false; .)", STEPS),
    ("[while(true; .)]", STEPS),
    ("[while(true; ., .)]", STEPS),
    ("[recurse(.)]", STEPS),
    ("[foreach range(1e9) as $i (0; . + 1)]", STEPS),
    ("reduce range(1e9) as $i ([]; . + [$i])", STEPS),
    ("[range(30000)] | combinations(3)", STEPS),
    ("[range(50)] | [combinations(5)]", STEPS),
    ("[range(3000)] | .[] as $x | .[] as $y | $x * $y", STEPS),
    ("reduce range(60) as $i (1; [., .])", STEPS),
    ("reduce range(60) as $i (1; [., .]) | tojson", STEPS),
    ("reduce range(60) as $i (1; [., .]) | . == (. | map(.))", STEPS),
    ("reduce range(60) as $i (1; [., .]) | [..] | length", STEPS),
    ("reduce range(60) as $i (1; [., .]) | flatten | length", STEPS),
    ("reduce range(60) as $i (1; [., .]) | [., .] | sort", STEPS),
    ("reduce range(60) as $i (1; [., .]) | [tostream]", STEPS),
    ("reduce range(60) as $i ({}; {a: ., b: .}) | contains({a: {}})", STEPS),
    ("reduce range(60) as $i ({}; {a: ., b: .}) | . * .", STEPS),
    ("reduce range(300) as $i (0; [.])", NESTED),
    ("reduce range(300) as $i (0; [.]) | tojson", NESTED),
    ("reduce range(300) as $i ({}; {a: .}) | . * .", NESTED),
    ('"[" * 300 | fromjson', NESTED),
    ("getpath([range(300)])", NESTED),
    ("setpath([range(300) | 0]; 1)", NESTED),
    ("delpaths([[range(300)]])", NESTED),
    ("path(repeat(.)) | null", STEPS),
    ("[path(def f: .[0] | f; f)]", NESTED),
    ('"x" * 1e9', SIZE),
    ('1e9 * "x"', SIZE),
    ('reduce range(60) as $i ("a"; . + .)', SIZE),
    (".[1e8] = 1", SIZE),
    ('"a" * 1000000 | explode | implode', SIZE),
    ('"abc" * 1000000 | split("")', STEPS),
    ('"a" * 6000000 | @base64', STEPS),
    ('"a" * 6000000 | ascii_upcase', STEPS),
    ('"a" * 1000000 | gsub("a"; "bbbbbbbb")', STEPS),
    ('"a" * 100000 | [match(""; "g")]', STEPS),
    ('"a" * 5000 | test("(a+)+$b")', STEPS),
    ('"a" * 3000 + "!" | test("(a*)*(b|c)*x")', STEPS),
    ('"a" * 3000 | test("(a|a)*$x")', STEPS),
    ('"a" * 3000 | test("(?=(a*)*b)c")', STEPS),
    ('"a" * 3000 | test("^(?<a>a*)\\\\k<a>\\\\k<a>b")', STEPS),
    ('0 | strftime("%c" * 200000)', STEPS),
    ("[range(5000)] - [range(5000)]", STEPS),
    ("[range(10000)] | contains([range(10000)])", STEPS),
    ("[range(100000)] | unique", STEPS),
    ('[limit(100000; repeat("abc"))] | add', STEPS),
    ("[range(3000)] as $a | [$a[] | $a] | transpose", SIZE),
    ('[limit(900; repeat("a" * 10000))] | join("")', SIZE),
    ('[limit(900; repeat("a" * 10000))] | add', SIZE),
    ('[limit(900; repeat("a" * 10000))] | @csv', SIZE),
]  # fmt: skip


@pytest.mark.parametrize(("program", "bound"), HOSTILE, ids=[text[:50] for text, _ in HOSTILE])
def test_a_hostile_program_ends_in_its_budget(program, bound):
    compiled = jq.compile(program, variables=())

    with pytest.raises(jq.BudgetError, match=bound):
        compiled.evaluate(None)


@pytest.mark.parametrize("program", [text for text, _ in HOSTILE[::12]])
def test_a_hostile_program_holds_little_memory(program):
    compiled = jq.compile(program)
    tracemalloc.start()
    try:
        with pytest.raises(jq.BudgetError):
            compiled.evaluate(None)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 64_000_000


@pytest.mark.parametrize(
    "text",
    ["(" * 8000, "[" * 8000, "-" * 16000 + "1", "1" + "+1" * 8000, "1" + "//1" * 5000, "." + "[]" * 8000,
     "{a:" * 4000, "if " * 5000, "try " * 4000, "def f: " * 2000, '"\\(' * 5000, ". as [" + "[" * 5000,
     "1 as $x|" * 2000 + "1", "label $x|" * 1700 + "1", ".|" * 8000 + ".", "1,def f:1;" * 1500 + "1",
     "reduce " * 2000, ".." * 8000, " " * 20000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_program_that_is_too_deep_or_too_long_is_refused(text):
    with pytest.raises(jq.ProgramError):
        jq.compile(text)


def test_a_condition_inside_conditions_is_compiled_once():
    """Compiled twice, each level doubled the work: no budget counts what is done before a program runs."""
    program = jq.compile("until(" * 40 + "true" + "; .)" * 40)

    assert program.evaluate(True) == [True]


def test_a_pattern_inside_patterns_of_folds_is_compiled_once():
    """It was compiled for the update and again for the extract: each level doubled the work."""
    key = '"a"'
    for _ in range(20):
        key = f"foreach {{a: 0}} as {{({key}): $x}} (0; .; $k)"
    budget = jq.Budget()

    assert jq.compile(f'"a" as $k | {key}').evaluate(None, budget=budget) == ["a"]
    assert budget.spent < 1_000


def test_what_compiles_to_more_levels_than_python_has_is_refused():
    with pytest.raises(jq.ProgramError, match="too many parts inside each other"):
        jq.compile("any(" * 44 + "." + ";.)" * 44)


def test_many_arms_of_patterns_are_compiled_once():
    jq.compile(". as $a ?// $b | " * 60 + "1").evaluate(None)


def test_deep_recursion_in_tail_position_needs_no_levels():
    program = jq.compile("def f: if . == 0 then . else . - 1 | f end; 15000 | f")

    assert program.evaluate(None, budget=jq.Budget(10**6, depth=3)) == [0]


def test_frames_that_are_left_close_without_pythons_stack():
    left = "def f: if . > 1500 then . else (. + 1 | f), 1 end; first(0 | f)"

    assert jq.compile(left).evaluate(None) == [1501]
    assert sys.getrecursionlimit() < 10_000


def test_an_evaluation_that_nobody_finishes_is_closed():
    results = jq.compile("def f: if . > 900 then . else (. + 1 | f), 1 end; 0 | f").results(None)

    assert next(results) == 901
    results.close()


@pytest.mark.parametrize(
    "name",
    ["input", "inputs", "input_filename", "input_line_number", "halt", "halt_error", "modulemeta",
     "get_search_list", "get_prog_origin", "$__prog_args", 'import "a" as a; 1', 'include "a"; 1'],
)  # fmt: skip
def test_nothing_of_the_server_can_be_read_or_ended(name):
    with pytest.raises(jq.ProgramError, match=r"not available|not defined"):
        jq.compile(name)


def test_the_environment_is_empty_and_messages_go_nowhere(capfd):
    program = jq.compile('$ENV, env, (1 | debug, stderr, debug("a", "b"))')

    assert program.evaluate(None) == [{}, {}, 1, 1, 1]
    assert capfd.readouterr() == ("", "")


def test_an_evaluation_takes_as_many_steps_each_time():
    program = jq.compile('[range(100)] | map(tostring | test("1")) | group_by(.)')
    budgets = [jq.Budget(), jq.Budget()]

    for budget in budgets:
        program.evaluate(None, budget=budget)

    assert budgets[0].spent == budgets[1].spent > 100


@pytest.mark.parametrize("count", range(1, 7))
def test_an_evaluation_takes_as_many_steps_whatever_ran_before(count):
    """Functions are compiled when they are called first; where steps are charged must not depend on that."""
    parts = " | ".join(". + 1" for _ in range(count))
    text = f"def f: {parts}; def g: {parts}; def h: {parts}; if . < 5 then f else g end | h"
    program, fresh = jq.compile(text), [jq.compile(text), jq.compile(text)]
    spent = [jq.Budget() for _ in range(4)]

    for at, value in enumerate((1, 9)):
        fresh[at].evaluate(value, budget=spent[at])
    for at, value in enumerate((9, 1)):
        program.evaluate(value, budget=spent[2 + at])

    assert [budget.spent for budget in spent[2:]] == [budget.spent for budget in spent[1::-1]]
