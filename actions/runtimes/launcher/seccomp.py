"""System calls that actions do not need, and with which attacks on the kernel or other processes begin.

They fail with EPERM. The list is Docker's, as far as it needs no privilege: tracing, mounts, namespaces,
keys, programs for the kernel, clocks, modules; and System V's shared memory, which outlives processes. There is
a filter for x86-64 and arm64 only. https://docs.docker.com/engine/security/seccomp/
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

_MODE_FILTER = 2
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FLAGS = 0, 4, 16  # their places in the data of a filter
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW...: user, mount, pid, network, ipc, uts, cgroup, time

_X86_64, _AARCH64 = "x86_64", "aarch64"
_AUDIT = {_X86_64: 0xC000003E, _AARCH64: 0xC00000B7}
_X32 = 0x40000000  # numbers from here on are of another calling convention of x86-64
_CLONE = {_X86_64: 56, _AARCH64: 220}
_CLONE3 = 435  # its flags lie in memory, which a filter cannot see: libc falls back to clone

# By name, the numbers on x86-64 and arm64.
_REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "open_by_handle_at": (304, 265), "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262), "syslog": (103, 116), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
    "sethostname": (170, 161), "setdomainname": (171, 162),
}  # fmt: skip
_REFUSED_X86_64 = (172, 173)  # iopl, ioperm


def machine() -> str | None:
    """The machine, if its numbers are known and its kernel has filters; else None."""
    found = os.uname().machine
    if not kernel.LINUX or found not in _AUDIT:
        return None
    try:
        kernel.prctl("PR_GET_SECCOMP", kernel.PR_GET_SECCOMP)
    except OSError:
        return None
    return found


def restrict(machine: str) -> None:
    """Sets the filter for this process and all its descendants. It must have no_new_privs."""
    code = _program(machine)
    instructions = ctypes.create_string_buffer(b"".join(code), len(code) * 8)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(instructions))
    kernel.prctl("PR_SET_SECCOMP", kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(program))


def _program(machine: str) -> list[bytes]:
    """The filter as BPF: each test either answers at once or goes on with the next."""
    refused = [numbers[machine == _AARCH64] for numbers in _REFUSED.values()]
    code = [_step(_LOAD, _ARCHITECTURE), *_unless(_AUDIT[machine], _EPERM), _step(_LOAD, _NUMBER)]
    if machine == _X86_64:
        refused += _REFUSED_X86_64
        code += [_step(_AT_LEAST, _X32, 0, 1), _refuse(_EPERM)]
    for number in refused:
        code += [_step(_EQUAL, number, 0, 1), _refuse(_EPERM)]
    code += [_step(_EQUAL, _CLONE3, 0, 1), _refuse(_ENOSYS)]
    code += [_step(_EQUAL, _CLONE[machine], 0, 3), _step(_LOAD, _FLAGS)]
    code += [_step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _refuse(_EPERM)]
    return [*code, _step(_RETURN, _ALLOW)]


def _unless(value: int, error: int) -> list[bytes]:
    return [_step(_EQUAL, value, 1, 0), _refuse(error)]


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERRNO | error)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
