"""What can be set, and what is refused."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from xingqiao.infra.settings import Settings, SettingsError, each

ROOT = Path(__file__).parents[2]


def test_nothing_needs_to_be_set():
    assert Settings.from_environment({}) == Settings()
    assert (Settings().host, Settings().port, Settings().data) == (
        "127.0.0.1",
        3233,
        Path(".xingqiao"),
    )


def test_everything_can_be_set_by_the_environment():
    environment = {
        "XINGQIAO_HOST": "::1",
        "XINGQIAO_PORT": "0",
        "XINGQIAO_DATA": "/somewhere/else",
        "XINGQIAO_DYNAMODB": "table-1",
        "XINGQIAO_AUTH": "user:password",
        "XINGQIAO_OPERATOR": "operator:password",
        "XINGQIAO_API_HOST": "https://bridge.example",
        "XINGQIAO_PARAMETER_KEYS": "one,two",
        "XINGQIAO_KEY_COMMAND": "a-client of-a-key-service",
        "XINGQIAO_EGRESS_ALLOW": "10.0.0.0/8,inside",
        "XINGQIAO_AMBIENT_NAMESPACES": "guest,other",
        "XINGQIAO_AMBIENT_SERVICES": "d",
        "XINGQIAO_AWS_COMPLETIONS": "https://sqs.eu-west-1.amazonaws.com/1/q",
        "XINGQIAO_AWS_REGION": "eu-west-1",
        "XINGQIAO_AWS_ACCOUNT": "000000000042",
        "XINGQIAO_ITEMS_DIR": "/some/buckets",
        "XINGQIAO_ITEMS_URL": "http://127.0.0.1:9000",
        "XINGQIAO_ITEMS_BYTES": "4096",
        "XINGQIAO_FIRES_PER_MINUTE": "11",
        "XINGQIAO_LIVE": "12",
        "XINGQIAO_DESCENDANTS": "13",
        "XINGQIAO_PAUSED": "true",
        "XINGQIAO_DEAD_LETTERS": "12",
        "XINGQIAO_RETENTION_DAYS": "0.5",
        "XINGQIAO_CLOUDEVENT_DAYS": "1.5",
        "XINGQIAO_AUDIT_DAYS": "7.5",
        "XINGQIAO_AUDIT_RECORDS": "500",
        "XINGQIAO_PREWARMED": "2",
        "XINGQIAO_ENVIRONMENTS": "/somewhere",
        "XINGQIAO_ENVIRONMENTS_MB": "100",
        "XINGQIAO_ENVIRONMENTS_DAYS": "1.5",
        "XINGQIAO_WHEELS": "/some/wheels",
        "XINGQIAO_INSTALL_S": "20.5",
        "XINGQIAO_ISOLATION": "process",
        "XINGQIAO_WORKERS": "3",
        "XINGQIAO_WORKER_IDLE_S": "0.5",
        "XINGQIAO_WORKER_UIDS": "70000-70999",
        "XINGQIAO_WORKER_PROCESSES": "64",
        "XINGQIAO_WORKER_DISK_MB": "10",
        "XINGQIAO_PAYLOAD_BYTES": "2048",
        "XINGQIAO_STEPS": "7",
        "XINGQIAO_ENTRIES": "70",
        "XINGQIAO_FORK_WIDTH": "8",
        "XINGQIAO_EVALUATION_STEPS": "1500",
        "XINGQIAO_NESTING": "0",
        "XINGQIAO_CONCURRENT": "9",
        "XINGQIAO_PER_MINUTE": "10",
        "XINGQIAO_SYNCHRONOUS": "NORMAL",
        "XINGQIAO_GRACE_S": "1.5",
        "XINGQIAO_LOG": "json",
        "XINGQIAO_TLS_CERT": "/some/cert.pem",
        "XINGQIAO_TLS_KEY": "/some/key.pem",
        "XINGQIAO_METRICS_KEY": "a-key-for-scrapers",
        "XINGQIAO_METRICS_PORT": "9100",
        "XINGQIAO_METRICS_HOST": "10.0.0.2",
        "XINGQIAO_METRICS_PATH": "/figures",
        "XINGQIAO_URL_BYTES": "300",
        "XINGQIAO_HEADER_BYTES": "2000",
        "XINGQIAO_HEADER_COUNT": "20",
        "XINGQIAO_CGROUPS": "off",
        "XINGQIAO_HEADER_S": "1.5",
        "XINGQIAO_BODY_S": "2.5",
        "XINGQIAO_LEAST_RATE": "1000",
        "XINGQIAO_IDLE_S": "3.5",
        "XINGQIAO_HANDSHAKE_S": "4.5",
        "XINGQIAO_CONNECTIONS": "50",
        "XINGQIAO_UNFINISHED": "40",
        "XINGQIAO_UNFINISHED_PER_ADDRESS": "30",
        "XINGQIAO_PROXIES": "10.0.0.1",
        "XINGQIAO_READING_BYTES": "2000000",
        "XINGQIAO_UNAUTHENTICATED_BYTES": "1500000",
    }

    named = {f"XINGQIAO_{field.name.upper()}" for field in fields(Settings)}
    assert environment.keys() == named - {"XINGQIAO_AUTH_FILE"}  # in place of XINGQIAO_AUTH
    assert Settings.from_environment(environment) == Settings(
        host="::1", port=0, data=Path("/somewhere/else"), auth="user:password", dynamodb="table-1",
        isolation="process", cgroups="off", workers=3, worker_idle_s=0.5,
        worker_uids="70000-70999", worker_processes=64, worker_disk_mb=10, payload_bytes=2048, steps=7, entries=70,
        fork_width=8, evaluation_steps=1500, nesting=0, concurrent=9, per_minute=10, synchronous="NORMAL", grace_s=1.5,
        log="json", operator="operator:password", api_host="https://bridge.example",
        parameter_keys="one,two", key_command="a-client of-a-key-service", fires_per_minute=11, live=12,
        descendants=13, paused=True, dead_letters=12, retention_days=0.5, cloudevent_days=1.5, prewarmed=2,
        audit_days=7.5, audit_records=500, metrics_port=9100, metrics_host="10.0.0.2", metrics_path="/figures",
        environments=Path("/somewhere"), environments_mb=100, environments_days=1.5,
        wheels=Path("/some/wheels"), install_s=20.5,
        egress_allow="10.0.0.0/8,inside", ambient_namespaces="guest,other", ambient_services="d",
        aws_completions="https://sqs.eu-west-1.amazonaws.com/1/q",
        aws_region="eu-west-1", aws_account="000000000042",
        items_dir=Path("/some/buckets"), items_url="http://127.0.0.1:9000", items_bytes=4096,
        tls_cert=Path("/some/cert.pem"), tls_key=Path("/some/key.pem"),
        metrics_key="a-key-for-scrapers", url_bytes=300, header_bytes=2000, header_count=20,
        header_s=1.5, body_s=2.5, least_rate=1000, idle_s=3.5, handshake_s=4.5, connections=50,
        unfinished=40, unfinished_per_address=30, proxies="10.0.0.1", reading_bytes=2_000_000,
        unauthenticated_bytes=1_500_000,
    )  # fmt: skip


def test_settings_that_go_together_or_not():
    alone = {"XINGQIAO_AUTH_FILE": "/some/file"}
    assert Settings.from_environment(alone).auth_file == Path("/some/file")
    with pytest.raises(SettingsError, match="auth and auth_file are both given"):
        Settings.from_environment({**alone, "XINGQIAO_AUTH": "user:password"})
    assert Settings.from_environment(alone, auth="user:password").auth_file is None
    for given, missing in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
        with pytest.raises(SettingsError, match=f"{given} is given without {missing}"):
            Settings(**{given: Path("x")})
    with pytest.raises(SettingsError) as caught:
        Settings(metrics_key="short-secret")
    assert str(caught.value) == "metrics_key must be at least 16 printable characters"


def test_options_go_over_the_environment_where_they_are_given():
    environment = {"XINGQIAO_PORT": "1", "XINGQIAO_HOST": "a", "OTHER": "x", "XINGQIAO_URL": "u"}

    settings = Settings.from_environment(environment, port=2, host=None, data=None)

    assert (settings.port, settings.host, settings.data) == (2, "a", Path(".xingqiao"))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("PORT", "http", "XINGQIAO_PORT must be a number, not 'http'"),
        ("PORT", "", "XINGQIAO_PORT must be a number, not ''"),
        ("PORT", "80.5", "XINGQIAO_PORT must be a number, not '80.5'"),
        ("PORT", "-1", "port must be at least 0, not -1"),
        ("PORT", "65536", "port must be at most 65535, not 65536"),
        ("WORKERS", "0", "workers must be at least 1, not 0"),
        ("WORKER_PROCESSES", "31", "worker_processes must be at least 32, not 31"),
        ("WORKER_DISK_MB", "0", "worker_disk_mb must be at least 1, not 0"),
        (
            "WORKER_UIDS",
            "some",
            "worker_uids must be FIRST-LAST, such as 60706-61183, not 'some'",
        ),
        ("WORKER_IDLE_S", "-0.1", "worker_idle_s must be at least 0, not -0.1"),
        ("PAYLOAD_BYTES", "1023", "payload_bytes must be at least 1024, not 1023"),
        ("ITEMS_BYTES", "1023", "items_bytes must be at least 1024, not 1023"),
        (
            "ITEMS_URL",
            "127.0.0.1:9000",
            "items_url must be a URL such as http://127.0.0.1:9000, not '127.0.0.1:9000'",
        ),
        ("DEAD_LETTERS", "0", "dead_letters must be at least 1, not 0"),
        ("CLOUDEVENT_DAYS", "0", "cloudevent_days must be at least 0.01, not 0.0"),
        ("STEPS", "0", "steps must be at least 1, not 0"),
        ("ENTRIES", "9", "entries must be at least 10, not 9"),
        ("FORK_WIDTH", "0", "fork_width must be at least 1, not 0"),
        ("EVALUATION_STEPS", "999", "evaluation_steps must be at least 1000, not 999"),
        ("NESTING", "-1", "nesting must be at least 0, not -1"),
        ("CONCURRENT", "0", "concurrent must be at least 1, not 0"),
        ("PER_MINUTE", "0", "per_minute must be at least 1, not 0"),
        ("LIVE", "0", "live must be at least 1, not 0"),
        ("DESCENDANTS", "0", "descendants must be at least 1, not 0"),
        ("PAUSED", "maybe", "XINGQIAO_PAUSED must be true or false, not 'maybe'"),
        ("GRACE_S", "-1", "grace_s must be at least 0, not -1.0"),
        ("GRACE_S", "soon", "XINGQIAO_GRACE_S must be a number, not 'soon'"),
        ("GRACE_S", "nan", "grace_s must be at least 0, not nan"),
        ("CGROUPS", "v1", "cgroups must be one of auto, off, not 'v1'"),
        ("ISOLATION", "all", "isolation must be one of auto, none, process, bubblewrap, not 'all'"),
        ("SYNCHRONOUS", "full", "synchronous must be one of FULL, NORMAL, not 'full'"),
        (
            "DYNAMODB",
            "a/b",
            "dynamodb must be a table name of 3 to 255 letters, digits or any of _.-, not 'a/b'",
        ),
        ("URL_BYTES", "255", "url_bytes must be at least 256, not 255"),
        ("HEADER_BYTES", "1023", "header_bytes must be at least 1024, not 1023"),
        ("HEADER_COUNT", "15", "header_count must be at least 16, not 15"),
        ("HEADER_S", "0", "header_s must be at least 0.1, not 0.0"),
        ("CONNECTIONS", "0", "connections must be at least 1, not 0"),
        ("LOG", "xml", "log must be one of text, json, not 'xml'"),
        ("AWS_REGION", "Europe", "aws_region must be like us-east-1, not 'Europe'"),
        ("AWS_ACCOUNT", "1" * 11, "aws_account must be 12 digits, not '11111111111'"),
        ("AWS_ACCOUNT", "1" * 13, "aws_account must be 12 digits, not '1111111111111'"),
        (
            "AWS_COMPLETIONS",
            "arn:aws:sqs:eu-west-1:1:q",
            (
                "aws_completions must be the URL of a queue, such as "
                "https://sqs.eu-west-1.amazonaws.com/123456789012/name, not "
                "'arn:aws:sqs:eu-west-1:1:q'"
            ),
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(name, text, why):
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({f"XINGQIAO_{name}": text})

    assert str(caught.value) == why


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Settings().port = 1


def test_the_quickstart_names_every_variable_and_its_default():
    text = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
    table = text.partition("## Settings of the server")[2]
    named = dict(
        zip(
            re.findall(r"`(XINGQIAO_[A-Z_]+)`", table),
            (default for row in re.findall(r"^\| `XINGQIAO.*$", table, flags=re.MULTILINE)
             for default in _defaults(row)),
            strict=True,
        )
    )  # fmt: skip

    assert named.keys() == {f"XINGQIAO_{field.name.upper()}" for field in fields(Settings)}
    for field in fields(Settings):
        told = named[f"XINGQIAO_{field.name.upper()}"]
        if field.default in (None, ""):
            assert told in (
                "none",
                "made at the first start",
                "where it listens",
                "the data directory",
            )
        else:
            assert told == str(field.default).removesuffix(".0")


def _defaults(row):
    names, defaults = (cell.strip() for cell in row.split("|")[1:3])
    told = [text.strip().strip("`") for text in defaults.split(",")]
    return told * len(names.split(",")) if len(told) == 1 else told


def test_a_setting_may_have_several_parts():
    assert each(" a, b,,c ") == ["a", "b", "c"]
    assert each("") == []
