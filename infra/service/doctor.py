"""Checks of `xingqiao doctor`: one check for each requirement of a server on its machine.

A check takes the settings and returns a finding: `ok`, `warn` or `fail`, a sentence, and a fix if there is
something to fix. `CHECKS` lists all checks in the order of the output.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import stat
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import NODE
from ...actions.runtimes import Kept, find_languages
from ...composer import Error
from . import machine_checks, store_checks, worker_checks
from .findings import Finding
from .isolation import INSTALL, kept, lacks, limits_of, open_places, open_sandbox
from .sandbox_probes import PROBES, ProbeError, probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ..settings import Settings

DELEGATE = (
    "delegate a cgroup to the server (docs/operations.md). A server in a service or a container has "
    "a different cgroup than this command, and logs at its start which limits cgroups hold"
)
FILES = 4096  # each connection, file of the store and worker pipe takes a descriptor
GRAVE = {"key", "store", "planted", "plant", "environment", "other_environment", "memory", "rights"}
USUAL = {"connect", "listen"}  # no isolation prevents these
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine(settings: Settings) -> Iterator[Finding]:
    """Runs all checks, one after the other. A server may be running; nothing is changed."""
    began = machine_checks.now()
    for check in CHECKS:
        yield check(settings)
    yield machine_checks.clock(began, machine_checks.now())


def _isolation(settings: Settings) -> Finding:
    try:
        sandbox = open_sandbox(settings)
    except Error as error:
        return Finding(check="isolation", state="fail", text=str(error), fix=INSTALL)
    missing = lacks(settings, sandbox)
    if missing:
        text = "; ".join(text for text, _ in missing)
        fix = "; ".join(fix for _, fix in missing)
        return Finding(check="isolation", state="warn", text=f"{text}.", fix=fix)
    text = f"User code is isolated by: {kept(sandbox)}."
    return Finding(check="isolation", state="ok", text=text)


def _probes(settings: Settings) -> Finding:
    try:
        found = asyncio.run(probe(settings))
    except ProbeError as error:
        return Finding(check="probes", state="fail", text=str(error), fix=error.fix)
    except Error as error:
        fix = "fix the finding of the check `isolation` first"
        return Finding(check="probes", state="fail", text=str(error), fix=fix)
    rows = [(PROBES[name], "reached" if there else "refused") for name, there in found.items()]
    names = {name for name, there in found.items() if there}
    text = f"User code succeeds in {len(names)} of {len(found)} attempts to leave its worker."
    if names & GRAVE:
        fix = f"{INSTALL}; until then, run only code that you trust"
        return Finding(check="probes", state="fail", text=text, fix=fix, rows=rows)
    if names - USUAL:
        return Finding(check="probes", state="warn", text=text, fix=INSTALL, rows=rows)
    return Finding(check="probes", state="ok", text=text, rows=rows)


def _limits(settings: Settings) -> Finding:
    try:
        sandbox = open_sandbox(settings)
    except Error as error:
        fix = "see the check of the isolation"
        return Finding(check="limits", state="fail", text=str(error), fix=fix)
    # Not in the data directory, which a server may be using.
    with open_places(replace(settings, data=None), sandbox) as (held, _):
        text = limits_of(held)
        groups = held.groups.kept if held.groups is not None else Kept()
    text = f"{text[0].upper()}{text[1:]}."
    if settings.cgroups == "off" or (groups.memory and groups.processes):
        return Finding(check="limits", state="ok", text=text)
    return Finding(check="limits", state="warn", text=text, fix=DELEGATE)


def _node(settings: Settings) -> Finding:  # noqa: ARG001  every check takes them
    if NODE not in find_languages():
        text = "Node.js 18 or newer is not installed, so only actions in Python can run."
        return Finding(check="nodejs", state="warn", text=text, fix="install nodejs and npm")
    if shutil.which("npm") is None:
        text = "npm is not installed, so actions cannot require openwhisk, redis or uuid."
        return Finding(check="nodejs", state="warn", text=text, fix="install npm")
    text = f"Node.js {_node_version()} and npm are installed."
    return Finding(check="nodejs", state="ok", text=text)


def _node_version() -> str:
    told = subprocess.run(["node", "--version"], capture_output=True, timeout=10, check=False)  # noqa: S607  as `find_languages`
    return told.stdout.decode(errors="replace").strip().removeprefix("v")


def _data(settings: Settings) -> Finding:
    data = settings.data
    if data is None or not data.is_dir():
        text = f"The data directory {data} does not exist yet: the first start creates it."
        return Finding(check="data", state="ok", text=text)
    if data.stat().st_uid != os.geteuid():
        text = f"The data directory {data} belongs to another user, not to the user of this check."
        fix = "run the server and this check as the directory's owner"
        return Finding(check="data", state="warn", text=text, fix=fix)
    if data.stat().st_mode & _OTHERS:
        text = f"Other users of this machine can open the data directory {data}."
        return Finding(check="data", state="warn", text=text, fix=f"chmod 700 {data}")
    text = f"Only its owner can open the data directory {data}."
    return Finding(check="data", state="ok", text=text)


def _files(settings: Settings) -> Finding:
    data = settings.data
    files = [] if data is None or not data.is_dir() else list(data.iterdir())
    secrets = (settings.auth_file, settings.tls_key)
    files += [path for path in secrets if path is not None and path.is_file()]
    opened = sorted(map(str, _readable(files)))
    if opened:
        text = (
            f"Other users can read {len(opened)} files with secrets or data, such as {opened[0]}."
        )
        return Finding(check="files", state="fail", text=text, fix=f"chmod 600 {' '.join(opened)}")
    return Finding(
        check="files", state="ok", text="Other users can read no file with secrets or data."
    )


def _readable(paths: Iterable[Path]) -> Iterator[Path]:
    """Files that other users can read, because mode of file and directory allow it."""
    for path in paths:
        found = path.lstat()
        above = path.parent.stat().st_mode
        if stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS and above & _OTHERS:
            yield path


def _open_files(settings: Settings) -> Finding:  # noqa: ARG001  every check takes them
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FILES:
        text = f"This process can open only {soft} files; many connections need {FILES} or more."
        fix = f"run ulimit -n {FILES} before the start, or set LimitNOFILE={FILES} in the systemd unit"
        return Finding(check="open files", state="warn", text=text, fix=fix)
    said = "any number of" if soft == resource.RLIM_INFINITY else soft
    return Finding(
        check="open files", state="ok", text=f"This process can open {said} files (at most {hard})."
    )


CHECKS: list[Callable[[Settings], Finding]] = [
    _isolation, _probes, _limits, worker_checks.workers, _node, machine_checks.installers,
    machine_checks.extras, _data, _files, store_checks.store, machine_checks.sync,
    machine_checks.space, machine_checks.port, _open_files,
]  # fmt: skip
