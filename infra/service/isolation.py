"""Isolation of workers on this machine: the sandbox in use, warnings about gaps, and refusals."""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...actions.runtimes import (
    Cook,
    Groups,
    Keeping,
    Kept,
    Room,
    SandboxError,
    Users,
    few_files,
    find_sandbox,
    open_groups,
    open_homes,
)
from ..settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...actions.runtimes import Sandbox
    from ..settings import Settings

log = logging.getLogger(__name__)

ENVIRONMENTS = "environments"  # in the data directory
INSTALL = "install bubblewrap (apt install bubblewrap)"
INSIST = "give --isolation process (XINGQIAO_ISOLATION=process)"


def open_sandbox(settings: Settings) -> Sandbox:
    """The sandbox that the settings select.

    Raises:
        SandboxError: the sandbox is not available, or there are too few user ids for the workers.
    """
    hidden = [path.resolve() for path in (settings.data, settings.items_dir) if path is not None]
    users = Users(settings.worker_uids) if settings.worker_uids else None
    if users is not None and len(users.all) < 2 * settings.workers:  # some are ending
        raise SandboxError(
            f"worker_uids has only {len(users.all)} user ids: {settings.workers} workers need "
            f"{2 * settings.workers}, because a worker keeps its id for a moment after its end. Widen "
            "XINGQIAO_WORKER_UIDS or lower --workers"
        )
    room = Room(processes=settings.worker_processes, disk_mb=settings.worker_disk_mb)
    return find_sandbox(settings.isolation, hidden, users, room)


def home_of(settings: Settings, sandbox: Sandbox) -> Path | None:
    """Parent of the workers' directories; None for the system's temporary directory.

    A worker with a user id of its own cannot enter the data directory, unless mounts expose it.
    """
    reached = sandbox.bubblewrap or sandbox.confinement.mounts or sandbox.confinement.users is None
    return settings.data.resolve() if settings.data is not None and reached else None


def packages_home(settings: Settings, sandbox: Sandbox) -> Path:
    """Directory of the packages of actions: in the data directory, or if there is none, in the user's cache.

    Workers that cannot enter these directories have their packages in the cache of the machine.
    """
    if settings.environments is not None:
        return settings.environments
    if settings.data is not None and home_of(settings, sandbox) is not None:
        return settings.data.resolve() / ENVIRONMENTS
    cache = Path("/var/cache")
    if sandbox.confinement.users is None:  # or the server is root
        with contextlib.suppress(RuntimeError):  # neither HOME nor a name, as in some containers
            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "xingqiao" / ENVIRONMENTS


def cook_of(settings: Settings) -> Cook:
    """Recipes for the packages of actions.

    Raises:
        SettingsError: the directory of wheels does not exist.
    """
    if settings.wheels is not None and not settings.wheels.is_dir():
        raise SettingsError(f"wheels must be a directory, and {settings.wheels} is none")
    return Cook(settings.wheels)


def keeping_of(settings: Settings) -> Keeping:
    """Limits of the packages of actions."""
    return Keeping(
        install_s=settings.install_s,
        most_mb=settings.environments_mb,
        days=settings.environments_days,
    )


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
    """One line about how the limits of workers are enforced."""
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
    """Logs each gap in the isolation with its fix, one line each."""
    for text, fix in lacks(settings, sandbox):
        log.warning("%s: %s", text, fix)
    files = few_files()
    if files is not None:
        log.warning("%s", files)


def lacks(settings: Settings, sandbox: Sandbox) -> Sequence[tuple[str, str]]:
    """Gaps in the isolation, as (text, fix)."""
    found = []
    if sandbox.bubblewrap is None and settings.isolation == "auto":
        text = (
            "ISOLATION IS REDUCED: bubblewrap is missing or does not work, so user code runs in plain "
            f"processes with {kept(sandbox)}"
        )
        found.append((text, f"{INSTALL}, or {INSIST} to accept that"))
    if settings.isolation == "none":
        text = (
            "ISOLATION IS OFF, as configured: every action has the rights of this server's user and can "
            "read the operator's credentials and the store"
        )
        found.append((text, "remove --isolation none unless you trust all code"))
    if settings.isolation != "none" and _shares_files(sandbox):
        text = (
            "USER CODE CAN READ THE SERVER'S FILES: without bubblewrap and Landlock, workers run as the "
            "server's user, so every action can read the operator's credentials and the store"
        )
        fix = f"{INSTALL}, use a kernel with Landlock (5.13 or newer), or run only code that you trust"
        found.append((text, fix))
    lacking = sandbox.confinement.lacking
    if lacking:
        text = f"user code runs as root, without root's privileges ({lacking})"
        fix = (
            "install Python and Xingqiao where every user can read them, or run the server as a user "
            "without privileges"
        )
        found.append((text, fix))
    return found


def _shares_files(sandbox: Sandbox) -> bool:
    """True if nothing keeps workers from the files of the server's user."""
    confinement = sandbox.confinement
    apart = confinement.users is not None or confinement.mounts or confinement.landlock > 0
    return sandbox.bubblewrap is None and not apart


def kept(sandbox: Sandbox) -> str:
    """Short list of the mechanisms that isolate workers."""
    confinement = sandbox.confinement
    parts = {
        "bubblewrap": sandbox.bubblewrap is not None,
        "separate user ids": confinement.users is not None,
        "separate file system views": confinement.mounts,
        f"Landlock {confinement.landlock}": confinement.landlock > 0,
        "a system call filter": confinement.seccomp is not None,
    }
    return ", ".join(name for name, there in parts.items() if there) or "separate processes only"


def single_namespace_reason(settings: Settings, sandbox: Sandbox) -> str:
    """Reason to allow only one namespace besides the operator's; "" if more are allowed."""
    if settings.isolation != "auto" or sandbox.bubblewrap is not None:
        return ""
    return (
        "without bubblewrap, actions of different namespaces are not isolated from each other well enough: "
        f"{INSTALL} on the server and start it again, or {INSIST} to accept plain processes"
    )
