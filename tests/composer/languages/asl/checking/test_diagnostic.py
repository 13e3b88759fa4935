"""Fields listed as AWS lists them."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.checking.diagnostic import hashed


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (["StartAt", "States"], "[States, StartAt]"),  # recorded
        (["End", "Next"], "[Next, End]"),
        (["Seconds", "SecondsPath", "Timestamp", "TimestampPath"],
         "[SecondsPath, Seconds, TimestampPath, Timestamp]"),
        ([], "[]"),
    ],
)  # fmt: skip
def test_fields_are_listed_in_the_order_of_a_hash_set(names, listed):
    assert hashed(names) == listed


def test_a_set_of_many_names_has_more_buckets():
    names = [f"Field{i}" for i in range(20)]

    assert sorted(hashed(names)[1:-1].split(", ")) == sorted(names)
