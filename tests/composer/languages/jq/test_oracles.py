"""Our jq beside two oracles: libjq 1.8 (PyPI jq) for all programs, and purejq for the core of the language."""

from __future__ import annotations

import json
import re

import jq as libjq
import purejq
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.jq import same
from xingqiao.composer.languages import jq

ERROR = "error"
DOCUMENTS = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, -3, 0.5, 10, "", "a", "b", "ab c", "7", "é☃"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=8,
)
PATHS = (
    ".", ".a", ".b", ".a.b", ".[0]", ".[-1]", ".[]", ".[]?", ".a?", ".[1:]", ".[:1]", ".[:-1]?", "..",
    ".a[0]?", '.["b"]', "first(.[]?)", 'getpath(["a"])?', ".[0:2]?",
)  # fmt: skip
LITERALS = (
    "0", "1", "2.5", "-1", '"a"', '"b"', '""', "true", "false", "null", "[]", "{}", "[1,2]", "empty",
    '{"a":1}', "(1,2)",
)  # fmt: skip
BINARY = (
    "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "//", ",", "|",
)  # fmt: skip
UNARY = (
    "length", "keys", "type", "not", "add", "tojson", "tostring", "sort", "unique", "reverse", "to_entries",
    "flatten", "min", "max", "floor", "tonumber", "ascii_upcase", "explode", "any", "all", "values",
    "scalars", "paths", "first", "last", "transpose", "from_entries", "tostream", "abs", "@json",
    "@html", "@uri", "@sh", "@csv", "@base64", "trim", "utf8bytelength", "implode", "error", "isempty(.[])",
    '[splits("a")]', 'has("a")', "has(0)", 'index("a")', "indices(1)", 'join("-")', 'split("a")',
    'ltrimstr("a")', 'startswith("a")', 'contains("a")', "contains([])", "inside([1,2])",
    'test("a|b")', '[match("(a)|(?<x>.)"; "g")]', 'gsub("a"; "x")', "ascii_downcase", "fabs",
    "[limit(2; .[])]", "[range(3)]", "tojson | fromjson", "bsearch(1)", "combinations", "keys_unsorted",
    "walk(.)", "del(.[0]?)", "del(.a?)", "map(.)", "map_values(.)", "nth(1)", "isvalid", "infinite",
    "[.[]?] | add", "to_entries | from_entries", "with_entries(.)", "pick(.a)", "IN(1, 2)", "toboolean",
)  # fmt: skip
TARGETS = (".a", ".[0]", ".[]?", ".a.b", ".[1:]", "..", "(.a, .b)", ".[]", 'getpath(["c", 0])')
UPDATES = ("=", "|=", "+=", "-=", "*=", "//=")


def core(inner):
    """Programs for which both oracles have the same results."""
    pairs = st.tuples(inner, inner)
    parts = st.tuples(inner, inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(BINARY), inner).map(lambda t: "({} {} {})".format(*t)),
        inner.map("[{}]".format),
        inner.map("({})?".format),
        inner.map("map({})".format),
        inner.map("map(select({}))".format),
        inner.map("first({})".format),
        inner.map("[limit(2; {})]".format),
        inner.map("(def f: {}; f, f)".format),
        pairs.map(lambda t: "({} as $x | [$x, {}])".format(*t)),
        pairs.map(lambda t: "{{a: {}, b: {}}}".format(*t)),
        pairs.map(lambda t: "[label $f | {}, break $f, {}]".format(*t)),
        pairs.map(lambda t: "[foreach ({}) as $x (null; {}; [., $x])]".format(*t)),
        parts.map(lambda t: "(if {} then {} else {} end)".format(*t)),
    )


def written(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        core(inner),
        st.tuples(inner, st.sampled_from(UNARY)).map(lambda t: "({} | {})".format(*t)),
        st.tuples(st.sampled_from(TARGETS), st.sampled_from(UPDATES), inner).map(
            lambda t: "({} {} {})".format(*t)
        ),
        inner.map("(try {} catch .)".format),
        inner.map("[paths({})]".format),
        inner.map("sort_by({})".format),
        inner.map("group_by({})".format),
        inner.map("unique_by({})".format),
        inner.map("max_by({})".format),
        inner.map("[path({})]".format),
        inner.map('"x\\({})y"'.format),
        inner.map("(def f(g): g | g; f({}))".format),
        inner.map("-({})".format),
        pairs.map(lambda t: "({} as {{a: $y}} | [$y, {}])".format(*t)),
        pairs.map(lambda t: "[{} as [$x] ?// $x | [$x, {}]]".format(*t)),
        pairs.map(lambda t: "(reduce ({}) as $x (0; . + ({})))".format(*t)),
    )


# libjq has no paths behind a pattern, and where paths are asked for some functions fail earlier.
OTHER_PATHS = re.compile(r"\bpath\(.* as [\[{]|try .*\bpath\(")
PROGRAMS = st.recursive(st.sampled_from(PATHS + LITERALS), written, max_leaves=5).filter(
    lambda program: not OTHER_PATHS.search(program)
)
HIDDEN = (".a[0]?", "//")  # purejq hides the errors of these
CORE = st.recursive(st.sampled_from(PATHS + LITERALS), core, max_leaves=5).filter(
    lambda program: not any(part in program for part in HIDDEN)
)


def ours(program, value):
    try:
        return jq.compile(program).evaluate(value)
    except (jq.EvaluationError, jq.ProgramError):
        return ERROR


def theirs(program, value):
    try:
        return libjq.compile(program).input_text(json.dumps(value)).all()
    except ValueError:
        return ERROR


def pure(program, value):
    try:
        return purejq.compile(program).all(value)
    except Exception:  # noqa: BLE001 - whatever it raises is an error
        return ERROR


@settings(max_examples=300, deadline=None)
@given(program=PROGRAMS, value=DOCUMENTS)
def test_a_generated_program_has_libjqs_results_or_fails_as_there(program, value):
    wanted = theirs(program, value)

    assert same(ours(program, value), wanted), (program, value, wanted)


@settings(max_examples=300, deadline=None)
@given(program=CORE, value=DOCUMENTS)
def test_a_program_of_the_core_has_purejqs_results_or_fails_as_there(program, value):
    wanted = pure(program, value)

    assert same(ours(program, value), wanted), (program, value, wanted)
