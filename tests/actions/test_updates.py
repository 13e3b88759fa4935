"""The rules for updates of executions: ids, stages, room, and records."""

from __future__ import annotations

import pytest

from xingqiao.actions import (
    InvalidError,
    NoSuchUpdateError,
    TooManyUpdatesError,
    UpdateRecord,
    check_room,
    check_stage,
    check_update,
)
from xingqiao.composer import MAX_OPEN_UPDATES, MAX_UPDATES, Failure, Success


@pytest.mark.parametrize("id", ["", "a", "mail 17", "x" * 255, "é"])
def test_ids_that_can_be_used(id):
    check_update(id)


@pytest.mark.parametrize("id", ["a/b", "x" * 256, "\n", "\x00"])
def test_ids_that_cannot(id):
    with pytest.raises(InvalidError, match="1 to 255 printable characters without '/'"):
        check_update(id)


def test_stages():
    check_stage("accepted")
    check_stage("completed")
    with pytest.raises(InvalidError, match="'wait' must be accepted or completed, not 'failed'"):
        check_stage("failed")


def test_room_on_both_sides_of_each_limit():
    check_room("e", MAX_OPEN_UPDATES - 1, MAX_UPDATES - 1)
    with pytest.raises(
        TooManyUpdatesError, match="handles 10 updates, which is the most at a time"
    ):
        check_room("e", MAX_OPEN_UPDATES, 20)
    with pytest.raises(
        TooManyUpdatesError, match="has accepted 2000 updates, which is the most for"
    ):
        check_room("e", 0, MAX_UPDATES)


@pytest.mark.parametrize(
    ("name", "declared", "text"),
    [
        ("add", (), "has no update 'add': its composition declares none"),
        ("add", ("a", "b"), "has no update 'add': it has a, b"),
        ("a", ("a", "b"), "does not handle update 'a' yet"),
    ],
)
def test_a_name_that_nothing_handles(name, declared, text):
    assert text in str(NoSuchUpdateError("e", name, declared))


@pytest.mark.parametrize(
    ("outcome", "more"),
    [
        (None, {"status": "accepted"}),
        (Success(None), {"status": "completed", "answer": None}),
        (Failure("Down", 1), {"status": "failed", "errorCode": "Down", "error": 1}),
        (
            Failure("Down", 1, ("KeyError",)),
            {"status": "failed", "errorCode": "Down", "error": 1, "raised": ["KeyError"]},
        ),
    ],
)
def test_a_record_as_its_caller_sees_it(outcome, more):
    record = UpdateRecord("e", "add", "u", outcome)

    assert record.to_json() == {"executionId": "e", "name": "add", "update": "u", **more}
