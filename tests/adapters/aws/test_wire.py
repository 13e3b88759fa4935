"""The way to AWS: where services are, who may be asked, what is signed."""

from __future__ import annotations

import os
import sys

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import (
    INVOKE,
    KEYS,
    REGION,
    TRACE,
    environment,
    live_in,
    opened,
    request,
)
from tests.rigs.answers import METADATA, answer, broken_json, redirect
from tests.rigs.strict_host import strict_host
from xingqiao.actions import HTTP, Remote
from xingqiao.adapters import Egress, Rules
from xingqiao.adapters.aws.wire import Aws, Place, located, region_of, xray
from xingqiao.adapters.channel import Channel
from xingqiao.adapters.credentials import Fixed
from xingqiao.adapters.port import Fault, HttpRequest


@pytest.fixture
def host():
    with strict_host() as made:
        yield made


@pytest.fixture
async def aws():
    clock = StandingClock()
    async with Egress(Rules(), clock) as egress:
        yield Aws(Channel(egress, clock, 1 << 20), located, 1 << 20)


# --- where -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "region", "variables", "place"),
    [
        ("lambda", "", {}, ("lambda", REGION, "https://lambda.eu-west-1.amazonaws.com")),
        ("lambda", "us-east-2", {}, ("lambda", "us-east-2", "https://lambda.us-east-2.amazonaws.com")),
        (
            "stepfunctions", "cn-north-1", {},
            ("states", "cn-north-1", "https://states.cn-north-1.amazonaws.com.cn"),
        ),
        (
            "lambda", "us-east-1", {"AWS_USE_FIPS_ENDPOINT": "true"},
            ("lambda", "us-east-1", "https://lambda-fips.us-east-1.amazonaws.com"),
        ),
        (
            "lambda", "", {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566/"},
            ("lambda", REGION, "http://127.0.0.1:4566"),
        ),
        (
            "lambda", "", {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_LAMBDA": "http://b"},
            ("lambda", REGION, "http://b"),
        ),
        (
            "stepfunctions", "", {"AWS_ENDPOINT_URL_SFN": "http://c"},
            ("states", REGION, "http://c"),
        ),
    ],
)  # fmt: skip
async def test_a_place_is_what_botocore_makes_of_region_and_environment(
    aws, monkeypatch, service, region, variables, place
):
    live_in(monkeypatch, **environment(), **variables)

    assert await aws.place(service, region) == Place(*place)


async def test_the_region_of_other_sdks_variable_will_do(aws, monkeypatch):
    live_in(monkeypatch, **environment(region=None), AWS_REGION="eu-central-1")

    assert (await aws.place("lambda")).region == "eu-central-1"


async def test_without_a_region_it_is_said_where_it_may_stand(aws, monkeypatch):
    live_in(monkeypatch, **environment(region=None))

    fault = await aws.place("lambda")

    assert (fault.code, fault.may_have_run) == ("InvalidRequest", "no")
    assert fault.error["message"].startswith(
        "set AWS_REGION for the server, or name a 'region' in the action's exec"
    )


async def test_what_is_no_region_has_no_endpoint(aws, monkeypatch):
    live_in(monkeypatch, **environment())

    fault = await aws.place("lambda", "no_region")

    assert fault.error["message"] == "botocore finds no endpoint of lambda (InvalidRegionError)"


async def test_a_place_is_looked_up_once_and_not_for_ever(aws, monkeypatch):
    aws = Aws(aws._channel, located, 1 << 20, places=2)
    live_in(monkeypatch, **environment())
    first = await aws.place("lambda")
    live_in(monkeypatch, **environment("http://another"))

    assert await aws.place("lambda") is first
    await aws.place("lambda", "us-east-1")
    await aws.place("lambda", "us-east-2")
    assert (await aws.place("lambda")).url == "http://another"


@pytest.mark.parametrize(
    ("arn", "region"),
    [
        ("arn:aws:lambda:eu-north-1:123456789012:function:hello", "eu-north-1"),
        ("hello", ""), ("hello:live", ""), ("arn:aws", ""),
    ],
)  # fmt: skip
def test_an_arn_has_its_region(arn, region):
    assert region_of(arn) == region


def test_a_trace_is_told_as_aws_has_it():
    assert xray(TRACE) == f"Root=1-{'a' * 8}-{'a' * 24};Parent={'b' * 16};Sampled=1"
    assert xray(TRACE[:-1] + "0").endswith("Sampled=0")


# --- how ---------------------------------------------------------------------------------------


async def test_a_request_is_signed_and_traced(host, monkeypatch):
    live_in(monkeypatch, **environment(host.url))
    host.on("POST", INVOKE, answer({}))

    async with opened() as (adapters, _):
        await adapters["aws:lambda"].invoke(request())

    headers = host.requests[0].headers
    assert headers["authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={KEYS[0]}/")
    assert headers["traceparent"] == TRACE
    assert "x-amz-client-context" in headers["authorization"]
    assert KEYS[1] not in str(headers)


async def test_an_action_over_http_may_not_go_where_the_operator_has_put_aws(host, monkeypatch):
    live_in(monkeypatch, **environment(host.url))

    async with opened() as (adapters, clock):
        asked = request(f"{host.url}{INVOKE}", kind=HTTP, authorizer=None, clock=clock)
        fault = await adapters["http"].invoke(asked)

    assert (fault.code, host.requests) == ("Permission", [])
    assert "the operator does not allow it" in fault.error["message"]


async def test_a_redirect_to_elsewhere_is_guarded_again(host, monkeypatch):
    live_in(monkeypatch, **environment(host.url))
    host.on("POST", INVOKE, redirect(METADATA, status=307))

    async with opened() as (adapters, _):
        fault = await adapters["aws:lambda"].invoke(request())

    assert fault.code == "Permission"
    assert "169.254.169.254 is not a public address" in fault.error["message"]


async def test_a_secret_of_another_cloud_is_none_here(host, monkeypatch):
    live_in(monkeypatch, **environment(host.url))
    for authorizer in (None, Fixed({"Authorization": "Bearer token"})):
        async with opened() as (adapters, _):
            fault = await adapters["aws:lambda"].invoke(request(authorizer=authorizer))

        assert (fault.code, fault.may_have_run) == ("Permission", "no")
        assert fault.error["message"] == "functions on AWS need a secret of type 'aws'"


async def test_a_chain_that_has_nothing_is_a_fault(host, monkeypatch):
    live_in(monkeypatch, **environment(host.url, keys=None))

    async with opened() as (adapters, _):
        adapter = adapters["aws:lambda"]
        chain = adapter.ambient(Remote("aws:lambda", "hello"))
        fault = await adapter.invoke(request(authorizer=chain))

    assert (fault.code, fault.may_have_run) == ("Permission", "no")
    assert "gives this server no credentials" in fault.error["message"]


async def test_a_chain_that_blocks_is_given_up_at_the_deadline(host, monkeypatch, tmp_path):
    gate, waits, config = tmp_path / "gate", tmp_path / "waits.py", tmp_path / "config"
    os.mkfifo(gate)
    waits.write_text(f"open({str(gate)!r}).read()")
    config.write_text(f"[default]\ncredential_process = {sys.executable} {waits}\n")
    live_in(monkeypatch, **{**environment(host.url, keys=None), "AWS_CONFIG_FILE": str(config)})

    async with opened() as (adapters, _):
        adapter = adapters["aws:lambda"]
        await adapter._aws.place("lambda")
        chain = adapter.ambient(Remote("aws:lambda", "hello"))
        fault = await adapter.invoke(request(authorizer=chain, left_ms=50))
        gate.write_text("{}")  # opens when the program has opened it, too

    assert (fault.code, fault.may_have_run, fault.transient) == ("Unavailable", "no", True)
    assert fault.error["message"].endswith("has not given credentials by the deadline")


async def test_an_operation_s_answer_that_is_no_object_is_bad(host, aws, monkeypatch):
    live_in(monkeypatch, **environment(host.url))
    host.on("POST", "/", broken_json(), answer([]), answer(None))
    place = await aws.place("stepfunctions")

    for _ in range(2):
        response = await aws.call(request(), place, "AWSStepFunctions.Stop", {})
        assert aws.refusal(response).code == "BadResponse"
    assert await aws.call(request(), place, "AWSStepFunctions.Stop", {}) == {}
    assert host.requests[0].headers["x-amz-target"] == "AWSStepFunctions.Stop"
    assert host.requests[0].headers["content-type"] == "application/x-amz-json-1.0"


async def test_nobody_at_the_endpoint_is_no_run(aws, monkeypatch):
    live_in(monkeypatch, **environment("http://127.0.0.1:9"))
    place = await aws.place("lambda")

    fault = await aws.send(request(), place, HttpRequest(method="POST", url="/"))

    assert isinstance(fault, Fault)
    assert (fault.code, fault.may_have_run, fault.transient) == ("Unavailable", "no", True)
