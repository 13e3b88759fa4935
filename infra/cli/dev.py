"""`xingqiao dev`: a server for development that deploys files whenever they are saved."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ...composer import Error
from ..client import dev_file
from ..clock import SystemClock
from ..settings import write_secret
from . import deployments, output
from .client import Client
from .dev_server import READY
from .files import FileError
from .following import Connection, namespace_logs, show_lines
from .options import FILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

LOOK_S = 0.3  # seconds between two looks at the files
STOP_S = 10  # seconds that the server has to stop
PORT = 3233
SUFFIXES = (".py", ".js", ".mjs", ".json", ".toml", ".txt", ".zip")  # files whose change deploys
IGNORED = {"__pycache__", "node_modules"}  # folders, besides hidden ones
REPLACED = ("XINGQIAO_AUTH_FILE", "XINGQIAO_DYNAMODB", "XINGQIAO_PAUSED", "XINGQIAO_TLS_CERT",
            "XINGQIAO_TLS_KEY")  # fmt: skip
Seen: TypeAlias = "dict[Path, tuple[int, int]]"
"""Modification times and sizes of files."""


@click.command(
    epilog="\b\nExamples:\n  xingqiao dev pipeline.py\n  xingqiao dev actions/ --port 8080"
)
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True, type=FILE)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 picks a free one [default: 3233, or a free one].",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=dev_file.FOLDER / "dev",
    show_default=True,
    help="Directory of the store.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "bubblewrap", "none"]),
    help="Isolation of user code [default: auto].",
)
def dev(paths: tuple[Path, ...], port: int | None, data: Path, isolation: str | None) -> int:
    """Serve for development: deploy each FILE when it is saved.

    The command starts a server, deploys the files at each change, and shows all logs. In a FOLDER every .py, .js and .asl.json file is deployed. Commands in another terminal find the server
    if you run them in the same folder as this command. Ctrl-C stops the server; its data stays for the next
    start.
    """
    for path in paths:
        if not path.exists():
            raise click.UsageError(f"{path} does not exist: check the path")
    sys.dont_write_bytecode = (
        True  # bytecode is found by the second of a change: saves may be faster
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    auth = _credentials(data)
    environment = {name: value for name, value in os.environ.items() if name not in REPLACED}
    environment |= {
        "XINGQIAO_HOST": "127.0.0.1",
        "XINGQIAO_PORT": str(_port() if port is None else port),
        "XINGQIAO_DATA": str(data),
        "XINGQIAO_AUTH": auth,
        "XINGQIAO_GRACE_S": "1",
    }
    if isolation is not None:
        environment["XINGQIAO_ISOLATION"] = isolation
    try:
        with _server(environment) as (server, url), Client(url, auth) as client:
            dev_file.write(url, auth)
            _announce(url, auth, data)
            with _logs(Client(url, auth)):
                _develop(client, paths, server)
    except KeyboardInterrupt:
        output.remark("\nthe server has stopped")
        return 0
    finally:
        dev_file.remove()
    output.problem("the server has ended by itself: see the lines above for the reason")
    return 1


def _credentials(data: Path) -> str:
    """The credentials of the last start, so that they stay valid in other terminals; else new ones."""
    file = data / "dev.auth"
    if file.is_file():
        return file.read_text("utf-8").strip()
    from ..access import new_credentials  # noqa: PLC0415  the server's

    auth = new_credentials()
    data.parent.mkdir(parents=True, exist_ok=True)
    data.mkdir(mode=0o700, exist_ok=True)
    write_secret(file, auth)
    return auth


def _port() -> int:
    """The usual port, or 0 if another process uses it."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


@contextmanager
def _server(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a server in a process of its own. Yields the process and its URL."""
    command = [sys.executable, "-P", "-m", f"{__package__}.dev_server"]
    server = subprocess.Popen(  # noqa: S603  our own module
        command,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,  # Ctrl-C is for the command, which then ends the server
    )  # fmt: skip
    try:
        assert server.stdout is not None  # noqa: S101  it is a pipe
        line = server.stdout.readline()
        if not line.startswith(READY):
            raise FileError("the server has not started: see the line above for the reason")
        yield server, line.removeprefix(READY).strip()
    finally:
        assert server.stdin is not None  # noqa: S101  it is a pipe
        server.stdin.close()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _announce(url: str, auth: str, data: Path) -> None:
    output.done(f"the server runs at {url}; its data is in {data}")
    print("Other terminals in this folder need no settings. Elsewhere:")
    print(f"  export XINGQIAO_URL={url} XINGQIAO_AUTH={auth}", flush=True)
    for name in ("XINGQIAO_URL", "XINGQIAO_AUTH", "XINGQIAO_AUTH_FILE"):
        if os.environ.get(name):
            output.warning(f"{name} is set: in a terminal where it is set, commands use it instead")


# --- deploying ---------------------------------------------------------------------------------


def _develop(client: Client, paths: Sequence[Path], server: subprocess.Popen[str]) -> None:
    """Deploys the files now and at each change, until the server ends."""
    seen: Seen = {}
    while server.poll() is None:
        found = _look(paths)
        if found != seen:
            changes = ("new", "changed") if seen else ("new", "changed", "unchanged")
            seen = _settled(paths, found)
            _deploy_all(client, paths, changes)
        time.sleep(LOOK_S)


def _settled(paths: Sequence[Path], found: Seen) -> Seen:
    """The files once they do not change any more: an editor writes in several steps."""
    while True:
        time.sleep(LOOK_S / 3)
        again = _look(paths)
        if again == found:
            return found
        found = again


def _look(paths: Sequence[Path]) -> Seen:
    """The files that matter: those of the paths, and the modules beside them."""
    seen: Seen = {}
    for path in {path if path.is_dir() else path.parent for path in paths}:
        for folder, below, names in os.walk(path):
            below[:] = [name for name in below if name not in IGNORED and name[0] != "."]
            for name in names:
                if name.endswith(SUFFIXES):
                    _note(Path(folder, name), seen)
            if path not in paths:  # of a file: only its own folder
                break
    return seen


def _note(file: Path, seen: Seen) -> None:
    try:
        found = file.stat()
    except OSError:  # just removed
        return
    seen[file] = (found.st_mtime_ns, found.st_size)


def _deploy_all(client: Client, paths: Sequence[Path], changes: Collection[str]) -> None:
    """Deploys what has changed in the files, all of it or nothing, and shows such changes."""
    try:
        found = deployments.plan(client, paths)
        if found.changes:
            found = deployments.apply(client, found)
    except Error as error:
        output.problem(str(error))
        return
    shown = [step for step in found.steps if step["change"] in changes]
    for step in shown:
        version = f" {step['version']}" if "version" in step else ""
        output.done(f"{step['name']}{version} ({step['kind']})")
    for text in found.warnings:
        output.warning(text)
    if actions := [step["name"] for step in shown if step["kind"] != deployments.SCHEDULE]:
        print(f"  xingqiao invoke {actions[-1]} --follow", flush=True)


# --- logs --------------------------------------------------------------------------------------


@contextmanager
def _logs(client: Client) -> Iterator[None]:
    """Shows all logs from a thread. The client is the thread's alone, and stays open for it."""
    stopping = threading.Event()
    threading.Thread(target=_show_logs, args=(client, stopping), daemon=True).start()
    try:
        yield
    finally:
        stopping.set()


def _show_logs(client: Client, stopping: threading.Event) -> None:
    """Shows all logs, and the runs that fail."""

    def say(text: str) -> None:
        if not stopping.is_set():
            output.remark(text)

    for lines, records in namespace_logs(Connection(client, say), None, SystemClock.now_ms()):
        show_lines(lines)
        for record in records:
            if not record.get("response", {"success": True})["success"]:
                name, id = record["name"], record["activationId"]
                output.failed(f"{name} failed: xingqiao activation get {id}")
