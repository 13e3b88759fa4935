"""Batches: how many items each has, and how many bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.languages.asl.maps.batches import MAX_INPUT_BYTES, batched
from xingqiao.composer.languages.asl.state_errors import StatesError


def test_items_are_put_together_in_their_order():
    assert batched([1, 2, 3], max_items=2) == [{"Items": [1, 2]}, {"Items": [3]}]
    assert batched([], max_items=2) == []


def test_the_batches_input_stands_in_each():
    assert batched([1, 2], {"a": 1}, 1) == [
        {"BatchInput": {"a": 1}, "Items": [1]}, {"BatchInput": {"a": 1}, "Items": [2]},
    ]  # fmt: skip
    assert batched([1], None) == [{"BatchInput": None, "Items": [1]}]


@pytest.mark.parametrize("none", [None, 0])
def test_without_bounds_a_batch_is_as_large_as_an_input_may_be(none):
    items = [{"n": n, "text": "é" * 100} for n in range(3000)]

    batches = batched(items, {"é": "é"}, none, none)

    sizes = [len(written(batch)) for batch in batches]
    assert [item for batch in batches for item in batch["Items"]] == items
    assert all(size <= MAX_INPUT_BYTES for size in sizes)
    assert all(size + len(written(items[-1])) + 1 > MAX_INPUT_BYTES for size in sizes[:-1])


@given(
    st.lists(st.text(max_size=20), max_size=30),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(100, 200),
)
def test_no_batch_is_larger_than_asked_for_and_none_could_take_one_more(items, most, size):
    batches = batched(items, max_items=most, max_bytes=size)

    assert [item for batch in batches for item in batch["Items"]] == items
    for batch, after in zip(batches, [*batches[1:], None], strict=False):
        count = len(batch["Items"])
        assert len(written(batch["Items"])) <= size
        assert most is None or count <= most
        if after is not None and count != most:
            assert len(written([*batch["Items"], after["Items"][0]])) > size


@pytest.mark.parametrize("more", [{"max_bytes": 10}, {"batch_input": "x" * (MAX_INPUT_BYTES - 40)}])
def test_an_item_that_does_not_fit_is_refused(more):
    with pytest.raises(StatesError, match=r"DataLimitExceeded: An item of 22 bytes does not fit"):
        batched(["x" * 20], **more)


@pytest.mark.parametrize("name", ["max_items", "max_bytes"])
def test_bounds_are_not_negative(name):
    with pytest.raises(StatesError, match=r"States.Runtime: Max\w+PerBatch cannot be negative"):
        batched([1], **{name: -1})


def written(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
