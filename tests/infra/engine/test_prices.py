"""What runs cost in money: what is known, what is assumed, and what is said not to be known."""

from __future__ import annotations

import json

import pytest

from xingqiao.infra.engine.prices import LISTED, PricesError, priced, read_prices

LAMBDA = {
    "step": "charge", "kind": "aws:lambda", "cloud": "aws", "region": "eu-west-1", "memory": 1024,
    "requests": 4, "billed": 4_000.0, "untold": 0,
}  # fmt: skip


def step(**fields):
    return {**LAMBDA, **fields}


def alone(usage, prices=LISTED):
    (found,) = priced([usage], prices)["steps"]
    return found


def test_requests_and_gb_seconds_are_paid_for():
    money = priced([LAMBDA])

    assert money["total"] == pytest.approx(4 * 0.2e-6 + 4 * 0.0000166667)
    assert (money["currency"], money["complete"]) == ("USD", True)
    assert money["steps"][0]["assumed"] == ["architecture x86_64"]


@pytest.mark.parametrize(
    ("region", "rate"), [("eu-west-1", 0.0000166667), ("eu-south-1", 0.0000195172)]
)
def test_a_region_may_have_a_price_of_its_own(region, rate):
    assert alone(step(region=region, requests=1))["amount"] == pytest.approx(0.2e-6 + 4 * rate)


def test_a_region_that_is_not_told_is_said_to_be_assumed():
    usage = step()
    del usage["region"]

    assert "the price of most regions (the region is not reported)" in alone(usage)["assumed"]


@pytest.mark.parametrize(
    ("usage", "amount", "unknown"),
    [
        (step(kind="aws:states", cloud="aws"), 0, "state transitions"),
        (step(kind="azure:function", memory=None), 4 * 0.2e-6, "the memory size"),
        (step(kind="gcp:function", memory=None), 4 * 0.4e-6, "GHz-seconds"),
        (step(kind="openwhisk:action"), 0, "the price of 'openwhisk:action'"),
        (step(kind="http"), 0, "the price of 'http'"),
        (step(untold=1), 4 * 0.2e-6 + 4 * 0.0000166667, "the time of 1 of 4 runs"),
    ],
)
def test_what_is_not_known_is_said(usage, amount, unknown):
    found = alone(usage)

    assert found["amount"] == pytest.approx(amount)
    assert any(unknown in text for text in found["unknown"])
    assert not priced([usage])["complete"]


def test_what_was_refused_costs_nothing():
    assert alone(step(requests=0, billed=0.0, memory=None)) == {
        "step": "charge", "kind": "aws:lambda", "requests": 0, "amount": 0.0, "unknown": [], "assumed": [],
    }  # fmt: skip


def test_what_ran_here_is_not_priced():
    assert priced([step(cloud="here", kind="python:3")])["steps"] == []


# --- prices of one's own -----------------------------------------------------------------------

OWN = """
date = "2027-01-01"
currency = "USD"
[services."aws:lambda"]
architecture = "arm64"
[services."azure:function"]
memory_mb = 512
[services."aws:states"]
transition = 0.00004
transitions = 5
[services.http]
request = 0.001
"""


def test_a_file_replaces_what_it_names():
    prices = read_prices(OWN)

    assert prices.date == "2027-01-01"
    arm = alone(step(), prices)
    assert arm["amount"] == pytest.approx(4 * 0.2e-6 + 4 * 0.0000133334)
    assert arm["assumed"] == ["architecture arm64"]
    azure = alone(step(kind="azure:function", memory=None), prices)
    assert azure["amount"] == pytest.approx(4 * 0.2e-6 + 4 * 0.5 * 0.000016)
    assert azure["assumed"] == ["512 MB of memory"]
    states = alone(step(kind="aws:states", region="us-west-1"), prices)
    assert states["amount"] == pytest.approx(4 * 5 * 0.00004), (
        "a price for everywhere is for everywhere"
    )
    assert alone(step(kind="http"), prices)["amount"] == pytest.approx(0.004)


def test_a_file_may_be_json():
    given = {"date": "d", "currency": "USD", "services": {"http": {"request": 1, "regions": {}}}}

    assert alone(step(kind="http"), read_prices(json.dumps(given)))["amount"] == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("=", "neither valid TOML nor JSON"),
        ("{", "neither valid TOML nor JSON"),
        ('currency = "USD"', "date must be a string"),
        ('date = "d"', "currency must be a string"),
        ('date = "d"\ncurrency = "EUR"', "currency EUR differs from the built-in prices' USD"),
        ('date = "d"\ncurrency = "USD"\nservices = 1', "services must be a table"),
        ('date = "d"\ncurrency = "USD"\n[services]\nhttp = 1', "services.http must be a table"),
        ('date = "d"\ncurrency = "USD"\n[services.http]\nx = 1', "services.http.x is an unknown field"),
        ('date = "d"\ncurrency = "USD"\n[services.http]\nrequest = -1', "must be a number of 0 or more"),
        ('date = "d"\ncurrency = "USD"\n[services.http]\nrequest = true', "must be a number of 0 or more"),
        ('date = "d"\ncurrency = "USD"\n[services.http]\narchitecture = "mips"', "must be x86_64 or arm64"),
        ('date = "d"\ncurrency = "USD"\n[services.http.regions]\nr = 1', "services.http.regions.r must be"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_why(text, says):
    with pytest.raises(PricesError, match=says):
        read_prices(text)
