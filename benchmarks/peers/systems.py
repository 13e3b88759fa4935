"""What is compared: systems in the same process as their load, and systems behind HTTP."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from ..figures import run_load
from ..http import Connection
from ..server import AUTH
from . import load, mail, recovering, served
from .children import ChildError, Children
from .served import HERE, PROGRAMS, Place, free_ports

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

    from .environment import Peers
    from .served import Server
    from .work import Load, Mail, Recovery, Work

    Figures = dict[str, float]


class System(Protocol):
    """A way to run durable steps. Each measurement has processes and a store of its own, and ends them."""

    async def measure(self, load: Load) -> Figures:
        """Measures it: see `load.measure` for the figures."""

    async def recover(self, recovery: Recovery) -> Figures:
        """Kills it and starts it again: see `recovering.recover` for the figures."""

    async def receive(self, mail: Mail) -> Figures:
        """Tells its executions messages: see `mail.measure` for the figures."""


PEERS = ("dbos", "restate-http", "dbos-http")


def ours() -> dict[str, System]:
    """Xingqiao's forms, by the names that the tables use."""
    return {
        "xingqiao": InProcess(Path(sys.executable), f"{PROGRAMS}.xingqiao_inside"),
        "xingqiao-http": OverHttp(served.Xingqiao()),
    }


def others(peers: Peers) -> dict[str, System]:
    """The others' forms, by the names in `PEERS`."""
    return {
        "dbos": InProcess(peers.python, f"{PROGRAMS}.dbos_inside"),
        "restate-http": OverHttp(served.Restate(peers)),
        "dbos-http": OverHttp(served.Dbos(peers)),
    }


@asynccontextmanager
async def _fresh() -> AsyncIterator[tuple[Children, Path]]:
    """An empty directory for a store, and the processes that use it, which end before it goes."""
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory) / "store"
        store.mkdir()
        async with Children(Path(directory) / "log") as children:
            yield children, store


class InProcess:
    """A program that makes its load itself: see `programs.inside`."""

    def __init__(self, python: Path, module: str) -> None:
        self._python, self._module = python, module

    async def measure(self, load: Load) -> Figures:
        """See `System.measure`."""
        return await self._figures({"do": "measure", "load": load.to_json()})

    async def receive(self, mail: Mail) -> Figures:
        """See `System.receive`."""
        return await self._figures({"do": "receive", "mail": mail.to_json()})

    async def _figures(self, command: dict[str, Any]) -> Figures:
        async with _fresh() as (children, store):
            process = await self.start(children, store, command, piped=True)
            assert process.stdout is not None
            line = await process.stdout.readline()
            if not line:
                raise ChildError(f"{self._module} gives no figures: {children.said()}")
            figures: Figures = json.loads(line)
            return figures

    async def recover(self, recovery: Recovery) -> Figures:
        """See `System.recover`."""
        async with _fresh() as (children, store):
            return await recovering.recover(_InProcessLife(self, children, store), recovery)

    async def start(
        self, children: Children, store: Path, command: dict[str, Any], *, piped: bool = False
    ) -> Process:
        """Starts the program on a directory, with what it shall do."""
        text = json.dumps({**command, "directory": str(store)})
        return await children.start(self._python, "-m", self._module, text, piped=piped)


class _InProcessLife:
    """See `recovering.Recoverable`."""

    def __init__(self, system: InProcess, children: Children, store: Path) -> None:
        self._system, self._children, self._store = system, children, store
        self.check, self.kill = children.check, children.kill

    async def begin(self, recovery: Recovery) -> None:
        process = await self._go("begin", recovery, piped=True)
        assert process.stdout is not None
        if not await process.stdout.readline():  # written when all starts are durable
            raise ChildError(f"the executions have not begun: {self._children.said()}")

    async def resume(self, recovery: Recovery) -> None:
        await self._go("resume", recovery)

    async def _go(self, do: str, recovery: Recovery, *, piped: bool = False) -> Process:
        command = {"do": do, "recovery": recovery.to_json()}
        return await self._system.start(self._children, self._store, command, piped=piped)


class OverHttp:
    """A server, with the load in this process."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def measure(self, load_: Load) -> Figures:
        """See `System.measure`."""
        async with _fresh() as (children, store):
            place = Place(store, tuple(free_ports(self._server.ports)))
            await self._server.start(children, place, (load_.work,))
            async with _Pool(place.ports[0], max(32, load_.concurrency)) as pool:

                async def ask(work: Work) -> Any:
                    return await pool.post(*self._server.request(work))

                return await load.measure(ask, load_)

    async def recover(self, recovery: Recovery) -> Figures:
        """See `System.recover`."""
        async with _fresh() as (children, store):
            place = Place(store, tuple(free_ports(self._server.ports)))
            life = _ServedLife(self._server, children, place)
            return await recovering.recover(life, recovery)

    async def receive(self, mail_: Mail) -> Figures:
        """See `System.receive`. Each execution that waits has a request that waits for its result."""
        async with _fresh() as (children, store):
            place = Place(store, tuple(free_ports(self._server.ports)))
            await self._server.start(children, place, ())
            count = max(mail.WARM_UP, mail_.count) + max(mail.WARM_UP, mail_.concurrency)
            async with _Pool(place.ports[0], count) as pool:
                return await mail.measure(_ServedMailboxes(self._server, pool), mail_)


class _ServedMailboxes:
    """See `mail.Mailboxes`."""

    def __init__(self, server: Server, pool: _Pool) -> None:
        self._server, self._pool = server, pool

    async def expect(self, number: int) -> None:
        await self._pool.post(*self._server.expects(number))

    async def received(self, number: int) -> Any:
        return await self._pool.post(*self._server.receives(number))

    async def tell(self, number: int, payload: Any) -> None:
        await self._pool.post(*self._server.tells(number, payload))


class _ServedLife:
    """See `recovering.Recoverable`."""

    def __init__(self, server: Server, children: Children, place: Place) -> None:
        self._server, self._children, self._place = server, children, place
        self.check, self.kill = children.check, children.kill

    async def begin(self, recovery: Recovery) -> None:
        await self._server.start(self._children, self._place, ())
        numbers = iter(range(recovery.executions))
        async with _Pool(self._place.ports[0], 32) as pool:

            async def once() -> None:
                await pool.post(*self._server.begins(recovery, next(numbers)))

            await run_load(once, 32, recovery.executions)

    async def resume(self, _recovery: Recovery) -> None:
        await self._server.start(self._children, self._place, ())


class _Pool:
    """Connections that stay open. A caller always finds one: there are as many as callers."""

    def __init__(self, port: int, count: int) -> None:
        self._all = [Connection(f"http://{HERE}:{port}", AUTH) for _ in range(count)]
        self._free = list(self._all)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for connection in self._all:
            await self._stack.enter_async_context(connection)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def post(self, path: str, body: Any) -> Any:
        """Posts JSON, or gets the path if the body is None. Returns the answer.

        Raises:
            ChildError: the server refuses it.
        """
        connection = self._free.pop()
        if body is None:
            status, answer = await connection.get(path)
        else:
            status, answer = await connection.post(path, json.dumps(body).encode())
        self._free.append(connection)
        if status not in {200, 202}:
            raise ChildError(f"{path} is answered with {status}: {answer[:500]!r}")
        return json.loads(answer) if answer else None
