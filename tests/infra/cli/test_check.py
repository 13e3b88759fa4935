"""`xingqiao check`: the store of a server that is stopped."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.kit.infra.left_behind import leave
from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.stores.sqlite import FILE

LAST_BUT_3 = "(SELECT max(number) - 3 FROM journal)"
LOSE_3 = f"UPDATE OR REPLACE journal SET number = {LAST_BUT_3} WHERE number > {LAST_BUT_3}"
HELLO = "def main(params):\n    return {'text': 'x' * 5000}\n"


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """A directory in which a server has worked, and in which an execution waits."""
    return leave(tmp_path_factory.mktemp("left") / "data", HELLO, "process")


@pytest.fixture
def data(left, tmp_path):
    """Such a directory of one's own."""
    return Path(shutil.copytree(left, tmp_path / "data"))


def altered(directory, sql):
    with sqlite3.connect(directory / FILE) as db:
        db.execute(sql)
    db.close()


def test_what_is_whole_is_said_to_be(command, data):
    ended = command("check", "--data", data)
    assert (ended.code, ended.err) == (0, "")
    assert f"no faults in {data}" in ended.out

    told = command("check", "--data", data, "--json").json
    assert (told["ok"], told["missing"], told["faults"]) == (True, 0, [])
    assert told["counts"]["executions running"] == 1
    assert told["counts"]["activations"] >= 2
    assert told["commits"] > 3


def test_nothing_of_it_is_changed(command, data):
    before = {path.name: path.read_bytes() for path in data.iterdir() if path.is_file()}

    assert command("check", "--data", data).code == 0

    after = {path.name: path.read_bytes() for path in data.iterdir() if path.is_file()}
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("DELETE FROM documents WHERE kind = 'program'", "its program"),
        ("DELETE FROM fibers", "has no fibers"),
        ("UPDATE fibers SET body = '{'", "execution "),
        ("UPDATE journal SET bodies = X'78' WHERE history IS NOT NULL", "execution "),
        ("DELETE FROM large_values", "it refers to a missing record"),
        ("DELETE FROM executions", "has fibers, but no row"),
        (
            "UPDATE documents SET body = X'5b5d' WHERE kind = 'entity'",
            "actions, packages, triggers",
        ),
        ("UPDATE documents SET body = '[]' WHERE kind = 'entity'", "is not bytes: it is damaged"),
        (LOSE_3, "lacks the last 3"),
        ("PRAGMA user_version = 99", "newer version"),
    ],
)
def test_what_is_wrong_is_told(command, data, sql, told):
    altered(data, sql)

    ended = command("check", "--data", data, "--json")

    assert ended.code == 1
    assert any(told in fault for fault in ended.json["faults"]), ended.json["faults"]
    shown = command("check", "--data", data)
    assert (shown.code, told.split()[0] in shown.out) == (1, True)


def test_a_loss_can_be_accepted(command, data):
    altered(data, LOSE_3)

    ended = command("check", "--data", data, "--accept-loss", "--json")

    assert (ended.code, ended.json["missing"], ended.json["accepted"]) == (0, 3, True)
    assert command("check", "--data", data).code == 0
    with running(data, "--auth", AUTH):
        pass


def test_an_empty_database_can_be_accepted(command, data):
    (data / FILE).write_bytes(b"")
    assert command("check", "--data", data).code == 1

    assert command("check", "--data", data, "--accept-loss").code == 0

    with running(data, "--auth", AUTH) as server, server.client() as client:
        assert client.get("/actions").json() == []


def test_pages_that_are_damaged_are_told(command, data):
    with (data / FILE).open("r+b") as file:
        file.seek(4096 + 8)
        file.write(b"\xff" * 2000)

    ended = command("check", "--data", data)

    assert ended.code == 1
    assert "✗" in ended.out


def test_a_server_that_runs_is_not_disturbed(command, data):
    with running(data, "--auth", AUTH):
        ended = command("check", "--data", data)

    assert ended.code == 1
    assert "a server is using" in ended.err


def test_where_there_is_no_store_that_is_said(command, tmp_path):
    ended = command("check", "--data", tmp_path / "none")

    assert ended.code == 1
    assert "there is no store in" in ended.err
    assert not (tmp_path / "none").exists()
