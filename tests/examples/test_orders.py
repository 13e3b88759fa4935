"""The order that people talk to: the shop's program in-process, and the order in virtual time."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from xingqiao.actions import instant_ms
from xingqiao.embedded import embedded
from xingqiao.testing import schedule_runs, simulate

ORDERS = Path(__file__).parents[2] / "examples" / "orders"
DAY_S = 86_400
ORDER = {"id": "order-7", "item": "book", "customer": "anna"}
SEEN = {
    "one run": True,
    "before": {"state": "waits for an approval"},
    "no address": "rejected",
    "moved": {"to": "Elm Street 2"},
    "moved again": {"to": "Elm Street 2"},
    "new": True,
    "told again": False,
    "result": {"sent": "book", "to": "Elm Street 2", "approved_by": "ben"},
    "after": {"state": "is on its way"},
    "reminder": "Cancelled",
}


@pytest.fixture
def orders(monkeypatch):
    monkeypatch.syspath_prepend(ORDERS)
    return importlib.import_module("orders")


@pytest.fixture
def shop(orders):
    return importlib.import_module("shop")


async def test_the_shop_sells_in_this_process(shop):
    async with embedded() as x:
        assert await shop.sell(x, "order-7") == SEEN
        assert await shop.sell(x, "order-8") == SEEN


def test_the_program_tells_what_it_has_seen():
    done = subprocess.run(
        [sys.executable, ORDERS / "shop.py"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{what}: {it}" for what, it in SEEN.items()]


@pytest.mark.parametrize("crash", [(), "every"])
def test_an_order_that_is_approved_is_sent_whatever_crashes(orders, crash):
    run = simulate(
        orders.order,
        ORDER,
        actions={"reminder": {}},
        messages=[(2 * DAY_S, "approved", {"who": "ben"})],
        updates=[(DAY_S, "address", {"address": "Elm Street 2"})],
        queries=[(DAY_S, "progress"), (3 * DAY_S, "progress")],
        crash=crash,
    )

    assert run.value == SEEN["result"]
    assert run.elapsed == 2 * DAY_S
    assert run.answers == [SEEN["before"], SEEN["after"]]
    assert [update.outcome.value for update in run.updates] == [SEEN["moved"]]
    shipped = run.calls("ship")
    assert shipped == [{"item": "book", "to": "Elm Street 2", "who": "ben"}] * (2 if crash else 1)
    assert len({each.activation for each in run.invocations if each.action == "/_/ship"}) == 1


def test_an_order_that_nobody_approves_ends_after_three_days(orders):
    run = simulate(orders.order, ORDER, actions={"reminder": {}}, crash="every")

    assert (run.outcome.code, run.elapsed, run.calls("ship")) == ("Timeout", 3 * DAY_S, [])


def test_a_year_of_daily_reminders_meets_each_day_once(orders):
    daily = {
        "spec": {"cron": "0 8 * * *", "zone": "Europe/Berlin"},
        "do": {"action": "reminder", "input": {"customer": "anna"}},
    }
    took_s = simulate(orders.reminder, {"customer": "anna"}, crash="every").elapsed

    year = schedule_runs(
        {**daily, "overlap": "allow_all"}, "2027-01-01", "2028-01-01", durations=took_s
    )
    skipping = schedule_runs(daily, "2027-01-01", "2028-01-01", durations=took_s)

    assert took_s == DAY_S
    assert len({run.at_ms for run in year.runs}) == len(year.runs) == 365
    (skipped,) = {run.at_ms for run in year.runs} - {run.at_ms for run in skipping.runs}
    assert skipped == instant_ms("at", "2027-03-28T06:00Z")  # the day before has had 23 hours


def test_the_orders_are_counted_every_night_of_a_year(orders):
    year = schedule_runs(orders.nightly, "2027-01-01", "2027-12-31T23:59", durations=600)

    assert len(year.runs) == 365
    assert year.state.skipped == 0
