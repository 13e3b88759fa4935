"""Backups of a store: whole and checked, never over a file, and restored into an empty directory only."""

from __future__ import annotations

from contextlib import closing
from sqlite3 import connect

import pytest

from xingqiao import composer
from xingqiao.embedded import embedded
from xingqiao.infra.service.backups import back_up, restore
from xingqiao.infra.settings import Settings, SettingsError
from xingqiao.infra.stores import FILE, StoreError

AT_MS = 1_700_000_000_000
LAST_BUT_3 = "(SELECT max(number) - 3 FROM journal)"
LOSE_3 = f"UPDATE OR REPLACE journal SET number = {LAST_BUT_3} WHERE number > {LAST_BUT_3}"


@composer.action
def double(params):
    return {"n": params["n"] * 2}


@pytest.fixture
async def settings(tmp_path):
    """Settings of a store in which a composition has run."""
    async with embedded(tmp_path / "data", compositions={"p": composer.sequence(double)}) as engine:
        assert await engine.invoke("p", {"n": 1}) == {"n": 2}
    return Settings(data=tmp_path / "data")


async def test_a_backup_says_what_it_holds_and_a_restored_one_holds_the_same(settings, tmp_path):
    file, new = tmp_path / "one.backup", tmp_path / "new"

    made = await back_up(settings, file, AT_MS)
    restored = await restore(Settings(data=new), file, key=settings.data / "key")

    assert (made.at_ms, made.size, made.unread) == (AT_MS, file.stat().st_size, "")
    assert made.counts["executions succeeded"] == 1
    assert (restored.at_ms, restored.commits, restored.counts) == (
        AT_MS, made.commits, made.counts,
    )  # fmt: skip
    async with embedded(new) as engine:
        assert [doc["status"] for doc in await engine.executions(name="p")] == ["succeeded"]


async def test_an_engine_may_go_on_while_its_store_is_backed_up(settings, tmp_path):
    async with embedded(settings.data, actions=[double]) as engine:
        made = await back_up(settings, tmp_path / "one.backup", AT_MS)

        assert await engine.invoke("p", {"n": 2}) == {"n": 4}
    later = await back_up(settings, tmp_path / "two.backup", AT_MS)
    assert made.counts["executions succeeded"] == 1
    assert later.counts["executions succeeded"] == 2


async def test_a_file_that_is_there_is_kept(settings, tmp_path):
    file = tmp_path / "one.backup"
    file.write_text("mine")

    with pytest.raises(SettingsError, match="exists already: give another name"):
        await back_up(settings, file, AT_MS)

    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (LOSE_3, "lacks the last 3"),
        ("DELETE FROM fibers", "has no fibers"),
    ],
)
async def test_a_store_with_a_fault_leaves_no_file(settings, tmp_path, sql, told):
    async with embedded(settings.data, actions=[double]) as engine:
        await engine.deploy("waits", composer.sequence(composer.wait(3600), double))
        await engine.start("waits", {"n": 1})
    with closing(connect(settings.data / FILE)) as db:
        db.execute(sql)
        db.commit()

    with pytest.raises(StoreError, match=told):
        await back_up(settings, tmp_path / "one.backup", AT_MS)

    assert {path.name for path in tmp_path.iterdir()} == {"data"}


async def test_a_directory_that_is_not_empty_takes_no_backup(settings, tmp_path):
    await back_up(settings, tmp_path / "one.backup", AT_MS)
    before = (settings.data / FILE).read_bytes()

    with pytest.raises(StoreError, match="is not empty, so nothing is restored"):
        await restore(settings, tmp_path / "one.backup")

    assert (settings.data / FILE).read_bytes() == before
