"""JSONata's functions of strings: parts, matches, codes, and values that are written."""

from __future__ import annotations

import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound


def value(expression, **variables):
    return asked(expression, bound(**variables))["value"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (0.1 + 0.2, "0.3"),
        (1e21, "1e+21"),
        ([1, "ü", None, True], '[1,"ü",null,true]'),
        ({"a": {}, "b": []}, '{"a":{},"b":[]}'),
    ],
)
def test_a_value_is_written_as_javascript_writes_it(value, text):
    assert asked("$string($v)", bound(v=value)) == {"value": text}


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)))  # fmt: skip
def test_pretty_or_not_what_is_written_is_the_same_value(given_value):
    short, pretty = value("[$string($v), $string($v, true)]", v={"a": given_value})

    assert json.loads(short) == json.loads(pretty) == {"a": given_value}


@given(st.text(), st.integers(-9, 9))
def test_a_text_is_a_part_of_itself_counted_from_either_end(text, start):
    assert (
        value("$substring($t, $n)", t=text, n=start) == text[start if -start <= len(text) else 0 :]
    )


@given(st.text(max_size=9), st.integers(-12, 12))
def test_padding_makes_a_text_as_wide_as_it_says_and_never_cuts_it(text, width):
    padded = value("$pad($t, $n, '#')", t=text, n=width)

    assert len(padded) == max(len(text), abs(width))
    assert padded.startswith(text) if width >= 0 else padded.endswith(text)


@given(st.lists(st.text(), min_size=2), st.text("ab,", min_size=1))
def test_what_is_joined_is_split_again_unless_it_holds_the_separator(parts, separator):
    joined = value("$join($p, $s)", p=parts, s=separator)

    assert joined == separator.join(parts)
    assert value("[$split($t, $s)]", t=joined, s=separator) == joined.split(separator)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_component_of_a_url_is_decoded_as_it_was(text):
    encoded = value("$encodeUrlComponent($t)", t=text)

    assert unquote(encoded) == text == value("$decodeUrlComponent($t)", t=encoded)


@pytest.mark.parametrize(
    ("expression", "replaced"),
    [
        ("$replace('abab', 'a', '$1', 1)", "$1bab"),
        ("$replace('abab', /(a)(b)/, '$2$1')", "baba"),
        ("$replace('ab', /(a)/, '$0$$$9')", "a$b"),
        ("$replace('ab', /b/, function($m){ $uppercase($m.match) })", "aB"),
        ("$replace('aaa', /a/, 'b', 2)", "bba"),
    ],
)
def test_a_replacement_names_groups_only_where_the_pattern_has_them(expression, replaced):
    assert asked(expression) == {"value": replaced}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$split('a', ',', -1)", "D3020"),
        ("$replace('a', '', 'b')", "D3010"),
        ("$replace('a', 'a', 'b', -1)", "D3011"),
        ("$match('a', /a/, -1)", "D3040"),
        ("$decodeUrl('%zz')", "D3140"),
        ("$decodeUrlComponent('%ff')", "D3140"),
        ("$string(1/0)", "D3001"),
        ("$error('why')", "D3137"),
        ("$assert(false)", "D3141"),
    ],
)
def test_what_they_refuse_has_jsonatas_code(expression, code):
    assert asked(expression)["code"] == code
