"""The peers' own environment, in build/peers: downloaded once, in the versions that this folder names."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .children import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

HOME = ROOT / "build" / "peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
RESTATE = "@restatedev/restate-server@1.7.12"
PLATFORMS = {
    ("Linux", "x86_64"): "linux-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Darwin", "arm64"): "darwin-arm64",
}
ADVICE = (
    "The comparison needs DBOS and Restate, which are downloaded once from PyPI and npm. Connect this "
    "machine to them or to mirrors, or measure Xingqiao alone: python -m benchmarks"
)


class UnavailableError(Exception):
    """The peers cannot be installed here. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Peers:
    """What the peers' systems are started with."""

    python: Path
    restate_server: Path


def prepare(home: Path = HOME, run: Callable[[list[str | Path]], None] | None = None) -> Peers:
    """Installs the peers into a folder, unless the same versions are there already.

    Args:
        home: the folder.
        run: runs a command to its end; raises UnavailableError if it fails.

    Raises:
        UnavailableError: a program is missing, or a download has failed.
    """
    run = run or _run
    binary = f"restate-server-{_platform()}"
    peers = Peers(
        python=home / "venv" / "bin" / "python",
        restate_server=home / "node_modules" / "@restatedev" / binary / "bin" / "restate-server",
    )
    ready, versions = home / "ready", f"{RESTATE}\n{REQUIREMENTS.read_text('utf-8')}"
    if ready.is_file() and ready.read_text("utf-8") == versions:
        return peers
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    run([sys.executable, "-m", "venv", home / "venv"])
    quiet = ("--quiet", "--disable-pip-version-check")
    run([peers.python, "-m", "pip", "install", *quiet, "--requirement", REQUIREMENTS])
    run(["npm", "install", "--prefix", home, "--no-save", "--no-audit", "--no-fund", RESTATE])
    if not peers.restate_server.is_file():
        raise UnavailableError(f"{RESTATE} has no server for this machine: {binary}. {ADVICE}")
    ready.write_text(versions, "utf-8")
    return peers


def _platform() -> str:
    machine = (platform.system(), platform.machine())
    try:
        return PLATFORMS[machine]
    except KeyError:
        known = ", ".join(" ".join(each) for each in PLATFORMS)
        text = f"Restate has no server for {' '.join(machine)}: it has one for {known}."
        raise UnavailableError(f"{text} {ADVICE}") from None


def _run(command: list[str | Path]) -> None:
    named = f"{Path(command[0]).name} {' '.join(map(str, command[1:]))}"
    try:
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    except FileNotFoundError:
        text = f"The command {command[0]!r} is missing: install Node.js with npm."
        raise UnavailableError(f"{text} {ADVICE}") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip() or error.stdout.strip() or "nothing")[-1000:]
        raise UnavailableError(f"{named}\nfailed and said: {said}\n{ADVICE}") from None
