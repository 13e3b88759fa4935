"""The modules that Node.js actions may `require`: installed once, from a lock file, when first needed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

log = logging.getLogger(__name__)

LOCKED = Path(__file__).with_name("node")  # with package.json and package-lock.json
FILES = ("package.json", "package-lock.json")
READABLE = 0o755  # workers may be other users
TIMEOUT_S = 120.0
_CI = ("ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


class NodeModules:
    """A directory of modules for all workers.

    Args:
        home: its parent. Its name changes with the lock file.
    """

    def __init__(self, home: Path) -> None:
        locked = b"".join((LOCKED / name).read_bytes() for name in FILES)
        self.directory = home / f"node-{sha256(locked).hexdigest()[:12]}"
        self._ready = asyncio.Lock()
        self._failed = False

    async def ready(self) -> Path | None:
        """Installs the modules if they are missing. Returns their directory; None if the installation failed."""
        async with self._ready:
            if not self.directory.is_dir() and not self._failed:
                why = await self._install()
                if why is not None and not self.directory.is_dir():
                    self._failed = True
                    log.warning(
                        "the modules for Node.js actions (openwhisk, redis, uuid, ...) are not "
                        "installed: %s; actions that require them fail until a restart installs them",
                        why,
                    )
        return None if self._failed else self.directory / "node_modules"

    async def _install(self) -> str | None:
        """Installs into another directory, and moves that. Returns the reason if that failed."""
        npm = shutil.which("npm")
        if npm is None:
            return "npm is not found: install it"
        try:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix="node-new-", dir=self.directory.parent))
        except OSError as error:
            return f"{self.directory.parent} cannot be used: {error.strerror}"
        try:
            for name in FILES:
                shutil.copy(LOCKED / name, beside)
            why = await _run([npm, *_CI], beside)
            if why is None:
                os.chmod(beside, READABLE)  # noqa: PTH101  a short call
                with contextlib.suppress(OSError):  # another server was quicker
                    beside.rename(self.directory)  # noqa: ASYNC240  it is over at once
            return why
        finally:
            shutil.rmtree(beside, ignore_errors=True)


async def _run(command: list[str], directory: Path) -> str | None:
    """Runs a command. Returns the reason if it failed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, errors = await process.communicate()
    except TimeoutError:
        return f"npm has taken more than {TIMEOUT_S:g} seconds"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"npm failed: {' '.join(last) or process.returncode}"
    return None
