"""CloudEvents over HTTP: taken in once, answered when they are durable, and told what became of them."""

from __future__ import annotations

import json

import anyio
import anyio.lowlevel
import pytest

from tests.kit.http.worlds import KEY, LOOKS, USER
from tests.kit.http.worlds import world as opened
from xingqiao.actions import ThrottledError
from xingqiao.infra.engine import EngineSettings, EventBounds

LEAST = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed"}
HEADERS = {f"ce-{name}": value for name, value in LEAST.items()}
STRUCTURED = {"Content-Type": "application/cloudevents+json"}
BATCH = {"Content-Type": "application/cloudevents-batch+json"}
EFFECTS = {"wait": "effects"}
ASKS = {"WebHook-Request-Origin": "sender.example.com"}


async def listening(world):
    """A service with the trigger `placed` for orders and the trigger `other` for nothing, each with a rule."""
    await world.put("work", "echo")
    for trigger, type in (("placed", "order.placed"), ("other", "never")):
        put = world.client.put
        filter = {"filter": {"exact": {"type": type}}}
        assert (await put(f"/triggers/{trigger}", json=filter)).status_code == 200
        rule = {"trigger": f"/_/{trigger}", "action": "/_/work"}
        assert (await put(f"/rules/on-{trigger}", json=rule)).status_code == 200
    return world


@pytest.fixture
async def heard(world):
    return await listening(world)


async def worked(world):
    """What the rules' action was given, by the id of the CloudEvent."""
    results = {}
    for trigger in ("placed", "other"):
        query = {"name": trigger, "docs": True}
        for fired in (await world.client.get("/activations", params=query)).json():
            for line in fired["logs"]:
                record = await world.record(json.loads(line)["activationId"])
                result = record["response"]["result"]
                results[result["__ow_event"]["id"]] = result
    return results


async def fires(client, key):
    """The triggers that a CloudEvent has fired."""
    return [fired["trigger"] for fired in (await client.get(f"/events/{key}")).json()["fired"]]


async def test_an_event_fires_the_trigger_that_it_fits(heard, client):
    answer = await client.post("/events", json={"total": 5}, headers=HEADERS, params=EFFECTS)

    assert answer.status_code == 202
    [key] = answer.json()["keys"]
    assert answer.json() == {"accepted": 1, "duplicates": 0, "keys": [key]}
    told = (await client.get(f"/events/{key}")).json()
    assert told["state"] == "fired"
    assert [fired["trigger"] for fired in told["fired"]] == ["/guest/placed"]
    [run] = (await client.get("/activations", params={"name": "placed", "docs": True})).json()
    assert run["activationId"] == told["fired"][0]["activationId"]


@pytest.mark.parametrize(
    ("request_of", "more"),
    [
        ({"headers": {**HEADERS, "Content-Type": "application/json"}, "content": b'{"total": 5}'}, {"datacontenttype": "application/json"}),
        ({"headers": STRUCTURED, "content": json.dumps({**LEAST, "data": {"total": 5}})}, {}),
        ({"headers": BATCH, "content": json.dumps([{**LEAST, "data": {"total": 5}}])}, {}),
        ({"params": {"type": "order.placed", "source": "/shop", **EFFECTS}, "content": b'{"total": 5}'}, {}),
    ],
    ids=["binary", "structured", "batch", "plain"],
)  # fmt: skip
async def test_an_action_gets_the_same_in_each_mode(heard, client, request_of, more):
    answer = await client.post("/events", **{"params": EFFECTS, **request_of})

    assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
    [(id, given)] = (await worked(heard)).items()
    assert given == {"total": 5, "__ow_event": {**LEAST, "id": id, **more}}


async def test_the_response_waits_for_the_effects_only_if_it_is_asked_to(heard, client):
    hearing, answers = heard.engine.events, []
    hearing._begun = False  # nothing is matched yet

    async def waits():
        answers.append(await client.post("/events", headers=HEADERS, params=EFFECTS))

    early = await client.post("/events", headers={**HEADERS, "ce-id": "2"})
    state = (await client.get(f"/events/{early.json()['keys'][0]}")).json()["state"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waits)
        for _ in range(LOOKS):
            await anyio.lowlevel.checkpoint()
        before = [*answers]
        hearing.begin()

    assert (early.status_code, state, before) == (202, "pending", [])
    [answer] = answers
    assert (await client.get(f"/events/{answer.json()['keys'][0]}")).json()["state"] == "fired"


async def test_a_second_delivery_is_counted_and_does_nothing(heard, client):
    docs = [LEAST, {**LEAST, "id": "2"}, LEAST]

    first = await client.post("/events", content=json.dumps(docs), headers=BATCH, params=EFFECTS)
    again = await client.post("/events", content=json.dumps(docs), headers=BATCH, params=EFFECTS)
    other = await client.post("/events", json=1, headers=HEADERS)

    a, b = first.json()["keys"][:2]
    assert first.json() == {"accepted": 2, "duplicates": 1, "keys": [a, b, a]}
    assert again.json() == {"accepted": 0, "duplicates": 3, "keys": [a, b, a]}
    assert other.json() == {"accepted": 0, "duplicates": 0, "conflicts": 1, "keys": [a]}
    assert {*await worked(heard)} == {"1", "2"}


async def test_an_empty_batch_is_taken(client):
    answer = await client.post("/events", content=b"[]", headers=BATCH, params=EFFECTS)

    assert (answer.status_code, answer.json()) == (
        202,
        {"accepted": 0, "duplicates": 0, "keys": []},
    )


async def test_a_key_makes_a_plain_event_safe_to_send_again(client):
    url, plain = "/events", {"type": "a", "source": "/s"}
    key = {"Idempotency-Key": "k"}

    counts = [
        (await client.post(url, params=plain, content=content, headers=headers)).json()["accepted"]
        for content, headers in ((b"1", key), (b"1", key), (b"2", key), (b"1", {}), (b"1", {}))
    ]

    assert counts == [1, 0, 1, 1, 1]


async def test_an_event_for_a_trigger_fires_it_whatever_its_filter_is(heard, client):
    answer = await client.post(
        "/triggers/other", json={"total": 5}, headers=HEADERS, params=EFFECTS
    )
    again = await client.post(
        "/triggers/other",
        headers=STRUCTURED,
        content=json.dumps({**LEAST, "data": {"total": 5}, "datacontenttype": "application/json"}),
    )

    assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
    assert await fires(client, answer.json()["keys"][0]) == ["/guest/other"]
    assert (again.json()["accepted"], again.json()["duplicates"]) == (0, 1)
    assert (await client.post("/triggers/nobody", headers=HEADERS)).status_code == 404


async def test_a_trigger_is_fired_with_a_payload_as_before(heard, client):
    answer = await client.post("/triggers/other", json={"specversion": "1.0"})

    assert answer.status_code == 202
    assert [*answer.json()] == ["activationId"]


@pytest.mark.parametrize("path", ["/events", "/triggers/other"])
@pytest.mark.parametrize(
    ("status", "headers", "content", "text"),
    [
        (400, {**HEADERS, "ce-id": ""}, b"", "the attribute 'id'"),
        (400, BATCH, json.dumps([LEAST, {**LEAST, "time": "x"}]), "at index 1 of the batch: The attribute 'time'"),
        (400, STRUCTURED, "[" * 1000 + "]" * 1000, "must not nest deeper than 199 levels"),
        (403, {**HEADERS, "ce-type": "xingqiao.alarm"}, b"", "must not begin with xingqiao."),
        (413, BATCH, json.dumps([LEAST] * 1001), "may have 1000 CloudEvents, not 1001"),
        (413, {**HEADERS, "Content-Type": "text/plain"}, b"a" * ((1 << 20) + 1), "larger than allowed"),
        (413, BATCH, json.dumps([{**LEAST, "data": "a" * (1 << 20)}]), "larger than allowed"),
        (415, {"Content-Type": "application/cloudevents+avro"}, b"", "application/cloudevents+avro"),
        (415, {"Content-Type": "application/cloudevents-batch+xml"}, b"", "application/cloudevents+json"),
    ],
)  # fmt: skip
async def test_what_cannot_be_taken_is_refused_and_nothing_happens(
    heard, client, path, status, headers, content, text
):
    answer = await client.post(path, headers=headers, content=content)

    assert (answer.status_code, text in answer.json()["error"]) == (status, True), answer.text
    assert await worked(heard) == {}


async def test_a_wrong_query_is_refused(client):
    for params, text in (
        ({"wait": "true"}, "'wait' must be 'effects', not 'true'"),
        ({"type": "a"}, "'type' is not known here"),
    ):
        answer = await client.post("/events", headers=HEADERS, params=params)
        assert (answer.status_code, text in answer.json()["error"]) == (400, True), answer.text


async def test_64_kib_always_pass(heard, client):
    data = "a" * (64 << 10)

    answer = await client.post(
        "/events", headers={**HEADERS, "Content-Type": "text/plain"}, content=data, params=EFFECTS
    )

    assert answer.status_code == 202
    assert (await worked(heard))["1"]["value"] == data


async def test_a_large_batch_is_taken(heard, client):
    docs = [{**LEAST, "id": str(id), "data": "a" * 6_000} for id in range(1000)]

    answer = await client.post("/events", headers=BATCH, content=json.dumps(docs))

    assert (answer.status_code, answer.json()["accepted"]) == (202, 1000)


async def test_too_many_are_told_to_come_again():
    async with opened(settings=EngineSettings(events=EventBounds(pending=1))) as world:
        docs = json.dumps([LEAST, {**LEAST, "id": "2"}])

        answer = await world.client.post("/events", content=docs, headers=BATCH)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert "Too many CloudEvents" in answer.json()["error"]


async def test_an_error_of_the_engine_keeps_its_name(world, client, monkeypatch):
    class TooManyError(ThrottledError):
        code = "TooMany"

    async def full(*_, **__):
        raise TooManyError("full")

    monkeypatch.setattr(world.engine.events, "accept", full)

    answer = await client.post("/events", headers=HEADERS)

    assert (answer.status_code, answer.json()["code"]) == (429, "TooMany")


async def test_another_namespace_hears_and_sees_nothing(heard, client):
    stranger = heard.caller(
        auth=tuple((await heard.api.namespaces.create("other", {})).split(":", 1))
    )
    key = (await client.post("/events", headers=HEADERS, params=EFFECTS)).json()["keys"][0]
    home = "http://test/api/v1/namespaces"

    assert (await stranger.get(f"{home}/_/events/{key}")).status_code == 404
    assert (await stranger.get(f"{home}/guest/events/{key}")).status_code == 403
    assert (await stranger.post(f"{home}/guest/events", headers=HEADERS)).status_code == 403
    same = await stranger.post(f"{home}/_/events", headers=HEADERS, params=EFFECTS)
    assert same.json()["accepted"] == 1
    assert len(await worked(heard)) == 1


async def test_a_key_that_never_was_is_not_found(client):
    assert (await client.get("/events/" + "0" * 32)).status_code == 404


# --- the permission to deliver -------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/events", "/triggers/other"])
async def test_a_sender_is_allowed_to_deliver_without_a_key(world, path):
    stranger = world.caller()

    answer = await stranger.options(f"http://test/api/v1/namespaces/guest{path}", headers=ASKS)

    assert answer.status_code == 200
    assert answer.headers["webhook-allowed-origin"] == "sender.example.com"
    assert answer.headers["webhook-allowed-rate"] == "*"
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "headers"), [("/events", {}), ("/actions/work", ASKS), ("/events/x", ASKS)]
)
async def test_nothing_else_is_allowed(world, path, headers):
    answer = await world.caller(auth=(USER, KEY)).options(
        f"http://test/api/v1/namespaces/_{path}", headers=headers
    )

    assert answer.status_code == 200
    assert "webhook-allowed-origin" not in answer.headers
