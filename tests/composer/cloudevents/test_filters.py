"""Filters of triggers: which CloudEvents pass, and which filters are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import read_cloud_event
from xingqiao.composer import ExpressionError, read_event_filter
from xingqiao.composer.cloudevents.predicates import MAX_BYTES, MAX_LEVELS

PLACED = read_cloud_event(
    {"specversion": "1.0", "id": "1", "source": "/shop/eu", "type": "order.placed", "urgent": True,
     "sequence": 7, "data": {"total": 12, "items": ["a"]}}
)  # fmt: skip
TYPE = {"exact": {"type": "order.placed"}}
OTHER = {"exact": {"type": "order.paid"}}
SHOP = {"prefix": {"source": "/shop"}}


def test_each_dialect_of_attributes_compares_texts():
    fits = {
        "exact": {"order.placed": True, "order.place": False, "Order.placed": False},
        "prefix": {"order.": True, "order.placed": True, "placed": False},
        "suffix": {".placed": True, "order.placed": True, "order": False},
    }
    for dialect, cases in fits.items():
        for text, expected in cases.items():
            made = read_event_filter({dialect: {"type": text}})
            assert made.fits(PLACED) is expected, (dialect, text)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"type": "order.placed", "source": "/shop/eu"}, True),
        ({"type": "order.placed", "source": "/shop/us"}, False),
        ({"urgent": "true", "sequence": "7"}, True),
        ({"urgent": "True"}, False),
        ({"subject": "None"}, False),
        ({"data": "12"}, False),
    ],
)
def test_all_attributes_must_be_there_and_fit(attributes, expected):
    assert read_event_filter({"exact": attributes}).fits(PLACED) is expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ({"all": [TYPE, SHOP]}, True),
        ({"all": [TYPE, OTHER]}, False),
        ({"any": [OTHER, SHOP]}, True),
        ({"any": [OTHER, {"not": SHOP}]}, False),
        ({"not": OTHER}, True),
        ({"not": {"any": [OTHER, TYPE]}}, False),
        ({"data": {"op": "ge", "left": {"path": "$.data.total"}, "right": {"value": 12}}}, True),
        ({"data": {"op": "gt", "left": {"path": "$.data.total"}, "right": {"value": 12}}}, False),
        ({"data": {"op": "exists", "of": {"path": "$.type"}}}, True),
        ({"data": {"op": "eq", "left": {"path": "$.data.none"}, "right": {"value": 1}}}, False),
        ({"data": {"op": "lt", "left": {"path": "$.type"}, "right": {"value": 1}}}, False),
    ],
)
def test_filters_are_combined_and_look_into_the_data(doc, expected):
    assert read_event_filter(doc).fits(PLACED) is expected
    assert read_event_filter({"not": doc}).fits(PLACED) is not expected


@pytest.mark.parametrize(
    ("doc", "types"),
    [
        (TYPE, {"order.placed"}),
        (SHOP, None),
        ({"exact": {"source": "/shop"}}, None),
        ({"suffix": {"type": "placed"}}, None),
        ({"not": TYPE}, None),
        ({"all": [SHOP, TYPE]}, {"order.placed"}),
        ({"all": [TYPE, OTHER]}, set()),
        ({"all": [SHOP, SHOP]}, None),
        ({"any": [TYPE, OTHER]}, {"order.placed", "order.paid"}),
        ({"any": [TYPE, SHOP]}, None),
        ({"all": [{"any": [TYPE, OTHER]}, OTHER]}, {"order.paid"}),
    ],
)
def test_the_types_that_can_fit_are_known(doc, types):
    assert read_event_filter(doc).types == types


LEAVES = st.one_of(
    st.builds(
        lambda dialect, name, text: {dialect: {name: text}},
        st.sampled_from(("exact", "prefix", "suffix")),
        st.sampled_from(("type", "source")),
        st.sampled_from(("a", "b", "ab")),
    ),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda doc: {"not": doc}, inner),
        st.builds(
            lambda dialect, docs: {dialect: docs},
            st.sampled_from(("all", "any")),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(FILTERS, st.sampled_from(("a", "b", "ab")), st.sampled_from(("a", "b", "ab")))
def test_a_cloudevent_of_another_type_than_the_known_ones_never_fits(doc, type, source):
    event = read_cloud_event({"specversion": "1.0", "id": "1", "source": source, "type": type})
    made = read_event_filter(doc)

    assert not made.fits(event) or made.types is None or type in made.types
    assert read_event_filter(made.to_json()) == made


def test_two_filters_are_equal_if_their_documents_are():
    assert read_event_filter({**TYPE}) == read_event_filter({**TYPE}) != read_event_filter(OTHER)


DEEP = {"exact": {"type": "a"}}
for _ in range(MAX_LEVELS):
    DEEP = {"not": DEEP}


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        ("order.placed", "'filter' must be an object with one of exact, prefix, suffix, all"),
        ({}, "'filter' must be an object with one of"),
        ({**TYPE, **SHOP}, "put several filters into 'all' or 'any'"),
        ({"sql": "type = 'a'"}, "'filter' has the dialect 'sql': use one of exact"),
        ({"exact": {}}, "'filter.exact' must be an object of attributes"),
        ({"prefix": "a"}, "'filter.prefix' must be an object of attributes"),
        ({"suffix": {"type": ""}}, "'filter.suffix.type' must be a string that is not empty"),
        ({"exact": {"sequence": 7}}, "'filter.exact.sequence' must be a string"),
        ({"all": []}, "'filter.all' must be a list of filters that is not empty"),
        ({"any": TYPE}, "'filter.any' must be a list of filters"),
        ({"any": [TYPE, {"not": {"all": [{"exact": 1}]}}]}, r"'filter.any\[1\].not.all\[0\].exact'"),
        ({"not": [TYPE]}, "'filter.not' must be an object with one of"),
        ({"data": {"op": "like"}}, "'filter.data' is not a predicate"),
        ({"data": {"op": "exists", "of": {"path": "x"}}}, "'filter.data' is not a predicate: path"),
        (DEEP, f"'filter' must be JSON of at most {MAX_LEVELS} levels"),
        ({"exact": {"type": "a" * MAX_BYTES}}, f"'filter' must be JSON of at most {MAX_BYTES} bytes"),
    ],
)  # fmt: skip
def test_a_filter_that_is_none_is_refused_by_its_place(doc, why):
    with pytest.raises(ExpressionError, match=why):
        read_event_filter(doc)
