"""JavaScript's regular expressions, here and in Node.js' words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.languages.jsonata.bounds import Budget, QueryError
from xingqiao.composer.languages.jsonata.regexes import Regex


def found(pattern, text, start=0, **flags):
    match = Regex(pattern, **flags).find(text, start, Budget())
    return None if match is None else (match.start, match.text, *match.groups)


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (r"ab+", "xabb", (1, "abb")),
        (r"(x)?b", "abc", (1, "b", None)),
        (r"(z)((a+)?(b+)?(c))*", "zaacbbbcac", (0, "zaacbbbcac", "z", "ac", "a", None, "c")),
        (r"(a|ab)(c|bcd)(d*)", "abcd", (0, "abcd", "a", "bcd", "")),
        (r"(?=(a+))a*b\1", "baaabac", (3, "aba", "a")),
        (r"(?<y>\d{4})-\k<y>", "2020-2020", (0, "2020-2020", "2020")),
        (r"\k<none>a", "a", (0, "a")),
        (r"(?<=\$)\d+", "a$12", (2, "12")),
        (r"(?<!\$)\b\d+", "$12 34", (4, "34")),
        (r"foo(?!bar)", "foobar foo", (7, "foo")),
        (r"a{2}", "aaa", (0, "aa")),
        (r"a{2,}", "aaa", (0, "aaa")),
        (r"a{1,2}?", "aaa", (0, "a")),
        (r"(?:ab){1,2}", "ababab", (0, "abab")),
        (r"a{,2}", "a{,2}", (0, "a{,2}")),
        (r"a{x", "a{x", (0, "a{x")),
        (r"a{1,x}", "a{1,x}", (0, "a{1,x}")),
        (r"[\d-]+", "1-2", (0, "1-2")),
        (r"[a\-z]+", "-a", (0, "-a")),
        (r"[\w-z]+", "a-", (0, "a-")),
        (r"[a-\d]+", "a-1", (0, "a-1")),
        (r"[^\s]", " x", (1, "x")),
        (r"[\b]", "\b", (0, "\b")),
        (r"[]", "a", None),
        (r"[^]", "a", (0, "a")),
        (r"\x41\u0042\cA\0\t\/", "AB\x01\0\t/", (0, "AB\x01\0\t/")),
        (r"\xZ\u12", "xZu12", (0, "xZu12")),
        (r"(a)\2", "a\x02", (0, "a\x02", "a")),
        (r"\D\W\S", "a-b", (0, "a-b")),
        (r"\Bb", "b ab", (3, "b")),
        (r".", "\n", None),
        (r"^b", "a\nb", None),
        (r"a$", "a\n", None),
        (r"[(](\()", "((", (0, "((", "(")),
        (r"(a*)*", "b", (0, "", None)),
        (r"(?:a*?)*b", "aab", (0, "aab")),
        (r"a|", "b", (0, "")),
        (r"\101\60\08\777\9", "A0\x008\x3f79", (0, "A0\x008\x3f79")),
        (r"[^]*(a*)?\1", "c", (0, "c", None)),
    ],
)  # fmt: skip
def test_a_pattern_finds(pattern, text, said):
    assert found(pattern, text) == said


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (r"aB", "Ab", (0, "Ab")),
        (r"[a-c]", "B", (0, "B")),
        (r"(a)\1", "aA", (0, "aA", "a")),
        (r"[B]", "b", (0, "b")),
    ],
)
def test_case_may_mean_nothing(pattern, text, said):
    assert found(pattern, text, ignore_case=True) == said


def test_lines_may_have_ends_of_their_own():
    assert found("^b$", "a\nb\nc", multiline=True) == (2, "b")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "Unterminated group"), (")", "Unmatched ')'"), ("[a", "Unterminated character class"), ("*", "Nothing to repeat"), ("^*", "Nothing to repeat"), ("a{2}{2}", "Nothing to repeat"), (r"\b{1}", "Nothing to repeat"), ("(?<=a)+", "Nothing to repeat"),
        ("a\\", "\\ at end of pattern"), ("a{2,1}", "numbers out of order"), ("[b-a]", "Range out of order"), ("(?a)", "Invalid group"),
        ("(?<1>a)", "Invalid capture group name"), ("(?<a", "Invalid capture group name"), ("(" * 60 + ")" * 60, "too large"),
        ("(?:ab){9000}", "too large"),
    ],
)  # fmt: skip
def test_a_pattern_that_is_none_is_refused(pattern, why):
    with pytest.raises(QueryError, match=re.escape(why)):
        Regex(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "(.*)*x", "a*a*a*a*b", "(?:a|b|ab)*?c", r"(a*)\1*c"]
)
def test_no_pattern_takes_for_ever(pattern):
    with pytest.raises(QueryError, match="timeout"):
        Regex(pattern).find("a" * 2000 + "!", 0, Budget(20_000))


ATOMS = (
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "(a)",
    "(b|a)",
    "(?:ab)",
    "\\w",
    "^",
    "$",
    "\\b",
    "(?=a)",
    "(a*)",
)
PARTS = st.tuples(
    st.sampled_from(ATOMS), st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "*?", "+?"])
)


def _written(atom, times):
    return atom if atom in ("^", "$", "\\b") else atom + times  # Python repeats no edge


@given(parts=st.lists(PARTS, min_size=1, max_size=4), text=st.text("abc", max_size=7))
def test_where_python_has_the_same_words_it_finds_the_same(parts, text):
    pattern = "".join(_written(*part) for part in parts)
    said = re.search(pattern, text)

    told = found(pattern, text)

    assert told is None if said is None else told[:2] == (said.start(), said.group())
