"""A view of the file system for a worker that root starts, as bubblewrap's but without bubblewrap."""

from __future__ import annotations

import ctypes
import os

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEW_MOUNTS, _NEW_UTS, _NEW_IPC = 0x00020000, 0x04000000, 0x08000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 32, 4096, 16384, 1 << 18


def enter(plan: dict[str, Any]) -> None:
    """Hides `hidden`, puts `needs` and `directory` back, and mounts `private` over the directories all users share.

    Args:
        plan: lists of paths; `private` has the directory to mount for each path.
    """
    os.umask(0o022)  # of the directories that are made on the way
    kernel.checked("unshare", kernel.libc.unshare(_NEW_MOUNTS | _NEW_UTS | _NEW_IPC))
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    needs = [(path, _opened(path)) for path in plan["needs"]]
    directory, home = plan["directory"], _opened(plan["directory"])
    private = [(path, _opened(source)) for path, source in plan["private"].items()]
    for path, source in private:
        _put(source, path)
    for path in plan["hidden"]:
        os.makedirs(path, exist_ok=True)
        _mount("tmpfs", path, "tmpfs", _NO_SETUID | _NO_DEVICES, "mode=0755,size=1m")
    for path, source in needs:
        _put(source, path, read_only=True)
    _put(home, directory)
    os.chdir(directory)  # its old place is covered now
    _hide_processes()


def _hide_processes() -> None:
    """Shows a user its own processes only, if the kernel can (5.8)."""
    flags = _NO_SETUID | _NO_DEVICES | _NO_EXEC
    try:
        _mount("proc", "/proc", "proc", flags, "hidepid=invisible")
    except OSError:
        pass  # then it sees the names of other processes


def _opened(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _put(source: int, path: str, *, read_only: bool = False) -> None:
    found = f"/proc/self/fd/{source}"
    if os.path.isdir(found):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    _mount(found, path, None, _BIND | _RECURSIVE)
    if read_only:
        _mount(None, path, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SETUID)
    os.close(source)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    passed = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = kernel.libc.mount(*passed, ctypes.c_ulong(flags), data.encode() or None)
    kernel.checked(f"mount {target}", result)
