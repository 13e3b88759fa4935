"""Landlock: a process gives up files that its user may open.

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCOPES_SINCE = 6  # the edition that keeps signals and abstract sockets inside
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_EDITION = 1
_BENEATH = 1

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 5: 0xFFFF}  # that editions know, from each on
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_SEEN = _EXECUTE | _READ | _LIST
_SCOPES = 0b11  # abstract Unix sockets, signals

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
PRIVATE = ("/tmp", "/var/tmp", "/dev", "/run/user", "/home", "/root")  # noqa: S108  others' things lie there
MANY = (
    4096  # names in a directory: with more than that beside a hidden one its entries are not listed
)


def edition() -> int:
    """This kernel's edition of Landlock; 0 if it has none."""
    if not kernel.LINUX:
        return 0
    return max(0, int(kernel.libc.syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), 1)))


def restrict(
    edition: int, writable: Iterable[str], needs: Iterable[str], hidden: list[str]
) -> None:
    """Leaves this process read access to all that is not hidden, and `writable`. It must have no_new_privs."""
    rights = _RIGHTS[max(known for known in _RIGHTS if known <= edition)]
    ruleset = _ruleset(rights, edition)
    for path in (*_visible("/", [*hidden, *PRIVATE]), *needs, "/dev/pts"):
        _allow(ruleset, path, _SEEN)
    for name in DEVICES:
        _allow(ruleset, f"/dev/{name}", rights & (_READ | _WRITE | _TRUNCATE | _IOCTL))
    for path in writable:
        _allow(ruleset, path, rights & ~_IOCTL)
    _enter(ruleset)


def scope(edition: int) -> None:
    """Keeps signals and abstract sockets inside, if the kernel can; files stay as they are."""
    if edition >= SCOPES_SINCE:
        _enter(_ruleset(0, edition))


def _ruleset(rights: int, edition: int) -> int:
    attributes = struct.pack("QQQ", rights, 0, _SCOPES if edition >= SCOPES_SINCE else 0)
    size = ctypes.c_size_t(len(attributes) if edition >= SCOPES_SINCE else 8)
    return kernel.syscall("landlock_create_ruleset", _CREATE, ctypes.c_char_p(attributes), size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # there is nothing to allow
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, opened)
        kernel.syscall("landlock_add_rule", _ADD, ruleset, _BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(opened)


def _enter(ruleset: int) -> None:
    kernel.syscall("landlock_restrict_self", _RESTRICT, ruleset, 0)
    os.close(ruleset)


def _visible(directory: str, hidden: list[str]) -> Iterator[str]:
    """The paths below a directory that are not below a hidden one, as few as possible."""
    within = [path for path in hidden if path.startswith(directory.rstrip("/") + "/")]
    if not within:
        yield directory
        return
    try:
        names = os.listdir(directory)
    except OSError:
        return
    if len(names) > MANY:
        return
    for name in names:
        path = os.path.join(directory, name)
        # The target of a link is allowed, or not, by its own place.
        if path not in within and not os.path.islink(path):
            yield from _visible(path, within)
