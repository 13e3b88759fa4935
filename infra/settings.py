"""What can be set: by options of the command line, by `XINGQIAO_...` in the environment, or not at all."""

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
KEY_FILE = "key"  # in the data directory: what the store is sealed with
PORT = 3233  # OpenWhisk's
MAX_PORT = 65535


class SettingsError(Error):
    """A setting that cannot be used; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, and what it is when it is not.

    Args:
        host: that the server listens on.
        port: that it listens on; 0 for any that is free.
        data: the directory of the store; None keeps everything in memory.
        dynamodb: name of a DynamoDB table, which is the store then, made if there is none; credentials
            and region are the SDK's usual. One server at a time uses it.
        auth: `uuid:key` of the namespace `guest`; None for what the store has, or new ones.
        auth_file: file that holds `auth`; not both.
        tls_cert: PEM file of the certificate that connections are encrypted with; None for no TLS.
        tls_key: PEM file of its private key; given with `tls_cert`, and only then.
        operator: `uuid:key` of `whisk.system`, who makes namespaces; None for what the store has, or
            new ones, which are kept in the file `operator` of the data directory.
        api_host: URL of this server for its actions; None for the address that it listens on.
        parameter_keys: keys, separated by commas, that the store is sealed with: 32 bytes each, in url-safe
            base64. The first seals, all open. Without any, the file `key` of the data directory has one.
        key_command: command whose output is such keys; they come before those of `parameter_keys`. It is run
            once, at the start, without a shell.
        egress_allow: networks and hosts, separated by commas, that actions elsewhere may be reached at
            although they are not public.
        ambient_namespaces: whose actions may use the credentials that this server itself runs with,
            separated by commas; `*` is for all.
        ambient_services: of those, whose state machines may ask any service of AWS with them.
        aws_completions: URL of a queue on SQS, of this server only, to which functions on AWS Lambda whose mode
            is `event` answer; "" when there is none.
        items_dir: directory whose directories are buckets of this machine, for the item readers and result writers of
            distributed Maps, of the namespaces in `ambient_namespaces`; None when there are none.
        items_url: URL of a host that speaks as S3 does, which is asked for all other buckets; "" for AWS.
        items_bytes: that a distributed Map may read.
        aws_region, aws_account: that the names of state machines say they are in.
        isolation: of workers: `auto`, `process` or `bubblewrap`; `none` where all code is trusted.
        cgroups: for workers: `auto` makes them where this server may, `off` never does.
        workers: processes at most.
        worker_uids: FIRST-LAST: user ids of which each worker has one of its own, where the server is root;
            "" to let workers run as the server's own user.
        worker_processes: processes and threads of a worker.
        worker_disk_mb: megabytes of a worker's files.
        worker_idle_s: seconds after which an idle worker ends.
        payload_bytes: of a call's parameters, and of a result.
        steps: of one execution.
        fork_width: branches of one fork.
        evaluation_steps: that all expressions of one state of a state machine take together; a step takes
            about 2 microseconds.
        nesting: compositions that invoke compositions.
        concurrent: calls of a namespace under way; None for as many as it likes.
        per_minute: calls of a namespace in a minute; None for as many as it likes.
        fires_per_minute: of triggers of a namespace; None for as many as it likes.
        live: executions of a namespace at the same time, each with its branches: nested and asynchronous ones count,
            and those that only wait.
        descendants: executions and branches below one execution at the same time.
        paused: whether the server begins without taking anything up or starting anything, until it is told to.
        dead_letters: that are kept of a namespace; when there are more, the oldest go.
        retention_days: that records of activations and ended executions are kept; 0 for ever.
        prewarmed: workers of each kind that wait for code.
        node_modules: directory in which modules for Node.js are installed; the data directory if None.
        synchronous: `FULL`, or `NORMAL`: faster, but the last commits go if the machine loses power.
        grace_s: seconds that steps under way have to end when the server stops.
        log: `text` or `json`.
        metrics_key: that a scraper shows as `Authorization: Bearer KEY` to read /metrics; "" for none:
            then only the operator's credentials read it.
        url_bytes: of a request's path and query.
        header_bytes: of all headers of a request together.
        header_count: headers of a request.
        header_s: seconds that the headers of a request may take to arrive.
        body_s: seconds that a request's body, or the client's reading of a response, may be late.
        least_rate: bytes per second that both must keep up with.
        idle_s: seconds that a connection stays open between two requests.
        handshake_s: seconds that a TLS handshake may take.
        connections: that are open at the same time; fewer if there are too few file descriptors.
        unfinished: connections that have not sent a whole request.
        unfinished_per_address: the same, of one client address.
        proxies: addresses of reverse proxies, separated by commas, that `unfinished_per_address` does
            not apply to.
        reading_bytes: of all request bodies that are being read at the same time.
        unauthenticated_bytes: the same, of requests whose sender is not authenticated yet.
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
    prewarmed: int = 1
    node_modules: Path | None = None
    synchronous: str = "FULL"
    grace_s: float = 10.0
    log: str = "text"
    metrics_key: str = ""
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
            if value is not None and not value >= least:  # what is no number is not, either
                raise SettingsError(f"{name} must be at least {least}, not {value}")
        for name, (form, what) in _FORMS.items():
            value = getattr(self, name)
            if value is not None and not form.fullmatch(value):
                shown = "" if name in _SECRET else f", not {value!r}"
                raise SettingsError(f"{name} must be {what}{shown}")
        if self.port > MAX_PORT:
            raise SettingsError(f"port must be at most {MAX_PORT}, not {self.port}")
        self._check_together()

    def _check_together(self) -> None:
        if self.auth is not None and self.auth_file is not None:
            raise SettingsError("auth and auth_file are both given: give one")
        for name, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise SettingsError(f"{name} is given without {other}: TLS needs both")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Settings:
        """Settings from the environment, under those that are given and not None.

        Raises:
            SettingsError: naming the one that cannot be used.
        """
        found = {
            field.name: _read(field.name, environment[PREFIX + field.name.upper()])
            for field in fields(cls)
            if PREFIX + field.name.upper() in environment
        }
        options = {name: value for name, value in given.items() if value is not None}
        for name, other in (("auth", "auth_file"), ("auth_file", "auth")):
            if name in options:  # it stands in place of either
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
    "dynamodb": (
        re.compile(r"[A-Za-z0-9_.-]{3,255}"),
        "the name of a table, 3 to 255 letters, digits or any of _.-",
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
_SECRET = {"metrics_key"}  # what no error shows
_CHOICES = {
    "isolation": ("auto", "none", "process", "bubblewrap"),
    "synchronous": ("FULL", "NORMAL"),
    "cgroups": ("auto", "off"),
    "log": ("text", "json"),
}
_LEAST = {
    "port": 0,
    "workers": 1,
    "worker_processes": 32,
    "worker_disk_mb": 1,
    "worker_idle_s": 0,
    "payload_bytes": 1024,
    "items_bytes": 1024,
    "steps": 1,
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
    "prewarmed": 0,
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
    "header_s",
    "body_s",
    "idle_s",
    "handshake_s",
}
_PATHS = {"data", "items_dir", "node_modules", "auth_file", "tls_cert", "tls_key"}


def each(text: str) -> list[str]:
    """The parts of a setting that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def write_secret(file: Path, text: str) -> None:
    """Writes a file that nobody but its owner can read, in place of what it was."""
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
