"""The journal's rows: what a commit appends, and where its bodies are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import resources

import pytest

from tests.kit.stores.contract import activation
from xingqiao.actions import Write
from xingqiao.infra.stores.journal import Journal, bodies, entries, floor, newest, parsed

SCHEMA = resources.files("xingqiao.infra.stores").joinpath("migrations", "0003.sql").read_text()


@pytest.fixture
def db():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        yield made


@pytest.fixture
def journal(db):
    db.executescript(SCHEMA)
    return Journal(db)


def test_a_commit_is_one_row_with_places_of_its_bodies(db, journal):
    first = Write(activations=[activation("a", body=b"12"), activation("b", body=b"")])
    other = Write(
        activations=[activation("c", started_ms=7, cause="e", kind="k", body=b"345")],
        history=[("e", 1, b"[1]"), ("f", 2, b"")],
        forgotten=["g"],
    )

    assert journal.append(5, entries([first, other])) == 8

    number, last_ms, activations, history, forgotten, blob = db.execute(
        "SELECT * FROM journal"
    ).fetchone()
    assert (number, last_ms, blob) == (5, 1000, b"12345[1]")
    assert parsed(activations) == [
        ["a", "guest", "hello", 1000, 0, None, "", 0, 2],
        ["b", "guest", "hello", 1000, 0, None, "", 2, 0],
        ["c", "guest", "hello", 7, 0, "e", "k", 2, 3],
    ]
    assert parsed(history) == [["e", 1, 5, 3], ["f", 2, 8, 0]]
    assert parsed(forgotten) == ["g"]
    places = [(5, 5, 3), (5, 2, 0), (5, 0, 2)]
    assert bodies(db, places, "main") == dict(zip(places, (b"[1]", b"", b"12"), strict=True))


def test_a_commit_without_records_has_the_age_of_those_before(db, journal):
    journal.append(1, entries([Write(activations=[activation(started_ms=5)])]))
    journal.append(2, entries([Write(activations=[activation(started_ms=3)])]))
    journal.append(3, entries([]))

    assert db.execute("SELECT last_ms FROM journal").fetchall() == [(5,), (3,), (5,)]
    assert db.execute("SELECT activations, history, forgotten, bodies FROM journal").fetchall()[
        2
    ] == (None, None, None, None)
    Journal(db).append(4, entries([]))
    assert db.execute("SELECT last_ms FROM journal WHERE number = 4").fetchone() == (5,)


def test_the_bodies_of_a_row_that_is_gone_are_left_out(db, journal):
    journal.append(1, entries([Write(history=[("e", 1, b"1")])]))

    assert bodies(db, [(1, 0, 1), (2, 0, 1)], "main") == {(1, 0, 1): b"1"}
    assert bodies(db, [(2, 0, 0)], "main") == {(2, 0, 0): b""}


def test_a_place_outside_of_its_row_is_damage(db, journal):
    journal.append(1, entries([Write(history=[("e", 1, b"1")])]))

    with pytest.raises(sqlite3.DatabaseError, match="row 1 of the journal is cut short"):
        bodies(db, [(1, 0, 2)], "main")


def test_the_numbers_of_the_newest_and_before_the_oldest_row(db):
    assert newest(db) == 0  # there is no table
    db.executescript(SCHEMA)
    assert (newest(db), floor(db, 7)) == (0, 7)
    for number in (3, 4):
        Journal(db).append(number, entries([Write(forgotten=["e"])]))

    assert (newest(db), floor(db, 4)) == (4, 2)


def test_of_commits_without_records_the_last_has_a_row(db, journal):
    journal.append(1, entries([Write(forgotten=["e"])]))
    for number in (2, 3, 4):
        journal.append(number, entries([Write()]))
    journal.append(5, entries([Write(history=[("e", 1, b"")])]))
    journal.append(6, entries([]))

    rows = db.execute("SELECT number, forgotten, history FROM journal").fetchall()
    assert [number for number, _, _ in rows] == [1, 4, 5, 6]
    assert (rows[0][1], rows[2][2]) == ('["e"]', '[["e",1,0,0]]')
