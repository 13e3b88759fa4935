"""Operations of AWS' services: written and read by their models, and sent as everything else is."""

from __future__ import annotations

import json

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import environment, live_in, request
from tests.rigs.answers import answer
from tests.rigs.strict_host import strict_host
from xingqiao.adapters import Egress, Rules
from xingqiao.adapters.aws.models import as_java, operation
from xingqiao.adapters.aws.services import Answer, AwsServices, ParameterError, Refused
from xingqiao.adapters.aws.wire import Aws, located
from xingqiao.adapters.channel import Channel
from xingqiao.adapters.port import Fault

ITEM = {"Key": {"id": {"S": "a"}}, "TableName": "t"}
JSON_10 = "application/x-amz-json-1.0"


@pytest.fixture
def host(monkeypatch):
    with strict_host() as made:
        live_in(monkeypatch, **environment(made.url))
        yield made


@pytest.fixture
async def services(host):
    clock = StandingClock()
    async with Egress(Rules(), clock) as egress:
        yield AwsServices(Aws(Channel(egress, clock, 1 << 20), located, 1 << 20))


def asked(services, name, params, service="dynamodb"):
    return services.call(request(clock=StandingClock()), operation(service, name), params, as_java)


async def test_an_operation_is_sent_by_its_protocol_and_signed_with_our_keys(host, services):
    host.on("POST", "/", answer({"Item": {"n": {"N": "1"}}}))

    found = await asked(services, "getItem", ITEM)

    (sent,) = host.requests
    assert json.loads(sent.body) == ITEM
    assert sent.headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert sent.headers["content-type"] == JSON_10
    assert "/dynamodb/aws4_request" in sent.headers["authorization"]
    assert "Credential=none" not in sent.headers["authorization"]
    assert type(found) is Answer
    assert (found.status, found.value["Item"]) == (200, {"n": {"N": "1"}})


async def test_an_error_has_its_code_and_the_name_that_the_model_has_for_it(host, services):
    said = {"__type": "com.amazonaws#ResourceNotFoundException", "message": "no table"}
    host.on("POST", "/", answer(said, 400))

    refused = await asked(services, "getItem", ITEM)

    assert type(refused) is Refused
    assert (refused.code, refused.modelled) == ("ResourceNotFoundException",) * 2
    assert (refused.message, refused.status, refused.transient) == ("no table", 400, False)
    assert len(host.requests) == 1


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ([], "must be an object"),
        ({"TableName": "t"}, "Key"),
        ({**ITEM, "Colour": "red"}, "Colour"),
        ({**ITEM, "Key": 7}, "Key"),
    ],
)
async def test_parameters_that_do_not_fit_are_named_and_nothing_is_sent(
    host, services, params, named
):
    with pytest.raises(ParameterError, match=named):
        await asked(services, "getItem", params)

    assert host.requests == []


async def test_a_response_that_does_not_fit_the_model_is_a_bad_one(host, services):
    host.on("POST", "/", answer([1]))

    fault = await asked(services, "getItem", ITEM)

    assert type(fault) is Fault
    assert (fault.code, fault.may_have_run) == ("BadResponse", "unknown")
