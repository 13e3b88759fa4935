"""The confinement that this kernel offers for workers, found by trying it out."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...composer import Error
from .bubblewrap import wrapping
from .homes import make_home, users_homes
from .languages import HERE, INTERPRETER, PYTHON_NEEDS
from .launcher import landlock, seccomp
from .launcher.start import CONFINED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .homes import Home

TRIAL_S = 20.0
ROOTS_OWN = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/ssh",
)
_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from launcher import start; del sys.path[-1]; "
    "start.main(eval(sys.argv[2]), sys.argv[3:])"
)


class SandboxError(Error):
    """The requested isolation is not available here."""


class Users:
    """User ids for workers: each living worker has its own, unique on this machine.

    Args:
        text: the first and the last, such as `60706-61183`.

    Raises:
        SandboxError: the text is not a range.
    """

    def __init__(self, text: str) -> None:
        first, _, last = text.partition("-")
        if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last)):
            raise SandboxError(f"worker_uids must be FIRST-LAST, such as 60706-61183, not {text!r}")
        self.all = range(int(first), int(last) + 1)
        self._free = deque(self.all)
        self._locks: dict[int, int] = {}

    def take(self) -> int:
        """An id that no worker has, also of another server: killing a worker kills all processes of its id.

        Raises:
            OSError: no user id is left.
        """
        for _ in range(len(self._free)):
            uid = self._free.popleft()
            lock = _user_lock(uid)
            if lock is not None:
                self._locks[uid] = lock
                return uid
            self._free.append(uid)
        text = "every user id of XINGQIAO_WORKER_UIDS is in use: configure a longer range"
        raise OSError(errno.EAGAIN, text)

    def give_back(self, uid: int) -> None:
        """Takes back the id of a worker that has ended."""
        os.close(self._locks.pop(uid))
        self._free.append(uid)


def _user_lock(uid: int) -> int | None:
    """A lock on a user id, until it is closed or this process ends; None if another process has it."""
    directory = Path("/run") if os.access("/run", os.W_OK) else Path(tempfile.gettempdir())
    directory /= "xingqiao-users"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.lstat().st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"{directory} is another user's: remove it")
    lock = os.open(directory / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """The restrictions of workers besides those of bubblewrap.

    Args:
        users: the users that workers run as; None for the server's own user.
        mounts: True if each worker has its own view of the file system.
        landlock: the edition of Landlock; 0 for none.
        seccomp: the machine for which system calls are filtered; None for no filter.
        lacking: the reason why workers run as the server's own user, although that is root.
    """

    users: Users | None = None
    mounts: bool = False
    landlock: int = 0
    seccomp: str | None = None
    lacking: str = ""

    def plan(self, home: Home, needs: Sequence[str], hidden: Sequence[str]) -> dict[str, Any]:
        """The launcher's plan for a plain process."""
        mounts, writable = None, [str(home.work)]
        if self.mounts:
            private = {path: str(source) for path, source in home.private.items()}
            mounts = {
                "directory": str(home.work),
                "needs": list(needs),
                "hidden": list(hidden),
                "private": private,
            }
            writable += private
        elif os.geteuid() == 0 and home.uid is None:
            hidden = [*hidden, *ROOTS_OWN]
        ruled = None
        if self.landlock:
            ruled = {
                "edition": self.landlock,
                "writable": writable,
                "needs": list(needs),
                "hidden": [] if self.mounts else list(hidden),
            }
        return {**self.inner(home), "mounts": mounts, "landlock": ruled}

    def inner(self, home: Home) -> dict[str, Any]:
        """The launcher's plan inside bubblewrap, which confines files and processes itself."""
        return {
            "uid": home.uid,
            "mounts": None,
            "landlock": None,
            "scoped": self.landlock or None,
            "seccomp": self.seccomp,
        }


def launching(plan: dict[str, Any], command: Sequence[str]) -> list[str]:
    """The command line of a launcher.

    The plan is written as Python, which needs no library to be read. Without its sites, Python starts faster,
    and a worker cannot import the server's packages.
    """
    return [INTERPRETER, "-I", "-S", "-c", _BOOT, str(HERE), repr(plan), *command]


def find_confinement(users: Users | None, bubblewrap: str | None = None) -> Confinement | None:
    """The strongest confinement that works here: for plain processes, or within bubblewrap.

    None if bubblewrap itself does not work.
    """
    bare, why = Confinement(landlock=landlock.edition(), seccomp=seccomp.machine()), ""
    tried = [bare, replace(bare, seccomp=None), replace(bare, landlock=0), Confinement()]
    if os.geteuid() == 0 and users is not None:
        own = replace(bare, users=users)
        tried[:0] = [own] if bubblewrap else [replace(own, mounts=True), own]
    for each in tried:
        uid = None if each.users is None else each.users.all[-1]
        found = _tried(replace(each, users=None), uid, bubblewrap, users_homes())
        if found is None:
            return replace(each, lacking="" if each.users else why)
        if each.users is not None:
            why = found
    return None if bubblewrap else Confinement(lacking=why)


@cache
def _tried(
    confinement: Confinement, uid: int | None, bubblewrap: str | None, hidden: tuple[Path, ...]
) -> str | None:
    """The reason why a worker cannot be started with it; None if it can."""
    try:
        home = make_home(None, uid, private=bubblewrap is not None or confinement.mounts)
    except OSError as error:  # it may not give directories to other users
        return str(error)
    needs = [str(path) for path in PYTHON_NEEDS]
    if bubblewrap is None:
        wrapper, plan = [], confinement.plan(home, needs, [str(path) for path in hidden])
    else:
        wrapper, plan = [*wrapping(bubblewrap, home, PYTHON_NEEDS, ())], confinement.inner(home)
    plan |= {"supervised": False, "limits": {}, "inside": True, "needs": needs, "group": None}
    try:
        done = subprocess.run(  # noqa: S603  our own program
            [*wrapper, *launching(plan, [])],
            cwd=home.work,
            env={},
            capture_output=True,
            text=True,
            timeout=TRIAL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        home.discard()
    said = done.stderr.strip().splitlines()[-1:]
    return None if done.stdout == CONFINED else " ".join(said) or f"it ended with {done.returncode}"
