"""Sandboxes: how a worker process is started and confined.

A worker is a process of its own in a session of its own. Its environment holds only named variables; it has a
directory of its own, limits, no privileges, and none of the system calls with which attacks begin. It is confined
further as far as this machine allows:

- with bubblewrap, namespaces: the file system is read-only except for its directory, hidden directories seem
  empty, `/tmp` is its own, and it sees no other process;
- without, Landlock: it can read no directory of the server and write only its own; and a parent
  that ends all processes it leaves behind;
- if the server is root, a user of its own;
- if the server may make cgroups, one of its own, which bounds its memory and processes and is killed
  as a whole.

All workers have the network. An operator who trusts all code chooses `none`: then a worker can do all that the
server's user can, within its limits.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from .bubblewrap import wrapping
from .confinement import Confinement, SandboxError, find_confinement, launching
from .homes import make_home, users_homes
from .languages import PYTHON_NEEDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .confinement import Users
    from .groups import Groups
    from .homes import Home
    from .languages import Language

Isolation: TypeAlias = Literal["auto", "none", "process", "bubblewrap"]

PATH = "/usr/local/bin:/usr/bin:/bin"
OPEN_FILES = 1024
FILE_BYTES = 1 << 30
BARE = Confinement()
END_S = 5.0  # that a worker's supervisor has to end it


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The resources that a worker and all its descendants may use together, besides memory.

    Args:
        processes: the most, with threads.
        disk_mb: of all files in its directories.
    """

    processes: int = 1024
    disk_mb: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A worker's program.

    Args:
        language: of the program.
        memory_mb: the memory that it may use.
        environment: variables that it must have before it starts.
        packages: a directory that it must see, besides the needs of its language.
    """

    language: Language
    memory_mb: int
    environment: dict[str, str] = field(default_factory=dict)
    packages: Path | None = None

    @property
    def needs(self) -> Sequence[Path]:
        return [*self.language.needs, *([self.packages] if self.packages else [])]

    @property
    def most_bytes(self) -> int:
        """The most memory that a worker and all its descendants may use together."""
        return self.language.most_mb(self.memory_mb) << 20

    def command(self, fds: tuple[int, int]) -> Sequence[str]:
        return self.language.command(fds, self.memory_mb)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Starts workers.

    Args:
        bubblewrap: the program, or None for plain processes.
        hidden: directories that workers must not see.
        confinement: further restrictions by the kernel.
        room: the resources of each worker.
        groups: cgroups that hold workers; None for none.
    """

    bubblewrap: str | None = None
    hidden: tuple[Path, ...] = ()
    confinement: Confinement = BARE
    room: Room = Room()
    groups: Groups | None = None

    @property
    def name(self) -> str:
        if self.bubblewrap:
            return "bubblewrap"
        return "none" if self.confinement == BARE else "process"

    def home(self, parent: Path | None) -> Home:
        """Makes a worker's directories and group, and chooses its user if it gets one of its own.

        Raises:
            OSError: they cannot be made, or no user id is left.
        """
        users = self.confinement.users
        uid = None if users is None else users.take()
        try:
            private = self.bubblewrap is not None or self.confinement.mounts
            home = make_home(parent, uid, private=private)
        except OSError:
            if users is not None and uid is not None:
                users.give_back(uid)
            raise
        group = None if self.groups is None else self.groups.make(self.room.processes)
        return replace(home, group=group)

    def discard(self, home: Home) -> None:
        """Removes the directories and the group of a worker that has ended."""
        home.discard()
        if self.confinement.users is not None and home.uid is not None:
            self.confinement.users.give_back(home.uid)

    def start(
        self, program: Program, fds: tuple[int, int], home: Home, outputs: tuple[int, int]
    ) -> subprocess.Popen[bytes]:
        """Starts a worker that works in `home` and prints to `outputs`.

        It exchanges messages over the first of `fds`, and writes to the second when user code begins.
        """
        if home.uid is not None:
            for fd in outputs:  # so that the worker's user may open /dev/stdout
                os.fchown(fd, home.uid, home.uid)
        with contextlib.ExitStack() as stack:
            group = None
            if home.group is not None:
                home.group.limit_memory(program.most_bytes)
                group = stack.enter_context(home.group.joining())
            return subprocess.Popen(  # noqa: S603  our own program
                self._command(program, fds, home, group),
                stdin=subprocess.DEVNULL,
                stdout=outputs[0],
                stderr=outputs[1],
                pass_fds=fds if group is None else (*fds, group),
                cwd=home.work,
                env={**_environment(home.work), **program.environment},
                start_new_session=True,
            )

    def stop(self, process: subprocess.Popen[bytes], home: Home) -> None:
        """Kills a worker and all its descendants. Its resources are free when the process has ended."""
        if home.group is not None:
            home.group.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.bubblewrap is None:
                os.kill(process.pid, signal.SIGTERM)  # its supervisor kills all its descendants
            else:
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # nothing outlives the first of its namespace

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Waits until a stopped worker has ended, regardless of its supervisor."""
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _command(
        self, program: Program, fds: tuple[int, int], home: Home, group: int | None
    ) -> Sequence[str]:
        common = {
            "limits": {**self._limits(home), **program.language.limits(program.memory_mb)},
            "supervised": self.bubblewrap is None,
            "server": os.getpid(),
            "fds": fds if group is None else (*fds, group),
            "group": group,
            "inside": program.language.inside,
        }
        command = program.command(fds)
        if self.bubblewrap is None:
            hidden = [*users_homes(), *(path for path in self.hidden if path.is_dir())]
            needs = sorted({str(path.resolve()) for path in program.needs})
            plan = self.confinement.plan(home, needs, [str(path) for path in hidden])
            return launching({**plan, **common}, command)
        needed = (*program.needs, *PYTHON_NEEDS)
        wrapper = wrapping(self.bubblewrap, home, needed, self.hidden)
        return [*wrapper, *launching({**self.confinement.inner(home), **common}, command)]

    def _limits(self, home: Home) -> dict[str, int]:
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_FSIZE": min(FILE_BYTES, self.room.disk_mb << 20),
        }
        # The kernel counts by user, and since 5.14 by user and namespace, which bubblewrap makes.
        if home.uid is not None or (self.bubblewrap and os.geteuid() != 0 and _kernel() >= (5, 14)):
            limits["RLIMIT_NPROC"] = self.room.processes
        return limits


def find_sandbox(
    isolation: Isolation,
    hidden: Sequence[Path] = (),
    users: Users | None = None,
    room: Room = Room(),
) -> Sandbox:
    """The strongest sandbox of this machine, or the requested one.

    Raises:
        SandboxError: bubblewrap is requested and is not installed, or may not make namespaces.
    """
    if isolation == "none":
        return Sandbox(None, (), BARE, room)
    program = None if isolation == "process" else shutil.which("bwrap")
    if program is not None:
        inner = find_confinement(users, program)
        if inner is not None:
            return Sandbox(program, tuple(hidden), inner, room)
    if isolation == "bubblewrap":
        raise SandboxError(
            "bubblewrap is asked for, but "
            + ("there is no 'bwrap' here" if program is None else "it may not make namespaces here")
            + ": install it, or set the isolation to 'process'"
        )
    return Sandbox(None, tuple(hidden), find_confinement(users) or BARE, room)


def _kernel() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(map(int, found.groups())) if found else (0,)


def few_files() -> str | None:
    """The reason why workers may open fewer files than they should; None if they may open enough."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= OPEN_FILES:
        return None
    return (
        f"a worker may open {hard} files instead of {OPEN_FILES}, because this server's hard limit is "
        f"{hard}: raise the limit (ulimit -Hn, or LimitNOFILE= of the service)"
    )


def _environment(directory: Path) -> dict[str, str]:
    environment = {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if "TZ" in os.environ:
        environment["TZ"] = os.environ["TZ"]
    return environment
