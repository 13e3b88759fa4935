"""Regular expressions that cannot backtrack."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.regexes import MAX_MOVES, Regex


def fits(pattern, text, flags=""):
    return Regex(pattern, flags).fits(text, lambda steps: None)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("", [""], ["a"]),
        ("abc", ["abc"], ["ab", "abcd", "xabc"]),
        ("a|bc|", ["a", "bc", ""], ["abc", "b"]),
        ("a*b+c?", ["b", "aabbc"], ["a", "bcc"]),
        ("a*?b", ["aab"], ["aa"]),
        ("(ab)*", ["", "abab"], ["aba"]),
        ("(?:a|b){2}", ["ab", "ba"], ["a", "aba"]),
        ("a{2,}", ["aa", "aaaa"], ["a"]),
        ("a{1,3}", ["a", "aaa"], ["", "aaaa"]),
        ("a{0,0}b", ["b"], ["ab"]),
        ("(a*)*", ["", "aaa"], ["b"]),
        (".x", ["ax"], ["\nx", "x"]),
        (r"\d\D\w\W\s\S", ["1a_- b"], ["aa_- b", "1a_-bb", "1aé- b "]),
        (r"[a-c\d_]+", ["ab1_"], ["d", "-"]),
        (r"[^a-c\s]", ["d", "é"], ["a", " "]),
        ("[]a-]+", ["]a-"], ["b"]),
        (r"[\]\\]", ["]", "\\"], ["a"]),
        (r"[+-]", ["+", "-"], [","]),
        (r"\.\*\/\n\t", [".*/\n\t"], ["a"]),
        ("^a$", ["a"], ["aa"]),
        ("a^b|c$d", [], ["ab", "cd"]),
        ("^$", [""], ["a"]),
        ("(^a|b)c", ["ac", "bc"], ["c"]),
        ("é+", ["éé"], ["e"]),
    ],
)
def test_a_text_fits_as_a_whole(pattern, yes, no):
    assert all(fits(pattern, text) for text in yes)
    assert not any(fits(pattern, text) for text in no)


def test_flags():
    assert fits("aBc[x-z]", "AbCY", "i")
    assert not fits("aBc", "abc")
    assert fits("a.b", "a\nb", "s")
    assert repr(Regex("a", "is")) == "/a/is"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "expected ')'"),
        ("a)", "unexpected ')'"),
        ("*", "there is nothing to repeat"),
        ("a|+", "there is nothing to repeat"),
        ("a**", "a repetition follows a repetition"),
        ("a+?{2}", "a repetition follows a repetition"),
        ("a{x}", "a repetition must be {m}, {m,} or {m,n}"),
        ("a{3,1}", "a repetition must be {m}, {m,} or {m,n}"),
        ("a{31}{2}", "a repetition follows a repetition"),
        ("a{9999}", "the expression is too large"),
        ("(a{99}){99}", "the expression is too large"),
        ("a{1500}b{1500}", "the expression is too large"),
        ("[a", "the expression ends too early"),
        ("[z-a]", "a range must go from a character to a later one"),
        (r"[a-\d]", "a range must go from a character to a later one"),
        ("\\", "the expression ends too early"),
        (r"\1", r"the escape \1 is not supported"),
        (r"\p{L}", r"the escape \p is not supported"),
        ("(?=a)", "only groups such as (...) and (?:...)"),
        ("(" * 40 + ")" * 40, "groups nest more than 30 deep"),
        ("a{12345}", "a repetition must be"),
        ("a{12}3{1,2", "a repetition must be"),
    ],
)
def test_what_such_an_automaton_cannot_do_is_refused(pattern, why):
    with pytest.raises(ExpressionError) as caught:
        Regex(pattern)
    assert why in str(caught.value)


def test_unknown_flags_are_refused():
    with pytest.raises(ExpressionError, match="the flags must be 'i' or 's', not 'x'"):
        Regex("a", "x")


def test_work_grows_with_text_times_expression_only():
    spent = []
    regex = Regex("(a*)*(a|a)*b")

    assert not regex.fits("a" * 1_000, spent.append)
    assert sum(spent) < 20 * 1_000
    first = sum(spent)
    assert not regex.fits("a" * 1_000, spent.append)
    assert sum(spent) - first < 500  # the way is known by now


def test_what_is_remembered_is_bounded():
    regex = Regex(".*")
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 2 * MAX_MOVES)))

    assert regex.fits(text, lambda steps: None)
    assert regex.fits(text, lambda steps: None)


PARTS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$", ""]),
    lambda inner: st.one_of(
        st.builds("({})*".format, inner),
        st.builds("({})?".format, inner),
        st.builds("({}){{1,2}}".format, inner),
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
    ),
    max_leaves=6,
)


@given(PARTS, st.text("abc", max_size=6))
def test_it_agrees_with_one_that_backtracks(pattern, text):
    assert fits(pattern, text) == (re.fullmatch(pattern, text) is not None)
