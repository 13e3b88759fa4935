"""JSON text with giant strings is parsed as a parser does it that takes all at once."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.infra.http import json_parser
from xingqiao.infra.http.json_parser import PIECE_BYTES, parse

TEXTS = st.text() | st.sampled_from(["\\", '"', "\\" * 9, "😀" * 9, "é\n" * 9, "\u2028"])
VALUES = st.recursive(
    TEXTS | st.integers(-(1 << 63), (1 << 64) - 1) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """The sizes of what was parsed in one call."""
    sizes = []

    class Counted:
        @staticmethod
        def loads(text):
            sizes.append(len(text))
            return orjson.loads(text)

    monkeypatch.setattr(json_parser, "orjson", Counted)
    return sizes


@given(VALUES, st.booleans(), st.integers(1, 40))
def test_a_value_is_the_same_whatever_the_size_of_the_pieces(value, escaped, size):
    text = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_parser, "PIECE_BYTES", max(12, size))

        assert parse(text) == value


@given(st.binary(max_size=60), st.integers(12, 20))
def test_text_that_is_not_json_is_refused_whatever_the_size_of_the_pieces(text, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_parser, "PIECE_BYTES", size)
        try:
            expected = orjson.loads(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                parse(text)
        else:
            assert parse(text) == expected


@pytest.mark.parametrize("unit", ["#", '"', "\\", "\n", "é", "😀", "\u0001"])
@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "plain"])
def test_no_call_parses_more_than_a_piece(calls, unit, escaped):
    value = {"code": unit * (3 * PIECE_BYTES), unit * PIECE_BYTES * 2: [1, "a"]}

    assert parse(json.dumps(value, ensure_ascii=escaped).encode()) == value
    assert max(calls) <= PIECE_BYTES + len('""')


def test_a_string_of_one_piece_is_parsed_with_the_rest(calls):
    text = json.dumps(["#" * (PIECE_BYTES - 1), 7]).encode()

    assert parse(text) == orjson.loads(text)
    assert calls == [len(text)]


def test_digits_in_a_giant_string_are_no_integer():
    assert parse(b'["' + b"9" * 2 * PIECE_BYTES + b'"]') == ["9" * 2 * PIECE_BYTES]


def test_an_integer_of_more_than_64_bits_beside_a_giant_string_is_refused():
    text = b'["' + b"#" * 2 * PIECE_BYTES + b'", 99999999999999999999]'

    with pytest.raises(ValueError, match=r"\$\[1\] takes more than 64 bits"):
        parse(text)


@pytest.mark.parametrize("end", ["", '"', '\\"', '"]]', "\\u12", "\\x"])
def test_a_giant_string_that_does_not_end_well_is_refused(end):
    with pytest.raises(ValueError, match=r"."):
        parse(b'["' + b"#" * 2 * PIECE_BYTES + end.encode())
