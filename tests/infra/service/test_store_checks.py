"""The store, as `xingqiao doctor` sees it."""

from __future__ import annotations

import pytest

from xingqiao.infra.service import store_checks
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import FILE, Glance, SqliteStore

SOUND = {"size": 3 << 20, "log": 0, "schema": 2, "newest": 2}


@pytest.fixture
def looked(monkeypatch, tmp_path):
    def look(**fields):
        monkeypatch.setattr(store_checks, "glance", lambda _: Glance(**{**SOUND, **fields}))
        return store_checks.store(Settings(data=tmp_path))

    return look


@pytest.mark.parametrize(
    ("fields", "state", "text"),
    [
        ({}, "ok", "The store has schema 2 of 2 and 3.0 MiB, and its write-ahead log 0.0 MiB. Its pages"),
        ({"schema": 1}, "ok", "schema 1 of 2"),
        ({"schema": 3}, "fail", "schema 3, and this program knows only 2"),
        ({"fault": "row 7 missing"}, "fail", "damaged: row 7 missing"),
        ({"checked": False}, "ok", "too large for a quick check"),
        ({"log": store_checks.LONG_LOG_BYTES}, "ok", "log 256.0 MiB"),
        ({"log": store_checks.LONG_LOG_BYTES + 1}, "warn", "log 256.0 MiB"),
    ],
)  # fmt: skip
def test_the_condition_of_a_store(looked, fields, state, text):
    found = looked(**fields)

    assert (found.state, text in found.text, bool(found.fix)) == (state, True, state != "ok")


async def test_a_real_one_is_sound_and_a_broken_one_is_not(tmp_path):
    async with SqliteStore(tmp_path):
        assert store_checks.store(Settings(data=tmp_path)).state == "ok"
    (tmp_path / FILE).write_bytes(b"no database" * 1000)

    assert store_checks.store(Settings(data=tmp_path)).state == "fail"


def test_a_store_that_is_not_there_or_elsewhere_is_fine(tmp_path):
    none = store_checks.store(Settings(data=tmp_path))
    table = store_checks.store(Settings(data=tmp_path, dynamodb="a-table"))

    assert (none.state, "the first start creates it" in none.text) == ("ok", True)
    assert (table.state, "DynamoDB table a-table" in table.text) == ("ok", True)
