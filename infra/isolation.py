"""How workers are kept apart here: what is found, what is said of it, and what is refused without it."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from ..actions.runtimes import (
    Groups,
    Kept,
    Room,
    SandboxError,
    Users,
    few_files,
    find_sandbox,
    open_groups,
    open_homes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ..actions.runtimes import Sandbox
    from .settings import Settings

log = logging.getLogger(__name__)

INSTALL = "install bubblewrap (apt install bubblewrap)"
INSIST = "say --isolation process (XINGQIAO_ISOLATION=process)"


def open_sandbox(settings: Settings) -> Sandbox:
    """The sandbox that settings ask for.

    Raises:
        SandboxError: when it cannot be had, or there are too few user ids for so many workers.
    """
    hidden = [path.resolve() for path in (settings.data, settings.items_dir) if path is not None]
    users = Users(settings.worker_uids) if settings.worker_uids else None
    if users is not None and len(users.all) < 2 * settings.workers:  # some are ending
        raise SandboxError(
            f"worker_uids has {len(users.all)} user ids: {settings.workers} workers need "
            f"{2 * settings.workers}, because those that end keep theirs for a moment"
        )
    room = Room(processes=settings.worker_processes, disk_mb=settings.worker_disk_mb)
    return find_sandbox(settings.isolation, hidden, users, room)


def home_of(settings: Settings, sandbox: Sandbox) -> Path | None:
    """Where workers have their directories; None for the system's temporary directory.

    Another user cannot reach into the data directory, unless mounts show it the way.
    """
    reached = sandbox.bubblewrap or sandbox.confinement.mounts or sandbox.confinement.users is None
    return settings.data.resolve() if settings.data is not None and reached else None


@contextlib.contextmanager
def open_places(settings: Settings, sandbox: Sandbox) -> Iterator[tuple[Sandbox, Path]]:
    """The sandbox with the cgroups that can be made here, and a directory for workers' directories."""
    with open_homes(home_of(settings, sandbox)) as homes:
        if settings.cgroups == "off":
            groups = Groups(None, None, Kept(why="the settings turn cgroups off"))
            yield replace(sandbox, groups=groups), homes
            return
        with open_groups(homes) as groups:
            yield replace(sandbox, groups=groups), homes


def limits_of(sandbox: Sandbox) -> str:
    """How the limits of workers are kept, in one line."""
    kept = Kept() if sandbox.groups is None else sandbox.groups.kept
    parts = {
        "memory": kept.memory,
        "processes": kept.processes,
        "survivors": kept.survivors,
        "disk": False,
    }
    held = ", ".join(name for name, there in parts.items() if there) or "nothing"
    watched = ", ".join(name for name, there in parts.items() if not there)
    why = f" ({kept.why})" if kept.why else ""
    return f"limits of workers: held by cgroups: {held}; watched from outside: {watched}{why}"


def warn(settings: Settings, sandbox: Sandbox) -> None:
    """Says in the log what is missing, and what to do about it: a line each."""
    for text, fix in lacks(settings, sandbox):
        log.warning("%s: %s", text, fix)
    files = few_files()
    if files is not None:
        log.warning("%s", files)


def lacks(settings: Settings, sandbox: Sandbox) -> Sequence[tuple[str, str]]:
    """What isolation is missing, each with its fix."""
    found = []
    if sandbox.bubblewrap is None and settings.isolation == "auto":
        text = (
            "ISOLATION IS REDUCED, because bubblewrap does not work here: user code runs in plain "
            f"processes with {kept(sandbox)}"
        )
        found.append((text, f"{INSTALL}, or {INSIST} to accept that"))
    if settings.isolation == "none":
        text = (
            "ISOLATION IS OFF, because the settings say so: every action can do what this server's user "
            "can, and read the operator's credentials and the store"
        )
        found.append((text, "take --isolation none away unless you trust all code"))
    lacking = sandbox.confinement.lacking
    if lacking:
        text = f"user code runs as root, without root's privileges ({lacking})"
        fix = (
            "install Python and Xingqiao where every user can read them, or run the server as a user "
            "without privileges"
        )
        found.append((text, fix))
    return found


def kept(sandbox: Sandbox) -> str:
    """What keeps workers apart, in a few words."""
    confinement = sandbox.confinement
    parts = {
        "bubblewrap": sandbox.bubblewrap is not None,
        "a user id each": confinement.users is not None,
        "a file system view each": confinement.mounts,
        f"Landlock {confinement.landlock}": confinement.landlock > 0,
        "a filter of system calls": confinement.seccomp is not None,
    }
    return (
        ", ".join(name for name, there in parts.items() if there) or "nothing but their own process"
    )


def why_alone(settings: Settings, sandbox: Sandbox) -> str:
    """Why there may be only one namespace besides the operator's; "" when there may be more."""
    if settings.isolation != "auto" or sandbox.bubblewrap is not None:
        return ""
    return (
        "without bubblewrap, actions of several namespaces are not kept apart well enough: "
        f"{INSTALL} on the server and start it again, or {INSIST} to accept plain processes"
    )
