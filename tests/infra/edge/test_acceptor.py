"""Connections are accepted, or refused before they cost anything."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import asynccontextmanager

import pytest

from xingqiao.infra.edge import Acceptor, Bounds, Census

LOOKS = 1000


class Listening(socket.socket):
    """A listening socket that cannot accept when it is told so."""

    short, why = (), errno.EMFILE

    def accept(self):
        now, *self.short = self.short or (False,)
        if now:
            raise OSError(self.why, "as told")
        return super().accept()


class Greeting(asyncio.Protocol):
    """Says hello, and to the census when it is gone."""

    def __init__(self, census, address):
        self._census, self._address = census, address

    def connection_made(self, transport):
        transport.write(b"hello")

    def connection_lost(self, exc):
        self._census.left(self._address, unfinished=True)


@asynccontextmanager
async def accepting(**bounds):
    census = Census(Bounds(**bounds))
    with Listening() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        acceptor = Acceptor(listening, census, lambda address: Greeting(census, address))
        async with asyncio.TaskGroup() as tasks:
            with acceptor.accepting(tasks):
                yield listening, census


async def connect(listening):
    return await asyncio.open_connection(*listening.getsockname())


async def test_a_connection_is_counted_while_it_is_open():
    async with accepting() as (listening, census):
        reader, writer = await connect(listening)
        assert await reader.read(5) == b"hello"
        assert (census.open, census.accepted, census.unfinished) == (1, 1, 1)
        writer.close()
        while census.open:
            await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, int), 30)


@pytest.mark.parametrize(
    ("bounds", "status", "reason"),
    [
        ({"connections": 1}, b"503", "connections"),
        ({"unfinished": 1}, b"503", "unfinished"),
        ({"unfinished_per_address": 1}, b"429", "unfinished_per_address"),
    ],
)
async def test_the_connection_over_a_limit_is_told_when_to_come_again(bounds, status, reason):
    async with accepting(**bounds) as (listening, census):
        first, writer = await connect(listening)
        assert await first.read(5) == b"hello"
        second, other = await connect(listening)
        said = await second.read()
        writer.close()
        other.close()

    assert said.startswith(b"HTTP/1.1 " + status)
    assert b"retry-after: 1" in said
    assert census.refusals[reason] == 1


async def test_without_descriptors_one_is_refused_at_a_time_and_all_is_well_again():
    async with accepting() as (listening, census):
        listening.short = [True, False] * 3  # there is one in reserve, for a refusal
        told = [await connect(listening) for _ in range(4)]
        said = [await reader.read(12) for reader, _ in told]
        for _, writer in told:
            writer.close()

    assert said == [b"HTTP/1.1 503"] * 3 + [b"hello"]
    assert census.refusals["descriptors"] == 3


async def test_a_connection_that_breaks_before_it_is_accepted_stops_nobody():
    async with accepting() as (listening, census):
        listening.short, listening.why = [True, True], errno.EPROTO
        reader, writer = await connect(listening)
        said = await reader.read(5)
        writer.close()

    assert said == b"hello"
    assert census.refusals["broken"] == 2
