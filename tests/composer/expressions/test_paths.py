"""JSONPath (RFC 9535): what compiles, and what a compiled path selects."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao import composer
from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.expressions.bounds import MAX_NODES, MAX_PATH
from xingqiao.composer.expressions.nodes import MISSING
from xingqiao.composer.expressions.paths import Path
from xingqiao.composer.expressions.queries import Query
from xingqiao.composer.values import EXPRESSION_ERROR, LIMIT_EXCEEDED

STORE = {
    "book": [{"title": "Sayings", "price": 8.95}, {"title": "Moby Dick", "price": 8.99}],
    "bicycle": {"color": "red"},
    "a b": 1,
    "ü": 2,
}


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("$", STORE),
        ("$.bicycle.color", "red"),
        ("$.book[0].title", "Sayings"),
        ("$.book[-1].title", "Moby Dick"),
        ("$['book'][0]['price']", 8.95),
        ('$["a b"]', 1),
        ("$.ü", 2),
        ("$['\\u00fc']", 2),
        ("$ ['book'] [ 1 ] .title", "Moby Dick"),
    ],
)
def test_a_singular_path_selects_its_node(text, node):
    path = Path.compile(text)

    assert path.singular
    assert path.select(STORE) == node


@pytest.mark.parametrize("text", ["$.pen", "$.book[2]", "$.book.title", "$.bicycle[0]", "$.a.b.c"])
def test_a_singular_path_to_nothing_selects_nothing(text):
    assert Path.compile(text).select(STORE) is MISSING


@pytest.mark.parametrize("document", [None, True, 0, "text"])
def test_a_scalar_is_a_document_too(document):
    assert Path.compile("$").select(document) is document
    assert Path.compile("$.length").select(document) is MISSING
    assert Path.compile("$[0]").select(document) is MISSING
    assert Path.compile("$..*").select(document) == []


def test_a_path_that_may_select_several_selects_a_list():
    path = Path.compile("$.book[*].price")

    assert not path.singular
    assert path.select(STORE) == [8.95, 8.99]
    assert path.select({}) == []


def test_equal_texts_share_one_compiled_path():
    assert Path.compile("$.a[0]") is Path.compile("$.a[0]")
    assert repr(Path.compile("$.a[0]")) == "Path('$.a[0]')"


@given(
    st.lists(
        st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,5}\Z") | st.integers(-(10**15) + 1, 10**15 - 1),
        max_size=6,
    )
)
def test_a_plain_path_has_the_steps_that_the_parser_finds(steps):
    text = "$" + "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps)

    assert Path(text).steps == Query(text).steps == tuple(steps)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=3))
def test_any_field_can_be_named_in_quotes_as_json_has_them(names):
    text = "$" + "".join(f"[{json.dumps(name, ensure_ascii=False)}]" for name in names)

    assert Path(text).steps == tuple(names)


@given(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=8), max_size=3))
def test_single_and_double_quotes_name_the_same_field(names):
    double = "".join(f"[{json.dumps(name)}]" for name in names)
    single = "".join("['" + re.sub(r"(['\\\\])", r"\\\1", name) + "']" for name in names)

    assert Path("$" + double).steps == Path("$" + single).steps == tuple(names)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "a path must be a string such as .\\$.name., not None"),
        (["$"], r"a path must be a string such as '\$.name', not \['\$'\]"),
        ("", "path '': it must start with '\\$'"),
        ("name", "path 'name': it must start with '\\$', the whole document"),
        ("@.a", "path '@.a': it must start with"),
        (" $", "path ' \\$': it must start with"),
        ("$.", r"path '\$.': expected a shorthand selector"),
        ("$ ", "unexpected trailing whitespace"),
        ("$.a\n", "path '\\$.a\\\\n': "),
        ("$..", "expected a shorthand selector"),
        ("$.1a", "expected a shorthand selector"),
        ("$[01]", "leading zero in index selector"),
        ("$[-0]", "path"),
        ("$[1.0]", "path"),
        ("$[1e3]", "path"),
        ("$[9007199254740992]", "index out of range"),
        ("$['a']['b", "path"),
        ("$['a\nb']", "invalid character"),
        ("$['\\ud800']", "incomplete escape sequence"),
        ("$[]", "empty bracketed segment"),
        ("$[1,]", "unexpected trailing comma"),
        ("$.a | $.b", "unexpected token"),
        ("$.a & $.b", "unexpected token"),
        ("$.~a", "unexpected token '~'"),
        ("^[0]", "it must start with"),
        ("$[$.a]", "unexpected query selector"),
        ("$.a b", "unexpected token 'b'"),
        ("$['\ud800']", "the string at \\$ is not Unicode text"),
        ("$" + ".a" * MAX_PATH, f"at most {MAX_PATH} characters, not {2 * MAX_PATH + 1}"),
    ],
)
def test_what_is_no_path_is_refused_with_its_text_and_why(text, complaint):
    with pytest.raises(ExpressionError, match=complaint):
        Path.compile(text)


def test_a_path_may_be_as_long_as_the_limit_says():
    name = "n" * (MAX_PATH - 2)

    assert Path(f"$.{name}").select({name: 1}) == 1
    with pytest.raises(ExpressionError, match="at most"):
        Path(f"$.{name}n")


TOKENS = [
    "$", ".", "..", "*", "[", "]", "?", "@", "a", "b", "'x'", '"y"', "==", "!=", "<", "<=", ">", "<>",
    "&&", "||", "!", "(", ")", "0", "-1", "1e3", "1e400", "01", "1.5", "true", "null", "length",
    "count", ",", ":", "~", "#", "_", "^", "|", "&", "in", "=~", "/x/", "nil", "ü", "\\", "\n", "{",
    "[0]", "[*]", "?@.a==1",
]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=10).map("".join))
def test_any_text_compiles_or_is_refused_and_never_stumbles(tokens):
    for text in (f"${tokens}", f"$[?{tokens}]"):
        try:
            path = Path(text)
        except ExpressionError as error:
            assert text[:20] in str(error) or repr(text)[1:20] in str(error)  # noqa: PT017
        else:
            path.select({"a": [1, {"b": "x"}], "b": None})


@pytest.mark.parametrize("open", ["(", "!", "@[?", "length("])
def test_a_path_that_nests_too_deep_for_the_parser_is_refused(open):
    with pytest.raises(ExpressionError, match="path"):
        Path("$[?" + open * (900 // len(open)))


def test_a_path_that_visits_too_much_fails_when_it_is_evaluated():
    failed = Path.compile("$[*]").select([0] * (MAX_NODES + 1))

    assert failed.code == LIMIT_EXCEEDED
    assert "$[*] visits more than 50000 nodes" in failed.error["message"]


def test_a_filter_that_would_compare_containers_fails_when_it_is_evaluated():
    path = Path.compile("$[?@.a == @.b]")

    assert path.select([{"a": 1, "b": 1}, {"a": []}]) == [{"a": 1, "b": 1}]
    failed = path.select([{"a": [], "b": {}}])
    assert failed.code == EXPRESSION_ERROR
    assert failed.error["message"] == "$[?@.a == @.b]: a filter cannot compare arrays or objects"


def test_plain_paths_need_nothing_but_the_standard_library():
    root = pathlib.Path(composer.__file__).parents[2]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from xingqiao import composer; assert composer.path('$.a[0][\"b c\"]').path.singular\n"
        "assert not {'jsonpath', 'xingqiao.composer.expressions.queries'} & set(sys.modules)\n"
    )

    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
