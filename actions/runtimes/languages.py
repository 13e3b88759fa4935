"""The languages that this machine can run: what program a worker is, and what it needs to see."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..kinds import NODE, PYTHON

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
OLDEST_NODE = 18
MARGIN_MB = 192  # of a Node.js process besides its heap
OPEN_FILES = 1024
FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How workers of one kind of code are started.

    Args:
        kind: of the code.
        program: what to run; the file descriptors to speak over, and to say that user code begins,
            come after it.
        needs: files and directories that it must see, wherever they are.
        heap: the option that bounds its memory in megabytes, when that must be said at the start.
    """

    kind: str
    program: tuple[str, ...]
    needs: tuple[Path, ...] = ()
    heap: str | None = None

    def command(self, fds: tuple[int, int], memory_mb: int) -> list[str]:
        """The command line of a worker that inherits these file descriptors."""
        inherited = map(str, fds)
        if self.heap is None:
            return [*self.program, *inherited]
        interpreter, *rest = self.program
        heap = self.heap.format(memory_mb)
        return [*_bounds(memory_mb), interpreter, heap, *rest, *inherited]


def _bounds(memory_mb: int) -> Sequence[str]:
    """What a Python worker does for itself: limits, and to die with the server."""
    command = []
    if limits := shutil.which("prlimit"):
        data = (memory_mb + MARGIN_MB) << 20
        command += [limits, f"--data={data}", "--core=0", f"--nofile={OPEN_FILES}",
                    f"--fsize={FILE_BYTES}"]  # fmt: skip
    if setter := shutil.which("setpriv"):
        command += [setter, "--pdeathsig", "KILL"]
    return command


def find_languages() -> dict[str, Language]:
    """The languages that this machine can run, by kind: Python always, Node.js when it is there."""
    python = Language(
        kind=PYTHON,
        program=(sys.executable, "-I", str(HERE / "worker.py")),
        needs=(Path(sys.prefix), Path(sys.base_prefix), HERE),
    )
    found = {PYTHON: python}
    node = shutil.which("node")
    if node is not None and _version(node) >= OLDEST_NODE:
        binary = Path(node).resolve()
        found[NODE] = Language(
            kind=NODE,
            program=(str(binary), str(HERE / "worker.js")),
            needs=(binary.parent.parent, HERE),
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
