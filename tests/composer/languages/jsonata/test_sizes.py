"""The estimated size of values."""

from __future__ import annotations

import json

import pytest

from xingqiao.composer.languages.jsonata.sizes import MAX_LEVELS, json_size

LIMIT = 1000


@pytest.mark.parametrize("value", [None, "text", 7, True, [], {}, {"a": [1, "b"], "c": {}}])
def test_a_size_is_about_that_of_the_json(value):
    assert abs(json_size(value, LIMIT) - len(json.dumps(value))) <= 9


@pytest.mark.parametrize(("length", "over"), [(LIMIT - 2, False), (LIMIT - 1, True)])
def test_a_text_is_as_large_as_the_limit_or_larger(length, over):
    assert (json_size("x" * length, LIMIT) > LIMIT) is over


def test_a_part_that_is_doubled_at_every_level_counts_each_time():
    value = []
    for _ in range(30):
        value = [value, value]

    assert json_size(value, LIMIT) > LIMIT


@pytest.mark.parametrize(("levels", "over"), [(MAX_LEVELS, False), (MAX_LEVELS + 1, True)])
def test_a_value_is_measured_to_a_depth(levels, over):
    value = 7
    for _ in range(levels):
        value = [value]

    assert (json_size(value, 10 * MAX_LEVELS) > 10 * MAX_LEVELS) is over
