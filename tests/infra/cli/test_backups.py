"""`xingqiao backup` and `xingqiao restore`, of the store of a real server."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.kit.infra.left_behind import leave
from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.stores import marker
from xingqiao.infra.stores.sqlite import FILE

LAST_BUT_3 = "(SELECT max(number) - 3 FROM journal)"
LOSE_3 = f"UPDATE OR REPLACE journal SET number = {LAST_BUT_3} WHERE number > {LAST_BUT_3}"
HELLO = "def main(params):\n    return {'text': 'hello'}\n"


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """A directory in which a server has worked, and in which an execution waits."""
    return leave(tmp_path_factory.mktemp("left") / "data", HELLO, "none")


@pytest.fixture
def data(left, tmp_path):
    """Such a directory of one's own."""
    return Path(shutil.copytree(left, tmp_path / "data"))


@pytest.fixture
def file(command, data, tmp_path):
    """A backup of it."""
    ended = command("backup", tmp_path / "one.backup", "--data", data)
    assert ended.code == 0, ended.err
    return tmp_path / "one.backup"


def contents(directory):
    return {path.name for path in directory.iterdir()}


def altered(file, sql):
    with sqlite3.connect(file) as db:
        db.execute(sql)
    db.close()


# --- what is written ------------------------------------------------------------------------------


def test_a_backup_says_what_it_has_and_that_it_has_no_key(command, data, tmp_path):
    shown = command("backup", "one.backup", "--data", data)
    told = command("backup", "two.backup", "--data", data, "--json").json

    assert (shown.code, shown.err) == (0, "")
    assert f"backed up {data} to one.backup" in shown.out
    assert f"without a copy of {data / 'key'}" in shown.out
    assert (told["checked"], told["unread"]) == ("records", "")
    assert told["counts"]["executions running"] == 1
    assert told["size"] == (tmp_path / "two.backup").stat().st_size
    assert (tmp_path / "two.backup").stat().st_mode & 0o777 == 0o600
    assert contents(tmp_path) == {"data", "one.backup", "two.backup"}
    assert (data / "key").read_bytes().strip() not in (tmp_path / "one.backup").read_bytes()


def test_a_backup_leaves_the_database_and_its_key_as_they_are(command, data, tmp_path):
    names = (FILE, "key", "operator", marker.FILE)
    before = [(data / name).read_bytes() for name in names]

    assert command("backup", "one.backup", "--data", data).code == 0

    assert [(data / name).read_bytes() for name in names] == before


def test_without_its_key_only_the_pages_are_checked(command, data, tmp_path):
    (data / "key").unlink()

    told = command("backup", "one.backup", "--data", data, "--json").json
    shown = command("backup", "two.backup", "--data", data)

    assert (told["checked"], told["unread"]) == ("pages", "its key is not here")
    assert "records were not checked" in shown.out
    assert "without the keys of XINGQIAO_PARAMETER_KEYS" in shown.out


def test_an_existing_file_is_not_replaced(refused, file, data):
    before = file.read_bytes()

    assert "exists already: give another name" in refused("backup", file, "--data", data)

    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (LOSE_3, "lacks the last 3"),
        ("DELETE FROM fibers", "has no fibers"),
    ],
)
def test_a_store_with_faults_has_no_backup(command, data, tmp_path, sql, told):
    altered(data / FILE, sql)

    ended = command("backup", tmp_path / "one.backup", "--data", data)

    assert (ended.code, told in ended.err) == (1, True), ended.err
    assert contents(tmp_path) == {"data"}


def test_what_cannot_be_backed_up_is_refused_with_the_reason(refused, data, tmp_path, monkeypatch):
    none = tmp_path / "none"

    assert "there is no store in" in refused("backup", "a", "--data", none)
    assert not none.exists()
    text = refused("backup", none / "a.backup", "--data", data)
    assert "a.backup cannot be written: No such file or directory" in text
    monkeypatch.setenv("XINGQIAO_DYNAMODB", "table")
    assert "use the backups of DynamoDB" in refused("backup", "a", "--data", data)
    assert "use the backups of DynamoDB" in refused("restore", "a", "--data", none)


# --- what comes back ------------------------------------------------------------------------------


def test_a_restored_server_continues_and_misses_no_commit(command, file, data, tmp_path):
    new = tmp_path / "new"

    ended = command("restore", file, "--data", new, "--key", data / "key")

    assert (ended.code, ended.err) == (0, "")
    assert "all later changes are lost" in ended.out
    assert "executions running" in ended.out
    assert contents(new) == {FILE, "key", "lock", marker.FILE}
    assert {path.stat().st_mode & 0o777 for path in new.iterdir()} == {0o600}
    with running(new, "--auth", AUTH, "--isolation", "none") as server:
        with server.client() as client, server.operator() as operator:
            assert client.post("/actions/hello?blocking=true").status_code == 200
            assert [one["status"] for one in client.get("/executions").json()] == ["running"]
            assert operator.get("/actions").status_code == 200
        _, log = server.stop()
    assert f"has no file {marker.FILE}" not in log
    assert command("check", "--data", new).code == 0


def test_a_commit_that_is_lost_after_a_restore_is_missed(command, file, data, tmp_path):
    new = tmp_path / "new"
    assert command("restore", file, "--data", new, "--key", data / "key").code == 0
    older = (new / FILE).read_bytes()
    with running(new, "--auth", AUTH):
        pass
    (new / FILE).write_bytes(older)

    ended = command("check", "--data", new)

    assert (ended.code, "lacks the last" in ended.out) == (1, True)


def test_a_backup_of_a_restored_store_can_be_restored(command, file, data, tmp_path):
    key = data / "key"
    assert command("restore", file, "--data", tmp_path / "a", "--key", key).code == 0

    assert command("backup", "second", "--data", tmp_path / "a").code == 0

    assert command("restore", "second", "--data", tmp_path / "b", "--key", key).code == 0


def test_a_restore_without_the_key_says_what_is_missing(command, file, tmp_path):
    ended = command("restore", file, "--data", tmp_path / "new")

    assert ended.code == 0
    assert "its records were not checked: its key is not here" in ended.out
    assert "copy the file `key` of the old server there" in ended.out


def test_another_key_is_refused(refused, command, file, tmp_path):
    (tmp_path / "other").write_text(command("key", "new").out)

    text = refused("restore", file, "--data", tmp_path / "new", "--key", tmp_path / "other")

    assert text.startswith("none of the given keys opens the backup")
    assert contents(tmp_path / "new") == {"lock"}


def test_an_empty_directory_takes_a_backup_and_another_does_not(command, refused, file, tmp_path):
    new, full = tmp_path / "new", tmp_path / "full"
    for directory in (new / "lost+found", full):
        directory.mkdir(parents=True)
    (full / "notes").write_text("mine")

    assert command("restore", file, "--data", new).code == 0
    assert "new is not empty" in refused("restore", file, "--data", new)
    assert "full is not empty" in refused("restore", file, "--data", full)

    assert contents(full) == {"notes"}


def test_a_directory_that_a_server_uses_is_refused(refused, file, data):
    with running(data, "--auth", AUTH):
        assert f"a server is using {data}" in refused("restore", file, "--data", data)


def cut(file):
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)


def overwritten(file):
    with file.open("r+b") as opened:
        opened.seek(4096 + 8)
        opened.write(b"\xff" * 2000)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (cut, "has faults|not a whole backup"),
        (overwritten, "has faults|not a whole backup"),
        (lambda file: file.write_bytes(b"no database at all"), "not a whole backup"),
        (lambda file: file.write_bytes(b""), "not a whole backup"),
        (lambda file: altered(file, "DELETE FROM backup"), "its label is missing"),
        (lambda file: altered(file, "DELETE FROM fibers"), "has no fibers"),
        (lambda file: altered(file, "PRAGMA user_version = 99"), "newer version"),
        (Path.unlink, "there is no file"),
    ],
)
def test_a_damaged_backup_is_not_restored(command, file, data, tmp_path, harm, told):
    harm(file)

    ended = command("restore", file, "--data", tmp_path / "new", "--key", data / "key")

    assert ended.code == 1
    assert any(part in ended.err for part in told.split("|")), ended.err
    assert not (tmp_path / "new" / FILE).exists()


def test_a_backup_of_an_older_version_is_restored(command, file, data, tmp_path):
    altered(file, "PRAGMA user_version = 1")

    ended = command("restore", file, "--data", tmp_path / "new", "--key", data / "key")

    assert ended.code == 0
    assert "an older version wrote it" in ended.out
