"""The machine, as `xingqiao doctor` sees it: disk, clock, port, installers and extras."""

from __future__ import annotations

import errno
import os
import socket
from typing import NamedTuple

import pytest

from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.service import machine_checks
from xingqiao.infra.service.machine_checks import Instant
from xingqiao.infra.settings import Settings

NOW = machine_checks.EARLIEST_MS + 1_000_000


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns."""

    total: int
    used: int
    free: int


# --- disk --------------------------------------------------------------------------------------


def test_the_speed_of_the_disk_is_measured_and_nothing_is_left(tmp_path):
    found = machine_checks.sync(Settings(data=tmp_path))

    assert found.state in ("ok", "warn")
    assert f"The disk of {tmp_path} syncs in " in found.text
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_exist_yet_is_measured_above(tmp_path):
    found = machine_checks.sync(Settings(data=tmp_path / "not" / "yet"))

    assert f"The disk of {tmp_path} syncs" in found.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("limit", "state"), [(-1.0, "warn"), (1e9, "ok")])
def test_a_slow_disk_is_told(tmp_path, limit, state):
    assert machine_checks.sync(Settings(data=tmp_path), limit).state == state


def test_a_disk_that_cannot_be_written_is_a_failure(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    found = machine_checks.sync(Settings(data=tmp_path))

    assert (found.state, "No space left on device" in found.text) == ("fail", True)


@pytest.mark.parametrize(
    ("free", "state"),
    [
        (machine_checks.LITTLE_BYTES, "ok"),
        (machine_checks.LITTLE_BYTES - 1, "warn"),
        (machine_checks.NOTHING_BYTES, "warn"),
        (machine_checks.NOTHING_BYTES - 1, "fail"),
    ],
)
def test_little_space_is_told(tmp_path, monkeypatch, free, state):
    monkeypatch.setattr(machine_checks.shutil, "disk_usage", lambda _: Usage(0, 0, free))

    found = machine_checks.space(Settings(data=tmp_path))

    assert (found.state, bool(found.fix)) == (state, state != "ok")


# --- clock -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("began", "ended", "state"),
    [
        (Instant(NOW, 0.0), Instant(NOW + 5000, 5000.0), "ok"),
        (Instant(NOW, 0.0), Instant(NOW + 6000, 5000.0), "ok"),
        (Instant(NOW, 0.0), Instant(NOW + 6001, 5000.0), "warn"),
        (Instant(NOW, 0.0), Instant(NOW - 60_000, 5000.0), "warn"),
        (Instant(0, 0.0), Instant(5000, 5000.0), "fail"),
    ],
)
def test_a_clock_that_jumps_or_is_wrong_is_told(began, ended, state):
    found = machine_checks.clock(began, ended)

    assert (found.state, bool(found.fix)) == (state, state != "ok")


def test_the_clock_of_this_machine_goes_on():
    began = machine_checks.now()

    assert machine_checks.now().elapsed_ms >= began.elapsed_ms


# --- port --------------------------------------------------------------------------------------


def test_a_port_is_free_or_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = machine_checks.port(Settings(port=port), 0.05)
    free = machine_checks.port(Settings(port=port))

    assert (busy.state, "address already in use" in busy.text.lower()) == ("warn", True)
    assert "--port" in busy.fix
    assert (free.state, free.text) == ("ok", f"The port {port} of 127.0.0.1 is free.")


def test_a_port_on_which_our_server_listens_is_fine(tmp_path):
    with running(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as server:
        port = int(server.url.rpartition(":")[2])

        found = machine_checks.port(Settings(port=port))

    assert (found.state, found.text) == (
        "ok", f"A Xingqiao server listens on 127.0.0.1:{port}.",
    )  # fmt: skip


# --- installers and extras ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "state", "fix"),
    [
        ({"pip", "npm"}, "ok", ""),
        ({"uv", "npm"}, "ok", ""),
        ({"pip"}, "warn", "install npm"),
        ({"npm"}, "warn", "install pip or uv,"),
        (set(), "warn", "install pip or uv, and npm"),
    ],
)
def test_missing_installers_are_told(monkeypatch, there, state, fix):
    monkeypatch.setattr(
        machine_checks.shutil, "which", lambda name: name if name in there else None
    )
    monkeypatch.setattr(machine_checks, "find_spec", lambda name: name if name in there else None)

    found = machine_checks.installers(Settings())

    assert (found.state, found.fix.startswith(fix)) == (state, True)


def test_extras_are_listed_with_the_command_that_adds_them(monkeypatch):
    def find(name):
        if name == "azure.identity":
            raise ModuleNotFoundError(name)
        return name if name == "boto3" else None

    monkeypatch.setattr(machine_checks, "find_spec", find)

    found = machine_checks.extras(Settings())

    assert found.state == "ok"
    assert found.text == (
        "Extras installed: aws. For actions in other clouds: pip install 'xingqiao[azure,gcp]'."
    )
