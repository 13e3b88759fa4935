"""Selectors, and the typed predicates over them."""

from __future__ import annotations

import json
import math
import operator
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.expressions import Predicate, Scope, Selector, parse_predicate, path, var
from xingqiao.composer.expressions.bounds import MAX_NODES, MAX_PATTERN
from xingqiao.composer.expressions.nodes import MISSING
from xingqiao.composer.values import EXPRESSION_ERROR, LIMIT_EXCEEDED

DATA = {
    "n": 3, "f": 3.0, "s": "3", "t": True, "z": 0, "e": "", "null": None,
    "list": [1, 2], "none": [], "o": {"x": 1}, "word": "hello",
}  # fmt: skip
SCOPE = Scope(DATA, {"v": {"n": 3, "list": [1]}, "w": None})
TOO_MUCH = Scope({"a": [0] * (MAX_NODES + 1)}, {})
TOO_MANY = path("$.a[*]")


def holds(predicate, scope=SCOPE):
    return predicate.holds(scope)


# --- selectors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (path("$.n"), 3),
        (path("$"), DATA),
        (path("$.nothing"), MISSING),
        (path("$.nothing", default=7), 7),
        (path("$.nothing", default=None), None),
        (path("$.null", default=7), None),
        (path("$.list[*]"), [1, 2]),
        (path("$.nothing[*]", default=[7]), []),
        (var("v"), {"n": 3, "list": [1]}),
        (var("v", "$.n"), 3),
        (var("w"), None),
        (var("v", "$.nothing", default=[]), []),
        (var("v", "$.nothing"), MISSING),
    ],
)
def test_a_selector_finds_a_place_in_the_data_or_in_a_variable(selector, found):
    assert selector.select(SCOPE) == found


def test_a_variable_that_is_not_declared_is_a_failure_even_with_a_default():
    failed = var("n", default=1).select(Scope({}, {}))

    assert failed.code == EXPRESSION_ERROR
    assert failed.error["message"] == "var('n'): no enclosing let declares 'n'"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (path("$.a"), "path('$.a')"),
        (var("n"), "var('n')"),
        (var("n", "$.a"), "var('n', '$.a')"),
    ],
)
def test_a_selector_shows_how_it_is_written(selector, text):
    assert repr(selector) == text


@pytest.mark.parametrize(
    ("selector", "doc"),
    [
        (path("$.a"), {"path": "$.a"}),
        (path("$.a", default=None), {"path": "$.a", "default": None}),
        (var("n", "$[0]"), {"path": "$[0]", "var": "n"}),
        (var("n", default=[1]), {"path": "$", "var": "n", "default": [1]}),
    ],
)
def test_a_selector_is_written_and_read_back(selector, doc):
    assert selector.to_json() == doc
    assert Selector.from_json(doc).to_json() == doc


@pytest.mark.parametrize(
    "doc",
    [None, "$.a", [], {}, {"var": "n"}, {"path": "$.a", "more": 1}, {"path": "a"}, {"path": []},
     {"path": "$", "var": 5}, {"path": "$", "var": []}, {"path": "$", "var": ""},
     {"path": "$", "var": "a b"}, {"path": "$", "default": {1}}],
)  # fmt: skip
def test_what_is_no_selector_is_refused(doc):
    with pytest.raises(ExpressionError):
        Selector.from_json(doc)


@pytest.mark.parametrize("name", [None, 5, "", "a b", "1a", ["n"], b"n"])
def test_a_variable_has_a_name_that_let_can_declare(name):
    with pytest.raises(ExpressionError, match="var: 'name' must be the name of a variable, not"):
        var(name)


def test_a_default_must_be_json():
    with pytest.raises(ExpressionError, match=r"path '\$.a': 'default' must be JSON, but nan at"):
        path("$.a", default=math.nan)


def test_what_a_caller_changes_after_composing_changes_nothing():
    default, right, written = {"a": [1]}, [1], path("$.x", default=[1])
    selector, predicate = path("$.nothing", default=default), path("$.list") == right

    default["a"].append(2)
    right.append(2)
    written.to_json()["default"].append(2)
    predicate.to_json()["right"]["value"].append(3)

    assert selector.select(SCOPE) == {"a": [1]}
    assert not holds(predicate)
    assert written.to_json()["default"] == [1]
    assert predicate.to_json()["right"] == {"value": [1]}


def test_a_tuple_is_a_list_as_in_json():
    assert holds(path("$.list") == (1, 2)) is True
    assert path("$.nothing", default=(1, (2,))).select(SCOPE) == [1, [2]]


# --- comparisons -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicate", "held"),
    [
        (path("$.n") == 3, True),
        (path("$.n") == 3.0, True),
        (path("$.n") == "3", False),
        (path("$.t") == 1, False),
        (path("$.t") == True, True),  # noqa: E712
        (path("$.n") != 3, False),
        (path("$.nothing") != 3, True),
        (path("$.nothing") == None, False),  # noqa: E711
        (path("$.null") == None, True),  # noqa: E711
        (path("$.n") < 4, True),
        (4 > path("$.n"), True),  # noqa: SIM300
        (path("$.n") <= 3, True),
        (path("$.n") > 3, False),
        (path("$.n") >= 3, True),
        (path("$.s") > 2, False),
        (path("$.t") < 2, False),
        (path("$.word") > "hallo", True),
        (path("$.n") == path("$.f"), True),
        (path("$.n") == var("v", "$.n"), True),
        (path("$.nothing") == path("$.missing"), True),
        (path("$.nothing") < path("$.missing"), False),
        (path("$.nothing") <= path("$.missing"), True),
        (path("$.list[*]") == [1, 2], True),
        (path("$.o") == {"x": 1.0}, True),
    ],
)  # fmt: skip
def test_a_comparison_holds_as_json_has_it(predicate, held):
    assert holds(predicate) is held


@pytest.mark.parametrize(
    ("predicate", "held"),
    [
        (path("$.null").exists(), True),
        (path("$.nothing").exists(), False),
        (path("$.nothing", default=0).exists(), True),
        (path("$.n").is_true(), True),
        (path("$.none").is_true(), True),
        (path("$.z").is_true(), False),
        (path("$.e").is_true(), False),
        (path("$.null").is_true(), False),
        (path("$.nothing").is_true(), False),
        (path("$.null").is_a("null"), True),
        (path("$.t").is_a("boolean"), True),
        (path("$.t").is_a("number"), False),
        (path("$.f").is_a("number"), True),
        (path("$.n").is_a("number"), True),
        (path("$.s").is_a("string"), True),
        (path("$.list").is_a("array"), True),
        (path("$.o").is_a("object"), True),
        (path("$.o").is_a("array"), False),
        (path("$.nothing").is_a("null"), False),
        (path("$.n").one_of(1, 2, 3.0), True),
        (path("$.n").one_of("3", True), False),
        (path("$.n").one_of(path("$.f")), True),
        (path("$.n").one_of(), False),
    ],
)
def test_a_check_looks_at_what_stands_there(predicate, held):
    assert holds(predicate) is held


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("", "", True),
        ("", "a", False),
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("*", "", True),
        ("*", "anything\nat all", True),
        ("a*", "a", True),
        ("a*", "ba", False),
        ("a*c", "abbc", True),
        ("a*c", "abb", False),
        ("a*c", "ac", True),
        ("ab*bc", "abc", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c", False),
        ("*b*", "abc", True),
        ("**b**", "b", True),
        ("a*a", "a", False),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        (r"a\\*", "a\\b", True),
        (r"a\\", "a\\", True),
        (r"\a", "a", True),
        ("*.log", "x.log", True),
        ("*.log", "xxlog", False),
        ("[a-z]?", "[a-z]?", True),
    ],
)
def test_a_pattern_fits_with_a_star_for_any_text(pattern, text, fits):
    assert path("$").matches(pattern).holds(Scope(text, {})) is fits


def test_only_a_string_fits_a_pattern():
    assert holds(path("$.n").matches("*")) is False
    assert holds(path("$.nothing").matches("*")) is False


@given(st.text("ab*\\", max_size=8), st.text("ab*\\", max_size=8))
def test_a_pattern_of_escaped_characters_fits_itself_alone(pattern, text):
    escaped = "".join(f"\\{char}" for char in pattern)

    assert path("$").matches(escaped).holds(Scope(text, {})) is (pattern == text)


def test_a_pattern_cannot_backtrack():
    pattern = path("$").matches("*a" * (MAX_PATTERN // 2 - 1) + "*b")

    assert pattern.holds(Scope("a" * 500_000, {})) is False


# --- combinations ------------------------------------------------------------------------------

YES, NO = path("$.t").is_true(), path("$.z").is_true()
FAILS = var("nobody").is_true()


@pytest.mark.parametrize(
    ("predicate", "held"),
    [
        (YES & YES, True),
        (YES & NO, False),
        (NO & FAILS, False),
        (YES | FAILS, True),
        (NO | NO, False),
        (NO | YES, True),
        (~YES, False),
        (~~YES, True),
        (~(YES & NO) | FAILS, True),
        (YES & (NO | YES) & ~NO, True),
    ],
)
def test_predicates_combine_and_stop_as_soon_as_they_are_decided(predicate, held):
    assert holds(predicate) is held


@pytest.mark.parametrize(
    "predicate",
    [FAILS & YES, YES & FAILS, FAILS | YES, NO | FAILS, ~FAILS, ~~FAILS, ~(YES & FAILS),
     var("nobody") == 1, path("$.n") == var("nobody"), var("nobody").exists(),
     var("nobody").is_a("null"), var("nobody").one_of(1), var("nobody").matches("*")],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_a_failure_whatever_it_is_combined_with(predicate):
    assert holds(predicate).code == EXPRESSION_ERROR


@pytest.mark.parametrize(
    "predicate",
    [TOO_MANY == [], path("$.b") == TOO_MANY, TOO_MANY.exists(), TOO_MANY.is_a("array")],
)
def test_a_bound_that_is_exceeded_is_a_failure(predicate):
    assert holds(predicate, TOO_MUCH).code == LIMIT_EXCEEDED


def test_a_chain_of_a_thousand_is_one_level():
    tests = [path("$.n") == n for n in range(1000)]

    either, both = reduce(operator.or_, tests), reduce(operator.and_, tests)

    assert len(either.to_json()["of"]) == len(both.to_json()["of"]) == 1000
    assert holds(either) is True
    assert holds(both) is False


def test_a_group_on_the_right_is_flat_too():
    assert (YES | (NO | YES)).to_json() == ((YES | NO) | YES).to_json()
    assert [doc["op"] for doc in (YES | (NO & YES)).to_json()["of"]] == ["true", "and"]


@pytest.mark.parametrize("other", [path("$.a"), True, None, "x", {}])
@pytest.mark.parametrize("combine", [operator.and_, operator.or_])
def test_only_predicates_combine(combine, other):
    with pytest.raises(ExpressionError, match=r"cannot be combined with a predicate: compare it"):
        combine(YES, other)
    with pytest.raises(ExpressionError, match=r"cannot be combined with a predicate: compare it"):
        combine(other, YES)


def test_neither_a_selector_nor_a_predicate_has_a_truth_while_composing():
    with pytest.raises(TypeError, match=r"path\('\$.a'\) has no truth while composing"):
        bool(path("$.a"))
    with pytest.raises(TypeError, match="a predicate has no truth while composing: use &"):
        bool(YES)
    with pytest.raises(TypeError, match="use &"):
        0 < path("$.a") < 5  # noqa: B015
    with pytest.raises(TypeError, match="use &"):
        path("$.a") in [path("$.b")]  # noqa: B015, FURB171


def test_a_selector_is_no_key_since_equality_makes_a_predicate():
    with pytest.raises(TypeError, match="unhashable"):
        {path("$.a"): 1}


def test_every_predicate_fulfils_the_protocol_and_no_selector_does():
    kinds = [path("$") == 1, YES, path("$").is_a("null"), path("$").matches("*"), YES & NO, ~YES]

    assert all(isinstance(predicate, Predicate) for predicate in kinds)
    assert not isinstance(path("$"), Predicate)


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: path("$.a") == {1, 2},
            "path('$.a') is compared with a value that is not JSON: set",
        ),
        (lambda: path("$.a") < math.inf, "is compared with a value that is not JSON: inf at $"),
        (lambda: path("$.a") == YES, "is compared with a value that is not JSON: Check at $"),
        (lambda: path("$.a").one_of(1, b"x"), "is compared with a value that is not JSON: bytes"),
        (lambda: path("$.a").is_a("int"), "is_a: 'type' must be one of ['null', 'boolean'"),
        (lambda: path("$.a").is_a([]), "is_a: 'type' must be one of"),
        (lambda: path("$.a").matches(5), "matches: 'pattern' must be a string of at most 256"),
        (lambda: path("$.a").matches("x" * 257), "matches: 'pattern' must be a string of at most"),
        (lambda: path("$.a").matches("a\\"), "ends with a backslash that escapes nothing"),
        (lambda: path("$.a").matches("a\\\\\\"), "ends with a backslash that escapes nothing"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_while_composing(make, complaint):
    with pytest.raises(ExpressionError) as refusal:
        make()

    assert complaint in str(refusal.value)


def test_a_pattern_may_be_as_long_as_the_limit_says():
    assert path("$").matches("x" * MAX_PATTERN).holds(Scope("x" * MAX_PATTERN, {})) is True


# --- JSON --------------------------------------------------------------------------------------

selectors = st.sampled_from(
    [path("$.n"), path("$.nothing"), path("$.list[*]"), path("$.x", default={"$path": 1}),
     var("v", "$.n"), var("w"), var("nobody")]
)  # fmt: skip
literals = st.none() | st.booleans() | st.integers(0, 4) | st.sampled_from(["3", "", [1], {"x": 1}])
comparisons = st.builds(
    lambda compare, left, right: compare(left, right),
    st.sampled_from([operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]),
    selectors,
    literals | selectors,
)
checks = st.one_of(
    selectors.map(Selector.exists),
    selectors.map(Selector.is_true),
    st.builds(Selector.is_a, selectors, st.sampled_from(["null", "number", "array"])),
    st.builds(Selector.matches, selectors, st.sampled_from(["*", "3", r"\*"])),
    st.builds(lambda of, values: of.one_of(*values), selectors, st.lists(literals, max_size=3)),
)
predicates = st.recursive(
    comparisons | checks,
    lambda inner: (
        st.builds(operator.and_, inner, inner)
        | st.builds(operator.or_, inner, inner)
        | st.builds(operator.invert, inner)
    ),
    max_leaves=6,
)


@given(predicates)
def test_a_predicate_that_is_written_reads_as_one_that_holds_for_the_same(predicate):
    text = json.dumps(predicate.to_json())

    read = parse_predicate(json.loads(text))

    assert json.dumps(read.to_json()) == text
    assert holds(read) == holds(predicate)


@given(predicates, predicates)
def test_de_morgan_holds_where_both_can_be_evaluated(left, right):
    outcomes = holds(left), holds(right)
    if not all(isinstance(outcome, bool) for outcome in outcomes):
        return

    assert holds(~(left & right)) is holds(~left | ~right) is not all(outcomes)
    assert holds(~(left | right)) is holds(~left & ~right) is not any(outcomes)


PLACE = {"path": "$.a"}


@pytest.mark.parametrize(
    "doc",
    [None, 5, "eq", [], {}, {"op": "xor"}, {"op": []}, {"op": None}, {"op": {}},
     {"op": "eq"}, {"op": "eq", "left": PLACE}, {"op": "eq", "left": PLACE, "right": 5},
     {"op": "eq", "left": PLACE, "right": "value"}, {"op": "eq", "left": PLACE, "right": ["value"]},
     {"op": "eq", "left": PLACE, "right": {"value": {1}}}, {"op": "eq", "left": 5, "right": PLACE},
     {"op": "exists"}, {"op": "exists", "of": "$.a"}, {"op": "true", "of": None},
     {"op": "is", "of": PLACE}, {"op": "is", "of": PLACE, "type": "int"},
     {"op": "is", "of": PLACE, "type": []}, {"op": "matches", "of": PLACE, "pattern": None},
     {"op": "and"}, {"op": "and", "of": 5}, {"op": "or", "of": "ab"}, {"op": "or", "of": [5]},
     {"op": "not", "of": [{"op": "true", "of": PLACE}]}],
)  # fmt: skip
def test_what_is_no_predicate_is_refused(doc):
    with pytest.raises(ExpressionError):
        parse_predicate(doc)


def test_a_refusal_shows_a_little_of_what_is_no_predicate():
    with pytest.raises(ExpressionError, match=r"^not a predicate: ") as refusal:
        parse_predicate({"op": "x" * 10_000})

    assert len(str(refusal.value)) < 300


def test_an_unknown_comparison_is_refused_by_name():
    from xingqiao.composer.expressions.predicates import Comparison

    with pytest.raises(ExpressionError, match="unknown comparison '<>': use one of"):
        Comparison("<>", path("$"), 1)
