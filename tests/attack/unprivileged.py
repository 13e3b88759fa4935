"""A server's sandbox as a user without privileges has it: run by root, this program becomes such a user.

    python unprivileged.py ISOLATION

It writes, as JSON, what the probes reach, which overuse is stopped, and which isolation they were in.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from overuse import LIMITS, what_is_stopped

from xingqiao.actions.runtimes.launcher import kernel, mounts, start
from xingqiao.infra.service.isolation import open_sandbox
from xingqiao.infra.service.sandbox_probes import probe
from xingqiao.infra.settings import Settings

ROOT = Path(__file__).parents[2]
USER = 60_700  # none of those that workers get


def become_nobody(directory):
    """Leaves root's rights; what this interpreter needs is put where every user can see it."""
    for path in (directory, directory / "home"):
        path.mkdir(exist_ok=True)
        os.chown(path, USER, USER)
    needs = [sys.prefix, sys.base_prefix, ROOT]
    plan = {
        "hidden": [str(Path.home())],
        "needs": sorted({str(Path(path).resolve()) for path in needs}),
        "private": {},
        "directory": str(directory),
    }
    mounts.enter(plan)
    kernel.checked("umount", kernel.libc.umount2(b"/proc", 2))  # it would hide more than usual
    start.become(USER)
    os.environ["HOME"] = str(directory / "home")


def main():
    settings = Settings(isolation=sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        child = os.fork()
        if child == 0:
            if os.geteuid() == 0:
                become_nobody(Path(made) / "server")
            reached = asyncio.run(probe(settings))
            stopped = asyncio.run(what_is_stopped(replace(settings, data=None, **LIMITS)))
            sandbox = open_sandbox(settings)
            kept = {"name": sandbox.name, "landlock": sandbox.confinement.landlock}
            sys.stdout.write(json.dumps({**kept, "reached": reached, "stopped": stopped}))
            sys.stdout.flush()
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
