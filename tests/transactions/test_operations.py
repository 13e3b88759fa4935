"""Operations: what becomes of a state, of its version, and of results that are too large."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import LOOK, NOW, Entity, add, of
from xingqiao.actions import EntitySettings
from xingqiao.composer import Failure, Success
from xingqiao.transactions import (
    Row,
)


def test_a_read_that_changes_the_state_is_a_mistake():
    entity = Entity(5).do("1", operation="add", params={"n": 1}, read=True)

    assert entity.told("1") == "BadOperation"
    assert entity.one.row.state == 5
    kept = Entity(5).tell("1", operation="look", read=True).run(look=Success({"state": 5}))
    assert kept.told("1") == {}


@pytest.mark.parametrize(("size", "fits"), [(98, True), (99, False)])
def test_the_state_has_a_limit(size, fits):
    entity = Entity(settings=EntitySettings(state_bytes=100)).tell("1", operation="put")
    entity.run(put=Success({"state": "x" * size}))

    assert (entity.told("1") == {}) is fits
    assert (entity.one.row.state is not None) is fits


def test_a_result_that_is_too_large_is_refused_and_leaves_no_trace():
    entity = Entity(1).tell("1", operation="put")
    entity.run(put=Success({"state": 2, "result": {"x": "x" * (1 << 20)}}))

    assert entity.told("1") == "BadOperation"
    assert entity.one.row.state == 1


def test_a_result_that_is_no_object_is_boxed():
    entity = Entity().tell("1", operation="put").run(put=Success({"result": [1]}))

    assert entity.told("1") == {"value": [1]}


def test_state_of_an_older_version_is_upgraded_first():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=3)).tell("1", **add(1))

    assert (entity.running[0].operation, entity.running[0].params) == ("upgrade", {"version": 1})
    entity.run()
    assert entity.told("1") == {"total": 71}
    assert entity.one.row == Row(71, 5, 3, NOW)
    entity.do("2", **LOOK)
    assert entity.told("2") == {"total": 71}


def test_an_upgrade_that_fails_leaves_it_as_it_was():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=2)).tell("1", **add(1))
    entity.run(upgrade=Failure("ApplicationError", "no"))

    assert (entity.told("1"), entity.one.row.state) == ("ApplicationError", 7)


def test_state_of_a_newer_version_is_left_alone():
    entity = Entity(row=Row(7, 4, 3), settings=EntitySettings(version=2)).do("1", **add(1))

    assert entity.told("1") == "NewerState"
    new = Entity(row=Row(None, 4, 3), settings=EntitySettings(version=2)).do("1", **add(1))
    assert new.told("1") == {"total": 1}


def test_a_flag_keeps_others_from_changing_it():
    entity = Entity(5).do("1", operation="$lock", by="me").do("2", **add(1), by="other")
    entity.do("3", **add(1), by="me").do("4", **LOOK, by="other").do("5", operation="$lock", by="x")

    assert (entity.told("1"), entity.told("2")) == ({"flag": "me"}, "Locked")
    assert (entity.told("3"), entity.told("4")) == ({"total": 6}, {"total": 6})
    assert entity.told("5") == "Locked"
    entity.do("t", **add(1), **of("t", "work", 1)).do(
        "p", operations=[add(1)], **of("u", "prepare")
    )
    assert entity.told("t") == "Locked"
    assert entity.told("p") == {
        "vote": "no",
        "reason": entity.told("p")["reason"],
        "retryable": True,
    }
    entity.do("6", operation="$unlock", by="me").do("7", **add(1))
    assert (entity.told("6"), entity.told("7")) == ({"flag": None}, {"total": 7})


def test_an_upgrade_is_done_once_in_a_transaction():
    entity = Entity(row=Row(7, 4, 1), settings=EntitySettings(version=2))
    entity.do("1", **add(1), **of("t", "work", 1)).do("2", **add(1), **of("t", "work", 2))
    entity.do("p", **of("t", "prepare", 2)).do("c", **of("t", "commit"))

    assert (entity.one.row.state, entity.one.row.schema) == (72, 2)


def test_what_was_begun_by_older_code_is_written_as_its():
    entity = Entity(5).tell("1", **add(1))
    entity.one.settings = EntitySettings(version=2)
    entity.run()

    assert (entity.one.row.state, entity.one.row.schema) == (6, 1)
    assert entity.do("2", **add(1)).told("2") == {"total": 61}


def test_a_result_that_reads_as_a_failure_is_one():
    entity = (
        Entity(5)
        .tell("1", operation="put")
        .run(put=Success({"state": 6, "result": {"error": "warn"}}))
    )

    assert (entity.told("1"), entity.one.row.state) == ("ApplicationError", 5)


def test_the_results_of_a_message_have_a_limit_together():
    large = Success({"state": 1, "result": {"x": "x" * 600_000}})
    entity = Entity(5).tell("p", operations=[{"operation": "put"}] * 2, **of("t", "prepare_commit"))
    entity.run(put=large)

    assert (entity.told("p")["vote"], entity.one.row.state) == ("no", 5)
    alone = Entity(5).tell("p", operations=[{"operation": "put"}], **of("t", "prepare_commit"))
    assert alone.run(put=large).told("p")["vote"] == "committed"


@pytest.mark.parametrize("operation", ["$unlock", "$lock", "$delete"])
def test_what_changes_an_entity_is_no_read_whatever_it_says(operation):
    entity = (
        Entity(5)
        .do("1", operation="$lock", by="me")
        .do("2", operation=operation, by="x", read=True)
    )

    assert (entity.told("2"), entity.one.row.flag) == ("Locked", "me")
