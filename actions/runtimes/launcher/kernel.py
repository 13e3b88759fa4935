"""Linux' system calls that Python does not have, by ctypes."""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

LINUX = sys.platform == "linux"
_CAPABILITIES_3 = 0x20080522

libc: Any = ctypes.CDLL(None, use_errno=True)


def checked(what: str, result: int) -> int:
    """The result of a call of `libc`.

    Raises:
        OSError: the call has failed. The text names the call.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: Any) -> int:
    """Calls the kernel by number. Raises OSError if it refuses."""
    return checked(what, libc.syscall(ctypes.c_long(number), *arguments))


def prctl(what: str, option: int, *values: Any) -> int:
    """Calls `prctl`. Raises OSError if it refuses."""
    padded = [*values, *[0] * (4 - len(values))]
    passed = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in padded]
    return checked(what, libc.prctl(ctypes.c_int(option), *passed))


def die_with_parent(number: int, parent: int) -> None:
    """Sends this process a signal when its parent dies, or at once if the parent has died already."""
    prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def drop_capabilities() -> None:
    """Gives up all privileges of root beyond the files' modes."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked("capset", libc.capset(header, nothing))


def children(pid: int) -> list[int]:
    """The living processes that a process, or one of its threads, has started."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has ended meanwhile
    return found


def descendants(pid: int) -> list[int]:
    """All descendants of a process."""
    found, fresh = [], children(pid)
    while fresh:
        child = fresh.pop()
        found.append(child)
        fresh += children(child)
    return found
