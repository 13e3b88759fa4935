"""Starts a worker by a plan: `main(plan, command)` takes from this process all that user code must not have.

The order matters: first the steps that need privileges, then the privileges go, and last the steps that cannot be
undone without privileges.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in supervisor.py
import os
import sys

from . import kernel, landlock, mounts, seccomp, supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

CONFINED = "confined"


def main(plan: dict[str, Any], command: list[str]) -> None:
    """Runs a command within a plan, in place of this process or, when it is Python's, in this process.

    Args:
        plan: `limits` by name of the resource; `supervised`; `group`: file descriptor of its processes,
            or None; `uid`; `mounts`; `landlock`;
            `scoped`; `seccomp`; `inside`: whether the command is a program in Python to be run here.
        command: the program and its arguments; nothing, to try the plan out.
    """
    if kernel.LINUX and plan["supervised"]:
        supervisor.split(plan)
    if plan["group"] is not None:
        join(plan["group"])
    limit(plan["limits"])
    confine(plan)
    os.umask(0o077)
    if not command:
        probe(plan["needs"])
    elif plan["inside"]:
        run(command)
    else:
        os.execv(command[0], command)  # noqa: S606  it is the worker, which we are there to start


def join(group: int) -> None:
    """Moves this process to a cgroup. If that fails, the server finds the group empty."""
    try:
        os.write(group, b"0")
    except OSError:
        pass
    os.close(group)


def limit(limits: dict[str, int]) -> None:
    """Sets limits for this process and all its descendants: as requested, or as high as allowed."""
    try:
        import resource
    except ImportError:  # not on this platform
        return
    for name, wished in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, hard = resource.getrlimit(kind)
        most = wished if hard == resource.RLIM_INFINITY else min(wished, hard)
        resource.setrlimit(kind, (most, most))


def confine(plan: dict[str, Any]) -> None:
    """Takes files, users, privileges and system calls from this process, as far as planned."""
    if not kernel.LINUX:
        return
    parent = os.getppid()
    if plan["mounts"] is not None:
        mounts.enter(plan["mounts"])
    if plan["uid"] is not None:
        become(plan["uid"])
    elif os.geteuid() == 0 and plan["seccomp"]:
        kernel.drop_capabilities()
    if plan["supervised"]:  # a change of the user has undone it
        kernel.die_with_parent(signal.SIGKILL, parent)
    if plan["landlock"] is None and plan["scoped"] is None and plan["seccomp"] is None:
        return
    kernel.prctl("PR_SET_NO_NEW_PRIVS", kernel.PR_SET_NO_NEW_PRIVS, 1)
    if plan["landlock"] is not None:
        landlock.restrict(**plan["landlock"])
    elif plan["scoped"] is not None:
        landlock.scope(plan["scoped"])
    if plan["seccomp"] is not None:
        seccomp.restrict(plan["seccomp"])


def become(uid: int) -> None:
    """Switches this process to another user for good; the user's group has the same number."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.prctl("PR_SET_DUMPABLE", kernel.PR_SET_DUMPABLE, 1)  # its files in /proc are its own


def probe(needs: list[str]) -> NoReturn:
    """Checks that a worker's needs can be read from within: the command of a trial."""
    for path in needs:
        if not os.access(path, os.R_OK):
            raise PermissionError(f"{path} cannot be read by the user of workers")
    with open("probe", "w", encoding="utf-8") as file:
        file.write(CONFINED)
    os.write(1, CONFINED.encode())
    os._exit(0)


def run(command: list[str]) -> None:
    """Runs a program in Python in this process, as if it had been started by itself."""
    import importlib.machinery

    path = command[0]
    code = importlib.machinery.SourceFileLoader("__main__", path).get_code("__main__")
    package = __name__.rpartition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]  # user code may have a module of that name
    program = type(sys)("__main__")
    program.__file__ = path
    sys.modules["__main__"], sys.argv = program, command
    assert code is not None  # noqa: S101  it has its source
    exec(code, program.__dict__)  # noqa: S102  this is what we are for
