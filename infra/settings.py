"""Settings of the service: command-line options over `XINGQIAO_...` environment variables over defaults."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..actions import ACCOUNT, REGION
from ..composer import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "XINGQIAO_"
OPERATOR_FILE = "operator"  # in the data directory: the credentials of `whisk.system`
KEY_FILE = "key"  # in the data directory: the key of the store
PORT = 3233  # OpenWhisk's
MAX_PORT = 65535


class SettingsError(Error):
    """A setting cannot be used; the text names the setting and the valid values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults.

    Args:
        host: address to listen on.
        port: port to listen on; 0 for any free port.
        data: directory of the store; None keeps everything in memory.
        dynamodb: name of a DynamoDB table to use as the store; it is created if it does not exist. The SDK
            finds credentials and region as usual. Only one server at a time uses the table.
        auth: `uuid:key` of the namespace `guest`; None for the stored credentials, or new ones.
        auth_file: file that holds `auth`; excludes `auth`.
        tls_cert: PEM file of the TLS certificate; None for no TLS.
        tls_key: PEM file of the certificate's private key; goes together with `tls_cert`.
        operator: `uuid:key` of `whisk.system`, which creates namespaces; None for the stored credentials,
            or new ones, which are written to the file `operator` of the data directory.
        api_host: URL of this server for its actions; None for the address that it listens on.
        parameter_keys: keys of the store, separated by commas: 32 bytes each, in url-safe base64. The first
            key encrypts, all keys decrypt. If empty, the file `key` of the data directory holds the key.
        key_command: command that prints such keys; they come before the keys of `parameter_keys`. It runs
            once, at the start, without a shell.
        egress_allow: networks and hosts, separated by commas, that actions on other hosts may use although
            they are not public.
        ambient_namespaces: namespaces, separated by commas, whose actions may use the server's own
            credentials; `*` for all.
        ambient_services: namespaces among these whose state machines may call any AWS service with the
            server's own credentials.
        aws_completions: URL of an SQS queue, for this server only, on which AWS Lambda functions with mode
            `event` report their results; "" for none.
        items_dir: directory whose subdirectories are local buckets, for the item readers and result writers
            of distributed Maps in the `ambient_namespaces`; None for none.
        items_url: URL of an S3-compatible host for all other buckets; "" for AWS.
        items_bytes: maximum number of bytes that a distributed Map reads.
        aws_region, aws_account: region and account in the ARNs of state machines.
        isolation: isolation of workers: `auto`, `process`, `bubblewrap`; or `none` if all code is trusted.
        cgroups: `auto` gives each worker a cgroup where the server can make one; `off` never does.
        workers: maximum number of worker processes.
        worker_uids: FIRST-LAST, a range of user ids; each worker gets its own if the server is root. "" to run
            workers as the server's user.
        worker_processes: maximum processes and threads of a worker.
        worker_disk_mb: maximum megabytes of a worker's files.
        worker_idle_s: seconds after which an idle worker ends.
        payload_bytes: maximum bytes of a call's parameters, and of a result.
        steps: maximum steps of one execution.
        entries: maximum entries in the history of one execution.
        fork_width: maximum branches of one fork.
        evaluation_steps: maximum evaluation steps of all expressions in one state of a state machine. A
            step takes about 2 microseconds.
        nesting: maximum depth of compositions that invoke compositions.
        concurrent: maximum concurrent calls of a namespace; None for no limit.
        per_minute: maximum calls of a namespace per minute; None for no limit.
        fires_per_minute: maximum trigger fires of a namespace per minute; None for no limit.
        live: maximum live executions and branches of a namespace, including nested, asynchronous and waiting
            ones.
        descendants: maximum live executions and branches below one execution.
        paused: True to start without recovering or running executions until `service resume`.
        dead_letters: maximum dead letters of a namespace; the oldest are dropped.
        retention_days: days to keep records of activations and ended executions; 0 keeps them forever.
        cloudevent_days: days for which a second delivery of a CloudEvent is recognized.
        audit_days: days to keep an entry of the audit log; 0 keeps it until newer entries displace it.
        audit_records: maximum entries of the audit log; the oldest are displaced.
        prewarmed: number of idle workers of each kind to keep ready.
        environments: directory for the packages of actions; `environments` in the data directory if None.
        environments_mb: maximum megabytes of these packages; the least recently used are removed.
        environments_days: days after which unused packages are removed.
        wheels: the only directory to install Python packages from; None for the installer's index.
        install_s: maximum seconds that an activation waits for the installation of its packages.
        synchronous: `FULL`; or `NORMAL`, which is faster but can lose the last commits in a power failure.
        grace_s: seconds that running steps have to end when the server stops.
        log: log format, `text` or `json`.
        metrics_key: bearer token with which a scraper reads /metrics; "" to require the operator's
            credentials.
        metrics_port: port of a listener that serves only the metrics; 0 for any free port, None for none. The
            listener asks for `metrics_key` if it is set, and for no key otherwise.
        metrics_host: address of that listener.
        metrics_path: path of the metrics there.
        url_bytes: maximum bytes of a request's path and query.
        header_bytes: maximum bytes of all headers of a request together.
        header_count: maximum number of headers of a request.
        header_s: maximum seconds for the headers of a request to arrive.
        body_s: maximum seconds that the sending of a body or the reading of a response may stall.
        least_rate: minimum bytes per second of both.
        idle_s: seconds that a connection stays open between two requests.
        handshake_s: maximum seconds of a TLS handshake.
        connections: maximum open connections; lowered if there are too few file descriptors.
        unfinished: maximum connections that have not sent a complete request.
        unfinished_per_address: the same limit for one client address.
        proxies: addresses of reverse proxies, separated by commas, which `unfinished_per_address` does not
            apply to.
        reading_bytes: maximum bytes of all request bodies being read at the same time.
        unauthenticated_bytes: the same limit for requests that are not authenticated yet.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    data: Path | None = Path(".xingqiao")
    dynamodb: str | None = None
    auth: str | None = None
    auth_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    operator: str | None = None
    api_host: str | None = None
    parameter_keys: str = ""
    key_command: str = ""
    egress_allow: str = ""
    ambient_namespaces: str = "guest"
    ambient_services: str = ""
    aws_completions: str = ""
    items_dir: Path | None = None
    items_url: str = ""
    items_bytes: int = 128 << 20
    aws_region: str = REGION
    aws_account: str = ACCOUNT
    isolation: Literal["auto", "none", "process", "bubblewrap"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    workers: int = 16
    worker_uids: str = "60706-61183"
    worker_processes: int = 1024
    worker_disk_mb: int = 1024
    worker_idle_s: float = 60.0
    payload_bytes: int = 1 << 20
    steps: int = 10_000_000
    entries: int = 50_000
    fork_width: int = 10_000
    evaluation_steps: int = 120_000
    nesting: int = 32
    concurrent: int | None = None
    per_minute: int | None = None
    fires_per_minute: int | None = None
    live: int = 200_000
    descendants: int = 50_000
    paused: bool = False
    dead_letters: int = 1000
    retention_days: float = 30.0
    cloudevent_days: float = 7.0
    audit_days: float = 90.0
    audit_records: int = 100_000
    prewarmed: int = 1
    environments: Path | None = None
    environments_mb: int = 4096
    environments_days: float = 30.0
    wheels: Path | None = None
    install_s: float = 300.0
    synchronous: str = "FULL"
    grace_s: float = 10.0
    log: str = "text"
    metrics_key: str = ""
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    metrics_path: str = "/metrics"
    url_bytes: int = 16 << 10
    header_bytes: int = 64 << 10
    header_count: int = 128
    header_s: float = 20.0
    body_s: float = 30.0
    least_rate: int = 16 << 10
    idle_s: float = 75.0
    handshake_s: float = 10.0
    connections: int = 10_000
    unfinished: int = 5_000
    unfinished_per_address: int = 1_000
    proxies: str = ""
    reading_bytes: int = 256 << 20
    unauthenticated_bytes: int = 96 << 20

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingsError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:  # also refuses NaN
                raise SettingsError(f"{name} must be at least {least}, not {value}")
        for name, (form, what) in _FORMS.items():
            value = getattr(self, name)
            if value is not None and not form.fullmatch(value):
                shown = "" if name in _SECRET else f", not {value!r}"
                raise SettingsError(f"{name} must be {what}{shown}")
        for name in ("port", "metrics_port"):
            port = getattr(self, name)
            if port is not None and port > MAX_PORT:
                raise SettingsError(f"{name} must be at most {MAX_PORT}, not {port}")
        self._check_together()

    def _check_together(self) -> None:
        if self.auth is not None and self.auth_file is not None:
            raise SettingsError("auth and auth_file are both given: remove one of them")
        for name, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise SettingsError(f"{name} is given without {other}: TLS needs both, add {other}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Settings:
        """Settings from the environment; arguments that are not None take precedence.

        Raises:
            SettingsError: a setting cannot be used; the text names it.
        """
        found = {
            field.name: _read(field.name, environment[PREFIX + field.name.upper()])
            for field in fields(cls)
            if PREFIX + field.name.upper() in environment
        }
        options = {name: value for name, value in given.items() if value is not None}
        for name, other in (("auth", "auth_file"), ("auth_file", "auth")):
            if name in options:  # an option replaces either variable
                found.pop(other, None)
        return cls(**{**found, **options})


_FORMS = {
    "aws_account": (re.compile(r"[0-9]{12}"), "12 digits"),
    "aws_completions": (
        re.compile(r"(https?://[A-Za-z0-9.-]+(:\d+)?/[A-Za-z0-9/_.-]+)?"),
        "the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/name",
    ),
    "aws_region": (re.compile(r"[a-z0-9]+(-[a-z0-9]+)+"), f"like {REGION}"),
    "metrics_key": (re.compile(r"([!-~]{16,256})?"), "at least 16 printable characters"),
    "metrics_path": (
        re.compile(r"/[A-Za-z0-9/_.-]{0,255}"),
        "a path such as /metrics",
    ),
    "dynamodb": (
        re.compile(r"[A-Za-z0-9_.-]{3,255}"),
        "a table name of 3 to 255 letters, digits or any of _.-",
    ),
    "items_url": (
        re.compile(r"(https?://[A-Za-z0-9.-]+(:\d+)?/?)?"),
        "a URL such as http://127.0.0.1:9000",
    ),
    "worker_uids": (
        re.compile(r"([1-9][0-9]{0,8}-[1-9][0-9]{0,8})?"),
        "FIRST-LAST, such as 60706-61183",
    ),
}
_SECRET = {"metrics_key"}  # errors never show these values
_CHOICES = {
    "isolation": ("auto", "none", "process", "bubblewrap"),
    "synchronous": ("FULL", "NORMAL"),
    "cgroups": ("auto", "off"),
    "log": ("text", "json"),
}
_LEAST = {
    "port": 0,
    "metrics_port": 0,
    "workers": 1,
    "worker_processes": 32,
    "worker_disk_mb": 1,
    "worker_idle_s": 0,
    "payload_bytes": 1024,
    "items_bytes": 1024,
    "steps": 1,
    "entries": 10,
    "fork_width": 1,
    "evaluation_steps": 1000,
    "nesting": 0,
    "concurrent": 1,
    "per_minute": 1,
    "fires_per_minute": 1,
    "live": 1,
    "descendants": 1,
    "dead_letters": 1,
    "retention_days": 0,
    "cloudevent_days": 0.01,
    "audit_days": 0,
    "audit_records": 100,
    "prewarmed": 0,
    "environments_mb": 1,
    "environments_days": 0,
    "install_s": 1,
    "grace_s": 0,
    "url_bytes": 256,
    "header_bytes": 1024,
    "header_count": 16,
    "header_s": 0.1,
    "body_s": 0.1,
    "least_rate": 1,
    "idle_s": 0.1,
    "handshake_s": 0.1,
    "connections": 1,
    "unfinished": 1,
    "unfinished_per_address": 1,
    "reading_bytes": 1 << 20,
    "unauthenticated_bytes": 1 << 20,
}
_FLAGS = {"paused"}
_FLAG = {"true": True, "1": True, "false": False, "0": False}
_FLOATS = {
    "worker_idle_s",
    "grace_s",
    "retention_days",
    "cloudevent_days",
    "audit_days",
    "environments_days",
    "install_s",
    "header_s",
    "body_s",
    "idle_s",
    "handshake_s",
}
_CREDENTIALS = {"auth", "operator"}
_PATHS = {
    "data",
    "items_dir",
    "environments",
    "wheels",
    "auth_file",
    "tls_cert",
    "tls_key",
}


def each(text: str) -> list[str]:
    """Splits a setting at commas, without spaces and empty parts."""
    return [part.strip() for part in text.split(",") if part.strip()]


def write_secret(file: Path, text: str) -> None:
    """Writes or replaces a file that only its owner can read."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read(name: str, text: str) -> Any:
    if name in _PATHS:
        return Path(text)
    if name in _CREDENTIALS:
        return text.strip()  # a variable that is set from a file often ends with a newline
    if name in _FLAGS:
        if text.lower() not in _FLAG:
            raise SettingsError(f"{PREFIX}{name.upper()} must be true or false, not {text!r}")
        return _FLAG[text.lower()]
    if name not in _LEAST:
        return text
    try:
        return float(text) if name in _FLOATS else int(text)
    except ValueError:
        raise SettingsError(f"{PREFIX}{name.upper()} must be a number, not {text!r}") from None
