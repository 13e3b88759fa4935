"""What tests of AWS' adapters stand on: an environment of their own, adapters, requests."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

from tests.kit.actions.things import StandingClock
from xingqiao.actions import LAMBDA, Remote
from xingqiao.adapters import Egress, Request, Rules, adapters
from xingqiao.adapters.aws.wire import Aws, Place
from xingqiao.adapters.channel import Channel
from xingqiao.adapters.credentials import AwsKeys

KEYS = ("AKIATESTS0000000000", "a-secret-of-the-tests")
TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
REGION = "eu-west-1"
INVOKE = "/2015-03-31/functions/hello/invocations"


class FromKeys:
    """An authorizer whose keys are always these."""

    def __init__(self, keys=KEYS):
        self._keys = AwsKeys(*keys)

    async def keys(self):
        return self._keys

    async def headers(self, ask, now_ms):
        raise AssertionError("requests to AWS are signed")

    def refused(self):
        return False


def environment(url=None, keys=KEYS, region=REGION):
    """What botocore reads: nothing of this machine's own account."""
    nothing = {
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }  # fmt: skip
    named = {"AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]} if keys else {}
    placed = {"AWS_DEFAULT_REGION": region} if region else {}
    return nothing | named | placed | ({"AWS_ENDPOINT_URL": url} if url else {})


def live_in(monkeypatch, **variables):
    """Lets botocore find these variables and no others of its own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@asynccontextmanager
async def opened(allowed=(), clock=None, result_bytes=1 << 20):
    """The adapters, by kind, and their clock."""
    clock = clock or StandingClock()
    async with Egress(Rules(allowed), clock) as egress:
        found = adapters(egress, clock, result_bytes)
        yield found, clock


@asynccontextmanager
async def aws_at(url, clock=None):
    """The way to an AWS that is at this URL, whatever the region; and the clock."""
    clock = clock or StandingClock()
    async with Egress(Rules(), clock) as egress:
        channel = Channel(egress, clock, 6 << 20)
        place = lambda service, region: Place(service, region or REGION, url)
        yield Aws(channel, place, 1 << 20), clock


def request(function="hello", params=None, *, kind=LAMBDA, clock=None, left_ms=20_000, **fields):
    """One run of a function; options of the action may be among the fields."""
    asked = {"key": "k-1", "traceparent": TRACE, "authorizer": FromKeys(), "token": ""}
    given = {name: fields.pop(name) for name in list(asked) if name in fields}
    now_ms = (clock or StandingClock()).now_ms()
    return Request(
        target=Remote(kind, function, fields), params=params if params is not None else {"n": 1},
        deadline_ms=now_ms + left_ms, **{**asked, **given},
    )  # fmt: skip
