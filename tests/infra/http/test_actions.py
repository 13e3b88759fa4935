"""Invocations over HTTP: what is waited for, and what comes of it."""

from __future__ import annotations

import pytest

from tests.kit.http.worlds import PAYLOAD_BYTES
from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.actions import Quotas
from xingqiao.composer import Success
from xingqiao.infra.engine import EngineSettings

BLOCKING = {"blocking": "true"}
RESULT = {"blocking": "true", "result": "true"}


async def test_a_call_that_is_not_waited_for_is_accepted_with_its_id(world, client):
    await world.put("hold", "hold")

    answer = await client.post("/actions/hold", json={"n": 1})

    assert answer.status_code == 202
    assert list(answer.json()) == ["activationId"]
    assert answer.headers["x-openwhisk-activation-id"] == answer.json()["activationId"]
    invocation = await world.hands.held.get()
    assert (invocation.activation, invocation.params) == (answer.json()["activationId"], {"n": 1})


async def test_a_call_that_is_waited_for_is_answered_with_its_record(world, client):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", params=BLOCKING, json={"n": 1})

    record = answer.json()
    assert answer.status_code == 200
    assert answer.headers["x-openwhisk-activation-id"] == record["activationId"]
    assert record["response"] == {
        "status": "success", "statusCode": 0, "success": True, "result": {"n": 1}, "size": 7,
    }  # fmt: skip
    assert (record["namespace"], record["name"], record["logs"]) == ("guest", "echo", ["a line"])
    assert record == await world.record(record["activationId"])


async def test_only_the_result_is_answered_on_request(world, client):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", params=RESULT, json={"n": 1})

    assert (answer.status_code, answer.json()) == (200, {"n": 1})


@pytest.mark.parametrize("yes", ["true", "True", "yes", "on", "1"])
async def test_every_client_has_its_own_way_to_say_yes(world, client, yes):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", params={"blocking": yes, "result": yes})

    assert (answer.status_code, answer.json()) == (200, {})


@pytest.mark.parametrize(
    ("code", "status", "whose"),
    [
        ("fail", 502, ("application error", 1)),
        ("crash", 502, ("action developer error", 2)),
        ("lose", 500, ("whisk internal error", 3)),
    ],
)
async def test_a_failure_says_whose_it_is(world, client, code, status, whose):
    await world.put("bad", code)

    record = await client.post("/actions/bad", params=BLOCKING)
    result = await client.post("/actions/bad", params=RESULT)

    assert record.status_code == result.status_code == status
    response = record.json()["response"]
    assert (response["status"], response["statusCode"]) == whose
    assert response["success"] is False
    assert response["result"] == result.json()
    assert list(result.json()) == ["error"]


async def test_a_composition_answers_as_any_action_does(world, client):
    await world.put("echo", "echo")
    await world.put("fail", "fail")
    await world.put("good", composer.sequence("echo", "echo"))
    await world.put("bad", composer.sequence("echo", "fail", "echo"))

    good = await client.post("/actions/good", params=RESULT, json={"n": 1})
    bad = await client.post("/actions/bad", params=RESULT)

    assert (good.status_code, good.json()) == (200, {"n": 1})
    assert (bad.status_code, bad.json()) == (502, {"error": "no luck"})


async def test_what_takes_longer_than_the_caller_waits_goes_on(world, client):
    await world.put("hold", "hold")

    answer = await client.post("/actions/hold", params={"blocking": "true", "timeout": "1"})

    id = answer.json()["activationId"]
    assert answer.status_code == 202
    world.hands.answer(id, Success({"late": True}))
    assert (await world.record(id))["response"]["result"] == {"late": True}


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("0", "The value '0' is not greater than or equal to 1 for timeout."),
        ("60001", "The value '60001' is not in the range of 1 to 60000 for timeout."),
        ("soon", "The value 'soon' is not an integer for timeout."),
    ],
)
async def test_a_time_that_is_none_is_refused_and_nothing_runs(world, client, time, text):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", params={**BLOCKING, "timeout": time})

    assert (answer.status_code, answer.json()["error"]) == (400, text)
    assert (await client.get("/activations")).json() == []


async def test_parameters_of_the_call_go_over_those_of_the_action(world, client):
    await world.put("echo", "echo", parameters=[{"key": "a", "value": 1}, {"key": "b", "value": 1}])

    answer = await client.post("/actions/echo", params=RESULT, json={"b": 2, "c": 3})

    assert answer.json() == {"a": 1, "b": 2, "c": 3}


async def test_a_body_is_an_object_or_nothing(world, client):
    await world.put("echo", "echo")

    for nothing in ("", "{}"):
        answer = await client.post("/actions/echo", params=RESULT, content=nothing)
        assert (answer.status_code, answer.json()) == (200, {})
    for other in ("[1]", '"text"', "1", "true"):
        answer = await client.post("/actions/echo", params=RESULT, content=other)
        assert answer.status_code == 400
        assert answer.json()["error"] == (
            "The request content was malformed:\nthe body must be a JSON object"
        )


async def test_parameters_over_their_limit_are_refused_by_what_is_declared(world, client):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", json={"big": "x" * PAYLOAD_BYTES})

    size = answer.request.headers["content-length"]
    assert answer.status_code == 413
    assert answer.json()["error"] == f"Request larger than allowed: {size} > {PAYLOAD_BYTES} bytes."


async def test_parameters_over_their_limit_are_refused_before_they_are_read_to_their_end(
    world, client
):
    await world.put("echo", "echo")
    sent = 0

    async def endless():
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1000

    answer = await client.post("/actions/echo", content=endless())

    assert answer.status_code == 413
    assert sent <= PAYLOAD_BYTES // 1000 + 2


async def test_no_more_calls_run_at_once_than_allowed():
    settings = EngineSettings(quotas=lambda _: Quotas(concurrent=2))
    async with opened(settings=settings) as world:
        await world.put("hold", "hold")
        first, _ = [await world.start("hold") for _ in range(2)]

        refused = await world.client.post("/actions/hold")
        assert refused.status_code == 429
        assert refused.json()["error"] == (
            "Too many concurrent requests in flight (count: 2, allowed: 2)."
        )

        world.hands.answer(first, Success({}))
        await world.record(first)
        assert (await world.client.post("/actions/hold")).status_code == 202


async def test_no_more_calls_come_in_a_minute_than_allowed():
    async with opened(settings=EngineSettings(quotas=lambda _: Quotas(per_minute=2))) as world:
        await world.put("echo", "echo")
        for _ in range(2):
            assert (await world.client.post("/actions/echo")).status_code == 202

        refused = await world.client.post("/actions/echo")
        assert refused.status_code == 429
        assert refused.json()["error"] == (
            "Too many requests in the last minute (count: 3, allowed: 2)."
        )

        world.clock.ms += 60_000
        assert (await world.client.post("/actions/echo")).status_code == 202


async def test_a_step_that_does_not_exist_fails_by_name(world, client):
    await world.put("lost", composer.sequence("nowhere"))

    answer = await client.post("/actions/lost", params=RESULT)

    assert answer.status_code == 502
    assert "nowhere" in str(answer.json()["error"])


async def test_a_call_of_another_namespaces_action_is_forbidden(world, client):
    caller = world.caller(auth=client.auth)

    answer = await caller.post("/api/v1/namespaces/other/actions/echo")

    assert answer.status_code == 403
    assert answer.json()["error"] == (
        "The supplied authentication is not authorized to access 'other/echo'."
    )


async def test_the_callers_namespace_may_be_named(world, client):
    await world.put("echo", "echo")
    caller = world.caller(auth=client.auth)

    answer = await caller.post(
        "/api/v1/namespaces/guest/actions/echo", params=RESULT, json={"n": 1}
    )

    assert answer.json() == {"n": 1}


# --- idempotency keys --------------------------------------------------------------------------


async def test_a_call_with_an_idempotency_key_starts_one_execution(world, client):
    await world.put("echo", "echo")
    headers = {"idempotency-key": "order-7"}

    first = await client.post("/actions/echo?blocking=true", json={"n": 1}, headers=headers)
    second = await client.post("/actions/echo?blocking=true", json={"n": 1}, headers=headers)
    third = await client.post("/actions/echo", json={"n": 1}, headers=headers)
    other = await client.post("/actions/echo", json={"n": 2}, headers=headers)

    assert (first.status_code, second.status_code, third.status_code) == (200, 200, 202)
    assert first.json() == second.json()
    assert third.json()["activationId"] == first.json()["activationId"]
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == third.headers["idempotency-replayed"] == "true"
    assert (other.status_code, "was used for another call" in other.text) == (422, True)


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 202), (255, 202), (256, 400)])
async def test_an_idempotency_key_has_bounds(world, client, length, status):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", json={}, headers={"idempotency-key": "k" * length})

    assert answer.status_code == status, answer.text
