"""JSONata as AWS has it: what expressions come to, and what bounds them."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.values import equal

# The library asks for the time in a way that newer Pythons warn of; its answer is not used.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")


TABLE = json.loads(Path(__file__).with_name("jsonata.json").read_text("utf-8"))


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
