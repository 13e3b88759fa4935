"""Filters in SQL: values are bound, and the index that answers a page is chosen by how much it holds."""

from __future__ import annotations

import sqlite3
from importlib import resources

import pytest

from tests.kit.stores.filters import DECLARED
from xingqiao.actions import Query, indexed, parse
from xingqiao.infra.stores import filtering
from xingqiao.infra.stores.filtering import condition, prefix_end, source

ROWS = 60


@pytest.fixture
def db(monkeypatch):
    """A store's tables, where five executions are many."""
    monkeypatch.setattr(filtering, "FEW", 5)
    opened = sqlite3.connect(":memory:")
    opened.execute("ATTACH ':memory:' AS store")
    folder = resources.files("xingqiao.infra.stores").joinpath("migrations")
    for name in ("0001", "0004", "0005"):
        script = folder.joinpath(f"{name}.sql").read_text("utf-8")
        for part in script.split(";"):
            sql = " ".join(line for line in part.splitlines() if not line.startswith("--"))
            if "executions" in sql or "attributes" in sql:
                opened.execute(sql.replace("CREATE TABLE ", "CREATE TABLE store.").replace(
                    "CREATE INDEX ", "CREATE INDEX store."))  # fmt: skip
    for n in range(ROWS):
        id, status = f"{n:032x}", "failed" if n % 20 == 0 else "succeeded"
        row = (id, "guest", "order", status, 1000 + n, 2000 + n, b"{}")
        opened.execute("INSERT INTO store.executions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        given = {"customer": f"c{n}", "tags": ["all", f"t{n % 30}"], "amount": n}
        for name, value in indexed(given, DECLARED):
            opened.execute(
                "INSERT INTO store.attributes VALUES (?, ?, ?, 'guest', ?)",
                (id, name, value, row[4]),
            )
    return opened


def made(text):
    return parse(text, DECLARED)


@pytest.mark.parametrize(
    ("text", "size", "lanes"),
    [
        ("customer = 'c7'", 1, 1),
        ("tags = 'all' and tags = 't3'", 2, 1),
        ("tags = 'all'", 6, 1),  # five and one more
        ("customer in ('c1', 'c2')", 2, 2),
        ("customer = 'c1' or amount < 3", 4, 2),
        ("starts_with(customer, 'c1') and status = 'failed'", 3, 1),
        ("run = 'x'", 0, 1),
        ("amount is not null", 6, 1),
    ],
)
def test_the_smallest_source_is_chosen(db, text, size, lanes):
    found = source(db, made(text).predicate, "guest")

    assert (found.size, len(found.lanes)) == (size, lanes)


@pytest.mark.parametrize(
    "text",
    ["action = 'order'", "started > 5", "not customer = 'c7'", "customer = 'c7' or action = 'order'",
     "status = 'succeeded'", "status in ('failed', 'succeeded')", ""],
)  # fmt: skip
def test_what_no_index_has_has_no_source(db, text):
    assert source(db, made(text).predicate, "guest") is None


@pytest.mark.parametrize(
    "text",
    ["customer = 'c7'", "tags = 'all' and amount between 20 and 50", "tags = 'all'", "tags = 't3'",
     "status = 'failed' and tags = 'all'", "amount > 3 and action = 'order'", "amount >= 0", "ended > 2010",
     "tags in ('all', 't3') and duration = 1000", "tags = 'all' order by ended", "order by started asc"],
)  # fmt: skip
@pytest.mark.parametrize("order", ["", " order by started asc"])
def test_pages_are_the_same_by_whichever_index(db, monkeypatch, text, order):
    where = made(text if "order" in text.split() else text + order)
    asked = Query(namespace="guest", where=where, limit=7)
    page = filtering.page(db, asked, where)
    count = filtering.count(db, asked, where)

    monkeypatch.setattr(filtering, "_chosen", lambda *_: None)

    assert page == filtering.page(db, asked, where)
    assert count == filtering.count(db, asked, where)
    assert len(page) == min(count, 7)


def test_values_are_bound_and_never_text(db):
    evil = "x'); DROP TABLE executions; --"
    values = []

    sql = condition(made(f"customer = '{evil.replace(chr(39), chr(39) * 2)}'").predicate, values)

    assert "DROP" not in sql
    assert values == ["text customer", evil]


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("customer = 'c7'", "attributes_by_value"),
        ("tags = 'all'", "attributes_by_value"),
        ("status = 'failed'", "executions_by_status"),
        ("started > 1040", "executions_by_time"),
    ],
)
def test_an_index_answers(db, text, plan):
    where, asked = made(text), []
    db.set_trace_callback(asked.append)
    filtering.page(db, Query(namespace="guest", where=where), where)
    db.set_trace_callback(None)

    steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {asked[-1]}")]
    assert any(plan in step for step in steps), steps
    scanned = [step for step in steps if step.startswith("SCAN") and step != "SCAN c"]
    assert not scanned, steps  # "c" are the candidates


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("a", "b"),
        ("az", "a{"),
        ("a\U0010ffff", "b"),
        ("\ud7ff", "\ue000"),
        ("", None),
        ("\U0010ffff", None),
    ],
)
def test_the_end_of_a_prefix(prefix, end):
    assert prefix_end(prefix) == end


def test_all_namespaces_are_searched_by_time(db):
    where = made("customer = 'c7'")
    found = filtering.page(db, Query(namespace=None, where=where), where)
    assert [row[0] for row in found] == [f"{7:032x}"]
    one = Query(namespace="guest", id=f"{7:032x}", where=where)
    assert filtering.page(db, one, where) == found
