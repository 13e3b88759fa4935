"""JSONata as AWS has it: what expressions come to, and what bounds them."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import NOW_MS, asked, bound
from xingqiao.composer.languages.jsonata import (
    MAX_STEPS,
    MISSING,
    Bindings,
    Expression,
    QueryError,
    evaluate,
)
from xingqiao.composer.values import equal

# The library asks for the time in a way that newer Pythons warn of; its answer is not used.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")

TABLE = json.loads(Path(__file__).with_name("jsonata.json").read_text("utf-8"))
TOO_LONG = "Expression evaluation timeout: Check for infinite loop"
TOO_MUCH = "Expression evaluation memory limit exceeded: Check for excessive memory usage"
TOO_DEEP = (
    "Stack overflow error: Check for non-terminating recursive function. "
    "Consider rewriting as tail-recursive"
)


def table_bindings():
    variables = {name: value for name, value in TABLE["bindings"].items() if name != "states"}
    return bound(TABLE["bindings"]["states"], **variables)


def test_the_table_comes_to_what_jsonata_says():
    bindings = table_bindings()

    for expression, said in TABLE["cases"]:
        told = asked(expression, bindings)
        assert equal([told], [said]), expression


def test_evaluation_changes_nothing_that_it_is_given():
    before = json.dumps(TABLE["bindings"])

    for expression, _ in TABLE["cases"]:
        asked(expression, table_bindings())

    assert json.dumps(TABLE["bindings"]) == before


# Where 2.0.6 crashes, or AWS (as peers measured it) or we say something else than 2.0.6.
OTHERWISE = [
    ("($g := $map(?, $uppercase); $g(['a','b']))", {"value": ["A", "B"]}),
    ("$pad('foo', 5.9)", {"value": "foo  "}),
    ("$contains('a', $none)", {"code": "T1006"}),
    ("$replace('a', /a/, $none)", {"code": "T1006"}),
    ("$replace('hello', 'l', function($m){ 'L' })", {"code": "D3012"}),
    ("$formatNumber(0, '#.##')", {"value": "0"}),
    ("$formatNumber(1, '.e0')", {"code": None}),
    ("$formatNumber(1, '0x0')", {"code": "D3086"}),
    ("$formatNumber(1, '0', {'grouping-separator': '](a+)+b['})", {"code": None}),
    ("function(x){1}", {"code": "S0208"}),
    ("-$sum", {"code": "D1002"}),
    ("$formatNumber(1, 'x')", {"code": "D3086"}),
    ("$eval('1')", {"code": "T1006"}),
    ("1/0", {"value": "Infinity"}),
    ("[-1/0, 0/0]", {"value": ["-Infinity", "NaN"]}),
    ("$parseInteger('x', '0')", {"value": "NaN"}),
    ("$sum", {"code": None}),
    ("[function($x){$x}]", {"code": None}),
    ("$match('a', function($s){ 1 })", {"code": "T1010"}),
    ("$match('a', function($s){ {'match': 'a', 'start': 0, 'end': 1, 'groups': [], 'next': $uuid} })", {"code": "T1010"}),
    ("$match('a', function($s){ {'match': 'a', 'start': 0, 'end': 1} })", {"code": "T1010"}),
    ("$encodeUrl('\\uD83D')", {"code": "D3140"}),
    ("$split('a', $none)", {"code": "T1006"}),
    ("/a/(5)", {}),
    ("/a/()", {}),
    ("($m := /a|b*/('ac'); $m.next())", {"code": "D1004"}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "said"), OTHERWISE)
def test_what_is_otherwise_is_known(expression, said):
    told = asked(expression)

    told.pop("message", None)
    assert told == said


# --- AWS' own functions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$partition([1,2,3,4], 2)", [[1, 2], [3, 4]]),
        ("$partition([1,2,3], 2.9)", [[1, 2], [3]]),
        ("$partition([], 2)", []),
        ("$range(0, 6, 2)", [0, 2, 4, 6]),
        ("$range(0, 5, 2)", [0, 2, 4]),
        ("$range(3, 1, -1)", [3, 2, 1]),
        ("$range(1, 3, -1)", []),
        ("$range(1, 9, 9)", 1),
        ("$range(2, 2, 1)", 2),
        ("$range(2, 2, -1)", 2),
        ("[$range(2, 2, 1)]", [2]),
        ("$count($range(2, 2, 1))", 1),
        ("$range(-1.7, 2, 1)", [-1, 0, 1, 2]),
        ("$count($range(1, 200000, 1))", 200_000),
        ("$hash('input', 'SHA-1')", "140f86aae51ab9e1cda9b4254fe98a74eb54c1a1"),
        ("$hash('', 'MD5')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("$length($hash('a', 'SHA-512'))", 128),
        ("$random(42)", 0.7275636800328681),
        ("$random(42.9)", 0.7275636800328681),
        ("$random()", 0.5),
        ("$uuid()", "80000000-8000-4000-8000-000080000000"),
        ("$parse('{\"a\": [1, 2.50, null, -0]}')", {"a": [1, 2.5, None, 0]}),
        ("$parse('null')", None),
        ("$parse('{\"a\":1}').a", 1),
        ("$millis()", NOW_MS),
        ("$now()", "2023-11-14T22:13:20.123Z"),
        ("$now('[Y0001]')", "2023"),
        ("$shuffle([1,2,3])", [1, 3, 2]),
    ],
)
def test_the_functions_that_aws_adds(expression, value):
    assert asked(expression) == {"value": value}


@pytest.mark.parametrize(
    "expression",
    [
        "$partition($none, 1)", "$partition([1], $none)", "$partition([1], 0)", "$range(1, $none, 1)", "$range(1, 2, $none)",
        "$range(1, 2, 0)", "$range($none, 1, 1)", "$hash($none, 'MD5')", "$hash('a', $none)", "$parse($none)",
    ],
)  # fmt: skip
def test_an_undefined_argument_makes_them_undefined(expression):
    assert asked(expression) == {}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$partition([1], -1)", "T0410"),
        ("$partition(1)", "T0410"),
        ("$range('a', 1, 1)", "T0410"),
        ("$random('a')", "T0410"),
        ("$hash('a', 'CRC')", None),
        ("$parse('{')", None),
        ("$parse('NaN')", None),
        ("$parse('1e999')", None),
        ("$parse(1)", "T0410"),
        ("$uuid(1)", "T0410"),
    ],
)
def test_what_they_refuse(expression, code):
    assert asked(expression)["code"] == code


def test_chance_is_what_is_given():
    draws = iter([0.0, 0.25, 0.5, 0.999])

    uuid = asked("$uuid()", bound(chance=lambda: next(draws)))["value"]

    assert uuid == "00000000-4000-4000-8000-0000ffbe76c8"


# --- dates by pictures: the time that it is, never the clock's ---------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$toMillis('10:30', '[H01]:[m01]')", "2023-11-14T10:30:00.000Z"),
        ("$toMillis('30:15', '[m01]:[s01]')", "2023-11-14T22:30:15.000Z"),
        ("$toMillis('07', '[D01]')", "2023-11-07T00:00:00.000Z"),
        ("$toMillis('March', '[MNn]')", "2023-03-01T00:00:00.000Z"),
        ("$toMillis('2018-060', '[Y0001]-[d001]')", "2018-03-01T00:00:00.000Z"),
        ("$toMillis('5', '[s]')", "2023-11-14T22:13:05.000Z"),
    ],
)
def test_a_date_without_its_first_parts_has_those_of_now(expression, value):
    assert asked(f"$fromMillis({expression})") == {"value": value}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$toMillis('x', 'no parts')", "undefined"),
        ("$toMillis($pad('1', 200, '1'), '[Y][M][D][d][W][w][x][X]')", None),
        ("$toMillis($pad('1', 300, '1'), '[Y]')", None),
        ("$fromMillis(0, $pad('', 300, '[Y]'))", None),
        ("$fromMillis(0, '[Y,30000000-*]')", None),
        ("$fromMillis(0, '[Y]', $pad('', 300, '1'))", None),
        ("$fromMillis(0, '[YN]')", "D3133"),
        ("$toMillis('2018-03', '[XN]-[M]')", "D3133"),
        ("$formatInteger(1, '')", "D3130"),
        ("$parseInteger('1', '')", "D3130"),
        ("$toMillis('2018-13-01')", "NaN"),
        ("$parseInteger($pad('1', 300, '1'), '0')", "NaN"),
    ],
)
def test_pictures_that_do_not_work(expression, code):
    told = asked(expression)

    assert told.get("code", told.get("value", "undefined")) == code


# --- bounds ----------------------------------------------------------------------------------------

DOUBLED = "($d := function($x, $n){ $n = 0 ? $x : $d([$x, $x], $n - 1) }; %s)"
HOSTILE = [
    ("($f := function($x){ $f($x + 1) }; $f(1))", TOO_LONG),
    ("($f := function($x){ 1 + $f($x + 1) }; $f(1))", TOO_DEEP),
    ("1" + "+1" * 200, TOO_DEEP),
    ("(" * 400 + "1" + ")" * 400, TOO_DEEP),
    ("[" * 120 + "]" * 120, TOO_DEEP),
    ("$parse($pad('', 20000, '['))", TOO_DEEP),
    ("[1..873783]", TOO_MUCH),
    ("$range(1, 100000000, 1)", TOO_MUCH),
    ("$pad('x', 1000000000)", TOO_MUCH),
    ("$replace($pad('', 100000, 'a'), 'a', $pad('', 100000, 'b'))", TOO_MUCH),
    ("$replace($pad('', 1000, 'a'), /a/, $pad('', 100000, 'b'))", TOO_MUCH),
    ("$join([1..100].$string($), $pad('', 1000000, 'x'))", TOO_MUCH),
    (DOUBLED % "$string($d(1, 40))", TOO_MUCH),
    (DOUBLED % "$d(1, 40) = $d(1, 40)", TOO_MUCH),
    (DOUBLED % "$d(1, 40)", TOO_MUCH),
    (DOUBLED.replace("[$x, $x]", "{'a': $x, 'b': $x}") % "$count($d(1, 40).**)", TOO_LONG),
    (DOUBLED.replace("[$x, $x]", "{'a': $x, 'b': $x}") % "$d(1, 40) = $d(1, 40)", TOO_LONG),
    (DOUBLED.replace("[$x, $x]", "[[$x], [$x]]") % "$d(1, 40).*", TOO_LONG),
    ("$map([1..3000], function($v){ $map([1..3000], function($w){ $w }) })", TOO_LONG),
    ("$contains($pad('', 500, 'a'), /(a+)+b/)", TOO_LONG),
    ("$keys([1..800000])", TOO_LONG),
    ("$count([1..873782])", "value"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "said"), HOSTILE, ids=[text[:40] for text, _ in HOSTILE])
def test_a_hostile_expression_ends(expression, said):
    told = asked(expression)

    assert told.get("message", "value") in said


# Each of these takes long on a large value, and was a step or two before functions counted what they go over.
LARGE = {
    "json": "[" + "0," * 50_000 + "0]", "text": "a b " * 50_000, "list": list(range(20_000)),
    "object": {f"k{at}": at for at in range(20_000)}, "percents": "%20" * 50_000, "flags": [0] * 20_000,
}  # fmt: skip
COSTS = [
    ("$count($parse(json))", 5_000),
    ("$length($trim(text))", 2_000),
    ("$length($encodeUrl(text))", 5_000),
    ("$length($decodeUrl(percents))", 20_000),
    ("$length($uppercase(text))", 500),
    ("$length($base64decode(text))", 2_000),
    ("$length($string(object))", 10_000),
    ("$count($keys(object))", 4_000),
    ("$count($spread(object))", 15_000),
    ("$count($clone(list))", 5_000),
    ("$sum(list)", 5_000),
    ("$max(list)", 5_000),
    ("$count($sort(list))", 5_000),
    ("$count($shuffle(list))", 5_000),
    ("$count($distinct(list))", 5_000),
    ("$count($zip(list, list))", 5_000),
    ("$count($partition(list, 2))", 4_000),
    ("$boolean(flags)", 4_000),
    ("-1 in list", 4_000),
    ("list = $reverse($reverse(list))", 4_000),
    ("$formatNumber(1, '0.0')", 100),
    ("list", 4_000),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "least"), COSTS, ids=[text for text, _ in COSTS])
def test_what_goes_over_much_counts_as_many_steps(expression, least):
    bindings = bound({"input": LARGE})

    assert "code" not in asked(f"$states.input.({expression})", bindings)
    assert least <= bindings.spent < 100_000


def test_a_function_that_is_called_by_another_counts_its_steps():
    told = asked(
        "$map([1..1000], function($i) { $parse($states.input.json) })", bound({"input": LARGE})
    )

    assert told["message"] == TOO_LONG


@pytest.mark.parametrize(("count", "fits"), [(5_000, True), (20_000, False)])
@pytest.mark.parametrize(
    "expression",
    [
        "$states.input^(>price)[0].id",
        "$sort($states.input, function($l, $r) { $l.price < $r.price })[0].id",
        "$sort($states.input, function($l, $r) { $r.price > $l.price })[0].id",
    ],
)
def test_lists_of_so_many_objects_can_be_sorted(expression, count, fits):
    items = [{"id": at, "price": at * 7_919 % 20_011} for at in range(count)]
    last = max(items, key=lambda item: item["price"])["id"]

    told = asked(expression, bound({"input": items}, steps=MAX_STEPS))

    assert told == ({"value": last} if fits else {"code": None, "message": TOO_LONG})


@given(
    items=st.lists(
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 3) | st.sampled_from(["x", None]))
    ),
    compared=st.sampled_from(["$l.a > $r.a", "$r.a < $l.b", "$l.b < $r.a", "$l > $r"]),
)
def test_a_comparator_whose_sides_are_evaluated_once_sorts_as_any_other(items, compared):
    sort = "$sort($states.input, function($l, $r)%s { %s })"
    bindings = bound({"input": items})

    plain = asked(sort % ("", compared), bindings)

    assert plain == asked(sort % ("", f"({compared})"), bindings)
    assert plain == asked(sort % ("<xx:b>", compared), bindings)


def test_any_function_can_compare():
    assert asked("$sort(['aba', 'b', 'ab'], $contains)") == {"value": ["b", "ab", "aba"]}
    assert asked("$sort([1, 3, 2], function($l) { $l > 2 })") == {"value": [1, 2, 3]}
    assert asked("$sort([1, 3, 2], function($l, $r) { $l.x + 1 })") == {"value": [1, 3, 2]}


def test_a_key_of_a_sort_is_evaluated_once_for_an_item():
    draws = iter([0.3, 0.1, 0.2])

    told = asked("['a', 'b', 'c']^($random())", bound(chance=lambda: next(draws)))

    assert told == {"value": ["c", "a", "b"]}  # b and c are compared first


def test_the_steps_of_an_evaluation_are_given():
    assert asked("$sum([1..10].($ + 1))", bound(steps=20))["message"] == TOO_LONG
    assert asked("$sum([1..10].($ + 1))", bound(steps=MAX_STEPS)) == {"value": 65}


def test_an_expression_has_so_many_characters():
    with pytest.raises(QueryError, match="at most 32768 characters"):
        Expression.compile("1" + " " * 40_000)


def test_the_library_has_not_raised_the_recursion_limit():
    assert sys.getrecursionlimit() < 10_000


def test_functions_keep_their_names_whoever_binds_them():
    asked("($f := $sum; $g := $uppercase; $f([1]))")

    assert (
        asked("$sum('a')")["message"]
        == 'Argument 1 of function "sum" must be an array of "numbers"'
    )


def test_threads_do_not_meet():
    wrong = []

    def work(number):
        for _ in range(50):
            told = asked("$map([1..5], function($v){ $v * $n }) ~> $sum", bound(n=number))
            wrong.extend([told] * (told != {"value": 15 * number}))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# --- compiling -------------------------------------------------------------------------------------


def test_an_error_of_compiling_has_its_place():
    with pytest.raises(QueryError) as failed:
        Expression.compile("a[1,2)")

    assert (failed.value.code, failed.value.position) == ("S0202", 4)
    assert str(failed.value) == 'S0202: Expected "]", got ","'


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1 /", "S0207"),
        ("/* a", "S0106"),
        ("1 ?? 2", "S0211"),
        ("1 ?: 2", "S0211"),
        ("/a{2,1}/", None),
        ("1e999", "S0102"),
    ],
)
def test_what_does_not_compile(expression, code):
    assert asked(expression)["code"] == code


# --- the fast way of plain paths ---------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1.0, 1.5, "x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@given(value=VALUES, names=st.lists(NAMES, max_size=4))
def test_a_plain_path_is_what_the_machine_finds(value, names):
    path = ".".join(["$states.input", *names])

    for bindings in (bound({"input": value}), bound({"result": 1})):
        assert Expression.compile(path).path is not None
        assert asked(path, bindings) == asked(f"({path})", bindings)


def test_a_value_is_shared_where_nothing_in_it_changes():
    value = {"a": [1, {"b": "c"}]}

    found = evaluate(Expression.compile("$states.input"), bound({"input": value}))

    assert found is value
    assert evaluate(Expression.compile("$no"), bound()) is MISSING
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    ("expression", "value"),
    [('"\\uD83D\\uDE00"', "\U0001f600"), ('"a\\uD83D"', "a\ufffd"), ('{"\\uD83D": 1}', {"\ufffd": 1}), ("$parse('\"\\\\ud800\"')", "\ufffd")],
)  # fmt: skip
def test_halves_of_characters_do_not_leave(expression, value):
    assert asked(expression) == {"value": value}


def test_zero_is_zero_however_it_is_written():
    assert asked("$v & ''", bound(v=0.0)) == {"value": "0"}


def test_only_what_is_named_is_made_ready():
    states = {"input": [None], "context": object()}

    assert asked("$states.input[0] = null", bound(states)) == {"value": True}
    assert Bindings(states={}, chance=float, now_ms=0).variables == {}
