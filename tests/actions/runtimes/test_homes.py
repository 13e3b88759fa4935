"""Workers' directories: whose they are, where they lie, and that none is left behind."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from xingqiao.actions.runtimes import open_homes
from xingqiao.actions.runtimes.homes import discard, make_home, users_homes


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.mark.parametrize(("private", "count"), [(True, 3), (False, 1)])
def test_a_home_is_made_and_discarded(tmp_path, private, count):
    home = make_home(tmp_path, None, private=private)

    assert len(list(tmp_path.iterdir())) == count
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o700}
    home.discard()
    assert list(tmp_path.iterdir()) == []


def test_user_code_cannot_keep_its_directory_from_being_removed(tmp_path):
    locked = tmp_path / "home" / "a" / "b"
    locked.mkdir(parents=True)
    (locked / "file").touch()
    locked.chmod(0)
    locked.parent.chmod(0)

    discard(tmp_path / "home")

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_server_left_is_swept_and_nothing_else(tmp_path):
    (tmp_path / "workers" / "worker-left" / "deep").mkdir(parents=True)
    (tmp_path / "workers" / "worker-left.tmp").mkdir()
    (tmp_path / "workers" / "notes").mkdir()

    with open_homes(tmp_path) as homes:
        assert homes == tmp_path / "workers"
        assert [path.name for path in homes.iterdir()] == ["notes"]


def test_a_server_that_lives_is_not_swept(tmp_path, temporary, caplog):
    with open_homes(tmp_path) as homes:
        (homes / "worker-live").mkdir()
        with open_homes(tmp_path) as others:
            assert others.parent == temporary
        assert (homes / "worker-live").is_dir()
    assert "Another server has its workers in" in caplog.text
    assert list(temporary.iterdir()) == []


def test_without_a_data_directory_they_lie_in_one_that_is_removed(temporary):
    with open_homes(None) as homes:
        assert homes.parent == temporary
        assert homes.stat().st_mode & 0o777 == 0o711
        with open_homes(None) as others:
            assert others != homes
        assert homes.is_dir()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_server_left_in_the_temporary_directory_is_swept(temporary):
    code = (
        "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from xingqiao.actions.runtimes import open_homes\n"
        "with open_homes(None) as homes:\n"
        "    (homes / 'worker-x').mkdir(); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, temporary], check=False)
    (left,) = temporary.iterdir()
    foreign = temporary / "worker-not-ours"
    foreign.mkdir()

    with open_homes(None):
        assert not left.exists()
    assert list(temporary.iterdir()) == [foreign]


def test_a_data_directory_that_cannot_be_used_is_not_in_the_way(tmp_path, temporary, caplog):
    (tmp_path / "file").touch()

    with open_homes(tmp_path / "file") as homes:
        assert homes.parent == temporary
    assert "Workers have their directories elsewhere" in caplog.text


def test_the_users_home_is_what_the_system_says_whatever_the_environment_does(
    tmp_path, monkeypatch
):
    theirs = Path(pwd.getpwuid(os.geteuid()).pw_dir).resolve()
    monkeypatch.setenv("HOME", str(tmp_path))

    there = {theirs} if theirs.is_dir() else set()
    assert set(users_homes()) == {tmp_path.resolve()} | there
    monkeypatch.setenv("HOME", "/")
    assert set(users_homes()) == there


def test_a_home_that_cannot_be_made_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="missing"):
        make_home(tmp_path / "missing", None, private=True)
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_name_and_a_home_has_no_home_to_hide(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", dict[int, object]().__getitem__)

    assert users_homes() == ()
