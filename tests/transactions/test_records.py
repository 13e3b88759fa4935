"""The records of an entity: what is stored of them is read again."""

from __future__ import annotations

import json

import pytest

from tests.kit.transactions.entity import NOW
from xingqiao.composer import Failure, Success
from xingqiao.transactions import Prepared, Row, Tombstone
from xingqiao.transactions.protocol import Transaction


def test_a_row_is_json_and_back():
    row = Row({"n": 1}, 3, 2, NOW, "me")

    assert Row.from_json(row.to_json()) == row


@pytest.mark.parametrize("answer", [None, Success({"n": 1}), Failure("Full", {"left": 0})])
def test_a_tombstone_is_read_as_it_was_stored(answer):
    stone = Tombstone("t", 5, answer)

    assert Tombstone.from_json(json.loads(json.dumps(stone.to_json()))) == stone


@pytest.mark.parametrize(
    "by_hand", [{}, {"heuristic": "abort", "by": "me", "why": "late", "damaged": True}]
)
def test_a_vote_is_read_as_it_was_stored(by_hand):
    transaction = Transaction("t", 1, 9, "wait", "/guest/c", 2)
    vote = Prepared(transaction, {"n": 1}, 2, ({"r": 1}, None), NOW, **by_hand)

    assert Prepared.from_json(json.loads(json.dumps(vote.to_json()))) == vote


def test_each_write_is_a_version_and_what_is_deleted_begins_anew():
    row = Row().changed(1, 1, NOW).changed(2, 3, NOW + 1)

    assert row == Row(2, 2, 3, NOW + 1)
    assert row.changed(None, 3, NOW) == Row()


@pytest.mark.parametrize(
    ("row", "empty"),
    [(Row(), True), (Row(0), False), (Row(flag="me"), False), (Row(None, 7), True)],
)
def test_a_row_with_a_state_or_a_flag_is_to_be_stored(row, empty):
    assert row.empty is empty


def test_a_flag_outlasts_the_state():
    row = Row(1, 4, 1, NOW, "me").changed(None, 1, NOW)

    assert (row.state, row.version, row.flag) == (None, 5, "me")
