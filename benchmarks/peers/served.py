"""The systems that are used over HTTP: how each is started, and asked."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from xingqiao.actions.limits import BOUNDS
from xingqiao.infra.cli.client import Client

from ..engine import NOTHING_DOC
from ..http import Connection
from ..server import API, AUTH
from . import marks
from .programs.compositions import MAILBOX, SLOW, compositions, params
from .work import ONE_STEP, Recovery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .children import Children
    from .environment import Peers
    from .work import Work

WORKERS = 4  # processes that run steps of Xingqiao, as in the other benchmarks
# One process runs Restate's steps: Restate sends nearly all of them over one connection, so that others idle, and
# a step costs this process less than half of what it costs Restate's server.
HYPERCORNS = 1
HERE = "127.0.0.1"
PROGRAMS = "benchmarks.peers.programs"


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses now."""
    sockets = [socket.create_server((HERE, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@dataclass(frozen=True, slots=True)
class Place:
    """Where a system runs: what a start after a kill finds again."""

    directory: Path
    ports: tuple[int, ...]


class Server(Protocol):
    """A system's server."""

    ports: int  # how many it needs

    async def start(self, children: Children, place: Place, works: Sequence[Work]) -> None:
        """Starts its processes, and makes the work known to a store that is new."""

    def request(self, work: Work) -> tuple[str, Any]:
        """The path and the body of a request that runs an execution and waits for its result."""

    def begins(self, recovery: Recovery, number: int) -> tuple[str, Any]:
        """The path and the body of a request that starts slow steps, answered once that is durable."""

    def expects(self, number: int) -> tuple[str, Any]:
        """The path and the body of a request that starts an execution which waits for a message."""

    def receives(self, number: int) -> tuple[str, Any]:
        """The path and the body of a request that waits for the result of such an execution; no body is a GET."""

    def tells(self, number: int, payload: Any) -> tuple[str, Any]:
        """The path and the body of a request that tells such an execution its message."""


class Xingqiao:
    """`xingqiao serve` with warm workers; steps are Python code that it runs in them."""

    ports = 1

    async def start(self, children: Children, place: Place, works: Sequence[Work]) -> None:
        """See `Server.start`."""
        fresh = not any(place.directory.iterdir())
        await children.start(
            Path(sys.executable).with_name("xingqiao"), "serve", "--port", str(place.ports[0]),
            "--data", place.directory, "--auth", AUTH, "--workers", str(WORKERS), "--isolation", "none",
        )  # fmt: skip
        await children.answering(place.ports[0])
        if fresh:
            self._deploy(place, works)

    def _deploy(self, place: Place, works: Sequence[Work]) -> None:
        most = min(Recovery().executions, BOUNDS["concurrency"][2])
        code = Path(marks.__file__).read_text("utf-8")
        slow = {"exec": {"kind": "python:3", "code": code}, "limits": {"concurrency": most}}
        with Client(f"http://{HERE}:{place.ports[0]}", AUTH) as client:
            client.put_action("nothing", NOTHING_DOC, overwrite=True)
            client.put_action("slow", slow, overwrite=True)
            for name, composition in compositions((ONE_STEP, *works), Recovery()).items():
                body = {"exec": {"kind": "composition", "composition": composition.to_json()}}
                client.put_action(name, body, overwrite=True)

    def request(self, work: Work) -> tuple[str, Any]:
        """See `Server.request`."""
        return f"{API}/actions/{work.name}?blocking=true&result=true", params(work)

    def begins(self, recovery: Recovery, number: int) -> tuple[str, Any]:
        """See `Server.begins`."""
        return f"{API}/actions/{SLOW}", recovery.payload(number)

    def expects(self, number: int) -> tuple[str, Any]:
        """See `Server.expects`."""
        return f"{API}/actions/{MAILBOX}?id=mail-{number}", {}

    def receives(self, number: int) -> tuple[str, Any]:
        """See `Server.receives`."""
        options = f"blocking=true&result=true&id=mail-{number}&on_open=use"
        return f"{API}/actions/{MAILBOX}?{options}", {}

    def tells(self, number: int, payload: Any) -> tuple[str, Any]:
        """See `Server.tells`."""
        return f"{API}/executions/mail-{number}/messages/go", payload


class Dbos:
    """DBOS in a server of its users' kind: uvicorn, with httptools and uvloop."""

    ports = 1

    def __init__(self, peers: Peers) -> None:
        self._python = peers.python

    async def start(self, children: Children, place: Place, works: Sequence[Work]) -> None:  # noqa: ARG002
        """Starts the server; workflows that were under way go on."""
        await children.start(
            self._python, "-m", "uvicorn", f"{PROGRAMS}.dbos_served:app", "--host", HERE,
            "--port", str(place.ports[0]), "--no-access-log", "--log-level", "warning",
            env={"DBOS_DIRECTORY": str(place.directory)},
        )  # fmt: skip
        await children.answering(place.ports[0])

    def request(self, work: Work) -> tuple[str, Any]:
        """See `Server.request`."""
        return f"/{work.shape}", {"n": work.n, "payload": work.payload}

    def begins(self, recovery: Recovery, number: int) -> tuple[str, Any]:
        """See `Server.begins`."""
        return "/begin", {"n": recovery.steps, "payload": recovery.payload(number)}

    def expects(self, number: int) -> tuple[str, Any]:
        """See `Server.expects`."""
        return "/expect", {"number": number}

    def receives(self, number: int) -> tuple[str, Any]:
        """See `Server.receives`."""
        return "/received", {"number": number}

    def tells(self, number: int, payload: Any) -> tuple[str, Any]:
        """See `Server.tells`."""
        return "/tell", {"number": number, "payload": payload}


class Restate:
    """Restate's server, and the service that runs the steps, behind hypercorn as Restate advises."""

    ports = 4  # ingress, admin, between nodes; the service's

    def __init__(self, peers: Peers) -> None:
        self._python, self._server = peers.python, peers.restate_server

    async def start(self, children: Children, place: Place, works: Sequence[Work]) -> None:  # noqa: ARG002
        """Starts both, and registers the service, if the store has no registration yet."""
        fresh = not any(place.directory.iterdir())
        ingress, admin, fabric, service = place.ports
        await children.start(
            self._server, "--no-logo", "--node-name", "peers", "--base-dir", place.directory,
            "--listen-mode", "tcp", "--bind-ip", HERE, "--bind-port", str(fabric),
            "--log-filter", "warn",
            env={
                "RESTATE_INGRESS__BIND_ADDRESS": f"{HERE}:{ingress}",
                "RESTATE_ADMIN__BIND_ADDRESS": f"{HERE}:{admin}",
                "RESTATE_DISABLE_TELEMETRY": "true",
            },
        )  # fmt: skip
        await children.start(
            self._python, "-m", "hypercorn", "--config", f"python:{PROGRAMS}.restate_settings",
            "--bind", f"{HERE}:{service}", "--workers", str(HYPERCORNS),
            f"{PROGRAMS}.restate_served:app",
        )  # fmt: skip
        for port in (service, admin, ingress):
            await children.answering(port)
        if fresh:
            await _register(admin, f"http://{HERE}:{service}")

    def request(self, work: Work) -> tuple[str, Any]:
        """See `Server.request`."""
        return f"/peers/{work.shape}", {"n": work.n, "payload": work.payload}

    def begins(self, recovery: Recovery, number: int) -> tuple[str, Any]:
        """See `Server.begins`. `send` is answered once the call is in Restate's log."""
        asked = {"n": recovery.steps, "payload": recovery.payload(number)}
        return "/peers/slowly/send", asked

    def expects(self, number: int) -> tuple[str, Any]:
        """See `Server.expects`."""
        return f"/mailbox/mail-{number}/run/send", {}

    def receives(self, number: int) -> tuple[str, Any]:
        """See `Server.receives`."""
        return f"/restate/workflow/mailbox/mail-{number}/attach", None

    def tells(self, number: int, payload: Any) -> tuple[str, Any]:
        """See `Server.tells`. Resolves a promise of the workflow."""
        return f"/mailbox/mail-{number}/tell", payload


async def _register(admin: int, service: str) -> None:
    """Tells Restate of a service."""
    async with Connection(f"http://{HERE}:{admin}", AUTH) as connection:
        body = json.dumps({"uri": service}).encode()
        status, answer = await connection.post("/deployments", body)
    if status not in {200, 201}:
        raise RuntimeError(f"Restate does not register the service: {status} {answer[:500]!r}")
