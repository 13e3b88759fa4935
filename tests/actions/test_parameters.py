"""Default parameters: how they are read, shown and put over each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions.errors import InvalidError
from xingqiao.actions.parameters import listed, merged, parsed

values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
layers = st.lists(st.dictionaries(st.text(min_size=1), values), max_size=5)


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ((), {}),
        (({},), {}),
        (({}, {}), {}),
        (({"a": 1}, {}), {"a": 1}),
        (({"a": 1}, {"a": 2}), {"a": 2}),
        (({"a": 1, "b": 1}, {"b": 2}, {"c": 3}), {"a": 1, "b": 2, "c": 3}),
        (({"a": {"deep": 1}}, {"a": {"other": 2}}), {"a": {"other": 2}}),
        (({"a": 1}, {"a": None}), {"a": None}),
    ],
)
def test_later_layers_lie_over_earlier_ones_key_by_key(given, result):
    assert merged(*given) == result


@given(layers)
def test_merging_changes_no_layer(given):
    before = [dict(layer) for layer in given]

    result = merged(*given)

    assert given == before
    assert result == {key: value for layer in given for key, value in layer.items()}


@given(st.dictionaries(st.text(min_size=1), values))
def test_what_is_listed_is_parsed_again(given):
    assert parsed("parameters", listed(given)) == given


@pytest.mark.parametrize(
    ("doc", "result"),
    [
        (None, {}),
        ([], {}),
        ([{"key": "a", "value": 1}], {"a": 1}),
        ([{"key": "a"}], {"a": None}),
        ([{"key": "a", "value": 1, "init": True}], {"a": 1}),
        ([{"key": "a", "value": 1}, {"key": "a", "value": 2}], {"a": 2}),
        ([{"key": " ", "value": []}], {" ": []}),
    ],
)
def test_a_list_of_keys_and_values_is_read(doc, result):
    assert parsed("parameters", doc) == result


@pytest.mark.parametrize(
    ("doc", "complaint"),
    [
        ({"a": 1}, "must be a list of {'key': ..., 'value': ...}"),
        ("a", "must be a list of {'key': ..., 'value': ...}"),
        (0, "must be a list of {'key': ..., 'value': ...}"),
        (False, "must be a list of {'key': ..., 'value': ...}"),
        ([1], "has 1, which has no 'key'"),
        ([None], "has None, which has no 'key'"),
        ([["key", "a"]], "has ['key', 'a'], which has no 'key'"),
        ([{}], "has {}, which has no 'key'"),
        ([{"value": 1}], "has {'value': 1}, which has no 'key'"),
        ([{"key": 1}], "has {'key': 1}, which has no 'key'"),
        ([{"key": ""}], "has {'key': ''}, which has no 'key'"),
        ([{"key": ["a"]}], "has {'key': ['a']}, which has no 'key'"),
        ([{"key": "a"}, {"Key": "b"}], "has {'Key': 'b'}, which has no 'key'"),
    ],
)
def test_anything_else_is_refused_by_name(doc, complaint):
    with pytest.raises(InvalidError) as refusal:
        parsed("annotations", doc)

    assert str(refusal.value) == (f"The request content was malformed:\n'annotations' {complaint}")


def test_a_refusal_does_not_repeat_a_whole_document():
    with pytest.raises(InvalidError) as refusal:
        parsed("parameters", ["x" * 1_000_000])

    assert len(str(refusal.value)) < 300
