"""The languages that this machine can run: the program of a worker, and the files that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..kinds import NODE, PYTHON

# Without links: a sandbox shows the worker's files at their real place, and perhaps not the link to it.
HERE = Path(__file__).resolve().parent
# The interpreter that the server's environment is made of: workers do not see the server's own packages.
INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
PYTHON_NEEDS = (Path(sys.base_prefix), Path(INTERPRETER), HERE)
OLDEST_NODE = 18
MARGIN_MB = 192  # of a Node.js process besides its heap
SHARED_MB = 16  # of a Python process, not counted by its limit of data


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language: how its workers are started.

    Args:
        kind: of the code.
        program: the command; the file descriptors of the socket and of the flag are appended.
        needs: files and directories that a worker must see, wherever they are.
        heap: the option that bounds its memory in megabytes, for a language that needs it at the start.
    """

    kind: str
    program: tuple[str, ...]
    needs: tuple[Path, ...] = ()
    heap: str | None = None

    @property
    def inside(self) -> bool:
        """True if the worker is a program in Python, which the launcher's own interpreter runs."""
        return self.kind == PYTHON

    def command(self, fds: tuple[int, int], memory_mb: int) -> list[str]:
        """The command line of a worker that inherits these file descriptors."""
        inherited = map(str, fds)
        if self.heap is None:
            return [*self.program, *inherited]
        interpreter, *rest = self.program
        return [interpreter, self.heap.format(memory_mb), *rest, *inherited]

    def limits(self, memory_mb: int) -> dict[str, int]:
        """The limits to set before the start. A Python worker limits its own memory once it has code."""
        return {} if self.heap is None else {"RLIMIT_DATA": self.most_mb(memory_mb) << 20}

    def most_mb(self, memory_mb: int) -> int:
        """The most memory that a worker and all its processes may use together."""
        return memory_mb + (SHARED_MB if self.heap is None else MARGIN_MB)


def find_languages() -> dict[str, Language]:
    """The languages that this machine can run, by kind: always Python, and Node.js if it is installed."""
    python = Language(
        kind=PYTHON,
        program=(str(HERE / "worker.py"),),
        needs=PYTHON_NEEDS,
    )
    found = {PYTHON: python}
    node = shutil.which("node")
    if node is not None and _version(node) >= OLDEST_NODE:
        binary = Path(node).resolve()
        found[NODE] = Language(
            kind=NODE,
            program=(str(binary), str(HERE / "worker.js")),
            needs=(binary.parent.parent, *PYTHON_NEEDS),
            heap="--max-old-space-size={}",
        )
    return found


def _version(node: str) -> int:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(rb"v(\d+)\.", told.stdout)
    return int(match[1]) if match else 0
