"""Checks of `xingqiao doctor` of the machine: disk, clock, port, installers and extras."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import statistics
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import BaseHandler, HTTPSHandler, ProxyHandler, build_opener

from ..clock import SystemClock
from .findings import Finding

if TYPE_CHECKING:
    from ..settings import Settings

SYNCS = 21  # an odd number has a middle
PAGE = bytes(4096)
SLOW_MS = 20.0  # of one sync: a server commits with each
LITTLE_BYTES, NOTHING_BYTES = 2 << 30, 200 << 20
JUMP_MS = 1000
EARLIEST_MS = 1_750_000_000_000  # this program is newer
PING_S = 2.0
EXTRAS = {"aws": "boto3", "azure": "azure.identity", "gcp": "google.auth"}


def sync(settings: Settings, slow_ms: float = SLOW_MS) -> Finding:
    """Measures the time that a commit waits for the disk. A disk is slow above `slow_ms`."""
    folder, clock = _existing(settings.data), SystemClock()
    took: list[float] = []
    try:
        with tempfile.TemporaryFile(
            dir=folder, buffering=0
        ) as file:  # has no name: nothing can stay
            for _ in range(SYNCS):
                began = clock.elapsed_us()
                file.write(PAGE)
                os.fsync(file.fileno())
                took.append((clock.elapsed_us() - began) / 1000)
    except OSError as error:
        fix = f"make {folder} writable for the server's user"
        text = f"{folder} cannot be written: {error.strerror}."
        return Finding(check="disk sync", state="fail", text=text, fix=fix)
    middle = statistics.median(took)
    text = f"The disk of {folder} syncs in {middle:.2f} ms (the median of {SYNCS} syncs)."
    if middle > slow_ms:
        fix = "put the data directory on a local disk or SSD: each commit waits for one sync"
        return Finding(check="disk sync", state="warn", text=text, fix=fix)
    return Finding(check="disk sync", state="ok", text=text)


def space(settings: Settings) -> Finding:
    """Checks the free space for the store."""
    folder = _existing(settings.data)
    free = shutil.disk_usage(folder).free
    text = f"The disk of {folder} has {free / (1 << 30):.1f} GiB free."
    fix = "free space, lower XINGQIAO_RETENTION_DAYS, or move the data directory to a larger disk"
    if free < NOTHING_BYTES:
        return Finding(check="disk space", state="fail", text=text, fix=fix)
    if free < LITTLE_BYTES:
        return Finding(check="disk space", state="warn", text=text, fix=fix)
    return Finding(check="disk space", state="ok", text=text)


def _existing(data: Path | None) -> Path:
    """The data directory, or the nearest directory above it that exists already."""
    folder = (data or Path()).absolute()
    return next(path for path in (folder, *folder.parents) if path.is_dir())


class Instant(NamedTuple):
    """An instant by the wall clock and by the elapsed time, in milliseconds."""

    wall_ms: int
    elapsed_ms: float


def now() -> Instant:
    """The present instant."""
    clock = SystemClock()
    return Instant(clock.now_ms(), clock.elapsed_us() / 1000)


def clock(began: Instant, ended: Instant) -> Finding:
    """Checks that the wall clock is plausible and has not jumped between two instants."""
    jump_ms = (ended.wall_ms - began.wall_ms) - (ended.elapsed_ms - began.elapsed_ms)
    fix = "keep the clock with NTP (systemd-timesyncd or chrony), which slews and does not jump"
    if ended.wall_ms < EARLIEST_MS:
        text = "The clock of this machine is wrong: it shows a date before this program was made."
        return Finding(check="clock", state="fail", text=text, fix=fix)
    if abs(jump_ms) > JUMP_MS:
        text = f"The clock of this machine jumped by {jump_ms / 1000:+.1f} s during these checks."
        return Finding(check="clock", state="warn", text=text, fix=fix)
    took = (ended.elapsed_ms - began.elapsed_ms) / 1000
    text = f"The clock of this machine did not jump in the {took:.1f} s of these checks."
    return Finding(check="clock", state="ok", text=text)


def port(settings: Settings, ping_s: float = PING_S) -> Finding:
    """Checks that the port is free, or that a server of ours listens on it and answers in `ping_s` seconds."""
    host, number = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, number), family=family):
            pass
    except OSError as error:
        if _is_ours(settings, ping_s):
            text = f"A Xingqiao server listens on {host}:{number}."
            return Finding(check="port", state="ok", text=text)
        text = f"A server cannot listen on {host}:{number}: {error.strerror or error}."
        fix = "stop the process that uses the port, or choose another with --port or XINGQIAO_PORT"
        return Finding(check="port", state="warn", text=text, fix=fix)
    text = f"The port {number} of {host} is free."
    return Finding(check="port", state="ok", text=text)


def _is_ours(settings: Settings, ping_s: float) -> bool:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    handlers: list[BaseHandler] = [ProxyHandler({})]  # the port is this machine's
    scheme = "http"
    if settings.tls_cert is not None:
        scheme, trusted = "https", ssl.create_default_context(cafile=str(settings.tls_cert))
        trusted.check_hostname = False
        handlers.append(HTTPSHandler(context=trusted))
    try:
        with build_opener(*handlers).open(
            f"{scheme}://{host}:{settings.port}/ping", timeout=ping_s
        ) as answer:
            return bool(answer.read(10) == b"pong")
    except (OSError, ValueError):
        return False


def installers(_: Settings) -> Finding:
    """Looks for the programs that install an action's requirements."""
    found = [name for name in ("uv", "npm") if shutil.which(name)]
    if find_spec("pip") is not None:
        found.insert(0, "pip")
    python = "pip" in found or "uv" in found
    text = f"Installed: {', '.join(found) or 'none of pip, uv and npm'}."
    if python and "npm" in found:
        return Finding(check="installers", state="ok", text=text)
    missing = "npm" if python else "pip or uv" if "npm" in found else "pip or uv, and npm"
    fix = f"install {missing}, if actions have requirements in that language"
    return Finding(check="installers", state="warn", text=text, fix=fix)


def extras(_: Settings) -> Finding:
    """Lists the extras for clouds: none is needed for a server that runs actions itself."""
    there = [name for name, module in EXTRAS.items() if _is_installed(module)]
    gone = [name for name in EXTRAS if name not in there]
    text = f"Extras installed: {', '.join(there) or 'none'}."
    if gone:
        text += f" For actions in other clouds: pip install 'xingqiao[{','.join(gone)}]'."
    return Finding(check="extras", state="ok", text=text)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the module above it is missing
        return False
