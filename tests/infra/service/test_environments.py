"""Packages of actions on a real server: from a folder of wheels, after a crash, and where they are kept."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.kit.actions.wheels import wheel
from tests.kit.infra.servers import AUTH, running
from xingqiao.actions.runtimes import Confinement, Sandbox, Users
from xingqiao.infra.service.isolation import cook_of, keeping_of, packages_home
from xingqiao.infra.settings import Settings, SettingsError

GREETS = {
    "kind": "python:3",
    "code": "import greeting\ndef main(params):\n    return {'said': greeting.TEXT}",
    "requirements": ["greeting>=1"],
}


def put(client, execution, name="greets"):
    answer = client.put(f"/actions/{name}?overwrite=true", json={"exec": execution})
    return answer.status_code, answer.json()


def called(client, name="greets"):
    answer = client.post(f"/actions/{name}?blocking=true&timeout=60000", json={})
    return answer.json()


@pytest.fixture
def wheels(tmp_path):
    wheel(tmp_path / "wheels", "greeting", greeting="TEXT = 'hello'")
    return tmp_path / "wheels"


def test_a_server_without_an_index_installs_from_its_folder_of_wheels(tmp_path, wheels):
    with running(tmp_path / "data", "--auth", AUTH, "--wheels", wheels) as server:
        with server.client() as client:
            status, shown = put(client, GREETS)
            assert (status, shown["exec"]["requirements"]) == (200, ["greeting>=1"])
            assert client.get("/actions/greets").json()["exec"]["requirements"] == ["greeting>=1"]
            record = called(client)
            assert record["response"]["result"] == {"said": "hello"}
            assert record["logs"][0].endswith("stdout: installing greeting>=1")

            put(client, {**GREETS, "requirements": ["absent==7"]}, "lacks")
            record = called(client, "lacks")
            assert record["response"]["status"] == "whisk internal error"
            assert "No matching distribution found for absent==7" in str(record["response"])

            status, refused = put(client, {**GREETS, "requirements": ["-e ."]}, "refused")
            assert status == 400
            assert "'exec.requirements[0]': options such as -e" in refused["error"]
        _, log = server.stop()
    assert "installing greeting>=1" in log
    assert "absent==7: not installed" in log

    with running(tmp_path / "data", "--auth", AUTH) as server, server.client() as client:
        record = called(client)  # it is kept across restarts, and needs no wheel
        assert (record["response"]["result"], record["logs"]) == ({"said": "hello"}, [])


def test_a_server_that_is_killed_while_it_installs_does_so_again(tmp_path):
    """The installer dies with the server, and sees none of its secrets."""
    told, tool = tmp_path / "told", tmp_path / "bin" / "uv"
    tool.parent.mkdir()
    for name in ("alive", "never"):
        os.mkfifo(tmp_path / name)
    tool.write_text(
        f"#!/bin/sh\nenv > {told}\nmkdir packages\necho 'TEXT = 7' > packages/greeting.py\n"
        f"test -e {tmp_path}/open && exit 0\n"
        f"exec 3> {tmp_path}/alive\necho begun >&3\nread forever < {tmp_path}/never\n"
    )
    tool.chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "XINGQIAO_METRICS_KEY": "secret" * 9,
        "AWS_SECRET_ACCESS_KEY": "secret",
    }  # fmt: skip
    options = (tmp_path / "data", "--auth", AUTH)
    with running(*options, environment=environment) as server, server.client() as client:
        put(client, GREETS)
        client.post("/actions/greets", json={})
        with (tmp_path / "alive").open() as alive:
            assert alive.readline() == "begun\n"
            (under_way,) = (tmp_path / "data" / "environments").iterdir()
            assert under_way.name.startswith("new-")
            server.stop(signal.SIGKILL)
            assert alive.read() == ""  # the installer has died with the server
    assert "secret" not in told.read_text()

    (tmp_path / "open").touch()
    with running(*options, environment=environment) as server, server.client() as client:
        assert called(client)["response"]["result"] == {"said": 7}
        (kept,) = (tmp_path / "data" / "environments").iterdir()
        assert kept.name.startswith("python-")


# --- where they are ----------------------------------------------------------------------------


def test_packages_are_where_the_settings_say_or_in_the_data_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def home(**given):
        return packages_home(Settings(**given), Sandbox())

    assert home(environments=tmp_path, data=tmp_path / "data") == tmp_path
    assert home(data=tmp_path / "data") == tmp_path / "data" / "environments"
    assert home(data=None) == tmp_path / "cache" / "xingqiao" / "environments"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert home(data=None) == Path.home() / ".cache" / "xingqiao" / "environments"


def test_workers_of_other_users_find_them_outside_of_the_data_directory():
    sandbox = Sandbox(confinement=Confinement(users=Users("70000-70001")))
    assert packages_home(Settings(data=Path(tempfile.gettempdir())), sandbox) == Path(
        "/var/cache/xingqiao/environments"
    )


def test_a_user_without_a_home_has_them_in_the_cache_of_the_machine(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    home = packages_home(Settings(data=None), Sandbox())
    assert home == Path("/var/cache/xingqiao/environments")


def test_a_folder_of_wheels_that_does_not_exist_is_refused(tmp_path):
    assert cook_of(Settings(wheels=tmp_path)).wheels == tmp_path
    assert cook_of(Settings()).wheels is None
    with pytest.raises(SettingsError, match=r"wheels must be a directory, and .*absent is none"):
        cook_of(Settings(wheels=tmp_path / "absent"))


def test_the_limits_of_packages_are_settings():
    keeping = keeping_of(Settings(install_s=5, environments_mb=6, environments_days=7))
    assert (keeping.install_s, keeping.most_mb, keeping.days) == (5, 6, 7)
    for name, least in (("install_s", 1), ("environments_mb", 1), ("environments_days", 0)):
        Settings(**{name: least})
        with pytest.raises(SettingsError, match=f"{name} must be at least {least}, not -1"):
            Settings(**{name: -1})
