"""The records of an entity: what is stored of them is read again."""

from __future__ import annotations

import json

import pytest

from tests.kit.transactions.entity import NOW
from xingqiao.composer import Failure, Success
from xingqiao.transactions import (
    Row,
    Tombstone,
)


def test_a_row_is_json_and_back():
    row = Row({"n": 1}, 3, 2, NOW, "me")

    assert Row.from_json(row.to_json()) == row


@pytest.mark.parametrize("answer", [None, Success({"n": 1}), Failure("Full", {"left": 0})])
def test_a_tombstone_is_read_as_it_was_stored(answer):
    stone = Tombstone("t", 5, answer)

    assert Tombstone.from_json(json.loads(json.dumps(stone.to_json()))) == stone
