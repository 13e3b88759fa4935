"""Our JSONata against JSONata 2.0.6 itself: the same value, or both fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound
from tests.kit.asl.peer import Peer
from xingqiao.composer.values import equal

# The library asks for the time in a way that newer Pythons warn of; its answer is not used.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")

TABLE = json.loads(Path(__file__).with_name("jsonata.json").read_text("utf-8"))

VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, -3, 0.5, 10, "", "a", "b", "ab c", "7"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=8,
)
LITERALS = st.sampled_from(
    [
        "0",
        "1",
        "2.5",
        "-1",
        "'a'",
        "'b'",
        "''",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        "[1,2]",
        "$none",
    ]
)
PATHS = st.sampled_from(
    [
        "$v",
        "$v.a",
        "$v.b",
        "$v.a.b",
        "$v.*",
        "$v[0]",
        "$v[-1]",
        "$v.a[0]",
        "$v[a]",
        "$v.a[]",
        "$w",
        "$w.c",
        "$v.**.a",
    ]
)
BINARY = ("+", "-", "*", "/", "%", "&", "=", "!=", "<", "<=", ">", ">=", "and", "or", "in", "..")
UNARY = (
    "$string", "$count", "$sum", "$max", "$not", "$boolean", "$exists", "$type", "$length", "$keys",
    "$reverse", "$distinct", "$number", "$abs", "$floor", "$round", "$uppercase", "$spread", "$merge", "$sort",
)  # fmt: skip
LAMBDAS = (
    "function($x){$x}",
    "function($x){[$x]}",
    "function($x, $i){$i}",
    "function($x){$x.a}",
    "$string",
    "$type",
)


def written(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(BINARY), inner).map(
            lambda parts: (
                f"[{parts[0]}..{parts[2]}]" if parts[1] == ".." else "({} {} {})".format(*parts)
            )
        ),
        st.tuples(st.sampled_from(UNARY), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        pairs.map(lambda parts: f"$append({parts[0]}, {parts[1]})"),
        st.tuples(
            st.sampled_from(("map", "filter", "each", "sift")), inner, st.sampled_from(LAMBDAS)
        ).map(lambda parts: "${}({}, {})".format(*parts)),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        pairs.map(lambda parts: f"{{'k': {parts[0]}, 'l': {parts[1]}}}"),
        pairs.map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        pairs.map(lambda parts: f"({parts[0]}).({parts[1]})"),
        pairs.map(lambda parts: f"($y := {parts[0]}; [$y, {parts[1]}])"),
        inner.map(lambda part: f"({part})^($)"),
        # JavaScript sorts keys that are numbers to the front; so these are none
        inner.map(lambda part: f"({part}){{'k' & $string($): $}}"),
        inner.map(lambda part: f"-({part})"),
    )


EXPRESSIONS = st.recursive(LITERALS | PATHS, written, max_leaves=6)


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    made = Peer(tmp_path_factory.mktemp("jsonata"))
    yield made
    made.close()


def test_the_table_is_what_the_peer_says(peer):
    for expression, said in TABLE["cases"]:
        assert peer.ask(expression, TABLE["bindings"]) == said, expression


@settings(max_examples=400)
@given(expression=EXPRESSIONS, v=VALUES, w=VALUES)
def test_what_is_generated_has_the_same_value_or_fails_in_both(peer, expression, v, w):
    said = peer.ask(expression, {"v": v, "w": w})

    told = asked(expression, bound(v=v, w=w))

    assert ("code" in told) == ("code" in said), (expression, v, w, said, told)
    if "code" not in said:
        assert equal([*told.values()], [*said.values()]), (expression, v, w, said, told)
