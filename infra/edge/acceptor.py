"""Accepts connections, and refuses those over a limit before they cost a handshake or a parser."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .census import network_of
from .refusal import refusal

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from .census import Census

AT_ONCE = 128  # connections that are accepted in one go
PAUSE_S = 0.1  # pause after a failure: no descriptor is free so soon
SHORT_OF = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
TEXT = "The server has too many connections at the moment: try again in a second."


class Acceptor:
    """Accepts connections of one listening socket.

    Args:
        listening: the socket.
        census: counts all connections.
        connected: makes the protocol of a connection, given the client's address.
        tls: TLS context for connections; None for plain HTTP. It may be replaced at any time.
    """

    def __init__(
        self,
        listening: socket.socket,
        census: Census,
        connected: Callable[[str], asyncio.Protocol],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._listening, self._census, self._connected = listening, census, connected
        self.tls = tls
        self._spare: int | None = None
        self._beginning: set[asyncio.Task[None]] = set()

    @contextmanager
    def accepting(self, tasks: asyncio.TaskGroup) -> Iterator[None]:
        """Accepts connections while the block runs; `tasks` owns their handshakes."""
        loop = asyncio.get_running_loop()
        resume: asyncio.TimerHandle | None = None

        def accept() -> None:
            nonlocal resume
            for _ in range(AT_ONCE):
                try:
                    sock, address = self._listening.accept()
                except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                    return
                except OSError as error:
                    self._fail(error)
                    loop.remove_reader(self._listening)
                    resume = loop.call_later(PAUSE_S, begin)
                    return
                self._take(sock, network_of(address[0]), tasks)

        def begin() -> None:
            loop.add_reader(self._listening, accept)

        self._listening.setblocking(False)
        self._spare = _descriptor()
        begin()
        try:
            yield
        finally:
            if resume is not None:
                resume.cancel()
            for task in self._beginning:
                task.cancel()
            loop.remove_reader(self._listening)
            if self._spare is not None:
                os.close(self._spare)

    def _take(self, sock: socket.socket, address: str, tasks: asyncio.TaskGroup) -> None:
        census = self._census
        if why := census.full(address):
            census.refused(why, address)
            _refuse(sock, plain=self.tls is None, crowded=why == "unfinished_per_address")
            return
        census.came(address)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = tasks.create_task(self._connect(sock, address))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _connect(self, sock: socket.socket, address: str) -> None:
        protocol = self._connected(address)
        loop, tls, made = asyncio.get_running_loop(), self.tls, False
        timeout_s = self._census.bounds.handshake_s if tls is not None else None
        try:
            await loop.connect_accepted_socket(
                lambda: protocol, sock, ssl=tls, ssl_handshake_timeout=timeout_s
            )
            made = True
        except (OSError, RuntimeError):  # also TLS errors and late handshakes
            self._census.refused("handshake", address)
        finally:
            if not made:
                self._census.left(address, unfinished=True)
                sock.close()

    def _fail(self, error: OSError) -> None:
        """Refuses a connection with a spare descriptor, if all others are in use."""
        short = error.errno in SHORT_OF
        self._census.refused("descriptors" if short else "broken", "the server itself")
        if not short or self._spare is None:
            return
        os.close(self._spare)
        with suppress(OSError):
            _refuse(self._listening.accept()[0], plain=self.tls is None, crowded=False)
        self._spare = _descriptor()


def _descriptor() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def _refuse(sock: socket.socket, *, plain: bool, crowded: bool) -> None:
    with sock, suppress(OSError):
        sock.setblocking(False)
        if plain:
            sock.send(refusal(429 if crowded else 503, TEXT))
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1 << 16)
