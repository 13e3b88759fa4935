"""Paths as they are written: escapes, and what is no path."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.paths import find
from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.paths import (
    MAX_PATH,
    Path,
)


def test_escapes_in_quotes():
    document = {
        "it's": 1,
        'say "x"': 2,
        "a\\b": 3,
        "tab\t": 4,
        "😀": 5,
        'Test\\""Name"': 6,
        "a.b[0]": 7,
    }

    assert find(r"$['it\'s']", document) == 1
    assert find(r'$["say \"x\""]', document) == 2
    assert find(r"$['a\\b']", document) == 3
    assert find(r"$['tab\t']", document) == 4
    assert find(r"$['\ud83d\ude00']", document) == 5
    assert find(r"""$['Test\""Name"']""", document) == 6  # recorded
    assert find("$['a.b[0]']", document) == 7


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "expected '$' at character 1"),
        ("a", "expected '$'"),
        (" $", "expected '$'"),
        ("$ ", "expected '.', '[' or the end at character 2"),
        ("$.", "expected a name, '*' or '['"),
        ("$..", "expected a name, '*' or '['"),
        ("$.a b", "expected '.', '[' or the end at character 4"),
        ("$.a.sum(1)", "expected '.', '[' or the end"),
        ("$[", "expected a name in quotes, an index"),
        ("$[]", "expected a name in quotes, an index"),
        ("$[a]", "expected a name in quotes, an index"),
        ("$[(@.length-1)]", "expected a name in quotes, an index"),
        ("$[0", "expected ']'"),
        ("$[0,]", "expected an index"),
        ("$[:]", "a slice needs a start or an end"),
        ("$['a", "expected \"'\""),
        ("$['a',]", "expected a text in quotes"),
        ("$['a',b]", "expected a text in quotes"),
        ("$[?]", "expected '('"),
        ("$[?()]", "expected a path, a text in quotes, a number"),
        ("$[?(@.x]", "expected ')'"),
        ("$[?(@.x ==)]", "expected a path, a text in quotes, a number"),
        ("$[?(@.x like 1)]", "a filter has no operator 'like'"),
        ("$[?('a')]", "expected an operator"),
        ("$[?(@.x == /a/)]", "expected a path, a text in quotes, a number"),
        ("$[?(@.x =~ 'a')]", "expected a regular expression"),
        ("$[?(/a/ == @.x)]", "expected a path, a text in quotes, a number"),
        ("$[?(@.x =~ /a)]", "expected a regular expression"),
        ("$[?(@.x =~ /(/)]", "expected ')'"),
        ("$[?(@.x in [1)]", "expected ']'"),
        ("$[?(" + "!" * 30 + "@.x)]", "filters and parentheses nest more than"),
        ("$[?(" + "(" * 30 + "@.x)]", "filters and parentheses nest more than"),
        ("$[?(@" + "[?(@" * 30 + ")]" * 31, "filters and parentheses nest more than"),
        ("$" + ".a" * 101, "a path has at most 100 segments"),
        ("$." + "a" * MAX_PATH, "a path has at most 1024 characters"),
        (5, "a path must be a string such as '$.name', not 5"),
    ],
)  # fmt: skip
def test_what_is_no_path_is_refused(path, why):
    with pytest.raises(ExpressionError) as caught:
        Path.compile(path)
    assert why in str(caught.value)


@given(st.text("$.ab[]()'*?@&|=!<>~/0,:- \\", max_size=30))
def test_any_text_is_a_path_or_refused(text):
    with contextlib.suppress(ExpressionError):
        assert Path.compile("$" + text).text == "$" + text
