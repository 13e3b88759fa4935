"""Who is connected, who is refused, and what is said of it."""

from __future__ import annotations

import logging

import pytest

from xingqiao.infra.edge import Bounds, Census, network_of
from xingqiao.infra.edge.census import REASONS, REPORT_S

HERE, THERE = "203.0.113.7", "203.0.113.8"


def came(census, address, count):
    for _ in range(count):
        census.came(address)


def test_there_is_room_until_there_is_none():
    census = Census(Bounds(connections=3))
    came(census, HERE, 2)
    assert census.full(THERE) is None
    census.came(HERE)
    assert census.full(THERE) == "connections"
    census.left(HERE, unfinished=True)
    assert census.full(THERE) is None


def test_unfinished_connections_are_limited_in_all_and_finished_ones_do_not_count():
    census = Census(Bounds(unfinished=2))
    came(census, HERE, 2)
    assert census.full(THERE) == "unfinished"
    census.finished(HERE)
    assert census.full(THERE) is None


def test_one_address_leaves_room_for_others():
    census = Census(Bounds(unfinished_per_address=2))
    came(census, HERE, 1)
    assert census.full(HERE) is None
    came(census, HERE, 1)
    assert (census.full(HERE), census.full(THERE)) == ("unfinished_per_address", None)
    census.left(HERE, unfinished=True)
    assert census.full(HERE) is None


def test_a_proxy_speaks_for_many():
    census = Census(Bounds(unfinished_per_address=2, proxies=frozenset({HERE})))
    came(census, HERE, 5)

    assert census.full(HERE) is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
    ],
)
def test_who_counts_as_one_client(address, network):
    assert network_of(address) == network


def test_refusals_are_said_once_in_a_while_and_by_count(caplog):
    census = Census(Bounds())
    for _ in range(1000):
        census.refused("unfinished_per_address", HERE)
    census.refused("malformed", THERE)

    with caplog.at_level(logging.WARNING):
        census.tick(1)
        first = caplog.messages[:]
        census.refused("malformed", THERE)
        census.tick(REPORT_S * 0.9)
        second = caplog.messages[1:]
        census.tick(REPORT_S * 0.2)
        census.tick(REPORT_S * 2)

    many, one = REASONS["unfinished_per_address"], REASONS["malformed"]
    assert first == [f"refused: 1000 {many}, 1 {one}; most often {HERE} (1000)"]
    assert second == []
    assert caplog.messages[1:] == [f"refused: 1 {REASONS['malformed']}; most often {THERE} (1)"]


def test_who_is_blamed_is_remembered_for_a_bounded_number_of_addresses(caplog):
    census = Census(Bounds(connections=2))
    for i in range(9):
        census.refused("malformed", f"203.0.113.{i}")
    census.refused("malformed", "203.0.113.1")

    with caplog.at_level(logging.WARNING):
        census.tick(1)

    assert caplog.messages[0].endswith("most often 203.0.113.1 (2)")
