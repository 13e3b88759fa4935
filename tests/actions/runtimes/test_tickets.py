"""Tickets of requests: each is taken once, by the worker or by the server."""

from __future__ import annotations

import contextlib
import os
import random

import pytest

from xingqiao.actions.runtimes.tickets import TICKET_BYTES, Tickets


@pytest.fixture
def stack():
    with contextlib.ExitStack() as made:
        yield made


def taken(end):
    """The number that a worker takes; None if there is none."""
    try:
        return int.from_bytes(os.read(end, TICKET_BYTES), "little")
    except BlockingIOError:
        return None


def test_requests_are_numbered_from_one_and_taken_in_order(stack):
    tickets = Tickets()
    end = tickets.open(stack)

    assert [tickets.next() for _ in range(3)] == [1, 2, 3]
    tickets.hand_out()

    assert [taken(end) for _ in range(4)] == [1, 2, 3, None]


def test_what_the_worker_has_not_taken_is_taken_back_once(stack):
    tickets = Tickets()
    end = tickets.open(stack)
    for _ in range(3):
        tickets.next()
    tickets.hand_out()
    taken(end)

    assert tickets.take_back() == {2, 3}
    assert tickets.take_back() == set()
    assert taken(end) is None


def test_when_the_pipe_is_closed_it_is_known_what_was_not_taken(stack):
    tickets = Tickets()
    end = tickets.open(stack)
    for _ in range(2):
        tickets.next()
    tickets.hand_out()
    taken(end)
    tickets.next()  # and is never handed out

    tickets.close()
    tickets.close()

    assert tickets.take_back() == {2, 3}
    assert tickets.take_back() == set()


@pytest.mark.parametrize("seed", range(5))
def test_each_number_has_one_taker(stack, seed):
    chance, tickets, worker, server = random.Random(seed), Tickets(), [], []
    end = tickets.open(stack)
    for _ in range(300):
        match chance.randrange(4):
            case 0:
                tickets.next()
            case 1:
                tickets.hand_out()
            case 2:
                worker.append(taken(end))
            case _ if chance.random() < 0.2:
                server += tickets.take_back()
    last = tickets.next()
    tickets.close()
    server += tickets.take_back()

    assert sorted([*filter(None, worker), *server]) == [*range(1, last + 1)]
