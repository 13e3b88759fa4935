"""Commands on a terminal, as a person runs them."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

XINGQIAO = Path(sys.executable).with_name("xingqiao")
DEADLINE_S = 30


def on_a_terminal(*arguments, **environment):
    """The output of a command on a terminal, and its exit code."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [XINGQIAO, *arguments], stdin=follower, stdout=follower, stderr=follower,
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(follower)
    written = b""
    with contextlib.suppress(OSError):  # what a terminal says when nobody writes to it any more
        while more := os.read(leader, 65536):
            written += more
    os.close(leader)
    return process.wait(DEADLINE_S), written.decode()
