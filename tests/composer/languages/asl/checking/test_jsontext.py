"""Texts that are no JSON, and what Jackson says of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.languages.asl.checking.jsontext import DepthError, TextError, read_json

VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
ESCAPED = "has to be escaped using backslash to be included in string"
QUOTE = ": was expecting double-quote to start field name"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("not a definition", f"Unrecognized token 'not': was expecting {VALUES}", 4),  # recorded
        ('{"a":1,}', f"Unexpected character ('}}' (code 125)){QUOTE}", 9),
        ("{a:1}", f"Unexpected character ('a' (code 97)){QUOTE}", 3),
        ('{"a" 1}', ("Unexpected character ('1' (code 49)): was expecting a colon to separate field "
         "name and value"), 7),
        ('{"a":1 "b":2}', ("Unexpected character ('\"' (code 34)): was expecting comma to separate "
         "Object entries"), 9),
        ("[1 2]", ("Unexpected character ('2' (code 50)): was expecting comma to separate Array "
         "entries"), 5),
        ("[1,]", f"Unexpected character (']' (code 93)): expected a valid value {VALUES}", 5),
        ('{"a":}', f"Unexpected character ('}}' (code 125)): expected a valid value {VALUES}", 7),
        ('{"a":nul}', f"Unrecognized token 'nul': was expecting {VALUES}", 9),
        ('{"a":NaN}', f"Unrecognized token 'NaN': was expecting {VALUES}", 9),
        ('{"a":1', ('Unexpected end-of-input: expected close marker for Object (start marker at '
         '[Source: (String)"{"a":1"; line: 1, column: 1])'), 7),
        ("[", ('Unexpected end-of-input: expected close marker for Array (start marker at '
         '[Source: (String)"["; line: 1, column: 1])'), 2),
        ("[1,", "Unexpected end-of-input within/between Array entries", 4),
        ('{"a":', "Unexpected end-of-input within/between Object entries", 6),
        ('{"a"', "Unexpected end-of-input within/between Object entries", 5),
        ('{"a', "Unexpected end-of-input in field name", 4),
        ('["a', "Unexpected end-of-input: was expecting closing quote for a string value", 4),
        ('["a\n"]', f"Illegal unquoted character ((CTRL-CHAR, code 10)): {ESCAPED} value", 1),
        ('{"a\t":1}', f"Illegal unquoted character ((CTRL-CHAR, code 9)): {ESCAPED} name", 5),
        (r'["\x"]', "Unrecognized character escape 'x' (code 120)", 5),
        (r'["\u00g0"]', ("Unexpected character ('g' (code 103)): expected a hex-digit for character "
         "escape sequence"), 8),
        (r'["\u00', "Unexpected end-of-input in character escape sequence", 7),
        ('["\\', "Unexpected end-of-input: was expecting closing quote for a string value", 4),
        ("[01]", "Invalid numeric value: Leading zeroes not allowed", 4),
        ("[-a]", ("Unexpected character ('a' (code 97)) in numeric value: expected digit (0-9) to "
         "follow minus sign, for valid numeric value"), 4),
        ("[1.]", ("Unexpected character (']' (code 93)) in numeric value: Decimal point not followed "
         "by a digit"), 5),
        ("[1e+]", ("Unexpected character (']' (code 93)) in numeric value: Exponent indicator not "
         "followed by a digit"), 6),
        ("[1e", "Unexpected end-of-input in numeric value", 4),
        ("[1}", ("Unexpected close marker '}': expected ']' (for Array starting at "
         '[Source: (String)"[1}"; line: 1, column: 1])'), 4),
        (r'[1.25e-10, "\n\u00e9" true]', (
            "Unexpected character ('t' (code 116)): was expecting comma to separate Array entries"), 24),
        (" ", "No content to map due to end-of-input", 2),
        ("{} x", f"Unrecognized token 'x': was expecting {VALUES}", 5),
        ("{} {}", "Unexpected text behind the value", 5),
        ("[\u0661]", f"Unrecognized token '\u0661': was expecting {VALUES}", 3),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_where(text, message, column):
    with pytest.raises(TextError) as caught:
        read_json(text)

    assert caught.value.message.startswith(f"{message}\n at [Source: (String)")
    assert caught.value.location.endswith(f"column: {column}]")
    assert caught.value.message.endswith(caught.value.location)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":1e999}', "inf at $.a is not a JSON number"),
        ('["\\ud800"]', "the string at $[0] is not Unicode text"),
        (f"[{1 << 70}]", "the integer at $[0] takes more than 64 bits"),
        ("[" + "9" * 5000 + "]", "Numeric value has too many digits"),
        ('{"a":[{"b":1.5e3,"c":[]}, true],"n":' + "-9" * 1 + "9" * 5000 + "}",
         "Numeric value has too many digits"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_kept_is_refused(text, why):
    with pytest.raises(TextError, match=r".*") as caught:
        read_json(text)

    assert caught.value.message.startswith(why)


def test_lines_are_counted_and_the_text_is_quoted():
    with pytest.raises(TextError) as caught:
        read_json('{\n "a": 1,\n "b" 2}')

    assert caught.value.location == '[Source: (String)"{\n "a": 1,\n "b" 2}"; line: 3, column: 7]'


def test_a_long_text_is_quoted_in_part_and_control_characters_escaped():
    with pytest.raises(TextError) as caught:
        read_json("\x01" + "x" * 600)

    quoted = "\\u0001" + "x" * 499
    assert caught.value.location.startswith(f'[Source: (String)"{quoted}"[truncated 101 chars]; ')


@pytest.mark.parametrize("text", ["[" * 300 + "]" * 300, "[" * 500_000])
def test_a_text_that_nests_too_deeply_is_not_read(text):
    with pytest.raises(DepthError):
        read_json(text)


@given(st.text('{}[]",:\\u0019.eE+-tfn \n', max_size=12))
def test_what_python_refuses_is_refused_with_a_place(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(TextError):
            read_json(text)
    else:
        assert read_json(text) == expected
