"""Wildcards, slices, filters and `..` (RFC 9535, section 2), and the bounds on them."""

from __future__ import annotations

import pytest

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.expressions.bounds import MAX_FILTER, MAX_NODES, BudgetExceededError
from xingqiao.composer.expressions.queries import MAX_EXACT_INT, Query

# The examples of RFC 9535, by section.
A2_3_3 = {"o": {"j": 1, "k": 2}, "a": [5, 3]}
A2_3_5 = {
    "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
    "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
    "e": "f",
}
A2_5_2 = {"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}
LETTERS = ["a", "b", "c", "d", "e", "f", "g"]
ITEMS = [None, True, 0, 2, "x", [], {}]


@pytest.mark.parametrize(
    ("text", "document", "nodes"),
    [
        ("$.o[*]", A2_3_3, [1, 2]),
        ("$.o[*, *]", A2_3_3, [1, 2, 1, 2]),
        ("$.a[*]", A2_3_3, [5, 3]),
        ("$[*]", "text", []),
        ("$[1:3]", LETTERS, ["b", "c"]),
        ("$[5:]", LETTERS, ["f", "g"]),
        ("$[1:5:2]", LETTERS, ["b", "d"]),
        ("$[5:1:-2]", LETTERS, ["f", "d"]),
        ("$[::-1]", LETTERS, LETTERS[::-1]),
        ("$[::0]", LETTERS, []),
        ("$[-2:]", LETTERS, ["f", "g"]),
        ("$[100:]", LETTERS, []),
        ("$[0:2]", {"0": 1}, []),
        ("$[0:2]", "text", []),
        ("$[0, 3]", LETTERS, ["a", "d"]),
        ("$[0:2, 5]", LETTERS, ["a", "b", "f"]),
        ("$[0, 0, 9, 'a']", LETTERS, ["a", "a"]),
        ("$..j", A2_5_2, [1, 4]),
        ("$..[0]", A2_5_2, [5, {"j": 4}]),
        ("$.o..[*, *]", A2_5_2, [1, 2, 1, 2]),
        ("$.a..[0, 1]", A2_5_2, [5, 3, {"j": 4}, {"k": 6}]),
        ("$..*", {"a": {"b": [1]}}, [{"b": [1]}, [1], 1]),
    ],
)
def test_selectors_select_as_the_standard_has_it(text, document, nodes):
    assert Query(text).select(document) == nodes


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("$.a[?@.b == 'kilo']", [{"b": "kilo"}]),
        ("$.a[?(@.b == 'kilo')]", [{"b": "kilo"}]),
        ("$.a[?@ > 3.5]", [5, 4, 6]),
        ("$.a[?@.b]", [{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]),
        ("$.a[?@ < 2 || @.b == 'k']", [1, {"b": "k"}]),
        ("$.o[?@ > 1 && @ < 4]", [2, 3]),
        ("$.o[?@.u || @.x]", [{"u": 6}]),
        ("$.a[?!@.b && @ >= 4]", [5, 4, 6]),
        ("$.a[?@.b == $.x]", [3, 5, 1, 2, 4, 6]),
        ("$.a[?@ == $.o.q]", [2]),
        ("$.o[?@ != 1, ?@ == 1]", [2, 3, 5, {"u": 6}, 1]),
        ("$[?length(@) == 1]", ["f"]),
        ("$.a[?length(@.b) == 4]", [{"b": "kilo"}]),
        ("$.a[?length(@.b) < 9 && !(@.b == 'kilo')]", [{"b": "j"}, {"b": "k"}, {"b": {}}]),
        ("$.e[?@]", []),
        ("$.a[?@ == -1 || @ == 1e0 || @ == 2.0]", [1, 2]),
    ],
)
def test_filters_select_as_the_standard_has_it(text, nodes):
    assert Query(text).select(A2_3_5) == nodes


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("@", ITEMS),
        ("!@", []),
        ("@ == null", [None]),
        ("@ == true", [True]),
        ("@ == false", []),
        ("@ != false", ITEMS),
        ("@ == 0", [0]),
        ("@ < 3", [0, 2]),
        ("@ <= true", [True]),
        ("@ >= null", [None]),
        ("@.a == @.b", ITEMS),
        ("@ == @.b", []),
        ("@ == 'x' || @ == \"\\u0078\"", ["x"]),
        ("length(@) == 0", [[], {}]),
        ("length('abc') == 3", ITEMS),
        ("length(@) == length(@.a)", [None, True, 0, 2]),
        ("$[3] == 2", ITEMS),
    ],
)
def test_nothing_is_coerced_in_a_filter_and_what_is_false_still_exists(test, kept):
    found = Query(f"$[?{test}]").select(ITEMS)

    assert [repr(item) for item in found] == [repr(item) for item in kept]


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        ("match(@.a, 'a*')", "function 'match' is not defined"),
        ("search(@.a, 'a*')", "function 'search' is not defined"),
        ("count(@.a) == 1", "function 'count' is not defined"),
        ("value(@.a) == 1", "function 'value' is not defined"),
        ("@.*", "a filter may only use singular queries, not '@[*]'; use an inline function"),
        ("@..a", "a filter may only use singular queries"),
        ("@[?@.a]", "a filter may only use singular queries"),
        ("@.* == 1", "not comparable"),
        ("length(@.*) == 1", "must be of ValueType"),
        ("length(@.a)", "must be compared"),
        ("@.a == [1]", "a filter cannot compare '[1]'"),
        ("@.a == !'x'", "a filter cannot compare"),
        ("[1]", "a filter cannot compare"),
        ("@.a <> 1", "a filter has no operator '<>'"),
        ("@.a =~ /x/", "unexpected token"),
        ("true", "must be compared"),
        ("@.a == 1e400", "infinity"),
        (f"@.a == {MAX_EXACT_INT + 1}", f"must not be above {MAX_EXACT_INT}"),
        (f"@.a == -{MAX_EXACT_INT + 1}", f"must not be above {MAX_EXACT_INT}"),
        ("@.a &&", "path"),
        ("_.a", "unexpected"),
        ("#", "unexpected"),
    ],
)
def test_what_a_filter_cannot_say_is_refused_with_what_would_do(test, complaint):
    with pytest.raises(ExpressionError) as refusal:
        Query(f"$[?{test}]")

    assert complaint in str(refusal.value)
    assert f"$[?{test}]" in str(refusal.value) or repr(f"$[?{test}]") in str(refusal.value)


def test_the_largest_exact_number_can_be_compared():
    query = Query(f"$[?@ == {MAX_EXACT_INT} || @ == -{MAX_EXACT_INT}]")

    assert query.select([MAX_EXACT_INT, MAX_EXACT_INT - 1, -MAX_EXACT_INT]) == [
        MAX_EXACT_INT,
        -MAX_EXACT_INT,
    ]


def test_a_filter_has_so_many_operands_and_operators_and_no_more():
    def test(operands):
        return Query("$[?" + "&&".join(["@"] * operands) + "]")

    assert test(MAX_FILTER // 2).select([1]) == [1]
    with pytest.raises(ExpressionError, match=f"at most {MAX_FILTER} operands"):
        test(MAX_FILTER // 2 + 1)
    with pytest.raises(ExpressionError, match=f"at most {MAX_FILTER} operands"):
        Query("$[?@" + "[0]" * MAX_FILTER + "]")


def nested(levels):
    document = []
    for _ in range(levels):
        document = [document]
    return document


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("$[*]", [0] * (MAX_NODES - 1), [0] * MAX_NODES),
        ("$[0:]", [0] * (MAX_NODES - 1), [0] * MAX_NODES),
        ("$[?@]", [0] * (MAX_NODES - 1), [0] * MAX_NODES),
        ("$[?@==1]", [0] * ((MAX_NODES - 1) // 3), [0] * ((MAX_NODES - 1) // 3 + 1)),
        ("$[?@.a]", [0] * ((MAX_NODES - 1) // 2), [0] * ((MAX_NODES - 1) // 2 + 1)),
        ("$..a", [0] * (MAX_NODES - 1), [0] * MAX_NODES),
        ("$..a", nested((MAX_NODES - 1) // 2), nested((MAX_NODES - 1) // 2 + 1)),
        ("$..['a', 'b', 'c']", [0] * (MAX_NODES - 3), [0] * (MAX_NODES - 2)),
    ],
)
def test_every_node_is_counted_before_it_is_visited(text, least, most):
    query = Query(text)

    query.select(least)
    with pytest.raises(BudgetExceededError):
        query.select(most)


@pytest.mark.parametrize(
    "text",
    [
        "$" + "..*" * 300,
        "$[" + ",".join(["*"] * 400) + "][" + ",".join(["*"] * 100) + "]",
        "$[" + ",".join(["?@.x"] * 200) + "]",
        "$[" + ",".join(["0:"] * 300) + "][0:]",
        "$..['" + "','".join("abcdefghijklmnopqrstuvwxyz" * 9) + "']",
    ],
)
def test_no_text_makes_a_small_document_large(text):
    with pytest.raises(BudgetExceededError):
        Query(text).select([[[0] * 20] * 20] * 200)


def test_a_plural_query_has_no_steps():
    assert Query("$[*]").steps is None
    assert Query("$['a'][0]").steps == ("a", 0)
    assert Query("$['a'][0]").select({"a": [7]}) == [7]
