"""The parent of a worker: it ends all that the worker has started, also processes that have left its session."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` imports much, and is waited for
import os

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOMENT_S = 0.005  # that is waited for processes to die before those that have come meanwhile are looked for
_AWAITED = {signal.SIGTERM, signal.SIGCHLD}
_PIPES = (0, 1, 2)


def split(plan: dict[str, Any]) -> None:
    """Returns in a new process. The old one stays behind, and ends when the new one has ended or SIGTERM comes.

    An orphan's parent is the nearest ancestor that has asked for orphans, so no descendant can escape.
    """
    supervisor = os.getpid()
    kernel.prctl("PR_SET_CHILD_SUBREAPER", kernel.PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    kernel.die_with_parent(signal.SIGTERM, plan["server"])
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL, supervisor)
        return
    for fd in (*_PIPES, *plan["fds"]):  # the server must see it when the worker closes them
        os.close(fd)
    status = _waited(worker)
    _end_all(plan["uid"])
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF if status is not None else 0)


def _waited(worker: int) -> int | None:
    """The exit status of the worker; None if the server wants it to end."""
    while True:
        while True:
            pid, status = _reaped()
            if pid == worker:
                return status
            if pid <= 0:
                break
        if signal.sigwait(_AWAITED) == signal.SIGTERM:
            return None


def _reaped() -> tuple[int, int]:
    """A child that has ended; 0 if none has, -1 if there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return -1, 0


def _end_all(uid: int | None) -> None:
    while True:
        if uid is not None:
            _end_user(uid)
        for pid in kernel.descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        pid = 1
        while pid > 0:
            pid, _ = _reaped()
        if pid < 0:
            return
        signal.sigtimedwait({signal.SIGCHLD}, _MOMENT_S)


def _end_user(uid: int) -> None:
    """Ends every process of a user at once, so that one that forks without end cannot be faster."""
    killer = os.fork()
    if killer == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(killer, 0)
