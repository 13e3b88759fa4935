"""Long texts, large classes of characters, and patterns that write much are charged as steps."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages import jq
from xingqiao.composer.languages.jq.budget import MAX_SIZE
from xingqiao.composer.languages.jq.dates import strptime
from xingqiao.composer.languages.jq.patterns import Pattern
from xingqiao.composer.languages.jq.texts import _NUMBER, joined
from xingqiao.composer.languages.jq.values import order, quoted

LONG = '("x" * 600000) as $t | ("x" * 600000) as $u | ({($t): 1}) as $o | ({($u): 2}) as $p | '
ROUNDS = 40  # at 600,000 characters of 512 a step, more than 40,000 steps
COMPARISONS = [
    "$t == $u", "$t != $u", "$t < $u", "$t <= $u", '$t > ($u + "y")', "$t | startswith($u)",
    "$t | endswith($u)", "$t | ltrimstr($u)", "$o[$u]", "$o | has($u)", "$o | getpath([$u])",
    "$o | setpath([$u]; 1)", "$o | del(.[$u])", "$o + $p", "$o * $p", "{($t): 1, ($u): 2}",
    "[{key: $t}, {key: $u}] | from_entries", "[$t] - [$u]", "[$t] | index($u)", "[$t, $u] | sort",
    "[$t, $u] | unique", "[$t, $u] | group_by(.)", "[$t, $u] | min", "[$t, $u] | max_by(.)",
    "[$t] | bsearch($u)", "[$t] == [$u]", "[$t] < [$u]", "$t | contains($u)", "$t | inside($u)",
    "$o | keys", "$t | split($u)", "$t | index($u)", "try format($t) catch 1", 'try ("a" | test("a"; $t)) catch 1', "$t | ltrim", "$t | tojson",
]  # fmt: skip


@pytest.mark.parametrize("part", COMPARISONS)
def test_long_texts_are_compared_for_steps(part):
    budget = jq.Budget(10**9)

    jq.compile(f"{LONG}last(range({ROUNDS}) as $i | {part})").evaluate(None, budget=budget)

    assert budget.spent > 40_000


def test_short_texts_are_compared_for_nothing():
    budgets = [jq.Budget(), jq.Budget()]
    for budget, text in zip(budgets, ["a", "a" * 100], strict=True):
        jq.compile(".a == .b, .a < .b, has($k)", variables=("k",)).evaluate(
            {"a": text, "b": text}, {"k": text}, budget=budget
        )

    assert budgets[0].spent == budgets[1].spent


HEAVY = {
    "a large class": '("b" * 30000) | test("[" + ("a" * 20000) + "]*c")',
    "many ranges": '("b" * 3000) | test("[" + ("c-e" * 3000) + "]*c")',
    "many ranges, one character": '("b" * 9000) | test("[" + ("c-e" * 3000) + "]c")',
    "many groups": '("a" * 9000) | test("a*" + ("()" * 2400) + "b")',
    "a pattern that writes much": 'last(range(100) | "" | test("(?:ab){2000}"))',
    "a part that is almost found": '("a" * 2400) as $t | ("a" * 600 + "b" + "a" * 599) as $u'
                                   ' | last(range(100) | $t | contains($u))',
    "deep values": "(reduce range(239) as $i (0; [.])) as $a | (reduce range(239) as $i (1; [.])) as $b"
                   " | last(range(300) | $a < $b)",
    "doubles as text": "[range(900) | . / 7] as $a | last(range(12) | $a | @csv, tojson)",
    "rows without members": "[range(9000) | []] as $a | last(range(90) | $a | transpose)",
    "flat arrays": "[range(9000)] as $a | last(range(90) | $a | flatten)",
    "long broken times": "[range(9000)] as $a | last(range(90) | $a | mktime)",
    "arguments of a shell": "[range(9000)] as $a | last(range(90) | $a | @sh)",
    "deep paths": '[range(230) | "a"] as $p | last(range(900) as $i | null | setpath($p; 1) | getpath($p))',
    "empty formats": 'last(range(5000) | strftime(""))',
    "parts that cannot be joined": '("x" * 60000) as $x | [range(100) | $x] + [[]]'
                                   ' | last(range(20) as $i | try join("") catch 1)',
}  # fmt: skip


@pytest.mark.parametrize("program", HEAVY.values(), ids=HEAVY.keys())
def test_heavy_work_costs_steps(program):
    with pytest.raises(jq.BudgetError, match="steps"):
        jq.compile(program).evaluate(None, budget=jq.Budget(50_000))


@pytest.mark.parametrize(
    "call",
    ["ascii_upcase", "tojson", "@uri", "@html", "@base32", '"\\(.)"', ".[1:]", ". * 2", 'split("")',
     'startswith("a")', "{a: ., b: ., c: .}"],
)  # fmt: skip
def test_each_call_in_a_part_with_one_result_costs_a_step(call):
    """Only every twelfth part did: forty calls of @base32 cost as much as four additions."""
    budget = jq.Budget()

    jq.compile("[" + ", ".join([f"({call})"] * 40) + "]").evaluate("text", budget=budget)

    assert budget.spent >= 40


def test_a_part_with_one_result_ends_at_the_bound():
    with pytest.raises(jq.BudgetError, match="more than 10 steps"):
        jq.compile(" | ".join(["length"] * 40)).evaluate("text", budget=jq.Budget(10))


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:){3000000}",
        "(?:(?=(?:a|b){500})){300}",
        "(?:(?:){4000}){4000}",
        "(?i){900000000}",
        "a" * 6000,
    ],
)
def test_a_pattern_that_writes_too_much_is_refused(pattern):
    with pytest.raises(jq.EvaluationError, match="too large"):
        Pattern(pattern, fold=False, dotall=False, extended=False)


def test_a_class_has_one_set_for_its_single_characters():
    one, many = (Pattern(f"[{text}]", fold=False, dotall=False, extended=False)
                 for text in ("ab", "ab" * 5000))  # fmt: skip

    assert [code[0] for code in one.code] == [code[0] for code in many.code]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [("[]a]+", "]a", True), ("[^]a]", "]a", False), ("[a-c\\\\d_.-]+", "b7_.-", True),
     ("[A-Z_É]+$", "a_é", False), ("(?i)^[A-Z_É]+$", "a_é", True), ("[[:alpha:]][^[:alpha:]]", "a1", True),
     ("^[a-bd-eg-hj-k]$", "g", True), ("^[a-bd-eg-hj-k]$", "i", False), ("x[a-bd-eg-hj-k]", "x", False),
     ("(?<a>b)(?<a>c)\\\\k<a>", "bcb", True)],
)  # fmt: skip
def test_classes_hold_what_they_say(pattern, text, found):
    assert jq.compile(f'test("{pattern}")').evaluate(text) == [found]


@pytest.mark.parametrize(
    "program", ["tojson", "[.] | tojson", "{a: .} | tojson", "{(.): 1} | tojson"]
)
def test_json_is_measured_as_it_is_written(program):
    text = "\0" * (MAX_SIZE // 6 + 1)

    with pytest.raises(jq.BudgetError, match="bytes"):
        jq.compile(program).evaluate(text)


@pytest.mark.parametrize(
    ("sign", "name"),
    [("'", "html"), ("\U0001f600", "uri"), ("\U0001f600", "base64"), ("\U0001f600", "base32")],
)
def test_a_format_is_measured_as_it_is_written(sign, name):
    with pytest.raises(jq.BudgetError, match="bytes"):
        jq.compile(f"@{name}").evaluate(sign * 1_300_000)


def test_json_of_many_parts_is_measured_as_a_whole():
    with pytest.raises(jq.BudgetError, match="bytes"):
        jq.compile("tojson").evaluate(["\0" * 200_000] * 6, budget=jq.Budget(10**9))


def test_an_error_quotes_the_beginning_of_a_text_and_reads_no_more():
    assert quoted("x" * 100) == '"' + "x" * 24 + '..."'
    assert quoted('"' * 100) == quoted('"' * 40)
    assert quoted("\U0001f600" * 40) == quoted("\U0001f600" * 30)
    assert quoted({str(key): 1 for key in range(99)}) == quoted({str(key): 1 for key in range(50)})


def test_nothing_is_joined_before_it_is_counted():
    with pytest.raises(jq.BudgetError, match="bytes"):
        joined(jq.Budget(size=100), ["a" * 60, "b" * 60, []], "")


def test_a_part_that_is_not_text_cannot_be_joined():
    for separator in (",", 1):
        with pytest.raises(jq.EvaluationError, match="cannot be added"):
            joined(jq.Budget(), [[]], separator)


def test_blanks_of_a_date_are_read_once():
    text = "1 \t 2" + " " * 1000
    assert strptime(jq.Budget(), text, "%d %m" + " " * 1000) == strptime(
        jq.Budget(), text, "%d%n%m%t"
    )


def test_the_regular_expressions_of_numbers_and_of_json_have_one_way_to_match():
    assert all(map(_NUMBER.fullmatch, ["1", "1.", "1.5e3", ".5", "+1E-7", "-1"]))
    assert not any(map(_NUMBER.fullmatch, ["", ".", "1" * 50_000 + "x", "1..2", "e1"]))
    quotes = '"' + '\\"' * 50_000 + "nan"
    with pytest.raises(jq.EvaluationError):
        jq.compile("fromjson").evaluate(quotes)


def test_the_key_of_a_value_has_no_levels():
    key = order([[1, {"b": [], "a": None}], "x"], jq.Budget())

    assert all(not isinstance(part, (tuple, list)) or part == ["a", "b"] for part in key)


def test_arrays_and_objects_are_in_jqs_order():
    values = [None, False, True, -1, 0.5, "", "a", [], [None], [None, 1], [[]], [[], 1], [[1]], {}, {"a": 1},
              {"a": [1]}, {"a": {}}, {"a": 1, "b": 1}, {"a": 2, "b": 0}, {"b": 0}]  # fmt: skip

    assert jq.compile("sort").evaluate(values[::-1]) == [values]
