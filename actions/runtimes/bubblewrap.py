"""The command line of bubblewrap: which paths a worker sees, and which are hidden from it."""

from __future__ import annotations

import os
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
    """The command line that a worker's own comes after.

    Args:
        program: bubblewrap.
        home: the worker's directory.
        needs: what must be seen although it lies in what is hidden.
        hidden: directories that seem to be empty.
    """
    command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path, source in home.private.items():
        command += ["--bind", str(source), path]
    covering = [path for path in (SOCKETS, *users_homes(), *hidden) if path.is_dir()]
    for directory in covering:
        command += ["--tmpfs", str(directory)]
    covered = [*covering, *map(Path, home.private)]
    # What the interpreter needs may lie in a home directory: it is put back, read-only.
    for needed in sorted({path.resolve() for path in (*needs, *_resolver())}):
        command += [*_way(needed, covered), "--ro-bind", str(needed), str(needed)]
    work = home.work.resolve()
    command += [*_way(work, covered), "--bind", str(work), str(work), "--chdir", str(work)]
    if home.uid is not None:
        command += _TO_BECOME
    return [*command, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--"]


def _resolver() -> Sequence[Path]:
    """Where the name servers are said, when that lies among the sockets."""
    found = Path(os.path.realpath("/etc/resolv.conf"))
    return [found] if found.is_relative_to(SOCKETS) and found.exists() else []


def _way(path: Path, covered: Sequence[Path]) -> list[str]:
    """Makes the directories on the way to a path, so that every user may pass: they lie in what covers."""
    above = [place for place in path.parents if any(c in place.parents for c in covered)]
    return [text for place in reversed(above) for text in ("--dir", str(place))]
