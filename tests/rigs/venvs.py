"""Virtual environments of the rigs, each made when it is first asked for and kept between test runs.

What runs in them cannot live in our own: it pins other versions, or is compiled. They stand in
`$XINGQIAO_RIGS`, or else in the user's cache, each in a folder named after the hash of its
requirements and the Python that made it, so that a change of either makes another one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DEADLINE_S = 600
COMPILED = {"lambda": "gcc"}  # awslambdaric comes as source


def cache():
    """The folder that holds all environments."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("XINGQIAO_RIGS") or home / "xingqiao" / "rigs")


def python_of(rig):
    """The interpreter of `rig`'s environment, made now if need be.

    Without what it takes the test is skipped with the reason; on CI that is a failure.
    """
    pinned = HERE / f"requirements-{rig}.txt"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(pinned.read_bytes()).hexdigest()[:12]
    folder = cache() / f"{rig}-{version}-{key}"
    try:
        return _made(rig, folder, pinned)
    except _UnmakableError as error:
        unavailable(f"the {rig} rig: {error}")


def unavailable(reason):
    """Skips the test; on CI it fails it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class _UnmakableError(Exception):
    pass


def _made(rig, folder, pinned):
    ready, python = folder / "ready", folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Test processes that run side by side all come here at once: one makes it, the others wait.
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            compiler = COMPILED.get(rig)
            if compiler and shutil.which(compiler) is None:
                raise _UnmakableError(f"it is compiled when installed, and {compiler} is missing")
            shutil.rmtree(folder, ignore_errors=True)  # of one that was interrupted
            _run("venv", "--without-pip", folder)
            _run("pip", "--python", python, "install", "--require-hashes", "-r", pinned)
            ready.touch()
    return python


def _run(module, *arguments):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _UnmakableError(f"not made in {DEADLINE_S} s") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise _UnmakableError(f"its environment could not be made: {' | '.join(last)}")
