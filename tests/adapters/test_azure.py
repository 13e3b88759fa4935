"""Function apps and orchestrations: what Azure says in its own words, and what that means."""

from __future__ import annotations

import pytest

from tests.kit.adapters.asking import check, run
from tests.kit.contracts.elsewhere import SECRET
from tests.rigs.answers import answer
from tests.rigs.durable import ROOT, Durable
from tests.rigs.strict_host import strict_host
from xingqiao.composer import Success

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")


def azure(server, /, **options):
    return {
        "kind": "azure:function",
        "function": "fn",
        "host": f"{server.url}/",
        "credentials": "mine",
        **options,
    }


def durable(server, /, **options):
    return {**azure(server), "kind": "azure:durable", "function": "main", **options}


@pytest.mark.parametrize("where", ["whole", "relative", "body"])
async def test_azure_says_in_several_ways_where_to_ask(host, where):
    at = f"{host.url}/api/status/7?code={SECRET}"
    said = {
        "whole": answer({}, 202, {"Location": at}),
        "relative": answer({}, 202, {"Location": f"status/7?code={SECRET}"}),
        "body": answer({"statusQueryGetUri": at}, 202),
    }[where]
    host.on("POST", "/api/fn", said)
    host.on(
        "GET", "/api/status/7", answer({"n": 1}), needs={"?code": SECRET, "x-functions-key": SECRET}
    )

    ended = await run(azure(host))

    assert ended.outcome == Success({"n": 1})
    ticket = ended.tickets[0]["ticket"]
    assert ticket == {"url": f"{host.url}/api/status/7", "secret": f"code={SECRET}"}


@pytest.mark.parametrize("body", [None, {"taken": True}, {"statusQueryGetUri": 7}, [1]])
async def test_azure_may_take_in_what_it_will_never_answer(host, body):
    host.on("POST", "/api/fn", answer(body, 202))

    ended = await run(azure(host))

    assert isinstance(ended.outcome, Success)
    assert ended.tickets == []


async def test_a_key_of_azure_is_not_shown_to_another_host_that_it_names(host):
    with strict_host() as other:
        host.on("POST", "/api/fn", answer({}, 202, {"Location": f"{other.url}/status"}))
        other.on("GET", "/status", answer({"n": 1}))

        ended = await run(azure(host))

        assert ended.outcome == Success({"n": 1})
        assert SECRET not in str(other.requests)


async def test_azure_may_name_a_place_that_nobody_may_ask(host):
    host.on("POST", "/api/fn", answer({}, 202, {"Location": "http://169.254.169.254/?key=a"}))

    assert (await run(azure(host))).told == ("Permission", "unknown")


async def test_a_function_of_azure_that_reads_has_its_parameters_in_the_query(host):
    host.on("GET", "/api/orders/7", answer({"n": 1}))

    await run(azure(host, function="orders/{id}", method="GET"), {"id": 7, "a": "b", "c": [1]})

    assert host.requests[0].query == {"a": "b", "c": "[1]"}
    assert (await run(azure(host, function="orders/{id}"), {"id": ".."})).told == (
        "InvalidRequest",
        "no",
    )


async def test_an_orchestration_may_be_started_and_left_alone(host):
    api = Durable(host, key=SECRET)
    api.expect("main", polls=9)

    for _ in range(2):
        ended = await run(durable(host, operation="start"), {"n": 1})

        assert ended.outcome.value["instanceId"] in api.instances
        assert ended.tickets == []


async def test_an_orchestrator_that_is_not_there_never_ran(host):
    Durable(host, key=SECRET)

    assert (await run(durable(host))).told == ("NotFound", "no")


async def test_an_orchestration_that_is_not_there_is_told(host):
    Durable(host, key=SECRET)

    ended = await run(durable(host, operation="query"), {"instanceId": "none"})

    assert ended.told == ("NotFound", "no")


async def test_azures_check_runs_nothing(host):
    host.on("GET", f"{ROOT}/instances", answer([]), answer(None, 401))

    assert await check(azure(host)) == (
        "its host was reached, and credentials were had; the function was not asked"
    )
    assert await check(durable(host)) == "its orchestrations can be listed"
    assert (await check(durable(host))).code == "Permission"
    assert (await check(durable(host, host="http://127.0.0.1:1"))).code == "Unavailable"
