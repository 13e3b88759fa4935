"""Environments: the packages of a set of requirements, each set installed once and kept for all workers.

    HOME                        owned by one server, or shared by several
      python-3f2a...            an environment: its name is the hash of everything that decides its content
        environment.json        what it holds, for `inventory`; its time is that of the last use
        packages/               what workers see
      new-...                   an environment that is being installed
      gone-...                  an environment that is being removed

An environment appears under its name when it is complete: it is installed beside and renamed. If the machine
loses power then, files may be missing all the same: a server compares the size before its first use. A worker
holds a shared lock on its environment; only one that nobody holds is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...composer import Error
from .languages import HERE, INTERPRETER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..ports import Clock

log = logging.getLogger(__name__)

ABOUT = "environment.json"
OUTPUT = "installer.log"
HOME = "home"
NEW, GONE = "new-", "gone-"
PASSED, READABLE = 0o711, 0o755  # workers may be other users, who need not list the environments
AT_ONCE = 2  # installations of different sets
MAX_FAILED = 1000  # sets whose failure is remembered
TAIL_BYTES, TAIL_LINES = 4096, 12  # of the installer's output, in an error
DAY_MS = 86_400_000
# Starts an installer that dies with the server and whose files all users can read: uvloop sets no umask.
_START = (
    "import os, sys; here, server, *command = sys.argv[1:]; os.umask(0o022); sys.path.append(here); "
    "from launcher import kernel; "
    "kernel.LINUX and kernel.die_with_parent(9, int(server)); os.execvp(command[0], command)"
)
# An installer gets the settings of installers, proxies and certificates, and nothing of the server's own.
_ALLOWED = re.compile(
    r"PATH|HOME|TMPDIR|LANG|LC_[A-Z]+|XDG_(CACHE|CONFIG)_HOME|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE"
    r"|(PIP|UV|NPM_CONFIG)_.+|NODE_EXTRA_CA_CERTS|(HTTPS?|ALL|NO)_PROXY",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+(?=@)")


class InstallError(Error):
    """A set of requirements is not installed. The text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A set of requirements and the way to install it.

    Args:
        name: the environment's name: the same name is the same content.
        title: the requirements, as logs name them.
        files: the files that the installer needs, by name.
        folder: the directory that the installer fills, which workers see.
        command: returns the installer's command line, to be run beside the files. Raises `InstallError` if
            this machine has no installer.
        required: False if code may run without these packages, when they cannot be installed.
    """

    name: str
    title: str
    files: Mapping[str, bytes]
    folder: str
    command: Callable[[], Sequence[str]]
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Limits of environments.

    Args:
        install_s: seconds that an installation may take, and that an activation waits for one.
        most_mb: of all environments together; the least recently used are removed.
        days: after which an unused environment is removed.
        again_s: seconds after which a set that has failed is tried again.
    """

    install_s: float = 300.0
    most_mb: int = 4096
    days: float = 30.0
    again_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed environment."""

    path: Path
    packages: str
    bytes: int
    used_ms: int


@dataclass(slots=True)
class Lease:
    """The use of an environment, which is not removed meanwhile.

    Args:
        root: the environment.
        packages: the directory that a worker sees.
    """

    root: Path
    packages: Path
    _fd: int | None
    _clock: Clock

    def close(self) -> None:
        """Ends the use. It may be called again."""
        if self._fd is not None:
            _used(self.root, self._clock.now_ms())
            os.close(self._fd)
            self._fd = None


DEFAULT_KEEPING = Keeping()


class Environments:
    """The environments of a directory. It must be entered: it owns the installations under way.

    Args:
        home: the directory; made when it is needed.
        clock: the time.
        keeping: limits.
    """

    def __init__(self, home: Path, clock: Clock, keeping: Keeping = DEFAULT_KEEPING) -> None:
        self.home = home.absolute()
        self._clock, self._keeping = clock, keeping
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._running: dict[str, asyncio.Task[str | None]] = {}
        self._failed: dict[str, tuple[float, str]] = {}  # until when, and why
        self._complete: set[str] = set()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        await self._sweep()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._running.values():
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def has(self, recipe: Recipe) -> bool:
        """True if the environment is installed, and known to be complete."""
        return recipe.name in self._complete and (self.home / recipe.name).is_dir()

    async def ready(self, recipe: Recipe) -> bool:
        """True if the environment is installed. One that is not complete is removed."""
        root = self.home / recipe.name
        if self.has(recipe):
            return True
        if not root.is_dir():
            return False
        if await asyncio.to_thread(_is_complete, root):
            self._complete.add(recipe.name)
        else:
            log.warning("%s: incomplete, perhaps since a crash of the machine", recipe.title)
            await asyncio.to_thread(_remove, root)
        return self.has(recipe)

    async def install(self, recipe: Recipe) -> None:
        """Installs a set unless it is installed. Callers at the same time share one installation.

        Raises:
            InstallError: the installation has failed, or takes too long.
        """
        loop = asyncio.get_running_loop()
        if await self.ready(recipe):
            return
        until, why = self._failed.get(recipe.name, (0.0, ""))
        if loop.time() < until:
            raise InstallError(why)
        task = self._running.get(recipe.name)
        if task is None:
            task = self._running[recipe.name] = self._tasks.create_task(self._installed(recipe))
            task.add_done_callback(lambda _: self._running.pop(recipe.name, None))
        try:
            async with asyncio.timeout(self._keeping.install_s):
                failed = await asyncio.shield(task)
        except TimeoutError:
            text = f"{recipe.title}: not installed within {self._keeping.install_s:g} seconds"
            raise InstallError(f"{text}; the installation goes on: try again later") from None
        if failed is not None:
            raise InstallError(failed)

    async def lease(self, recipe: Recipe) -> Lease:
        """Installs a set unless it is installed, and keeps it from being removed.

        Raises:
            InstallError: the set cannot be installed.
        """
        root = self.home / recipe.name
        while True:
            await self.install(recipe)
            fd = _locked(root, fcntl.LOCK_SH)
            if fd is not None:
                _used(root, self._clock.now_ms())
                return Lease(root, root / recipe.folder, fd, self._clock)

    # --- installing --------------------------------------------------------------------------

    async def _installed(self, recipe: Recipe) -> str | None:
        """Installs a set, and removes unused ones. Returns the reason if that failed."""
        try:
            async with self._turns:
                log.info("installing %s", recipe.title)
                await self._install(recipe)
        except (InstallError, OSError) as error:
            why = f"{recipe.title}: not installed: {_CREDENTIALS.sub('***', str(error))}"
            log.warning("%s", why)
            if len(self._failed) >= MAX_FAILED:
                self._failed.clear()
            until = asyncio.get_running_loop().time() + self._keeping.again_s
            self._failed[recipe.name] = (until, why)
            return why
        log.info("installed %s", recipe.title)
        self._failed.pop(recipe.name, None)
        self._complete.add(recipe.name)
        await self._sweep(recipe.name)
        return None

    async def _install(self, recipe: Recipe) -> None:
        command = await asyncio.to_thread(recipe.command)
        beside = await asyncio.to_thread(_beside, self.home, recipe)
        lock = _locked(beside, fcntl.LOCK_EX)
        try:
            await _run(command, beside, self._keeping.install_s)
            await asyncio.to_thread(self._finish, beside, recipe)
        finally:
            if lock is not None:
                os.close(lock)
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True))

    def _finish(self, beside: Path, recipe: Recipe) -> None:
        """Gives a complete environment its name."""
        (beside / recipe.folder).mkdir(exist_ok=True)  # all requirements may be for other platforms
        shutil.rmtree(beside / HOME, ignore_errors=True)
        size = _size(beside)
        if size > self._keeping.most_mb << 20:
            raise InstallError(
                f"it takes {size >> 20} MB, and all environments together may take "
                f"{self._keeping.most_mb} MB (XINGQIAO_ENVIRONMENTS_MB)"
            )
        about = {"packages": recipe.title, "bytes": size}
        (beside / ABOUT).write_text(json.dumps(about), "utf-8")
        _used(beside, self._clock.now_ms())
        with contextlib.suppress(OSError):  # another server was quicker
            beside.rename(self.home / recipe.name)

    async def _sweep(self, spared: str = "") -> None:
        for environment in await asyncio.to_thread(
            _swept, self.home, self._keeping, self._clock.now_ms(), spared
        ):
            log.info("removed the unused packages %s", environment.packages)


def inventory(home: Path) -> list[Environment]:
    """The environments of a directory, the most recently used first."""
    return sorted(_found(home), key=lambda found: found.used_ms, reverse=True)


def _found(home: Path) -> Iterator[Environment]:
    for file in home.glob(f"*/{ABOUT}"):
        if file.parent.name.startswith((NEW, GONE)):
            continue
        with contextlib.suppress(OSError, ValueError, KeyError):  # it is being removed
            about, used = json.loads(file.read_bytes()), file.stat().st_mtime_ns
            yield Environment(file.parent, about["packages"], about["bytes"], used // 1_000_000)


def _swept(home: Path, keeping: Keeping, now_ms: int, spared: str) -> list[Environment]:
    """Removes environments that nobody uses and that are too old or too many. Returns them."""
    for left in [*home.glob(f"{NEW}*"), *home.glob(f"{GONE}*")]:
        _remove(left)
    removed, total = [], 0
    for environment in inventory(home):
        old = now_ms - environment.used_ms > keeping.days * DAY_MS
        full = total + environment.bytes > keeping.most_mb << 20
        if environment.path.name != spared and (old or full) and _remove(environment.path):
            removed.append(environment)
        else:
            total += environment.bytes
    return removed


def _remove(path: Path) -> bool:
    """Removes an environment unless it is in use. Returns True if it is gone."""
    fd = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if fd is None:
        return False
    gone = path
    try:
        if not path.name.startswith((NEW, GONE)):  # a lease sees that the name is free
            gone = Path(tempfile.mkdtemp(prefix=GONE, dir=path.parent)) / path.name
            path.rename(gone)
            gone = gone.parent
    except OSError:
        return False
    finally:
        os.close(fd)
    shutil.rmtree(gone, ignore_errors=True)
    return True


def _locked(path: Path, operation: int) -> int | None:
    """A lock on a directory that has its name; None if it has lost it, or another process has the lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, operation)
        if os.path.samestat(os.fstat(fd), path.stat()):
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _used(root: Path, now_ms: int) -> None:
    with contextlib.suppress(OSError):  # it is another user's: then that server keeps it
        os.utime(root / ABOUT, ns=(now_ms * 1_000_000, now_ms * 1_000_000))


def _beside(home: Path, recipe: Recipe) -> Path:
    """A new directory with the recipe's files."""
    try:
        home.mkdir(mode=PASSED, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=home))
        made.chmod(READABLE)
        for name, content in recipe.files.items():
            (made / name).write_bytes(content)
    except OSError as error:
        raise InstallError(f"{home} cannot be used: {error.strerror}") from error
    return made


def _size(directory: Path) -> int:
    """The bytes of all files but the record."""
    return sum(
        os.lstat(os.path.join(where, name)).st_size  # noqa: PTH118  there are thousands
        for where, _, names in os.walk(directory)
        for name in names
        if name != ABOUT
    )


def _is_complete(root: Path) -> bool:
    try:
        about = json.loads((root / ABOUT).read_bytes())
        return bool(about["bytes"] <= _size(root))
    except (OSError, ValueError, KeyError):
        return False


async def _run(command: Sequence[str], directory: Path, most_s: float) -> None:
    """Runs an installer.

    Raises:
        InstallError: it has failed.
    """
    output = directory / OUTPUT
    with output.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *(INTERPRETER, "-I", "-S", "-c", _START, str(HERE), str(os.getpid())),
            *command,
            cwd=directory,
            env=_with_home(installers_environment(os.environ), directory / HOME),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        async with asyncio.timeout(most_s):
            await process.wait()
    except TimeoutError:
        raise InstallError(f"it has taken more than {most_s:g} seconds") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    told = output.read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace").strip().splitlines()
    output.unlink()
    if process.returncode:
        raise InstallError("\n".join(_last(told)) or f"it ended with {process.returncode}")


def _last(lines: Iterable[str]) -> list[str]:
    """The last lines of an installer's output, without warnings if there is more."""
    said = [line for line in lines if line.strip()]
    return [line for line in said if not line.startswith("WARNING")][-TAIL_LINES:] or said[-1:]


def _with_home(environment: dict[str, str], home: Path) -> dict[str, str]:
    """The variables, with a home for the caches of installers if the server's user has none to write to."""
    if os.access(environment.get("HOME", ""), os.W_OK):
        return environment
    home.mkdir()
    return {**environment, "HOME": str(home)}


def installers_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that an installer gets: those of installers, and none of the server's own."""
    return {name: value for name, value in environment.items() if _ALLOWED.fullmatch(name)}
