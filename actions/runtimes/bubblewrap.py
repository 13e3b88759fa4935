"""The command line of bubblewrap: the paths that a worker sees, and those that are hidden from it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from .homes import users_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .homes import Home

SOCKETS = Path("/run")  # services that do as the server's user says: D-Bus, Docker, systemd
_TO_BECOME = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def wrapping(
    program: str, home: Home, needs: Iterable[Path], hidden: Iterable[Path]
) -> Sequence[str]:
    """The command line that precedes a worker's own.

    Args:
        program: bubblewrap.
        home: the worker's directory.
        needs: paths that must be visible although they are in hidden directories.
        hidden: directories that seem to be empty.
    """
    command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path, source in home.private.items():
        command += ["--bind", str(source), path]
    work = home.work.resolve()
    private = _private(work) if home.uid is not None else ()
    covering = [path for path in (SOCKETS, *users_homes(), *private, *hidden) if path.is_dir()]
    for directory in covering:
        command += ["--tmpfs", str(directory)]
    covered = [*covering, *map(Path, home.private)]
    # The interpreter's files may be in a home directory: they are put back, read-only.
    for needed in sorted({path.resolve() for path in (*needs, *_resolver())}):
        command += [*_way(needed, covered), "--ro-bind", str(needed), str(needed)]
    command += [*_way(work, covered), "--bind", str(work), str(work), "--chdir", str(work)]
    if home.uid is not None:
        command += _TO_BECOME
    return [*command, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--"]


def _resolver() -> Sequence[Path]:
    """The file that names the name servers, if it is among the sockets."""
    found = Path(os.path.realpath("/etc/resolv.conf"))
    return [found] if found.is_relative_to(SOCKETS) and found.exists() else []


def _private(path: Path) -> list[Path]:
    """The topmost directory on the way to a path that only its owner may pass: a worker is another user."""
    private = [place for place in path.parents if not place.stat().st_mode & stat.S_IXOTH]
    return private[-1:]


def _way(path: Path, covered: Sequence[Path]) -> list[str]:
    """Makes the directories on the way to a path, in the covering file system, so that every user may pass."""
    above = [place for place in path.parents if any(c in place.parents for c in covered)]
    return [text for place in reversed(above) for text in ("--dir", str(place))]
