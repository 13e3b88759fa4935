"""Delimited text: headers, fields, lines, and their bounds."""

from __future__ import annotations

import csv
import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.readings import CSV, failing, read
from xingqiao.composer.languages.asl.state_errors import StatesError


def given_headers(*names, **more):
    return {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": list(names), **more}


RECORDED = "Value1,Value2,Value3\nValue4,Value5,Value6\n,,,\ntrue,1,'HelloWorld'\nNull,None,\n   \n"
ROWS = [
    ("Value1", "Value2", "Value3"), ("Value4", "Value5", "Value6"), ("", "", ""),
    ("true", "1", "'HelloWorld'"), ("Null", "None", ""), ("   ", "", ""),
]  # fmt: skip


def test_a_header_in_the_first_row_is_recorded():
    items = read(f"Col1,Col2,Col3\n{RECORDED}", CSV)

    assert items == [dict(zip(("Col1", "Col2", "Col3"), row, strict=True)) for row in ROWS]


def test_a_header_that_is_given_is_recorded():
    items = read(RECORDED, given_headers("H1", "H2", "H3"))

    assert items == [dict(zip(("H1", "H2", "H3"), row, strict=True)) for row in ROWS]


def test_fields_beyond_the_header_are_left_out_as_recorded():
    assert read(RECORDED, given_headers("H1")) == [{"H1": row[0]} for row in ROWS]
    assert read(f"H1,\n{RECORDED}", CSV)[1] == {"H1": "Value4", "": "Value5"}


def test_headers_stay_texts_as_recorded():
    assert read(f"0,True,{{}}\n{RECORDED}", CSV)[3] == {
        "0": "true",
        "True": "1",
        "{}": "'HelloWorld'",
    }


def test_headers_that_are_there_twice_fail_with_the_recorded_text():
    assert failing(RECORDED, given_headers("H1", "H1")) == "CSV headers cannot contain duplicates."
    assert failing("a,b,a\n", CSV) == "CSV headers cannot contain duplicates."


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('"a,b"', "a,b"),
        ('"a\nb"', "a\nb"),
        ('"a\r\nb"', "a\r\nb"),
        ('"say ""so"""', 'say "so"'),
        ('""', ""),
        ('"""', None),
        ('"x', None),
        ('{""MyKey"":""MyValue""}', '{"MyKey":"MyValue"}'),  # AWS' own example
        ('in "the" midst', 'in "the" midst'),
        ('"a"b', "ab"),
        ('"a" "b"', 'a "b"'),
        (r"C:\\Program Files\\MyApp.exe", r"C:\Program Files\MyApp.exe"),  # AWS' own example
        (r"a\,b", "a,b"),
        (r"a\"b", 'a"b'),
        (r'"a\"b"', 'a"b'),
        (r"a\nb", "anb"),
        ("a\\", "a"),
        ('"a"\r', "a"),
        ("a\\b\r", "ab"),
        ('"a\r"', "a\r"),
    ],
)
def test_what_a_field_means(line, field):
    text = f"{line},second\nnext,row\n"
    if field is None:
        assert "quotation mark" in failing(text, given_headers("a", "b"))
    else:
        tail = "" if line.endswith(("\r", "\\")) else "second"
        text = text if tail else f"{line}\nnext,row\n"
        assert read(text, given_headers("a", "b")) == [
            {"a": field, "b": tail}, {"a": "next", "b": "row"},
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mark"),
    [("COMMA", ","), ("PIPE", "|"), ("SEMICOLON", ";"), ("SPACE", " "), ("TAB", "\t")],
)
def test_every_delimiter(name, mark):
    text = mark.join(["a", "b"]) + "\n" + mark.join(["1", f'"2{mark}3"']) + "\n"

    assert read(text, {**CSV, "CSVDelimiter": name}) == [{"a": "1", "b": f"2{mark}3"}]
    assert "CSVDelimiter" in failing(text, {**CSV, "CSVDelimiter": "DOT"})


def test_lines_may_end_in_carriage_returns_and_blank_ones_are_no_rows():
    assert read("\r\n\na,b\r\n\r\n1,2\r\n\n3,4", CSV) == [
        {"a": "1", "b": "2"},
        {"a": "3", "b": "4"},
    ]


def test_a_mark_of_the_byte_order_is_no_part_of_a_name():
    assert read(b"\xef\xbb\xbfa\n1\n", CSV) == [{"a": "1"}]


@pytest.mark.parametrize("text", ["", "a,b", "a,b\n"])
def test_a_file_without_rows_has_no_items(text):
    assert read(text, CSV) == []


def test_a_header_is_in_the_first_row_unless_something_else_is_said():
    assert read("a\n1\n", {"InputType": "CSV"}) == [{"a": "1"}]


def test_headers_have_ten_kilobytes_at_most():
    assert read(f"{'x' * 10_240}\n1\n", CSV) == [{"x" * 10_240: "1"}]
    for names in ("x" * 10_241, '"' + "x" * 20_000, '"' + "x" * 10_000 + "\n" * 500 + '"'):
        assert failing(f"{names}\n1\n", CSV) == "CSV headers cannot have more than 10240 bytes."
    assert "10240" in failing("1\n", given_headers("x" * 10_241))
    assert "not closed" in failing('"a', CSV)


@pytest.mark.parametrize("names", [None, "a", [1], [None]])
def test_headers_that_are_given_are_a_list_of_texts(names):
    config = {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": names}
    assert failing("1\n", config) == "CSVHeaders must be a list of texts."


@given(st.lists(st.lists(st.text("ab, \"\n;'x"), min_size=3, max_size=3)))
def test_what_is_quoted_whole_is_read_as_it_was(table):
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)

    items = read(file.getvalue(), given_headers("a", "b", "c"))

    assert [list(item.values()) for item in items] == table


@given(st.text('ab,"\\\n\r'), st.integers(0, 4))
def test_any_text_is_read_to_its_end_or_refused(text, width):
    with suppress(StatesError):
        items = read(text, given_headers(*map(str, range(width))))
        assert all(len(item) == width for item in items)


def test_a_long_header_over_short_rows_makes_no_more_than_may_be_read():
    names = ",".join(f"{n:09}" for n in range(1000))

    assert "may be read" in failing(names + "\n" + "1\n" * 10_000_000, CSV)


def test_only_the_fields_that_have_names_are_kept():
    assert read("a\n" + "," * 1_000_000, CSV) == [{"a": ""}]
