"""The metrics at an address of their own, on a real server."""

from __future__ import annotations

import os
import re
import socket

import httpx
import pytest

from tests.infra.service.test_server import refusal
from tests.kit.infra.servers import AUTH, DEADLINE_S, running
from xingqiao.infra.settings import Settings, SettingsError

OPTIONS = ("--auth", AUTH, "--isolation", "none", "--metrics-port", "0")
SCRAPER = "a-scrapers-own-key"


def metrics_url(server):
    """The address that the server's log names."""
    for line in server.process.stderr:
        server.log.append(line)
        if found := re.search(r"the metrics are at (\S+)", line):
            return found[1]
    raise AssertionError("it names no address")


def get(url, **headers):
    return httpx.get(url, headers=headers, timeout=DEADLINE_S)


def test_a_port_of_its_own_serves_the_metrics_and_nothing_else(tmp_path):
    with running(tmp_path / "data", *OPTIONS) as server:
        url = metrics_url(server)
        answer = get(url)
        base = url.removesuffix("/metrics")

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "xingqiao_store_healthy 1.0" in answer.text
        assert get(f"{base}/api/v1/namespaces").status_code == 404
        assert get(f"{base}/").status_code == 404
        assert httpx.post(url, timeout=DEADLINE_S).status_code == 405
        assert get(f"{server.url}/metrics").status_code == 401, "the other port is as before"
        code, errors = server.stop()
    assert code == 0
    assert "can read the metrics" not in errors


def test_a_path_and_a_key_of_its_own(tmp_path):
    environment = {
        **os.environ, "XINGQIAO_METRICS_PATH": "/figures", "XINGQIAO_METRICS_KEY": SCRAPER,
    }  # fmt: skip
    with running(tmp_path / "data", *OPTIONS, environment=environment) as server:
        url = metrics_url(server)

        assert url.endswith("/figures")
        for key, status in ((SCRAPER, 200), ("another-key-of-16", 401)):
            assert get(url, Authorization=f"Bearer {key}").status_code == status
            assert get(f"{server.url}/metrics", Authorization=f"Bearer {key}").status_code == status
        assert get(url).status_code == 401
        assert "XINGQIAO_METRICS_KEY" in get(url).text


def test_metrics_that_others_can_read_are_warned_about(tmp_path):
    with running(tmp_path / "data", *OPTIONS, "--metrics-host", "0.0.0.0") as server:
        metrics_url(server)
        _, errors = server.stop()

    assert "everybody who reaches 0.0.0.0 can read the metrics of all namespaces: set" in errors


def test_a_data_directory_that_others_can_enter_is_warned_about(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    with running(data, *OPTIONS[:4]) as server:
        _, errors = server.stop()
    assert f"{data}, which holds keys, is open to other users (mode 755): chmod 700" in errors
    assert all(file.stat().st_mode & 0o077 == 0 for file in data.iterdir() if file.is_file())

    data.chmod(0o700)
    with running(data, *OPTIONS[:4]) as server:
        _, errors = server.stop()
    assert "open to other users" not in errors


def test_a_directory_that_the_server_makes_is_its_own(tmp_path):
    with running(tmp_path / "data", *OPTIONS[2:4]):
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}

        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        assert modes["key"] == modes["operator"] == modes["xingqiao.db"] == 0o600


def test_an_address_that_cannot_be_used_is_said_in_one_line(tmp_path):
    data = str(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refusal("--port", "0", "--data", data, "--metrics-port", port)
    assert said.startswith(f"the server cannot listen on 127.0.0.1:{port}: address already in use")
    assert "--metrics-host, another port with --metrics-port" in said


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("METRICS_PORT", "65536", "metrics_port must be at most 65535"),
        ("METRICS_PORT", "-1", "metrics_port must be at least 0"),
        ("METRICS_PATH", "metrics", "metrics_path must be a path such as /metrics"),
        ("METRICS_PATH", "/{x}", "metrics_path must be a path such as /metrics"),
        ("AUDIT_RECORDS", "99", "audit_records must be at least 100"),
        ("AUDIT_DAYS", "-1", "audit_days must be at least 0"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name, value, why):
    with pytest.raises(SettingsError, match=re.escape(why)):
        Settings.from_environment({f"XINGQIAO_{name}": value})


def test_the_bounds_of_settings_fit():
    given = {
        "METRICS_PORT": "65535",
        "AUDIT_RECORDS": "100",
        "AUDIT_DAYS": "0",
        "METRICS_PATH": "/",
    }
    settings = Settings.from_environment(
        {f"XINGQIAO_{name}": value for name, value in given.items()}
    )
    assert (settings.metrics_port, settings.audit_records, settings.audit_days) == (65535, 100, 0)
