"""How a worker process is started, and what it can reach.

Plain: a process of its own in a session of its own, with an environment of nothing but what is named
here, in a directory of its own, under resource limits that it sets for itself before it takes any user
code in. It runs as the same user as the server, so it can read what that user can.

With bubblewrap (when it is installed): in namespaces of its own besides; the file system is
read-only but for its directory, the server's data directory and home directories are hidden, and it
sees no other process. Both have the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from composer import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .languages import Language

Isolation: TypeAlias = Literal["auto", "process", "bubblewrap"]

PATH = "/usr/local/bin:/usr/bin:/bin"


class SandboxError(Error):
    """The isolation that is asked for cannot be had here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A worker's program.

    Args:
        language: that it is of.
        memory_mb: that it may use.
        environment: variables that it must have before it starts.
        modules: a directory that it must see, besides what its language needs.
    """

    language: Language
    memory_mb: int
    environment: dict[str, str] = field(default_factory=dict)
    modules: Path | None = None

    @property
    def needs(self) -> Sequence[Path]:
        return [*self.language.needs, *([self.modules] if self.modules else [])]

    def command(self, fds: tuple[int, int]) -> Sequence[str]:
        return self.language.command(fds, self.memory_mb)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How workers are started.

    Args:
        bubblewrap: the program, or None for plain processes.
        hidden: directories that no worker may see; only bubblewrap can hide them.
    """

    bubblewrap: str | None = None
    hidden: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return "bubblewrap" if self.bubblewrap else "process"

    def start(
        self, program: Program, fds: tuple[int, int], directory: Path, outputs: tuple[int, int]
    ) -> subprocess.Popen[bytes]:
        """Starts a worker that works in `directory` and prints to `outputs`.

        Of `fds` it speaks over the first, and writes into the second when user code begins.
        """
        return subprocess.Popen(  # noqa: S603  our own program
            [*self._wrapped(directory, program.needs), *program.command(fds)],
            stdin=subprocess.DEVNULL,
            stdout=outputs[0],
            stderr=outputs[1],
            pass_fds=fds,
            cwd=directory,
            env={**_environment(directory), **program.environment},
            start_new_session=True,
        )

    def _wrapped(self, directory: Path, needs: Sequence[Path]) -> Sequence[str]:
        if self.bubblewrap is None:
            return ()
        homes = [path for path in (Path.home(), *self.hidden) if path.is_dir()]
        # What the interpreter needs may lie in a home directory: it is put back, read-only.
        needed = {path.resolve() for path in needs}
        scratch = "/tmp"  # noqa: S108  it is made anew for each worker
        command = [self.bubblewrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for path in (scratch, *homes):
            command += ["--tmpfs", str(path)]
        for path in sorted(needed):
            command += ["--ro-bind", str(path), str(path)]
        command += ["--bind", str(directory), str(directory), "--chdir", str(directory)]
        command += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--"]
        return command


def find_sandbox(isolation: Isolation, hidden: Sequence[Path] = ()) -> Sandbox:
    """The strongest sandbox there is, or the one that is asked for.

    Raises:
        SandboxError: when bubblewrap is asked for and is not there, or may not make namespaces.
    """
    if isolation == "process":
        return Sandbox()
    program = shutil.which("bwrap")
    if program is not None and _works(program):
        return Sandbox(program, tuple(hidden))
    if isolation == "bubblewrap":
        raise SandboxError(
            "bubblewrap is asked for, but "
            + ("there is no 'bwrap' here" if program is None else "it may not make namespaces here")
            + ": install it, or set the isolation to 'process'"
        )
    return Sandbox()


def _works(program: str) -> bool:
    command = [program, "--ro-bind", "/", "/", "--unshare-pid", "--", "/bin/true"]
    try:
        return subprocess.run(command, check=False, timeout=5, capture_output=True).returncode == 0  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False


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
