"""Segments of paths: which lead to one value, and how they are shown."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.jsonpath.path_parser import parse_segments
from xingqiao.composer.languages.asl.jsonpath.reading import Reader
from xingqiao.composer.languages.asl.jsonpath.segments import (
    Filter,
    Indexes,
    Names,
    Segment,
    Slice,
    Wildcard,
    definite,
)

A, LIST, ALL = Segment(Names(("a",))), Segment(Indexes((0, 2))), Segment(Wildcard())
MERGES = Segment(Names(("a", "b")))
BELOW = Segment(Names(("a",)), descends=True)


def parsed(text):
    return parse_segments(Reader("path", text))


@pytest.mark.parametrize(
    ("segments", "one"),
    [
        ((), True),
        ((A, A), True),
        ((A, Segment(Indexes((-1,)))), True),
        ((A, MERGES), True),  # several names at the end make one object
        ((MERGES, A), False),
        ((A, LIST), False),
        ((ALL,), False),
        ((Segment(Slice(None, 1)),), False),
        ((BELOW,), False),
        ((BELOW, A), False),
    ],
)
def test_a_path_is_definite_where_each_segment_takes_one_step(segments, one):
    assert definite(segments) is one


@pytest.mark.parametrize(
    ("segment", "step"),
    [
        (A, "a"),
        (Segment(Indexes((-1,))), -1),
        (LIST, None),
        (MERGES, None),
        (BELOW, None),
        (ALL, None),
    ],
)
def test_a_step_is_one_name_or_one_index(segment, step):
    assert segment.step == step


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (Names(("a", "b")), "['a','b']"),
        (Indexes((0, -1)), "[0,-1]"),
        (Slice(1, None), "[1:]"),
        (Slice(None, -2), "[:-2]"),
        (Slice(0, 0), "[0:0]"),
    ],
)
def test_a_selector_is_shown_as_it_may_be_written(selector, text):
    assert str(selector) == text
    assert [segment.selector for segment in parsed(text)] == [selector]


def test_a_filter_is_shown_without_its_test():
    (segment,) = parsed("[?(@.a > 1)]")

    assert type(segment.selector) is Filter
    assert str(segment.selector) == "[?]"
