"""Probes: attempts of user code to leave its worker, run for real on this machine.

`xingqiao doctor` shows the results and the attack tests measure them. A probe that succeeds does no harm:
it reads decoys, tests a permission, or reverts its change.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...actions import PYTHON, Invocation, define_action
from ...actions.runtimes import Bounds, WorkerPool, WorkerSettings
from ...composer import Error, Failure, Name
from ..clock import SystemClock
from .isolation import open_places, open_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...actions import Completion
    from ...composer import JSON
    from ..settings import Settings

VARIABLE = "XINGQIAO_PROBED"  # a decoy in the server's environment
PROBES = {
    "key": "read the operator's credentials",
    "store": "read the store",
    "mode": "change the mode of the store",
    "data": "list the data directory",
    "planted": "read another worker's files",
    "plant": "write another worker's files",
    "home": "read the home directory of the server's user",
    "outside": "write to a directory of the server's user",
    "shadow": "read /etc/shadow",
    "tmp_read": "read other users' files in /tmp",
    "tmp_write": "write to the /tmp that other users see",
    "environment": "read the server's environment",
    "other_environment": "read another worker's environment",
    "inherited": "find the server's variables in its own environment",
    "names": "read the server's command line",
    "signal": "send a signal to the server",
    "other_signal": "send a signal to another worker",
    "trace": "trace another worker",
    "memory": "read another worker's memory",
    "namespace": "create a user namespace",
    "mount": "mount a file system",
    "kernel": "load a BPF program, count events, use keyrings",
    "gain": "gain privileges from a setuid program",
    "rights": "use privileges of root",
    "user": "act as the server's user",
    "shared_memory": "create System V shared memory",
    "abstract": "connect to an abstract Unix socket of the server",
    "socket": "connect to a Unix socket by path",
    "connect": "connect to a TCP service of this machine",
    "listen": "listen on a TCP port",
}

_CODE = r'''
import ctypes, os, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"


def call(x86_64, arm64, *arguments):
    ctypes.set_errno(0)
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return libc.syscall(ctypes.c_long(arm64 if ARM else x86_64), *passed), ctypes.get_errno()


def read(path):
    with open(path, "rb") as file:
        return file.read(1)


def write(path):
    with open(path, "w") as file:
        file.write("x")
    return True


def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name + ":"):
            return line.split()[1]


def connected(family, address):
    with socket.socket(family) as made:
        made.settimeout(5)
        made.connect(address)
    return True


def signalled(pid):
    os.kill(pid, 0)
    return True


def bound():
    here = os.fsencode(os.getcwd())
    made = libc.mount(here, here, None, ctypes.c_ulong(4096), None) == 0
    return made and libc.umount2(here, 2) == 0


def seen(pid):
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(4096, 8)
    return call(310, 270, pid, local, 1, remote, 1, 0)[1] == 14  # allowed, but nothing lies there


def kernel():
    refused = {0: False, 1: False, 38: False}
    bpf = call(321, 280, 0, 0, 0)[1]
    perf = call(298, 241, 0, 0, -1, -1, 0)[1]
    keys = call(250, 219, 0, -3, 0)
    return refused.get(bpf, True) or refused.get(perf, True) or keys[0] >= 0


def left():
    made, _ = call(29, 194, 0, 4096, 0o600)
    return made >= 0 and call(31, 195, made, 0, None)[0] == 0


TRIED = {
    "key": lambda p: read(p["key"]),
    "store": lambda p: read(p["store"]),
    "mode": lambda p: os.chmod(p["store"], 0o600) is None,
    "data": lambda p: set(os.listdir(p["data"])) - {"workers"},
    "planted": lambda p: read(p["planted"]),
    "plant": lambda p: write(p["plant"]),
    "home": lambda p: read(p["home"]),
    "outside": lambda p: write(p["outside"]),
    "shadow": lambda p: read("/etc/shadow"),
    "tmp_read": lambda p: read(p["tmp_read"]),
    "environment": lambda p: read("/proc/%d/environ" % p["server"]),
    "other_environment": lambda p: read("/proc/%d/environ" % p["other"]),
    "inherited": lambda p: p["variable"] in os.environ,
    "names": lambda p: read("/proc/%d/cmdline" % p["server"]),
    "signal": lambda p: signalled(p["server"]),
    "other_signal": lambda p: signalled(p["other"]),
    "trace": lambda p: call(101, 117, 0x4206, p["other"], 0, 0)[0] == 0,
    "memory": lambda p: seen(p["other"]),
    "namespace": lambda p: call(272, 97, 0x10000000)[0] == 0,
    "mount": lambda p: bound(),
    "kernel": lambda p: kernel(),
    "gain": lambda p: status("NoNewPrivs") == "0",
    "rights": lambda p: int(status("CapEff"), 16),
    "user": lambda p: os.getuid() == p["uid"],
    "shared_memory": lambda p: left(),
    "abstract": lambda p: connected(socket.AF_UNIX, "\0" + p["abstract"]),
    "socket": lambda p: connected(socket.AF_UNIX, p["socket"]),
    "connect": lambda p: connected(socket.AF_INET, ("127.0.0.1", p["port"])),
    "listen": lambda p: socket.create_server(("127.0.0.1", 0)),
}


def reached(probe, params):
    """True if a probe succeeds; it runs in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            found = bool(probe(params))
        except BaseException:
            found = False
        os._exit(found)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def main(params):
    found = {name: reached(probe, params) for name, probe in TRIED.items()}
    try:
        write(params["tmp_write"])
    except OSError:
        pass
    return found
'''
_OTHER = (
    "import os\n"
    "def main(params):\n"
    "    open('planted', 'w').write('x')\n"
    "    return {'directory': os.getcwd()}\n"
)


class ProbeError(Error):
    """The probes cannot be run; the text gives the reason, and `fix` the remedy."""

    def __init__(
        self, text: str, fix: str = "fix the finding of the check `isolation` first"
    ) -> None:
        super().__init__(text)
        self.fix = fix


async def probe(settings: Settings) -> dict[str, bool]:
    """Runs all probes under these settings, with a decoy as the data directory.

    Returns:
        For each name of `PROBES`: True if user code succeeded.

    Raises:
        SandboxError: the configured sandbox is not available.
        ProbeError: a worker or a decoy cannot be made.
    """
    with _decoys() as (decoyed, targets):
        settings = decoyed(settings)
        with open_places(settings, open_sandbox(settings)) as (sandbox, homes):
            async with WorkerPool(
                sandbox, SystemClock(), WorkerSettings(directory=homes), Bounds(size=2)
            ) as pool:
                other = await run_code(pool, "other", _OTHER, {})
                directory = Path(other["directory"])
                params = {
                    **targets,
                    "planted": str(directory / "planted"),
                    "plant": str(directory / "plant"),
                    "other": _working_in(directory),
                }
                found: dict[str, bool] = await run_code(pool, "guest", _CODE, params)
        outside = {"tmp_write": Path(targets["tmp_write"]).exists()}  # noqa: ASYNC240  a short call
        return {name: {**found, **outside}[name] for name in PROBES}


async def run_code(
    pool: WorkerPool, namespace: str, code: str, params: dict[str, JSON], kind: str = PYTHON
) -> Any:
    """Runs an action in a namespace. Returns the result.

    Raises:
        ProbeError: the action fails.
    """
    done: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
    document: JSON = {"exec": {"kind": kind, "code": code}}
    action = define_action(Name.parse("probe").within(namespace), document, None, 1)
    activation = secrets.token_hex(16)
    asked = Invocation(
        activation=activation, action=action, params=params, namespace=namespace, token=""
    )
    pool.invoke(asked, done.set_result)
    outcome = (await done).outcome
    if isinstance(outcome, Failure):
        raise ProbeError(f"code cannot be run in a worker: {outcome.code}: {outcome.error}")
    return outcome.value


def _working_in(directory: Path) -> int:
    """The id of the process whose current directory this is, in this process's namespace."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == directory and (process / "exe").readlink():
                return int(process.name)
    raise ProbeError(
        f"no process in /proc works in {directory}: check that /proc is mounted and readable"
    )


@contextlib.contextmanager
def _decoys() -> Iterator[tuple[Callable[[Settings], Settings], dict[str, Any]]]:
    """Creates decoys (files, sockets, a variable) and removes them at the end."""
    name = f"xingqiao-probe-{secrets.token_hex(8)}"
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="xingqiao-probe-")))
        data, outside = base / "data", base / "outside"
        for directory in (data, outside):
            directory.mkdir(mode=0o700)
        temporary = Path(tempfile.gettempdir())
        files = [data / "operator", data / "store", Path.home() / f".{name}", temporary / name]
        for file in files:
            with contextlib.suppress(OSError):  # a home directory that cannot be written
                file.write_text("x", "utf-8")
                file.chmod(0o600)
            stack.callback(file.unlink, missing_ok=True)
        written = temporary / f"{name}.written"
        stack.callback(written.unlink, missing_ok=True)
        abstract, by_path, service = (
            stack.enter_context(contextlib.closing(socket.socket(family)))
            for family in (socket.AF_UNIX, socket.AF_UNIX, socket.AF_INET)
        )
        abstract.bind(f"\0{name}")
        try:
            by_path.bind(str(outside / "socket"))
        except OSError as error:
            text = f"A socket cannot be created in the temporary directory {temporary}: {error}."
            fix = (
                "set TMPDIR to a directory that can be written and has a shorter path, such as /tmp"
            )
            raise ProbeError(text, fix) from error
        service.bind(("127.0.0.1", 0))
        for listening in (abstract, by_path, service):
            listening.listen()
        os.environ[VARIABLE] = "x"
        stack.callback(os.environ.pop, VARIABLE)
        yield (
            partial(replace, data=data, items_dir=None),
            {
                "key": str(files[0]),
                "store": str(files[1]),
                "data": str(data),
                "home": str(files[2]),
                "outside": str(outside / "written"),
                "tmp_read": str(files[3]),
                "tmp_write": str(written),
                "server": os.getpid(),
                "variable": VARIABLE,
                "uid": os.getuid(),
                "abstract": name,
                "socket": str(outside / "socket"),
                "port": service.getsockname()[1],
            },
        )
