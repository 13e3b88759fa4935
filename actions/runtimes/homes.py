"""The directories of workers: removed with the worker, or swept at the next start."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .groups import Group

log = logging.getLogger(__name__)

FOLDER = "workers"  # in the data directory
PREFIX = "worker-"
PRIVATE = "xingqiao-workers-"  # before the user's number, in the system's temporary directory
PASSED = 0o711  # other users may pass, but not list it


@dataclass(frozen=True, slots=True)
class Home:
    """A worker's directories and its group.

    Args:
        work: its current directory, HOME and TMPDIR.
        uid: of the user who owns them; None for the server's own.
        group: the cgroup that holds it; None if it has none.
    """

    work: Path
    uid: int | None = None
    group: Group | None = None

    @property
    def private(self) -> dict[str, Path]:
        """The directories to mount over those that all users share, if mounts are available."""
        tmp, shm = (self.work.with_name(f"{self.work.name}.{end}") for end in ("tmp", "shm"))
        return {"/tmp": tmp, "/var/tmp": tmp, "/dev/shm": shm}  # noqa: S108  in place of them

    @property
    def directories(self) -> list[Path]:
        """All its directories."""
        return [self.work, *sorted({*self.private.values()})]

    def discard(self) -> None:
        """Ends all processes in the group, and removes all directories."""
        if self.group is not None:
            self.group.end()
        for directory in self.directories:
            discard(directory)


def users_homes() -> tuple[Path, ...]:
    """The home directories of this server's user, by the environment and by the system."""
    said = set()
    with contextlib.suppress(RuntimeError):  # neither HOME nor a name, as in some containers
        said.add(Path.home())
    with contextlib.suppress(KeyError):  # a user id without a name
        said.add(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    return tuple(sorted(home.resolve() for home in said if home.is_dir() and home != Path("/")))


def make_home(parent: Path | None, uid: int | None, *, private: bool) -> Home:
    """Makes a worker's directories below `parent`, or in the system's temporary directory.

    Raises:
        OSError: they cannot be made.
    """
    home = Home(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)), uid)
    try:
        for path in home.directories if private else [home.work]:
            path.mkdir(mode=0o700, exist_ok=True)
            if uid is not None:
                os.chown(path, uid, uid)
    except OSError:
        home.discard()
        raise
    return home


def discard(path: Path) -> None:
    """Removes a directory, also where user code has taken the right to do that away."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for directory, folders, _ in os.walk(path):
            for name in (".", *folders):
                found = os.path.join(directory, name)  # noqa: PTH118  it may be any bytes
                with contextlib.suppress(OSError):
                    if stat.S_ISDIR(os.lstat(found).st_mode):
                        os.chmod(found, 0o700)  # noqa: PTH101
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def open_homes(data: Path | None) -> Iterator[Path]:
    """A directory for workers' directories, used by this server alone while it is open.

    It is in the data directory or, if there is none, in the system's temporary directory. Directories that a killed
    server has left there are removed: a lock says whether that server is still alive.
    """
    parent = None if data is None else _made(data)
    if parent is not None:
        lock = _locked(parent)
        if lock is not None:
            with lock:
                _sweep(parent)
                yield parent
            return
        log.warning("Another server has its workers in %s: ours get another directory.", parent)
    temporary = Path(tempfile.gettempdir())
    for left in temporary.glob(f"{PRIVATE}{os.getuid()}-*"):
        _sweep_whole(left)
    made = Path(tempfile.mkdtemp(prefix=f"{PRIVATE}{os.getuid()}-", dir=temporary))
    made.chmod(PASSED)
    with _locked(made) or contextlib.nullcontext():
        try:
            yield made
        finally:
            discard(made)


def _made(data: Path) -> Path | None:
    parent = data.absolute() / FOLDER
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent.mkdir(exist_ok=True)
        parent.chmod(PASSED)
    except OSError as error:
        log.warning("Workers have their directories elsewhere: %s", error)
        return None
    return parent


def _locked(directory: Path) -> contextlib.closing[_Lock] | None:
    """A lock on a directory, which ends with this process at the latest; None if another process has it."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return contextlib.closing(_Lock(opened))


@dataclass(frozen=True, slots=True)
class _Lock:
    opened: int

    def close(self) -> None:
        os.close(self.opened)


def _sweep(parent: Path) -> None:
    for left in parent.glob(f"{PREFIX}*"):
        discard(left)


def _sweep_whole(left: Path) -> None:
    """Removes the directory of a server that has ended, if our user owns it."""
    with contextlib.suppress(OSError):
        found = left.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return
        lock = _locked(left)
        if lock is not None:
            with lock:
                discard(left)
